//! `bytea`: the hexadecimal form `\x…` and the escape form.

use super::digits::{NOT_HEX, hex_value};
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

#[inline(never)]
pub(super) fn put_literal(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let written = match literal {
        [b'\\', b'x', digits @ ..] => put_hex(digits, out),
        _ => put_escape(literal, out),
    };
    let length = match written.and_then(|()| wire::field_length(out.len() - start - 4)) {
        Ok(length) => length,
        Err(refusal) => {
            out.truncate(start);
            return Err(refusal);
        }
    };
    out[start..start + 4].copy_from_slice(&length);
    Ok(())
}

/// Pairs of digits, mostly with nothing between.
fn put_hex(digits: &[u8], out: &mut Vec<u8>) -> Verdict {
    let (pairs, odd) = digits.as_chunks::<2>();
    let start = out.len();
    let mut seen = 0;
    out.extend(pairs.iter().map(|pair| {
        let [high, low] = pair.map(hex_value);
        seen |= high | low;
        high << 4 | low
    }));
    if seen < NOT_HEX && odd.is_empty() {
        return Ok(());
    }
    out.truncate(start);
    put_spaced_hex(digits, out)
}

/// Blanks, tabs and line ends may stand between pairs.
fn put_spaced_hex(mut digits: &[u8], out: &mut Vec<u8>) -> Verdict {
    while let [first, rest @ ..] = digits {
        if matches!(first, b' ' | b'\n' | b'\t' | b'\r') {
            digits = rest;
            continue;
        }
        let high = hex_value(*first);
        if high == NOT_HEX {
            return Err(hex_refusal(digits));
        }
        let [second, after @ ..] = rest else {
            return Err(NotEncoded::invalid(
                "22023",
                "invalid hexadecimal data: odd number of digits".to_owned(),
            ));
        };
        let low = hex_value(*second);
        if low == NOT_HEX {
            return Err(hex_refusal(rest));
        }
        out.push(high << 4 | low);
        digits = after;
    }
    Ok(())
}

/// Names the whole character that is no digit.
#[cold]
fn hex_refusal(at: &[u8]) -> NotEncoded {
    let text = String::from_utf8_lossy(&at[..at.len().min(4)]);
    let character: String = text.chars().take(1).collect();
    NotEncoded::invalid("22023", format!("invalid hexadecimal digit: \"{character}\""))
}

/// `\\` and three octal digits; every other byte stands for itself. What bytes a character outside ASCII becomes
/// depends on the encoding of the database.
fn put_escape(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    if !literal.is_ascii() {
        return Err(NotEncoded::Unsure);
    }
    let mut rest = literal;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (byte, length) = match &rest[at..] {
            [_, b'\\', ..] => (b'\\', 2),
            [_, a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                (((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), 4)
            }
            _ => {
                return Err(NotEncoded::invalid("22P02", "invalid input syntax for type bytea".to_owned()));
            }
        };
        out.push(byte);
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = b"before".to_vec();
        let verdict = put_literal(literal.as_bytes(), &mut out);
        if verdict.is_err() {
            assert_eq!(out, b"before", "a refused literal left bytes behind");
        }
        verdict.map(|()| out[10..].to_vec())
    }

    fn refusal(literal: &str) -> (&'static str, String) {
        match encoded(literal) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn white_space_is_allowed_between_pairs_and_nowhere_else() {
        assert_eq!(encoded("\\xDEad bE\n\teF "), Ok(vec![0xde, 0xad, 0xbe, 0xef]));
        assert_eq!(encoded("\\x"), Ok(vec![]));
        assert_eq!(refusal("\\xa b"), ("22023", "invalid hexadecimal digit: \" \"".to_owned()));
        assert_eq!(refusal("\\xab\u{b}"), ("22023", "invalid hexadecimal digit: \"\u{b}\"".to_owned()));
        assert_eq!(refusal("\\xaé"), ("22023", "invalid hexadecimal digit: \"é\"".to_owned()));
        assert_eq!(refusal("\\xabc"), ("22023", "invalid hexadecimal data: odd number of digits".to_owned()));
    }

    #[test]
    fn the_escape_form_knows_octal_and_the_backslash_only() {
        assert_eq!(encoded(r"a\\b\000\377"), Ok(b"a\\b\0\xff".to_vec()));
        assert_eq!(encoded(""), Ok(vec![]));
        for bad in ["\\", "a\\n", "\\400", "\\08", "\\12", "\\X00"] {
            assert_eq!(refusal(bad), ("22P02", "invalid input syntax for type bytea".to_owned()), "{bad}");
        }
        assert_eq!(encoded("é"), Err(NotEncoded::Unsure));
    }

    proptest! {
        #[test]
        fn all_bytes_read_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(encoded(&format!("\\x{hex}")), Ok(bytes.clone()));
            let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
            prop_assert_eq!(encoded(&octal), Ok(bytes));
        }
    }
}
