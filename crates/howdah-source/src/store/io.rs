//! One thread with a runtime for all stores; others wait for its answers on channels.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use crate::Progress;

/// How long a request to stop may go unnoticed.
const NOTICE: Duration = Duration::from_millis(100);

/// An answer that is on its way; dropped, it is not waited for any more.
pub struct Answer<T> {
    receiver: Receiver<T>,
    task: tokio::task::JoinHandle<()>,
}

/// Lets the thread see to `work`.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<Answer<T>> {
    let (sender, receiver) = sync_channel(1);
    let task = runtime()?.spawn(async move {
        let _ = sender.send(work.await);
    });
    Ok(Answer { receiver, task })
}

impl<T> Answer<T> {
    /// # Errors
    /// Somebody asked to stop.
    pub fn wait(&self, progress: &Progress) -> io::Result<T> {
        loop {
            match self.receiver.recv_timeout(NOTICE) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) if progress.is_cancelled() => {
                    return Err(io::Error::other("stopped on request"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that reads from stores panicked"));
                }
            }
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The thread's runtime, started by whoever needs it first; it ends with the process.
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
fn runtime() -> io::Result<&'static Handle> {
    static HANDLE: OnceLock<io::Result<Handle>> = OnceLock::new();
    let handle = HANDLE.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let serve = move || runtime.block_on(std::future::pending::<()>());
        std::thread::Builder::new().name("howdah-stores".to_owned()).spawn(serve)?;
        Ok(handle)
    });
    handle.as_ref().map_err(|error| io::Error::other(error.to_string()))
}
