//! Liveness: whether the server's machine is still there while a load waits for it. TCP alone cannot tell within minutes. It
//! sends no keepalives while sent data is unacknowledged, and a limit on that time (`tcp_user_timeout`) also ends
//! connections to servers that are alive and wait for a lock.

use std::time::Duration;

use tokio::time::Instant;

use crate::connect::Target;
use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// How often progress is checked.
const CHECK_EVERY: Duration = Duration::from_secs(2);
/// How long a load may make no progress before the machine is asked for a new connection.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long the machine has to accept it. With [`PATIENCE`] and the time to clean up this stays below 30 seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// Waits until nothing has been sent for a while and the machine accepts no connection any more, and returns the error for
/// that.
pub(crate) async fn server_lost(target: &Target, control: &Control) -> Error {
    let mut seen = control.snapshot();
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let now = control.snapshot();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() >= PATIENCE {
            if !target.answers(ANSWER_WITHIN).await {
                return Error::new(
                    ErrorKind::Server,
                    format!("{} does not answer any more", target.describe()),
                )
                .with_hint(
                    "the server's machine or the network between is down; look there, then load again",
                );
            }
            since = Instant::now();
        }
    }
}
