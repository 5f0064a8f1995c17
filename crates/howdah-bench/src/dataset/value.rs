//! One value of a generated row, and what takes such values: a file format or a checksum.

use std::io;

/// A value of one of the types that the data sets have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    Smallint(i16),
    Integer(i32),
    Bigint(i64),
    /// `scaled / 10^decimals` as a float8: both are exact, so that the quotient is the nearest float8 to the decimal.
    Gauge {
        scaled: i32,
        decimals: u32,
    },
    Double(f64),
    /// `scaled / 10^scale` as a numeric; the scale is at most 4.
    Numeric {
        scaled: i64,
        scale: u32,
    },
    /// Microseconds since 1970, UTC.
    Timestamptz(i64),
    Uuid([u8; 16]),
    Text(&'a [u8]),
    /// JSON text.
    Jsonb(&'a [u8]),
    TextArray(&'a [Option<&'a [u8]>]),
}

/// Takes rows value by value.
pub(super) trait Sink {
    /// A row of that many values begins.
    fn begin(&mut self, columns: usize);
    fn put(&mut self, value: Value<'_>);
    /// The row is complete.
    fn end(&mut self) -> io::Result<()>;
}

/// An endless sequence of rows.
pub(super) trait Rows {
    /// Makes the next row the current one.
    fn advance(&mut self);
    /// Hands the current row's values over, in the order of the columns.
    fn emit(&self, sink: &mut impl Sink);
}

/// Appends the text form of a uuid.
pub(super) fn push_uuid(out: &mut Vec<u8>, bytes: [u8; 16]) {
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        push_hex(out, &[byte]);
    }
}

/// Appends two hexadecimal digits a byte.
pub(super) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Appends an array as the server prints it.
pub(super) fn push_array(out: &mut Vec<u8>, elements: &[Option<&[u8]>]) {
    out.push(b'{');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let Some(element) = element else {
            out.extend_from_slice(b"NULL");
            continue;
        };
        let special = |byte: &u8| b"{}\",\\ \t\n\r\x0b\x0c".contains(byte);
        let quoted =
            element.is_empty() || element.eq_ignore_ascii_case(b"null") || element.iter().any(special);
        if !quoted {
            out.extend_from_slice(element);
            continue;
        }
        out.push(b'"');
        for byte in *element {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    out.push(b'}');
}
