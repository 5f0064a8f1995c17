//! Rows as CSV in the dialect of COPY's defaults: an unquoted empty field is NULL, a quoted one the empty string.

use std::io::{self, Write};

use super::decimal::{push_fixed, push_instant, push_integer, push_scaled};
use super::file::BUFFER;
use super::set::Dataset;
use super::value::{Sink, Value, push_array, push_uuid};

/// How a file spells an instant. Both are read alike; loaders must know both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `2025-01-01T00:00:00Z`
    Iso8601,
    /// `2025-01-01 00:00:00+00`
    Sql,
}

/// Writes a header line and then rows.
pub(super) struct Csv<'a, W: Write> {
    out: &'a mut W,
    buffer: Vec<u8>,
    written: u64,
    spelling: Spelling,
    scratch: Vec<u8>,
}

impl<'a, W: Write> Csv<'a, W> {
    pub(super) fn new(dataset: Dataset, out: &'a mut W) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(dataset.header().as_bytes());
        buffer.push(b'\n');
        let spelling = match dataset {
            Dataset::GithubEvents => Spelling::Iso8601,
            _ => Spelling::Sql,
        };
        Csv { out, buffer, written: 0, spelling, scratch: Vec::new() }
    }

    /// Writes what is left. Returns the number of bytes of the whole file.
    pub(super) fn finish(self) -> io::Result<u64> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.written + self.buffer.len() as u64)
    }
}

impl<W: Write> Sink for Csv<'_, W> {
    fn begin(&mut self, _: usize) {}

    fn put(&mut self, value: Value<'_>) {
        let out = &mut self.buffer;
        match value {
            Value::Null => {}
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Smallint(value) => push_integer(out, value),
            Value::Integer(value) => push_integer(out, value),
            Value::Bigint(value) => push_integer(out, value),
            Value::Gauge { scaled, decimals } => push_scaled(out, scaled, decimals),
            Value::Double(value) => {
                // Writing into a vector cannot fail. The digits are the fewest that lead back to the same float8.
                let _ = write!(out, "{value:?}");
            }
            Value::Numeric { scaled, scale } => push_fixed(out, scaled, scale),
            Value::Timestamptz(micros) => match self.spelling {
                Spelling::Iso8601 => push_instant(out, micros, b'T', b"Z"),
                Spelling::Sql => push_instant(out, micros, b' ', b"+00"),
            },
            Value::Uuid(bytes) => push_uuid(out, bytes),
            Value::Text(text) | Value::Jsonb(text) => push_text(out, text),
            Value::TextArray(elements) => {
                self.scratch.clear();
                push_array(&mut self.scratch, elements);
                push_text(out, &self.scratch);
            }
        }
        out.push(b',');
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(last) = self.buffer.last_mut() {
            *last = b'\n'; // the comma behind the last field
        }
        if self.buffer.len() >= BUFFER / 2 {
            self.out.write_all(&self.buffer)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    let plain = !text.is_empty()
        && memchr::memchr3(b'"', b',', b'\n', text).is_none()
        && memchr::memchr2(b'\r', b'\\', text).is_none();
    if plain {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    let mut copied = 0;
    for quote in memchr::memchr_iter(b'"', text) {
        out.extend_from_slice(&text[copied..=quote]);
        copied = quote; // the quote is copied a second time
    }
    out.extend_from_slice(&text[copied..]);
    out.push(b'"');
}
