//! Failures of rows of which nobody was told: rows that were sent without an acknowledgement, and those whose acknowledgement
//! was dropped unread. [`Writer::flush`](super::Writer::flush) and [`Writer::close`](super::Writer::close) tell of them.

use parking_lot::Mutex;

use crate::error::{Committed, Error};

/// So many reasons are told; the others are counted.
const REASONS: usize = 3;

/// What nobody was told of yet, of all rows of a writer.
#[derive(Default)]
pub(super) struct UnreportedFailures(Mutex<Failures>);

#[derive(Default)]
struct Failures {
    rows: u64,
    /// The first of them, of different words.
    reasons: Vec<Error>,
}

impl UnreportedFailures {
    /// So many rows failed for this reason.
    pub(super) fn add(&self, rows: u32, reason: &Error) {
        let mut failures = self.0.lock();
        failures.rows += u64::from(rows);
        let says_the_same = |known: &Error| in_words(known) == in_words(reason);
        if failures.reasons.len() < REASONS && !failures.reasons.iter().any(says_the_same) {
            failures.reasons.push(reason.clone());
        }
    }

    /// Tells of them, once; the writer has written so many rows.
    pub(super) fn take(&self, written: u64) -> Option<Error> {
        let failures = std::mem::take(&mut *self.0.lock());
        failures.told(written)
    }
}

impl Drop for UnreportedFailures {
    fn drop(&mut self) {
        let failures = std::mem::take(&mut *self.0.lock());
        if let Some(reason) = failures.reasons.first() {
            tracing::warn!(rows = failures.rows, %reason, "rows are not in the table, and nobody asked what became of them");
        }
    }
}

impl Failures {
    /// The first row's own error, with how many there are, and why.
    fn told(self, written: u64) -> Option<Error> {
        let first = self.reasons.first()?.clone();
        let committed = first.committed();
        let state = match committed {
            Committed::Unknown => "perhaps not in the table",
            _ => "not in the table",
        };
        let told = match self.rows {
            1 => first.prefixed(format!("1 row is {state}, and nobody took its acknowledgement")),
            rows => {
                let mut reasons: Vec<String> = self.reasons.iter().map(in_words).collect();
                if reasons.len() == REASONS && rows > REASONS as u64 {
                    reasons.push("…".to_owned());
                }
                first
                    .prefixed(format!("{rows} rows are {state}, and nobody took their acknowledgements"))
                    .with_detail(reasons.join("; "))
            }
        };
        Some(match (committed, written) {
            (Committed::Unknown, _) => {
                told.with_visible(Committed::Unknown, "rows that were acknowledged are in the table")
            }
            (_, 0) => told.with_visible(Committed::No, "this writer has written no row"),
            (_, 1) => told.with_visible(Committed::Partly, "1 row of this writer is in the table"),
            _ => told
                .with_visible(Committed::Partly, format!("{written} rows of this writer are in the table")),
        })
    }
}

/// What is wrong with a row, in a line.
fn in_words(reason: &Error) -> String {
    match reason.detail() {
        Some(detail) => format!("{} ({detail})", reason.message()),
        None => reason.message().to_owned(),
    }
}
