//! Fields of COPY's text format: written as `COPY TO` escapes them, read by the rules of `COPY FROM`.

use memchr::memchr;

/// The text format's NULL by default.
pub const NULL: &[u8] = b"\\N";

/// Bytes looked at together: wide enough for two vector registers, short enough for short fields.
const STRIDE: usize = 32;

/// Appends `value` with backslash, backspace, tab, newline, vertical tab, form feed and carriage return escaped.
/// Delimiter and line end are the caller's.
#[inline]
pub fn put_field(out: &mut Vec<u8>, value: &[u8]) {
    let mut rest = value;
    while let Some((stride, after)) = rest.split_first_chunk::<STRIDE>() {
        if stride.iter().fold(false, |found, &byte| found | needs_escape(byte)) {
            put_escaped(out, stride);
        } else {
            out.extend_from_slice(stride);
        }
        rest = after;
    }
    put_escaped(out, rest);
}

#[inline]
fn needs_escape(byte: u8) -> bool {
    byte == b'\\' || byte.wrapping_sub(8) <= 5
}

#[inline]
fn put_escaped(out: &mut Vec<u8>, mut value: &[u8]) {
    while let Some(at) = value.iter().position(|&byte| needs_escape(byte)) {
        out.extend_from_slice(&value[..at]);
        let escape = match value[at] {
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            11 => b'v',
            12 => b'f',
            b'\r' => b'r',
            other => other,
        };
        out.extend_from_slice(&[b'\\', escape]);
        value = &value[at + 1..];
    }
    out.extend_from_slice(value);
}

/// Appends what `COPY FROM` reads in a field: `\b \f \n \r \t \v`, up to three octal digits, `\x` with one or two
/// hexadecimal digits; any other byte after a backslash stands for itself and a lone last backslash for nothing.
/// Whether the field is NULL is decided on the raw bytes, before this.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let Some((&escape, mut after)) = rest[at + 1..].split_first() else { return };
        let byte = match escape {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => take_digits(escape - b'0', 2, 8, &mut after),
            b'x' if after.first().is_some_and(u8::is_ascii_hexdigit) => take_digits(0, 2, 16, &mut after),
            itself => itself,
        };
        out.push(byte);
        rest = after;
    }
    out.extend_from_slice(rest);
}

/// Continues `start` with at most `most` digits of the radix; like the server, keeps the low eight bits.
fn take_digits(start: u8, most: usize, radix: u8, rest: &mut &[u8]) -> u8 {
    let mut value = start;
    for _ in 0..most {
        let Some((&first, after)) = rest.split_first() else { break };
        let digit = match first {
            b'0'..=b'9' => first - b'0',
            b'a'..=b'f' => first - b'a' + 10,
            b'A'..=b'F' => first - b'A' + 10,
            _ => break,
        };
        if digit >= radix {
            break;
        }
        value = value.wrapping_mul(radix).wrapping_add(digit);
        *rest = after;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_field(&mut out, value);
        out
    }

    fn read(raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        unescape(raw, &mut out);
        out
    }

    #[test]
    fn bytes_that_would_end_a_field_or_row_are_escaped() {
        assert_eq!(escaped(b"a\\b\t\n\r\x08\x0b\x0c-"), b"a\\\\b\\t\\n\\r\\b\\v\\f-");
        assert_eq!(escaped("é\x07\x0e".as_bytes()), "é\x07\x0e".as_bytes());
        assert_eq!(escaped(b"\\N"), b"\\\\N");
    }

    #[test]
    fn escapes_are_read_as_copy_from_reads_them() {
        assert_eq!(read(b"a\\tb\\nc\\\\d\\N\\."), b"a\tb\nc\\dN.");
        assert_eq!(read(b"\\101\\1011\\18\\7777"), b"AA1\x018\xff7");
        assert_eq!(read(b"\\x41\\x4g\\xg\\x414\\X41"), b"A\x04gxgA4X41");
        assert_eq!(read(b"end\\"), b"end");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in prop::collection::vec(any::<u8>(), 0..200)) {
            let raw = escaped(&value);
            prop_assert!(!raw.iter().any(|&b| (8..=13).contains(&b)));
            prop_assert_eq!(read(&raw), value);
        }

        #[test]
        fn reading_never_panics(raw in prop::collection::vec(prop::sample::select(b"\\x07nNag8".to_vec()), 0..40)) {
            read(&raw);
        }
    }
}
