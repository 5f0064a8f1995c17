//! Which server a load talks to: the one that the user named, or howdah's own; and how a person looks into it.

use std::io;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::{Error, ErrorKind};
use howdah_server::DEFAULT_NAME;

use crate::args::Connection;
use crate::figures::shell_word;
use crate::own_server::own_server;
use crate::password_argument;
use crate::program;
use crate::render::Console;

/// The server of a load.
pub(crate) struct Server {
    pub(crate) target: Target,
    /// The name of one of howdah's own.
    own: Option<String>,
    /// A wrong password is not asked for again: a script behind a terminal would never end.
    asked: bool,
}

impl Server {
    /// Finds the server, starts it when it is ours, and names it: the first line of output.
    pub(crate) fn choose(typed: &Connection, console: Console) -> Result<Self, Error> {
        let environment = Environment::from_process();
        let options = connect_options(typed);
        if typed.server.is_some() || !options.is_given(&environment) {
            let own = own_server(typed.server.as_deref(), |directory| {
                let place = directory.display().to_string();
                console.labelled("server", &format!("making a PostgreSQL of howdah's own in {place}"));
            })?;
            console.labelled("server", &own.description);
            if let Some(notice) = &own.notice {
                console.labelled("note", notice);
            }
            let name = typed.server.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
            return Ok(Server { target: own.target, own: Some(name), asked: false });
        }
        let target = options.resolve(&environment)?;
        console.labelled("server", &target.describe());
        for notice in target.notices() {
            console.labelled("note", notice);
        }
        if target.is_remote_unverified() {
            console.labelled(
                "warning",
                "the server is remote, and nobody has verified that it is the right one",
            );
        }
        Ok(Server { target, own: None, asked: false })
    }

    /// The name of the server, if it is one of howdah's own.
    pub(crate) fn own(&self) -> Option<&str> {
        self.own.as_deref()
    }

    /// Finds one of howdah's own again, which was stopped and started.
    pub(crate) fn find_again(&mut self) -> Result<(), Error> {
        if let Some(name) = &self.own {
            self.target = own_server(Some(name), |_| ())?.target;
        }
        Ok(())
    }

    /// Whether the user may be asked for a password now.
    pub(crate) fn may_ask(&self, typed: &Connection) -> bool {
        !(self.own.is_some() || self.asked || typed.no_password)
    }

    /// Asks on the terminal, also when standard input is data.
    pub(crate) fn ask_password(&mut self) -> Result<(), Error> {
        self.asked = true;
        let password = rpassword::prompt_password("Password: ").map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Error::new(ErrorKind::Cancelled, "interrupted"),
            _ => Error::new(
                ErrorKind::PasswordRequired,
                "a password is needed and there is no terminal to ask on",
            )
            .with_hint("set PGPASSWORD, or write the password into ~/.pgpass"),
        })?;
        self.target = self.target.clone().with_password(password);
        Ok(())
    }

    /// A command that shows the first rows of `table` (quoted as SQL needs it).
    pub(crate) fn look_at(&self, table: &str, typed: &Connection) -> String {
        let query = shell_word(&format!("TABLE {table} LIMIT 10"));
        match self.own.as_deref() {
            Some(DEFAULT_NAME) => format!("{} server psql -- -c {query}", program::name()),
            Some(name) => format!("{} server --name {name} psql -- -c {query}", program::name()),
            None if password_argument::was_typed() => {
                format!("{} -c {query} # it asks for the password", psql(typed))
            }
            None => format!("{} -c {query}", psql(typed)),
        }
    }
}

/// psql with the connection as it was typed; what came from the environment, psql finds there as well.
fn psql(typed: &Connection) -> String {
    let mut command = "psql".to_owned();
    let options = [("-h", &typed.host), ("-p", &typed.port), ("-U", &typed.username)];
    for (flag, value) in options {
        if let Some(value) = value {
            command.push_str(&format!(" {flag} {}", shell_word(value)));
        }
    }
    match &typed.dbname {
        Some(conninfo) if may_hold_secret(conninfo) => command.push_str(" -d ..."),
        Some(conninfo) => command.push_str(&format!(" -d {}", shell_word(&without_driver(conninfo)))),
        None => {}
    }
    command
}

/// SQLAlchemy's `postgresql+driver://` as psql takes it.
fn without_driver(conninfo: &str) -> String {
    match conninfo.split_once("://") {
        Some((scheme, rest)) => format!("{}://{rest}", scheme.split('+').next().unwrap_or(scheme)),
        None => conninfo.to_owned(),
    }
}

/// Whether a connection string could contain a password, which is never printed. Rather too careful: an escape (`%`)
/// may spell anything.
fn may_hold_secret(conninfo: &str) -> bool {
    let in_uri = conninfo.split_once("://").is_some_and(|(_, rest)| {
        rest.contains('%') || rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    in_uri || conninfo.to_ascii_lowercase().contains("pass")
}

fn connect_options(typed: &Connection) -> ConnectOptions {
    let mut options = ConnectOptions::default();
    options.conninfo.clone_from(&typed.dbname);
    options.host.clone_from(&typed.host);
    options.port.clone_from(&typed.port);
    options.user.clone_from(&typed.username);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_in_the_command_that_is_shown() {
        let shown = |dbname: &str| {
            psql(&Connection {
                dbname: Some(dbname.into()),
                host: None,
                port: Some("5433".into()),
                username: Some("me".into()),
                server: None,
                no_password: false,
                password: false,
            })
        };
        assert_eq!(shown("my db"), "psql -p 5433 -U me -d 'my db'");
        assert_eq!(shown("postgresql://u@h/d"), "psql -p 5433 -U me -d postgresql://u@h/d");
        assert_eq!(shown("postgresql+asyncpg://u@h/d"), "psql -p 5433 -U me -d postgresql://u@h/d");
        for secret in [
            "postgresql://u:hunter2@h/d",
            "postgresql://u:p/hunter2@h/d",
            "postgres://h/d?password=hunter2",
            "host=h PASSWORD = 'hunter2'",
            "postgres://h/d?passw%6Frd=hunter2",
        ] {
            assert!(!shown(secret).contains("hunter2"), "{}", shown(secret));
        }
    }
}
