//! What reading threads share: the input, from which each pulls a morsel when it is free. If several fail, the failure that
//! comes first in the input wins.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use howdah_source::{Cutter, Morsel, MorselSource, Piece, WorkerState};

use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// The input of a load, from which any number of threads pull morsels.
pub(crate) struct InputQueue {
    morsels: MorselSource,
    stop: AtomicBool,
    /// The failure that comes first in the input, with the ordinal of its morsel.
    failure: Mutex<Option<(u64, Error)>>,
}

impl InputQueue {
    pub(crate) fn new(morsels: MorselSource) -> Arc<Self> {
        Arc::new(InputQueue { morsels, stop: AtomicBool::new(false), failure: Mutex::new(None) })
    }

    /// The next morsel for the thread whose `hold` this is; `None` at the end, after a failure and after [`InputQueue::stop`].
    pub(crate) fn next(&self, state: &mut WorkerState) -> Option<Morsel> {
        if self.is_stopped() {
            return None;
        }
        match self.morsels.next(state) {
            // Another thread may have stopped everybody meanwhile.
            Ok(morsel) => morsel.filter(|_| !self.is_stopped()),
            Err(error) => {
                // What cannot be read lies behind every morsel that was.
                self.fail(u64::MAX, error.into());
                None
            }
        }
    }

    /// Notes why the morsel `ordinal` cannot be loaded, and ends the queue.
    pub(crate) fn fail(&self, ordinal: u64, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failure = self.failure.lock();
        if failure.as_ref().is_none_or(|(earlier, _)| ordinal < *earlier) {
            *failure = Some((ordinal, error));
        }
    }

    /// Ends the queue.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the queue ended before the input did.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the failure that comes first in the input, of those noted so far.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().take().map(|(_, error)| error)
    }
}

/// Shows the whole input to `observers`, each on a thread of its own: every piece to one of them. The observers in the end.
///
/// # Errors
/// The failure to `see` a piece that comes first in the input.
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
pub(crate) fn show<O: Send + 'static>(
    cutter: Cutter,
    observers: Vec<O>,
    control: &Control,
    see: fn(&mut O, &Piece) -> Result<(), Error>,
) -> Result<Vec<O>, Error> {
    let input = InputQueue::new(MorselSource::text(cutter));
    let start = |mut observer: O| {
        let (input, control) = (input.clone(), control.clone());
        std::thread::spawn(move || {
            let mut state = WorkerState::default();
            while let Some(morsel) = input.next(&mut state).filter(|_| !control.is_cancelled()) {
                let Morsel::Text(piece) = &morsel else { break };
                if let Err(error) = see(&mut observer, piece) {
                    input.fail(piece.ordinal, error);
                    break;
                }
                state.reuse(morsel);
            }
            observer
        })
    };
    let threads: Vec<JoinHandle<O>> = observers.into_iter().map(start).collect();
    let panicked = |_| Error::new(ErrorKind::Internal, "a reading thread panicked");
    let observers: Result<Vec<O>, Error> =
        threads.into_iter().map(|thread| thread.join().map_err(panicked)).collect();
    match input.take_failure() {
        Some(error) => Err(error),
        None => observers,
    }
}

/// Runs `work` on a thread of its own, so that reading a pipe does not keep the runtime from noticing a request to stop.
///
/// # Errors
/// Cancelled (the thread then ends when its input does), or `work` panicked.
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
pub(crate) async fn off_thread<T: Send + 'static>(
    control: &Control,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    tokio::select! {
        done = receiver => done.map_err(|_| Error::new(ErrorKind::Internal, "a reading thread panicked")),
        () = control.cancelled() => Err(Error::new(ErrorKind::Cancelled, "stopped on request").nothing_changed()),
    }
}
