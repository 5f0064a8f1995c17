//! The runtime of one thread on which what talks to a server runs.

use tokio::runtime::{Builder, Runtime};

use crate::error::Error;

/// A runtime for the calling thread.
///
/// # Errors
/// The system gives no more of what it needs.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::cannot_start("the runtime", error))
}
