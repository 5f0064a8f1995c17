//! Waiting for a statement, unless somebody says stop: then the server is told.

use std::time::Duration;

use crate::connect::Connection;
use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// Somebody who asked us to stop waits: what cleaning up cannot do in this time, closing the connections does.
pub(crate) const CLEAN_UP_PATIENCE: Duration = Duration::from_secs(1);

/// What a load that was stopped ends with.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "stopped on request")
}

/// The answer to `running`, a statement on `connection`.
///
/// # Errors
/// Somebody said stop.
pub(crate) async fn stoppable<T>(
    connection: &Connection,
    control: &Control,
    running: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<Result<T, tokio_postgres::Error>, Error> {
    tokio::pin!(running);
    tokio::select! {
        done = &mut running => Ok(done),
        () = control.cancelled() => {
            // Waited for: a cancel request that arrives late would hit the next statement.
            let told = async {
                let _ = connection.cancel().await;
                let _ = running.await;
            };
            let _ = tokio::time::timeout(CLEAN_UP_PATIENCE, told).await;
            Err(cancelled())
        }
    }
}
