//! How far reading has come, what there is to say about it, and the wish to stop.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use howdah_message::Message;
use tokio_util::sync::CancellationToken;

/// A cloneable handle through which readers report and are stopped; the one who watches polls it.
#[derive(Clone, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Default)]
struct Shared {
    bytes_read: AtomicU64,
    cancelled: CancellationToken,
    reading: Mutex<Option<Reading>>,
    notices: Mutex<Vec<Message>>,
}

/// The input that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// As the user named it, or a glob found it.
    pub name: Arc<str>,
    /// Which of all inputs, from 1.
    pub number: usize,
    /// How many inputs there are.
    pub of: usize,
}

impl Progress {
    /// A fresh handle: nothing read, nothing said.
    pub fn new() -> Self {
        Progress::default()
    }

    /// Bytes of the inputs that were read, as they are stored (compressed bytes of compressed files).
    pub fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::Relaxed)
    }

    /// The input that is being read; `None` before the first is opened.
    pub fn reading(&self) -> Option<Reading> {
        self.0.reading.lock().clone()
    }

    /// Asks readers to stop. Safe to call from any thread, any number of times.
    pub fn cancel(&self) {
        self.0.cancelled.cancel();
    }

    /// Whether [`Progress::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// Resolves once [`Progress::cancel`] is called.
    pub async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }

    /// The messages for a person that came up since the last call, such as a guessed encoding.
    pub fn take_notices(&self) -> Vec<Message> {
        std::mem::take(&mut *self.0.notices.lock())
    }

    /// Adds a message for a person.
    pub fn notice(&self, text: impl Into<Message>) {
        self.0.notices.lock().push(text.into());
    }

    /// Counts bytes that were read.
    pub fn add_bytes_read(&self, bytes: u64) {
        self.0.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Sets the count of bytes back, after a pass over the input that was not the load itself.
    pub fn rewind_to(&self, bytes: u64) {
        self.0.bytes_read.store(bytes, Ordering::Relaxed);
    }

    /// Says which input is being read from now on.
    pub fn enter_input(&self, reading: Reading) {
        *self.0.reading.lock() = Some(reading);
    }
}
