//! One connection with work of its own, for what is no load: it looks, or it measures.

use howdah_connect::{Connection, Target};

use crate::control::Control;
use crate::control::runtime::runtime;
use crate::control::stoppable::{cancelled, interruptible};
use crate::error::Error;

impl Control {
    /// Connects to `target` and does `work` there. Blocks until it is over, or somebody says stop: the connection is then closed
    /// where `work` is, and the server takes back what was not committed.
    ///
    /// # Errors
    /// Those of `work`; there is no connection, the server's machine is gone, or somebody said stop.
    pub fn connected<T>(
        &self,
        target: &Target,
        work: impl AsyncFnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let target = target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
        self.begin();
        let runtime = runtime()?;
        let done = runtime.block_on(async {
            let connection = tokio::select! {
                connected = target.connect() => connected?,
                () = self.cancelled() => return Err(cancelled()),
            };
            interruptible(&connection, self, work(&connection)).await
        });
        // A name that no resolver answers for would keep us: threads that look names up cannot be stopped.
        runtime.shutdown_background();
        done
    }
}
