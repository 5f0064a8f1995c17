//! The forms in which rows travel to the server.

use crate::source::Eol;

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

/// Marks a default in our own text rows: no escaped value can look like it.
pub(crate) const DEFAULT_MARKER: &[u8] = b"\\D";
