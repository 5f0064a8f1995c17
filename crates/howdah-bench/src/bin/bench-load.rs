//! Measures `howdah load` against what the server can take and against psql.
#![expect(clippy::print_stderr, reason = "a program tells its user what went wrong")]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use howdah_bench::{floor, load};

/// Measure howdah load: wall time, CPU, memory; interleaved rounds against the floor and against psql
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    options: load::Options,
}

#[derive(Subcommand)]
enum Role {
    /// The minimal client: streams binary COPY files, one connection each (run by bench-load itself)
    #[command(hide = true)]
    FloorClient {
        #[arg(long)]
        dbname: String,
        #[arg(long)]
        table: String,
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.role {
        Some(Role::FloorClient { dbname, table, files }) => {
            floor::stream(&dbname, &table, &files).map(|_| ())
        }
        None => load::measure(&arguments.options, &mut io::stdout()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-load: {error}");
            ExitCode::FAILURE
        }
    }
}
