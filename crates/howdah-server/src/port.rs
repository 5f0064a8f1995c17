//! Free TCP ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::{Error, Result};
use crate::secret::random_bytes;

/// Below the ports that Linux (32768) and the BSDs (49152) give to outgoing connections, which would take the port of
/// a stopped server now and then; above those of well-known services.
const FIRST: u16 = 20_000;
const LAST: u16 = 31_999;

/// Tries before giving up: with half of all ports taken, 64 failures in a row do not happen.
const TRIES: usize = 64;

/// A port that nobody listened on just now. Somebody may do so before the server starts, so callers try again.
pub(crate) fn free_port() -> Result<u16> {
    for _ in 0..TRIES {
        let port = FIRST + u16::from_le_bytes(random_bytes::<2>()?) % (LAST - FIRST + 1);
        if is_free(port) {
            return Ok(port);
        }
    }
    let source = std::io::Error::from(std::io::ErrorKind::AddrInUse);
    Err(Error::Io { doing: format!("find a free port between {FIRST} and {LAST}"), source })
}

/// Whether a server could listen on `port` now.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
