//! What a read of a stream brought.

use std::io;

use crate::error::{Error, ErrorKind};

/// What came of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Bytes.
    Bytes,
    /// Nothing yet.
    Nothing,
    /// Nothing ever again.
    End,
    /// The file was put aside and is read to its end; what comes is another.
    NextFile,
    /// The file was cut off: what comes is its new start, and the end of what was read last is lost.
    Truncated,
}

pub(super) fn cannot_read(name: &str, error: io::Error) -> Error {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let name = if name == "-" { "standard input" } else { name };
    Error::new(ErrorKind::Source, format!("cannot read {name}: {text}")).caused_by(error)
}
