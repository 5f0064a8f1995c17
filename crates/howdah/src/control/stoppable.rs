//! Waiting for a server, unless somebody says stop, or the server's machine is gone.

use howdah_connect::Connection;

use crate::control::Control;
use crate::control::liveness::server_lost;
use crate::error::{Error, ErrorKind};

/// What a load that was stopped ends with.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "stopped on request")
}

/// The answer to `running`, a statement on `connection`. Where somebody says stop, the server is told.
///
/// # Errors
/// Somebody said stop; the server's machine is gone.
pub(crate) async fn stoppable<T>(
    connection: &Connection,
    control: &Control,
    running: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<Result<T, tokio_postgres::Error>, Error> {
    tokio::pin!(running);
    tokio::select! {
        done = &mut running => Ok(done),
        lost = server_lost(connection, control) => Err(lost),
        () = control.cancelled() => {
            // Waited for: a cancel request that arrives late would hit the next statement.
            let told = async {
                let _ = connection.cancel().await;
                let _ = running.await;
            };
            control.clean_up(told).await;
            Err(cancelled())
        }
    }
}

/// The outcome of `work`, which asks the server of `connection` and may be dropped at any moment.
///
/// # Errors
/// Those of `work`; somebody said stop; the server's machine is gone.
pub(crate) async fn interruptible<T>(
    connection: &Connection,
    control: &Control,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        done = work => done,
        lost = server_lost(connection, control) => Err(lost),
        () = control.cancelled() => Err(cancelled()),
    }
}
