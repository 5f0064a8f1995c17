//! The handle through which a front end watches and stops a load: counters, phase, notices, cancellation. The engine
//! never calls back; front ends poll.

mod clean_up;
mod connected;
pub(crate) mod liveness;
pub(crate) mod lock_watch;
pub(crate) mod runtime;
pub(crate) mod stoppable;

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clean_up::CleanUp;
use howdah_message::Message;
use howdah_source::Progress;
pub use howdah_source::Reading;
use tokio::time::{Instant, sleep_until};

/// A cloneable handle on one running load.
#[derive(Clone, Default)]
pub struct Control(Arc<ControlState>);

#[derive(Default)]
struct ControlState {
    progress: Progress,
    rows_read: AtomicU64,
    rows_sent: AtomicU64,
    /// Bytes of input in all, 0 when unknown (a pipe).
    bytes_total: AtomicU64,
    phase: Mutex<Phase>,
    clean_up: CleanUp,
}

/// What the load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Connecting, reading the catalog, making the plan.
    #[default]
    Planning,
    /// Reading the whole input to find the types of a new table.
    Inferring,
    /// Records are read and judged, before a load or to find the one at which it failed; nothing stays.
    Judging,
    /// Rows are on their way.
    Loading,
    /// Other processes have the parts of a shared load that are left.
    Waiting,
    /// Indexes and constraints are built.
    Indexing,
    /// Staged rows are applied to the table.
    Applying,
    /// Landed rows are read as their types.
    Promoting,
    /// Transactions commit.
    Committing,
    /// ANALYZE runs.
    Analyzing,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Data records read from the input.
    pub rows_read: u64,
    /// Rows handed to the server (not yet committed).
    pub rows_sent: u64,
    /// Bytes of the input as it lies on disk (compressed bytes for compressed files).
    pub bytes_read: u64,
    /// Bytes of input in all, when known.
    pub bytes_total: Option<u64>,
    /// What the load is doing.
    pub phase: Phase,
}

impl Control {
    /// A fresh handle.
    pub fn new() -> Self {
        Control::default()
    }

    /// What readers of this load's inputs report to.
    pub fn progress(&self) -> &Progress {
        &self.0.progress
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let total = self.0.bytes_total.load(Ordering::Relaxed);
        Snapshot {
            rows_read: self.0.rows_read.load(Ordering::Relaxed),
            rows_sent: self.0.rows_sent.load(Ordering::Relaxed),
            bytes_read: self.0.progress.bytes_read(),
            bytes_total: (total > 0).then_some(total),
            phase: *self.0.phase.lock(),
        }
    }

    /// The input that is being read; `None` before the first is opened.
    pub fn reading(&self) -> Option<Reading> {
        self.0.progress.reading()
    }

    /// Asks the load to stop. Safe to call from any thread, any number of times.
    pub fn cancel(&self) {
        self.0.clean_up.stop();
        self.0.progress.cancel();
    }

    /// Whether somebody asked the load to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.progress.is_cancelled()
    }

    /// Resolves when somebody asks the load to stop.
    pub(crate) async fn cancelled(&self) {
        self.0.progress.cancelled().await;
    }

    /// A load or the like begins.
    pub(crate) fn begin(&self) {
        self.0.clean_up.begin();
    }

    /// By when a load ends that somebody has asked to stop.
    pub(crate) fn stop_by(&self) -> Instant {
        self.0.clean_up.stop()
    }

    /// A step of cleaning up. `None`: the time for all of them together is over, soon after somebody said stop.
    pub(crate) async fn clean_up<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        let stopped = async {
            self.cancelled().await;
            sleep_until(self.stop_by()).await;
        };
        tokio::select! {
            biased;
            done = step => Some(done),
            () = stopped => None,
            () = sleep_until(self.0.clean_up.fail()) => None,
        }
    }

    /// Messages for a person that came up since the last call ("the table holds 5 rows already").
    pub fn take_notices(&self) -> Vec<Message> {
        self.0.progress.take_notices()
    }

    pub(crate) fn notice(&self, text: impl Into<Message>) {
        self.0.progress.notice(text);
    }

    pub(crate) fn enter(&self, phase: Phase) {
        *self.0.phase.lock() = phase;
    }

    pub(crate) fn set_bytes_total(&self, total: u64) {
        self.0.bytes_total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn add_rows_read(&self, rows: u64) {
        self.0.rows_read.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn add_rows_sent(&self, rows: u64) {
        self.0.rows_sent.fetch_add(rows, Ordering::Relaxed);
    }

    /// Back to `bytes` read, after a pass over the input that was not the load itself.
    pub(crate) fn rewind_to(&self, bytes: u64) {
        self.0.progress.rewind_to(bytes);
    }
}
