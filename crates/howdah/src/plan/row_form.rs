//! The forms in which rows travel to the server.

use std::ops::Range;

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
                RowForm::Binary => binary_row_end(bytes, start),
            };
            let end = end.unwrap_or(bytes.len());
            ranges.push(start..end);
            start = end;
        }
        ranges
    }
}

/// The end of the binary row at `start`: a count of fields, then each with its length, -1 for NULL.
fn binary_row_end(bytes: &[u8], start: usize) -> Option<usize> {
    let count = u16::from_be_bytes(*bytes.get(start..)?.first_chunk()?);
    let mut at = start + 2;
    for _ in 0..count {
        let length = i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        at += 4 + usize::try_from(length).unwrap_or(0);
    }
    Some(at)
}

/// Marks a default in our own text rows: no escaped value can look like it.
pub(crate) const DEFAULT_MARKER: &[u8] = b"\\D";
