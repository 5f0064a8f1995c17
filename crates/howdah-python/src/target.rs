//! Which server a load talks to: the one that was named, or howdah's own.

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::{Error, ErrorKind};
use howdah_server::{DEFAULT_NAME, Persistent};

/// The server of a load.
pub(crate) struct Chosen {
    pub(crate) target: Target,
    /// The server in words, without a password.
    pub(crate) server: String,
    /// What there is to say of it.
    pub(crate) notices: Vec<String>,
}

impl Chosen {
    /// The server that `dsn` or the environment names; where neither does, howdah's own, which is made and started first
    /// where necessary.
    ///
    /// # Errors
    /// Neither can be understood, or no server of our own can be had.
    pub(crate) fn by(dsn: Option<String>) -> Result<Chosen, Error> {
        let environment = Environment::from_process();
        let options = ConnectOptions { conninfo: dsn, ..ConnectOptions::default() };
        if !options.is_given(&environment) {
            let failed = |error| server_error(&error).of_kind(ErrorKind::Connect);
            let own = Persistent::named(DEFAULT_NAME).and_then(|own| own.start()).map_err(failed)?;
            let options = ConnectOptions { conninfo: Some(own.conninfo()), ..ConnectOptions::default() };
            // Complete in itself: PGOPTIONS or PGSSLMODE are meant for the user's servers, not for ours.
            let target = options.resolve(&Environment::default())?;
            return Ok(Chosen { target, server: own.describe(), notices: Vec::new() });
        }
        let target = options.resolve(&environment)?;
        let mut notices = target.notices().to_vec();
        if target.is_remote_unverified() {
            notices.push("the server is remote, and nobody has verified that it is the right one".to_owned());
        }
        Ok(Chosen { server: target.describe(), target, notices })
    }
}

/// A failure of a server of our own, in the engine's words.
pub(crate) fn server_error(error: &howdah_server::Error) -> Error {
    let kind = match error {
        howdah_server::Error::BadName(_) | howdah_server::Error::BadSetting(_) => ErrorKind::Usage,
        _ => ErrorKind::Server,
    };
    let text = Error::new(kind, error.to_string());
    match error.hint() {
        Some(hint) => text.with_hint(hint),
        None => text,
    }
}
