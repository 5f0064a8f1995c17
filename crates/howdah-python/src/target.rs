//! Which server a load talks to: the one that was named, or howdah's own.

use howdah::Error;
use howdah::connect::{ConnectOptions, Environment, Target};
use howdah_cli::own_server;

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
        let mut options = ConnectOptions::default();
        options.conninfo = dsn;
        if !options.is_given(&environment) {
            let (target, server) = own_server(|_| ())?;
            return Ok(Chosen { target, server, notices: Vec::new() });
        }
        let target = options.resolve(&environment)?;
        let mut notices = target.notices().to_vec();
        if target.is_remote_unverified() {
            notices.push("the server is remote, and nobody has verified that it is the right one".to_owned());
        }
        Ok(Chosen { server: target.describe(), target, notices })
    }
}
