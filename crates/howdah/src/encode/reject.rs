//! A record that is not a row, with what is kept of it.

use crate::error::Error;

/// A rejected record.
#[derive(Debug)]
pub(crate) struct Reject {
    /// Where and why.
    pub(crate) error: Error,
    /// The record's bytes as they stood in the input, decompressed and in UTF-8, without the line end.
    pub(crate) raw: Vec<u8>,
}
