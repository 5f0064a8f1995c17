//! The handle through which a front end watches a stream and stops it. The stream never calls back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::control::Control;
use crate::writer::{Statistics, Writer};

/// A cloneable handle on one stream.
#[derive(Clone, Default)]
pub struct StreamWatch(Arc<WatchState>);

#[derive(Default)]
struct WatchState {
    control: Control,
    rows: AtomicU64,
    rejected: AtomicU64,
    writer: OnceLock<Arc<Writer>>,
}

/// The figures of a running stream.
#[derive(Debug, Clone, Default)]
pub struct StreamProgress {
    /// Records read.
    pub rows_read: u64,
    /// Rows that are committed.
    pub rows: u64,
    /// Records that were refused and kept apart.
    pub rows_rejected: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// What the writer did; `None` until the first record came.
    pub writer: Option<Statistics>,
}

impl StreamWatch {
    /// A fresh handle.
    pub fn new() -> Self {
        StreamWatch::default()
    }

    /// What stops it, and its notices.
    pub fn control(&self) -> &Control {
        &self.0.control
    }

    /// The figures now.
    pub fn progress(&self) -> StreamProgress {
        let snapshot = self.0.control.snapshot();
        StreamProgress {
            rows_read: snapshot.rows_read,
            rows: self.0.rows.load(Ordering::Relaxed),
            rows_rejected: self.0.rejected.load(Ordering::Relaxed),
            bytes_read: snapshot.bytes_read,
            writer: self.0.writer.get().map(|writer| writer.statistics()),
        }
    }

    pub(super) fn count_row(&self) {
        self.0.rows.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_rejected(&self, rows: u64) {
        self.0.rejected.store(rows, Ordering::Relaxed);
    }

    pub(super) fn set_writer(&self, writer: &Arc<Writer>) {
        // A stream has one writer.
        let _ = self.0.writer.set(writer.clone());
    }
}
