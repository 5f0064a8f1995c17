//! The server that is measured on.

use std::path::PathBuf;

use super::Options;
use crate::error::Error;

/// Where programs connect to, and what of the server can be seen from here.
pub(super) struct Server {
    pub(super) conninfo: String,
    /// Where psql is; None: on the search path.
    pub(super) bin_dir: Option<PathBuf>,
    /// The postmaster, when it runs on this machine.
    pub(super) pid: Option<u32>,
}

/// The server asked for, or a fresh one of our own.
pub(super) fn choose(options: &Options) -> Result<Server, Error> {
    let Some(conninfo) = &options.conninfo else {
        return Err(Error::Usage("give a server with -d".to_owned()));
    };
    Ok(Server { conninfo: conninfo.clone(), bin_dir: options.bin_dir.clone(), pid: options.server_pid })
}
