//! The search for the rows that the server refuses among rows that it takes or refuses together.
//!
//! The caller sends one segment of rows after the other and reports each answer; [`Bisection`] says which segment is next
//! and which rows are refused. The strategy, in the order of preference:
//!
//! - **Go to the named row.** If the server names the row of a segment that it refused, the rows before it are sent next.
//!   Once these are in, the named row counts as refused without being sent again.
//! - **Halve.** Without a name, half of the rows known to hold a bad one are sent next, down to a single row.
//! - **Double.** While segments are accepted, each is twice as long as the one before. After a refused row they start
//!   short again, because bad rows often stand close together.
//!
//! What holds, whatever the server answers:
//!
//! - Segments start where the accepted and refused rows end. Each row is accepted once or refused once, in order, and is
//!   refused only after every row before it is settled: one bad row can be the reason for another.
//! - A row that the server refuses together with anything is never accepted.
//! - A row that is not bad is refused only if the server names it while all rows before it are good. PostgreSQL does not:
//!   it reads rows in order, so the name may be late (with rows that are buffered) but not early.
//! - A name is a hint. One outside the segment counts as none. Once the rows before a named row are refused too, the name
//!   was wrong, and until the next row is refused a name is followed only if that at least halves the segment.
//! - `k` refused rows among `n` take at most `k * (3 * log2(n / k) + 10) + log2(n) + 2` segments. Where all names are true,
//!   each refused row takes two, and one for each doubling of [`SHORT_SEGMENT`] up to the distance between bad rows.

use std::ops::Range;

/// The length of the first segment after a row that the server named. A bad row costs the rows behind it in the segment
/// once more, so it is short; but a name makes finding the next bad row cheap, so it is more than one row.
const SHORT_SEGMENT: usize = 32;

/// A search under way. Rows are numbered from 0; `E` is what the server said about a row.
#[derive(Debug)]
pub(crate) struct Bisection<E> {
    rows: usize,
    /// The first row that is neither accepted nor refused.
    next: usize,
    /// How many rows to send next; there may be fewer left.
    size: usize,
    /// A bad row stands before this one, unless this is not behind `next`.
    bad_before: usize,
    /// The row that the server named, while the rows before it are sent.
    named: Option<(usize, E)>,
    /// The server named a wrong row since a row was last refused.
    doubts_names: bool,
    /// The first row behind the last refused one.
    clean_from: usize,
}

impl<E> Bisection<E> {
    /// Starts a search among `rows` rows, whose first segment is all of them.
    pub(crate) fn new(rows: usize) -> Self {
        Bisection {
            rows,
            next: 0,
            size: rows,
            bad_before: 0,
            named: None,
            doubts_names: false,
            clean_from: 0,
        }
    }

    /// Starts a search among rows that the server refused together: the first segment is half of them.
    pub(crate) fn of_refused(rows: usize) -> Self {
        Bisection { size: half(rows), bad_before: rows, ..Bisection::new(rows) }
    }

    /// The rows to send next; `None` when every row is accepted or refused.
    pub(crate) fn segment(&self) -> Option<Range<usize>> {
        let end = self.rows.min(self.next.saturating_add(self.size));
        (self.next < end).then_some(self.next..end)
    }

    /// Notes that the server accepted the segment. Returns the row behind it, and what the server said about it, if that
    /// is refused now.
    #[must_use = "a refused row is reported once"]
    pub(crate) fn accepted(&mut self) -> Option<(usize, E)> {
        let sent = self.segment()?;
        self.next = sent.end;
        if let Some((_, error)) = self.named.take() {
            return Some(self.refuse(error, (2 * sent.len()).max(SHORT_SEGMENT)));
        }
        self.size = match self.bad_before.checked_sub(self.next) {
            None | Some(0) => sent.len().saturating_mul(2),
            Some(suspects) => half(suspects),
        };
        None
    }

    /// Notes that the server refused the segment with `error`, where it may have `named` a row, counted from 0 at the start
    /// of the segment. Returns the row if that tells which one is refused.
    #[must_use = "a refused row is reported once"]
    pub(crate) fn refused(&mut self, named: Option<usize>, error: E) -> Option<(usize, E)> {
        let sent = self.segment()?;
        self.doubts_names |= self.named.take().is_some();
        let furthest = if self.doubts_names { sent.len() / 2 } else { sent.len() - 1 };
        match named.filter(|row| *row <= furthest) {
            Some(0) => Some(self.refuse(error, SHORT_SEGMENT)),
            Some(row) => {
                self.named = Some((sent.start + row, error));
                self.size = row;
                None
            }
            None if sent.len() > 1 => {
                self.bad_before = sent.end;
                self.size = half(sent.len());
                None
            }
            // The next bad row is probably about as far away as this one was.
            None => Some(self.refuse(error, half(self.next - self.clean_from))),
        }
    }

    /// Refuses the next row; `size` is that of the segment behind it.
    fn refuse(&mut self, error: E, size: usize) -> (usize, E) {
        let row = self.next;
        self.next += 1;
        self.clean_from = self.next;
        self.bad_before = 0;
        self.doubts_names = false;
        self.size = size;
        (row, error)
    }
}

/// Half of `rows`, but one at least.
fn half(rows: usize) -> usize {
    (rows / 2).max(1)
}

#[cfg(test)]
mod tests;
