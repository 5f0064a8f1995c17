//! PostgreSQL's binary COPY format, written by hand: the benchmark's floor must not depend on the encoder under test.

use std::io::{self, Write};

use super::decimal::gauge;
use super::file::BUFFER;
use super::value::{Sink, Value};

/// Signature, flags and length of the header extension.
pub(crate) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The field count that ends a file.
pub(crate) const TRAILER: &[u8] = &[0xff, 0xff];

/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL's timestamps begin.
const POSTGRES_EPOCH: i64 = 946_684_800;

/// The OID of text, which an array names as the type of its elements.
const TEXT: i32 = 25;

/// Writes the file's header, rows, and at the end its trailer.
pub(super) struct CopyBinary<'a, W: Write> {
    out: &'a mut W,
    buffer: Vec<u8>,
    written: u64,
}

impl<'a, W: Write> CopyBinary<'a, W> {
    pub(super) fn new(out: &'a mut W) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(HEADER);
        CopyBinary { out, buffer, written: 0 }
    }

    /// Writes what is left and the trailer. Returns the number of bytes of the whole file.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.buffer.extend_from_slice(TRAILER);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.written + self.buffer.len() as u64)
    }
}

impl<W: Write> Sink for CopyBinary<'_, W> {
    fn begin(&mut self, columns: usize) {
        let columns = i16::try_from(columns).expect("a data set has a few columns");
        self.buffer.extend_from_slice(&columns.to_be_bytes());
    }

    fn put(&mut self, value: Value<'_>) {
        let out = &mut self.buffer;
        match value {
            Value::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
            Value::Boolean(value) => push_bytes(out, &[u8::from(value)]),
            Value::Smallint(value) => push_bytes(out, &value.to_be_bytes()),
            Value::Integer(value) => push_bytes(out, &value.to_be_bytes()),
            Value::Bigint(value) => push_bytes(out, &value.to_be_bytes()),
            Value::Gauge { scaled, decimals } => {
                push_bytes(out, &gauge(scaled, decimals).to_bits().to_be_bytes());
            }
            Value::Double(value) => push_bytes(out, &value.to_bits().to_be_bytes()),
            Value::Numeric { scaled, scale } => push_numeric(out, scaled, scale),
            Value::Timestamptz(micros) => {
                push_bytes(out, &(micros - POSTGRES_EPOCH * 1_000_000).to_be_bytes());
            }
            Value::Uuid(bytes) => push_bytes(out, &bytes),
            Value::Text(text) => push_bytes(out, text),
            Value::Jsonb(text) => {
                // The wire form of jsonb is its text behind a version byte.
                push_length(out, text.len() + 1);
                out.push(1);
                out.extend_from_slice(text);
            }
            Value::TextArray(elements) => push_array(out, elements),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER / 2 {
            self.out.write_all(&self.buffer)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn push_bytes(out: &mut Vec<u8>, value: &[u8]) {
    push_length(out, value.len());
    out.extend_from_slice(value);
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    let length = i32::try_from(length).expect("a generated value fits a field");
    out.extend_from_slice(&length.to_be_bytes());
}

/// Digits in base 10,000, the last group holding the decimals.
fn push_numeric(out: &mut Vec<u8>, scaled: i64, scale: u32) {
    let unit = 10_u64.pow(scale);
    let (mut whole, fraction) = (scaled.unsigned_abs() / unit, scaled.unsigned_abs() % unit);
    let mut groups = vec![small(fraction * 10_u64.pow(4 - scale))];
    while whole > 0 {
        groups.push(small(whole % 10_000));
        whole /= 10_000;
    }
    groups.reverse();
    // With nothing before the point the one group is of weight -1.
    let weight = small(groups.len() as u64) - 2;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let sign: u16 = if scaled < 0 { 0x4000 } else { 0 };
    push_length(out, 8 + 2 * groups.len());
    out.extend_from_slice(&small(groups.len() as u64).to_be_bytes());
    out.extend_from_slice(&(if groups.is_empty() { 0 } else { weight }).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&small(u64::from(scale)).to_be_bytes());
    groups.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
}

fn small(number: u64) -> i16 {
    i16::try_from(number).expect("a group of digits is below 10,000")
}

fn push_array(out: &mut Vec<u8>, elements: &[Option<&[u8]>]) {
    let start = out.len();
    push_length(out, 0);
    let int = |out: &mut Vec<u8>, value: i32| out.extend_from_slice(&value.to_be_bytes());
    int(out, i32::from(!elements.is_empty()));
    int(out, i32::from(elements.contains(&None)));
    int(out, TEXT);
    if !elements.is_empty() {
        push_length(out, elements.len());
        int(out, 1);
    }
    for element in elements {
        match element {
            Some(text) => push_bytes(out, text),
            None => int(out, -1),
        }
    }
    let length = i32::try_from(out.len() - start - 4).expect("a generated array fits a field");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
