//! Rows as NDJSON: an object a line, keys in the order of the columns, NULL as `null`.

use std::io::{self, Write};

use super::decimal::{push_fixed, push_instant, push_integer, push_scaled};
use super::file::BUFFER;
use super::set::Dataset;
use super::value::{Sink, Value, push_uuid};

/// Writes an object a row.
pub(super) struct Ndjson<'a, W: Write> {
    out: &'a mut W,
    buffer: Vec<u8>,
    written: u64,
    keys: Vec<&'static str>,
    /// The key of the next value.
    at: usize,
}

impl<'a, W: Write> Ndjson<'a, W> {
    pub(super) fn new(dataset: Dataset, out: &'a mut W) -> Self {
        let keys = dataset.columns().iter().map(|(name, _)| *name).collect();
        Ndjson { out, buffer: Vec::with_capacity(BUFFER), written: 0, keys, at: 0 }
    }

    /// Writes what is left. Returns the number of bytes of the whole file.
    pub(super) fn finish(self) -> io::Result<u64> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.written + self.buffer.len() as u64)
    }
}

impl<W: Write> Sink for Ndjson<'_, W> {
    fn begin(&mut self, _: usize) {
        self.at = 0;
    }

    fn put(&mut self, value: Value<'_>) {
        let out = &mut self.buffer;
        out.push(if self.at == 0 { b'{' } else { b',' });
        out.push(b'"');
        out.extend_from_slice(self.keys[self.at].as_bytes());
        out.extend_from_slice(b"\":");
        self.at += 1;
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Value::Smallint(value) => push_integer(out, value),
            Value::Integer(value) => push_integer(out, value),
            Value::Bigint(value) => push_integer(out, value),
            Value::Gauge { scaled, decimals } => push_scaled(out, scaled, decimals),
            Value::Double(value) if value.is_finite() => {
                // Writing into a vector cannot fail. The digits are the fewest that lead back to the same float8.
                let _ = write!(out, "{value:?}");
            }
            // JSON has no numbers for these; PostgreSQL reads the words.
            Value::Double(value) => {
                let _ = write!(out, "\"{value:?}\"");
            }
            Value::Numeric { scaled, scale } => push_fixed(out, scaled, scale),
            Value::Timestamptz(micros) => {
                out.push(b'"');
                push_instant(out, micros, b'T', b"Z");
                out.push(b'"');
            }
            Value::Uuid(bytes) => {
                out.push(b'"');
                push_uuid(out, bytes);
                out.push(b'"');
            }
            Value::Text(text) => push_string(out, text),
            Value::Jsonb(text) => out.extend_from_slice(text),
            Value::TextArray(elements) => {
                out.push(b'[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    match element {
                        Some(text) => push_string(out, text),
                        None => out.extend_from_slice(b"null"),
                    }
                }
                out.push(b']');
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.buffer.extend_from_slice(b"}\n");
        if self.buffer.len() >= BUFFER / 2 {
            self.out.write_all(&self.buffer)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Appends a JSON string.
fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 => {
                // Writing into a vector cannot fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}
