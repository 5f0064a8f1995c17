//! Where a record stands in the bytes it was read from, or why there is none.

/// One record, as a range of the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte, without the line end.
    pub end: usize,
    /// Physical lines of the piece before this record.
    pub lines_before: u32,
}

/// A record that COPY would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The record.
    pub span: Span,
    /// In PostgreSQL's words.
    pub reason: &'static str,
}
