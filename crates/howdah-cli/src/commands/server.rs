//! `howdah server`: howdah's own PostgreSQL servers, by name.

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::Command;

use howdah::{Error, ErrorKind};
use howdah_server::{Persistent, Server, Status, TriedSettings};

use crate::args::{ServerAction, ServerArgs};
use crate::exit;
use crate::figures::visible;
use crate::own_server::server_error;
use crate::program;
use crate::render::Console;

/// Does what was asked and returns the exit code.
pub(crate) fn run(args: &ServerArgs) -> u8 {
    let console = Console::new(false);
    act(args, console).unwrap_or_else(|error| {
        console.error(&error);
        exit::code(&error, None)
    })
}

fn act(args: &ServerArgs, console: Console) -> Result<u8, Error> {
    let failed = |error: howdah_server::Error| server_error(&error);
    let server = Persistent::named(&args.name).map_err(failed)?;
    match &args.action {
        ServerAction::List => list(console)?,
        ServerAction::Start => {
            let running = start(&server, console)?;
            console.result(&line(&running));
        }
        ServerAction::Stop => {
            let was_running = server.stop().map_err(failed)?;
            console.say(if was_running { "stopped; its data stays" } else { "it was not running" });
        }
        ServerAction::Status => {
            let status = server.status().map_err(failed)?;
            console.result(&status_line(&status));
            if let Some(tried) = server.tried_settings().map_err(failed)? {
                console.result(&tried_line(&tried));
            }
            return Ok(if matches!(status, Status::Running(_)) { exit::DONE } else { exit::FAILED });
        }
        ServerAction::Url => console.result(&start(&server, console)?.url()),
        ServerAction::Psql { args } => return Err(become_psql(&start(&server, console)?, args)),
        ServerAction::Delete { yes } => {
            if !matches!(server.status(), Ok(Status::Absent)) && !yes {
                confirm(&args.name, console)?;
            }
            let was_there = server.delete().map_err(failed)?;
            console.say(if was_there { "deleted, with all its data" } else { "there was no such server" });
        }
    }
    Ok(exit::DONE)
}

/// Starts `server`; what a person should know of one that is made now is said.
fn start(server: &Persistent, console: Console) -> Result<Server, Error> {
    let is_new = !server.directory().exists();
    let running = server.start().map_err(|error| server_error(&error))?;
    if let Some(notice) = running.other_than_embedded().filter(|_| is_new) {
        console.labelled("note", &notice);
    }
    Ok(running)
}

/// A line for each server.
fn list(console: Console) -> Result<(), Error> {
    let all = Persistent::all().map_err(|error| server_error(&error))?;
    if all.is_empty() {
        let first = Persistent::named("default").map_err(|error| server_error(&error))?.directory();
        let place = first.parent().unwrap_or(&first).display().to_string();
        console.say(&format!("there is no server yet; they lie below {}", visible(&place)));
    }
    let width = all.iter().map(|server| server.name().len()).max().unwrap_or(0);
    for server in all {
        let state = match server.status() {
            Ok(status) => status_line(&status).lines().next().unwrap_or_default().to_owned(),
            Err(error) => format!("unusable: {}", visible(&error.to_string())),
        };
        console.result(&format!("{:width$}  {state}", server.name()));
    }
    Ok(())
}

fn line(server: &Server) -> String {
    let place = visible(&server.describe());
    format!("running: {place} (port {}, process {})", server.port(), server.pid())
}

fn status_line(status: &Status) -> String {
    match status {
        Status::Absent => "absent: there is no such server".into(),
        Status::Stopped { directory } => format!("stopped: {}", visible(&directory.display().to_string())),
        Status::Changing { directory } => {
            format!("starting or stopping: {}", visible(&directory.display().to_string()))
        }
        Status::Running(server) => match server.chosen_settings() {
            [] => line(server),
            chosen => format!("{}\nsettings: {}", line(server), visible(&chosen.join(", "))),
        },
    }
}

/// Settings that `doctor --apply` tries, or left when it was killed.
fn tried_line(tried: &TriedSettings) -> String {
    let names: Vec<&str> = tried.stood.iter().map(|setting| setting.name.as_str()).collect();
    let names = visible(&names.join(", "));
    match tried.is_under_way {
        true => format!("being tried: {names}"),
        false => format!(
            "left by a doctor --apply that was killed: {names}; the next one puts it back, and so does a start after a stop"
        ),
    }
}

/// psql takes our place, terminal and exit code included; returns only when that fails.
fn become_psql(server: &Server, args: &[OsString]) -> Error {
    let mut psql = Command::new(server.bin_dir().join("psql"));
    // By the environment: a password on the command line is seen by every user of the machine.
    psql.env("PGHOST", server.socket_dir())
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", server.user())
        .env("PGPASSWORD", server.password())
        .env("PGDATABASE", server.dbname());
    for elsewhere in ["PGHOSTADDR", "PGSERVICE", "PGSSLMODE", "PGCHANNELBINDING", "PGREQUIREAUTH"] {
        psql.env_remove(elsewhere);
    }
    let error = psql.args(args).exec();
    Error::new(ErrorKind::Server, format!("cannot run {}: {error}", server.bin_dir().join("psql").display()))
        .with_hint(format!("use a psql of your own: psql \"$({} server url)\"", program::name()))
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
