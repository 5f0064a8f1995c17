//! Whether the server's machine is still there while a load waits for it. TCP alone cannot tell within minutes: as long as sent
//! data is not acknowledged no keepalive is sent, and a limit on that time (`tcp_user_timeout`) also ends connections to
//! servers that are alive and wait for a lock.

use std::time::Duration;

use tokio::time::Instant;

use crate::connect::Target;
use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// How often progress is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Without progress for so long, the machine is asked for a new connection.
const PATIENCE: Duration = Duration::from_secs(8);
/// With [`PATIENCE`] and the time to clean up this stays below 30 seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// Looks until the load ends; returns when nothing was sent for a while and the machine takes no connection any more.
pub(crate) async fn lost(target: &Target, control: &Control) -> Error {
    let mut seen = control.snapshot();
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
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
