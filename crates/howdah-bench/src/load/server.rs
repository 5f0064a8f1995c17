//! The server that is measured on.

use std::path::PathBuf;

use howdah_server::{Settings, Throwaway};

use super::Options;
use crate::error::Error;

/// Where programs connect to, and what of the server can be seen from here.
pub(super) struct Server {
    pub(super) conninfo: String,
    /// Where psql is; None: on the search path.
    pub(super) bin_dir: Option<PathBuf>,
    /// The postmaster, when it runs on this machine.
    pub(super) pid: Option<u32>,
    /// Ends the server that is our own.
    _own: Option<Throwaway>,
}

/// The server asked for, or a fresh one with PostgreSQL's default settings.
pub(super) fn choose(options: &Options) -> Result<Server, Error> {
    let bin_dir = options.bin_dir.clone();
    if let Some(conninfo) = options.conninfo.clone() {
        return Ok(Server { conninfo, bin_dir, pid: options.server_pid, _own: None });
    }
    let own = Throwaway::start(&Settings::new())?;
    Ok(Server {
        conninfo: own.conninfo(),
        bin_dir: bin_dir.or_else(|| Some(own.bin_dir().to_owned())),
        pid: Some(own.pid()),
        _own: Some(own),
    })
}
