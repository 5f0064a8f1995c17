//! Liveness: whether the server's machine is still there while a load waits for it. TCP alone cannot tell within minutes. It
//! sends no keepalives while sent data is unacknowledged, and a limit on that time (`tcp_user_timeout`) also ends
//! connections to servers that are alive and wait for a lock.

use std::time::Duration;

use howdah_connect::Connection;
use tokio::time::Instant;

use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// How often progress is checked.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How long nothing may happen before the machine is asked for a new connection.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);
/// How long the machine has to accept it. With [`PATIENCE`] and the time to clean up this stays below 30 seconds.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// Waits until nothing has been sent for a while and the machine at the other end of `connection` accepts no connection any
/// more, and returns the error for that.
pub(crate) async fn server_lost(connection: &Connection, control: &Control) -> Error {
    let mut seen = control.snapshot();
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let now = control.snapshot();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() >= PATIENCE {
            if !connection.peer_answers(ANSWER_WITHIN).await {
                return lost(connection);
            }
            since = Instant::now();
        }
    }
}

/// The machine at the other end of `connection` is gone.
pub(crate) fn lost(connection: &Connection) -> Error {
    Error::new(ErrorKind::Server, format!("the server at {} does not answer any more", connection.peer()))
        .with_hint("the server's machine or the network between is down; look there, then load again")
}
