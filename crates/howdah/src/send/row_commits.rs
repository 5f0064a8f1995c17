//! The account of a load whose rows commit one by one: how many are in, and the request to stop, which its workers check
//! before every row.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The count and the request, which the workers share.
#[derive(Debug, Default)]
pub(crate) struct RowCommits {
    rows: AtomicU64,
    halted: AtomicBool,
}

impl RowCommits {
    /// Notes rows that the server committed.
    pub(crate) fn add(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::SeqCst);
    }

    /// Rows that the server committed so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::SeqCst)
    }

    /// From here on no row is sent.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::SeqCst);
    }

    /// Whether the load is over.
    pub(crate) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }
}
