//! What howdah does as the owner of a server: it tries settings there, starts it again, and puts back what one who was killed left.
//! The Python package takes it from here.

use howdah::connect::Target;
use howdah::{Error, ErrorKind};
use howdah_doctor::{Owner, SettingBefore};
use howdah_server::{DEFAULT_NAME, Persistent, Server, Stood, Trying};

use crate::own_server::{server_error, target_of};
use crate::program;

/// The owner of one of howdah's own servers, as long as nobody else tries settings there.
pub struct ServerOwner {
    name: String,
    trying: Trying,
}

impl ServerOwner {
    /// That of the server `name`, by default the one that is used where nothing else is said.
    ///
    /// # Errors
    /// There is none; another process tries settings there.
    pub fn of(name: Option<&str>) -> Result<ServerOwner, Error> {
        let name = name.unwrap_or(DEFAULT_NAME).to_owned();
        let server = Persistent::named(&name).map_err(|error| server_error(&error))?;
        let trying = server.try_settings().map_err(|error| server_error(&error))?;
        Ok(ServerOwner { name, trying })
    }

    /// The commands that take `statements` back.
    pub fn undo(&self, statements: &[String], is_restart: bool) -> String {
        undo(&self.name, statements, is_restart)
    }
}

/// The commands that run `statements` on the server `name`, and have it take them.
pub(crate) fn undo(name: &str, statements: &[String], is_restart: bool) -> String {
    let howdah = program::name();
    let server = match name {
        DEFAULT_NAME => format!("{howdah} server"),
        name => format!("{howdah} server --name {name}"),
    };
    let reload = (!is_restart).then_some("SELECT pg_reload_conf();");
    let statements = statements.iter().map(String::as_str).chain(reload);
    let commands: Vec<String> = statements
        .map(|statement| format!("-c {}", crate::figures::shell_word(statement.trim_end_matches(';'))))
        .collect();
    let restart = if is_restart { format!("; {server} stop; {server} start") } else { String::new() };
    format!("{server} psql -- {}{restart}", commands.join(" "))
}

/// The usage error of those who name another server.
pub fn not_owned() -> Error {
    Error::usage("settings are applied only to servers that are howdah's own")
}

impl Owner for ServerOwner {
    fn left(&self) -> Result<Vec<SettingBefore>, Error> {
        let left = self.trying.left().map_err(|error| server_error(&error))?;
        Ok(left.into_iter().map(|Stood { name, value }| SettingBefore { name, value }).collect())
    }

    fn write_down(&self, before: &[SettingBefore]) -> Result<(), Error> {
        let stood: Vec<Stood> = before
            .iter()
            .map(|setting| Stood { name: setting.name.clone(), value: setting.value.clone() })
            .collect();
        self.trying.write_down(&stood).map_err(|error| server_error(&error))
    }

    fn forget(&self) -> Result<(), Error> {
        self.trying.forget().map_err(|error| server_error(&error))
    }

    fn restart(&self) -> Result<Target, Error> {
        running(self.trying.restart())
    }

    fn start_as_it_was(&self) -> Result<Target, Error> {
        running(self.trying.start_as_it_was())
    }
}

fn running(started: howdah_server::Result<Server>) -> Result<Target, Error> {
    match started {
        Ok(server) => target_of(&server),
        Err(error) => Err(server_error(&error).of_kind(ErrorKind::Server)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_undo_is_a_command() {
        let statements = ["ALTER SYSTEM RESET commit_delay;".to_owned()];
        let own = undo(DEFAULT_NAME, &statements, false);
        assert!(
            own.ends_with(
                " server psql -- -c 'ALTER SYSTEM RESET commit_delay' -c 'SELECT pg_reload_conf()'"
            ),
            "{own}"
        );
        let statements = ["ALTER SYSTEM SET shared_buffers = '1GB';".to_owned()];
        let other = undo("trial", &statements, true);
        let howdah = program::name();
        assert_eq!(
            other,
            format!(
                "{howdah} server --name trial psql -- -c {}; {howdah} server --name trial stop; {howdah} server --name trial start",
                crate::figures::shell_word("ALTER SYSTEM SET shared_buffers = '1GB'")
            )
        );
    }
}
