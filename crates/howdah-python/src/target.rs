//! Which server a load talks to: the one that was named, or howdah's own.

use howdah::Error;
use howdah::connect::{ConnectOptions, Environment, Target};
use howdah_cli::own_server;
use howdah_server::DEFAULT_NAME;
use pyo3::prelude::*;

/// What a caller says of the server.
#[derive(FromPyObject)]
pub(crate) struct Place(Dsn, OwnName);

/// What psql takes behind `-d`.
type Dsn = Option<String>;

/// The name of a server of howdah's own.
type OwnName = Option<String>;

/// The server of a load.
pub(crate) struct Chosen {
    pub(crate) target: Target,
    /// The server in words, without a password.
    pub(crate) server: String,
    /// What there is to say of it.
    pub(crate) notices: Vec<String>,
    /// Its name, if it is one of howdah's own.
    pub(crate) own: Option<String>,
}

impl Chosen {
    /// The server that the caller or the environment names; where neither does, howdah's own, which is made and started first
    /// where necessary.
    ///
    /// # Errors
    /// Neither can be understood, or no server of our own can be had.
    pub(crate) fn by(Place(dsn, name): Place) -> Result<Chosen, Error> {
        let environment = Environment::from_process();
        let mut options = ConnectOptions::default();
        if name.is_some() && dsn.is_some() {
            return Err(Error::usage("dsn and server name two servers").with_hint("leave one of them out"));
        }
        options.conninfo = dsn;
        if name.is_some() || !options.is_given(&environment) {
            let own = own_server(name.as_deref(), |_| ())?;
            let notices = own.notice.into_iter().collect();
            let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
            return Ok(Chosen { target: own.target, server: own.description, notices, own: Some(name) });
        }
        let target = options.resolve(&environment)?;
        let mut notices = target.notices().to_vec();
        if target.is_remote_unverified() {
            notices.push("the server is remote, and nobody has verified that it is the right one".to_owned());
        }
        Ok(Chosen { server: target.describe(), target, notices, own: None })
    }
}
