//! The `howdah` command: everything between the arguments and the exit code. Only this crate prints.

use std::ffi::OsString;
use std::panic::catch_unwind;

use clap::Parser;
use howdah::Error;

mod args;
mod commands;
mod connection;
mod exit;
mod figures;
mod foreign;
mod job;
mod meter;
mod metrics;
mod names;
mod own_server;
mod password_argument;
mod phases;
mod plan;
mod program;
mod progress;
mod reading;
mod render;
mod server_owner;
mod signals;
mod spelling;
mod streaming;
mod types;
mod units;
mod unparsed;

use args::{Cli, Command};
use render::Console;

pub use own_server::{OwnServer, own_server, server_error};
pub use server_owner::{ServerOwner, not_owned};

/// Runs the command that `args` asks for (the first is the program's name) and returns the exit code for the system:
/// 0 done, 1 failed and nothing changed, 2 usage or connection, 5 partly committed, 128 + N ended by signal N.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    // Inside a Python process a panic must become an exit code like any other failure.
    let _ = Console::has_lost_output();
    let code = catch_unwind(|| run(args)).unwrap_or_else(|_| {
        let error = Error::bug();
        Console::new(false).error(&error);
        exit::code(&error, None)
    });
    if Console::has_lost_output() { exit::without_output(code) } else { code }
}

fn run(args: Vec<OsString>) -> u8 {
    program::called_as(args.first());
    match Cli::try_parse_from(&args) {
        Ok(cli) => match &cli.command {
            Command::Load(args) => commands::load::run(args),
            Command::Stream(args) => commands::stream::run(args),
            Command::Promote(args) => commands::promote::run(args),
            Command::Doctor(args) => commands::doctor::run(args),
            Command::Codegen(args) => commands::codegen::run(args),
            Command::Migrate(args) => commands::migrate::run(args),
            Command::Server(args) => commands::server::run(args),
            #[cfg(feature = "bench")]
            Command::Bench(args) => commands::bench::run(args),
            #[cfg(feature = "bench")]
            Command::Dataset(args) => commands::dataset::run(args),
            Command::Completions(args) => commands::completions::run(args),
            Command::Man(args) => commands::man::run(args),
        },
        Err(answer) => {
            let answer = foreign::answer(answer, &args);
            Console::parser(&answer);
            if !answer.use_stderr() {
                return exit::DONE;
            }
            if let Some(report) = unparsed::report(&args, &answer) {
                Console::new(true).result(&report);
            }
            exit::USAGE
        }
    }
}
