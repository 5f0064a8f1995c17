//! Waiting for the input, and for whatever else ends the waiting: a wish to stop, a failure on the settling side. Each of them
//! tells, so that nobody has to ask time and again.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::control::Control;
use crate::control::runtime::runtime;
use crate::error::Error;

/// What a reading thread waits with.
pub(super) struct Waiting {
    runtime: Runtime,
    control: Control,
    interruption: Arc<Notify>,
}

/// Something that tells when it can be read.
pub(super) struct Told(AsyncFd<OwnedFd>);

impl Waiting {
    /// Which a wish to stop by `control` ends.
    ///
    /// # Errors
    /// The system gives no means of waiting.
    pub(super) fn new(control: &Control) -> Result<Waiting, Error> {
        Ok(Waiting { runtime: runtime()?, control: control.clone(), interruption: Arc::default() })
    }

    /// Ends the waiting of now, or else the next.
    pub(super) fn interruption(&self) -> Arc<Notify> {
        self.interruption.clone()
    }

    /// `file`, so that it can be waited for; `None`: it can be read at any time, as what lies on a disk.
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe, for files that others may close; this one is our own"
    )]
    pub(super) fn listen(&self, file: &impl AsFd) -> Option<Told> {
        let _entered = self.runtime.enter();
        Some(Told(AsyncFd::new(file.as_fd().try_clone_to_owned().ok()?).ok()?))
    }

    /// Returns when `told` may have something to read, at once if nothing tells; when the waiting is interrupted; after `patience`
    /// at the latest. Whether it was `told`.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self, told: Option<&Told>, patience: Option<Duration>) -> io::Result<bool> {
        let tells = async {
            match told {
                // What came before this is found by whoever looks after it; what comes later tells again.
                Some(Told(told)) => told.readable().await.map(|mut ready| ready.clear_ready()),
                None => std::future::pending().await,
            }
        };
        let late = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                ready = tells => ready.map(|()| true),
                () = self.control.cancelled() => Ok(false),
                () = self.interruption.notified() => Ok(false),
                () = late => Ok(false),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn whoever_waits_is_told_by_bytes_by_a_failure_and_by_a_wish_to_stop_and_needs_no_clock() {
        let control = Control::new();
        let waiting = Waiting::new(&control).unwrap();
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let told = waiting.listen(&reader).unwrap();
        for byte in [b"a", b"b"] {
            writer.write_all(byte).unwrap();
            assert!(waiting.wait(Some(&told), None).unwrap());
            reader.read_exact(&mut [0]).unwrap();
        }
        assert!(!waiting.wait(Some(&told), Some(Duration::from_millis(1))).unwrap(), "it was read");
        waiting.interruption().notify_one();
        assert!(!waiting.wait(Some(&told), None).unwrap());
        control.cancel();
        assert!(!waiting.wait(Some(&told), None).unwrap());
        drop(writer);
        assert!(
            waiting.listen(&tempfile::tempfile().unwrap()).is_none(),
            "what lies on a disk is always there"
        );
    }
}
