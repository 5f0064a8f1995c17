//! The records of a morsel, sorted: rows, refused ones, and those with a literal that the server has yet to decide.

use std::ops::ControlFlow;

use super::Keep;
use crate::encode::reject::Reject;
use crate::error::Error;
use crate::options::OnError;
use crate::plan::Plan;

/// So many rejected records are handed over together: a piece of empty lines would otherwise become half a million of them.
const REJECTS_AT_ONCE: usize = 4096;

/// Counts the records of a morsel and hands over the refused ones.
pub(super) struct Sorting<'s, 'k> {
    keep_rejects: bool,
    keep: &'s mut Keep<'k>,
    /// The refused ones among so many first records were handed over already: a morsel may be encoded again.
    settled: &'s mut u64,
    rejects: Vec<Reject>,
    rows: u64,
    rejected: u64,
    open: u64,
}

impl<'s, 'k> Sorting<'s, 'k> {
    pub(super) fn new(plan: &Plan, settled: &'s mut u64, keep: &'s mut Keep<'k>) -> Self {
        let keep_rejects = plan.reading.on_error == OnError::Ignore;
        Sorting { keep_rejects, keep, settled, rejects: Vec::new(), rows: 0, rejected: 0, open: 0 }
    }

    /// The next record is a row.
    #[inline]
    pub(super) fn row(&mut self) {
        self.rows += 1;
    }

    /// The next record has a literal that must be decided first.
    pub(super) fn open(&mut self) {
        self.open += 1;
    }

    /// The next record is none; `raw` is what is kept of it. Whether the records behind it are still of interest.
    ///
    /// # Errors
    /// `error` itself, where the first such record ends the load; what the reject file said.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        error: Error,
        raw: impl FnOnce() -> Vec<u8>,
    ) -> Result<ControlFlow<()>, Error> {
        if !self.keep_rejects {
            // A record before it may yet turn out to be the first bad one.
            return if self.open > 0 { Ok(ControlFlow::Break(())) } else { Err(error) };
        }
        let before = self.rows + self.rejected + self.open;
        self.rejected += 1;
        // Handed over already; or the morsel will be encoded again, and they are found then.
        if before < *self.settled || self.open > 0 {
            return Ok(ControlFlow::Continue(()));
        }
        self.rejects.push(Reject { error, raw: raw() });
        *self.settled = before + 1;
        if self.rejects.len() >= REJECTS_AT_ONCE {
            (self.keep)(&self.rejects)?;
            self.rejects.clear();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands over the rest: how many records were rejected, and how many there are.
    pub(super) fn finish(self) -> Result<(u64, u64), Error> {
        if !self.rejects.is_empty() {
            (self.keep)(&self.rejects)?;
        }
        Ok((self.rejected, self.rows + self.rejected + self.open))
    }
}
