//! The forms in which rows travel to the server.

use std::ops::Range;

use howdah_encode::binary_row::BinaryRow;
use howdah_source::Eol;

/// The forms rows travel in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RowForm {
    /// COPY BINARY tuples.
    Binary,
    /// COPY text lines.
    Text,
    /// The input's own CSV; one COPY takes one kind of line end.
    Csv(Eol),
}

impl RowForm {
    /// Where each row lies in `bytes`, which are whole rows.
    pub(crate) fn row_ranges(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = match self {
                RowForm::Text | RowForm::Csv(_) => {
                    memchr::memchr(b'\n', &bytes[start..]).map(|at| start + at + 1)
                }
                // What is broken is one row with all that follows: whoever reads its fields finds it out.
                RowForm::Binary => {
                    let behind = BinaryRow::new(&bytes[start..]).and_then(BinaryRow::behind);
                    behind.ok().map(|behind| bytes.len() - behind.len())
                }
            };
            let end = end.unwrap_or(bytes.len());
            ranges.push(start..end);
            start = end;
        }
        ranges
    }
}

/// Marks a default in our own text rows: no escaped value can look like it.
pub(crate) const DEFAULT_MARKER: &[u8] = b"\\D";
