//! `howdah server`: howdah's own PostgreSQL servers, by name.

use std::io::{self, BufRead, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::Command;

use howdah::{Error, ErrorKind};
use howdah_server::Persistent;

use crate::args::{Server, ServerAction};
use crate::connection::{describe, server_error};
use crate::exit;
use crate::render::Console;

/// Does what was asked and returns the exit code.
pub(crate) fn run(args: &Server) -> u8 {
    let console = Console::new(false);
    match act(args, console) {
        Ok(()) => exit::DONE,
        Err(error) => {
            console.error(&error);
            exit::code(&error, None)
        }
    }
}

fn act(args: &Server, console: Console) -> Result<(), Error> {
    let server = Persistent::named(&args.name).map_err(server_error)?;
    match &args.action {
        ServerAction::Start => {
            server.start().map_err(server_error)?;
            console.labelled("server", &describe(&server));
            console.result(&server.url());
        }
        ServerAction::Stop => {
            server.stop().map_err(server_error)?;
        }
        ServerAction::Status => console.result(&describe(&server)),
        ServerAction::Url => {
            server.start().map_err(server_error)?;
            console.result(&server.url());
        }
        ServerAction::Psql { args } => {
            server.start().map_err(server_error)?;
            // Returns only when it fails: psql takes our place, terminal and exit code included.
            let error = Command::new(server.psql()).arg(server.conninfo()).args(args).exec();
            return Err(Error::new(ErrorKind::Server, format!("psql could not be started: {error}")));
        }
        ServerAction::Delete { yes } => {
            if !yes {
                confirm(&args.name, console)?;
            }
            server.delete().map_err(server_error)?;
            console.say(&format!("server {} and its data are gone", args.name));
        }
    }
    Ok(())
}

/// Deleting cannot be undone, so a person says yes, or a script writes `--yes`.
fn confirm(name: &str, console: Console) -> Result<(), Error> {
    if !io::stdin().is_terminal() {
        return Err(Error::usage("deleting a server needs a yes").with_hint("add --yes"));
    }
    console.say(&format!("Delete the server {name} and all its data? Type its name to go on:"));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && answer.trim() == name {
        return Ok(());
    }
    Err(Error::usage("not deleted"))
}
