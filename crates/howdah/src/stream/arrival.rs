//! A read of a stream, and what it brought.

use std::io::{self, Read};

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

/// Appends what one read gives, `most` bytes at most; how many.
pub(super) fn read_some(reader: &mut impl Read, held: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let before = held.len();
    held.resize(before + most, 0);
    let got = loop {
        match reader.read(&mut held[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    held.truncate(before + *got.as_ref().unwrap_or(&0));
    got
}
