//! `bit` and `bit varying`: binary digits, or hexadecimal ones behind an `x`.

use super::digits::{NOT_HEX, hex_value};
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// The column's limit from its modifier, which is the number of bits itself.
pub(super) fn limit(typmod: i32) -> Option<u32> {
    u32::try_from(typmod).ok().filter(|bits| *bits > 0)
}

/// `bit(n)`: exactly `n` bits.
#[inline(never)]
pub(super) fn put_bit(literal: &[u8], length: Option<u32>, out: &mut Vec<u8>) -> Verdict {
    put(literal, out, |bits| match length {
        Some(length) if bits != length => {
            let reason = format!("bit string length {bits} does not match type bit({length})");
            Err(NotEncoded::invalid("22026", reason))
        }
        _ => Ok(()),
    })
}

/// `bit varying(n)`: at most `n` bits.
#[inline(never)]
pub(super) fn put_varbit(literal: &[u8], limit: Option<u32>, out: &mut Vec<u8>) -> Verdict {
    put(literal, out, |bits| match limit {
        Some(limit) if bits > limit => {
            let reason = format!("bit string too long for type bit varying({limit})");
            Err(NotEncoded::invalid("22001", reason))
        }
        _ => Ok(()),
    })
}

/// Most digits decided here: the server's limit on bits is about 2^31, and hexadecimal digits reach it first.
const MAX_DIGITS: usize = (1 << 31) / 4 - 2;

/// The length is judged before the digits, as the server does.
#[inline]
fn put(literal: &[u8], out: &mut Vec<u8>, check: impl Fn(u32) -> Verdict) -> Verdict {
    let (hexadecimal, digits) = match literal {
        [b'x' | b'X', digits @ ..] => (true, digits),
        [b'b' | b'B', digits @ ..] => (false, digits),
        _ => (false, literal),
    };
    let per_digit = if hexadecimal { 4 } else { 1 };
    let bits = match u32::try_from(digits.len()) {
        Ok(count) if digits.len() <= MAX_DIGITS => per_digit * count,
        _ => return Err(NotEncoded::Unsure),
    };
    let start = out.len();
    let verdict = check(bits).and_then(|()| {
        out.extend_from_slice(&wire::field_length(
            4 + digits.len().div_ceil(if hexadecimal { 2 } else { 8 }),
        )?);
        out.extend_from_slice(&bits.to_be_bytes());
        if hexadecimal { push_hexadecimal(digits, out) } else { push_binary(digits, out) }
    });
    verdict.map_err(|refusal| {
        out.truncate(start);
        // Bytes of other characters are counted in the encoding of the database.
        if literal.is_ascii() { refusal } else { NotEncoded::Unsure }
    })
}

fn push_binary(digits: &[u8], out: &mut Vec<u8>) -> Verdict {
    let (eights, rest) = digits.as_chunks::<8>();
    let mut seen = 0;
    out.extend(eights.iter().map(|eight| {
        let (byte, odd) = gathered(*eight);
        seen |= odd;
        byte
    }));
    if !rest.is_empty() {
        let mut last = [b'0'; 8];
        last[..rest.len()].copy_from_slice(rest);
        let (byte, odd) = gathered(last);
        seen |= odd;
        out.push(byte);
    }
    if seen == 0 { Ok(()) } else { Err(no_digit(digits, "binary", |byte| matches!(byte, b'0' | b'1'))) }
}

/// Eight binary digits as a byte, and what is not zero when one of them is no digit.
#[inline]
fn gathered(digits: [u8; 8]) -> (u8, u64) {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Moves the bit of the n-th byte to the n-th highest bit of the product; no two bits meet below it.
    const GATHER: u64 = 0x8040_2010_0804_0201;
    let word = u64::from_le_bytes(digits) ^ ZEROS;
    let [byte, ..] = (word & ONES).wrapping_mul(GATHER).to_be_bytes();
    (byte, word & !ONES)
}

fn push_hexadecimal(digits: &[u8], out: &mut Vec<u8>) -> Verdict {
    let (pairs, odd) = digits.as_chunks::<2>();
    let mut seen = 0;
    out.extend(pairs.iter().map(|pair| {
        let [high, low] = pair.map(hex_value);
        seen |= high | low;
        high << 4 | low
    }));
    if let [last] = odd {
        seen |= hex_value(*last);
        out.push(hex_value(*last) << 4);
    }
    if seen < NOT_HEX { Ok(()) } else { Err(no_digit(digits, "hexadecimal", u8::is_ascii_hexdigit)) }
}

/// Names the first character that is no digit.
#[cold]
fn no_digit(digits: &[u8], kind: &str, is_digit: impl Fn(&u8) -> bool) -> NotEncoded {
    // The digits were read once and found wanting, so there is such a byte; without one the server is asked.
    let Some(found) = digits.iter().find(|byte| !is_digit(byte)).copied().map(char::from) else {
        return NotEncoded::Unsure;
    };
    NotEncoded::invalid("22P02", format!("\"{found}\" is not a valid {kind} digit"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = b"row".to_vec();
        let verdict = put_varbit(literal.as_bytes(), Some(40), &mut out);
        if verdict.is_err() {
            assert_eq!(out, b"row", "a refused literal left bytes behind");
        }
        verdict.map(|()| out[7..].to_vec())
    }

    fn refusal(verdict: Verdict) -> (&'static str, String) {
        match verdict {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn binary_and_hexadecimal_digits_are_read() {
        for (literal, bits, bytes) in [
            ("", 0, &[][..]),
            ("b", 0, &[]),
            ("1", 1, &[0x80]),
            ("B0101", 4, &[0x50]),
            ("1000000110000001", 16, &[0x81, 0x81]),
            ("00000000001", 11, &[0, 0x20]),
            ("x", 0, &[]),
            ("XaF5", 12, &[0xaf, 0x50]),
            ("x0123456789", 40, &[1, 0x23, 0x45, 0x67, 0x89]),
        ] {
            let expected: Vec<u8> = [&[0, 0, 0, bits], bytes].concat();
            assert_eq!(encoded(literal), Ok(expected), "{literal}");
        }
    }

    #[test]
    fn the_length_is_judged_before_the_digits_and_in_the_servers_words() {
        let out = &mut Vec::new();
        let reason = "bit string length 4 does not match type bit(5)".to_owned();
        assert_eq!(refusal(put_bit(b"102a", Some(5), out)), ("22026", reason));
        let reason = "bit string too long for type bit varying(3)".to_owned();
        assert_eq!(refusal(put_varbit(b"xg", Some(3), out)), ("22001", reason));
        let reason = "\" \" is not a valid binary digit".to_owned();
        assert_eq!(refusal(put_bit(b"1010 ", Some(5), out)), ("22P02", reason));
        let reason = "\"2\" is not a valid binary digit".to_owned();
        assert_eq!(refusal(put_varbit(b"111111112", None, out)), ("22P02", reason));
        let reason = "\"g\" is not a valid hexadecimal digit".to_owned();
        assert_eq!(refusal(put_varbit(b"xfg", None, out)), ("22P02", reason));
        assert!(out.is_empty());
    }

    #[test]
    fn characters_outside_ascii_are_left_to_the_server() {
        for literal in ["1é", "xé", "éééééééééééééééééééééééé"] {
            assert_eq!(encoded(literal), Err(NotEncoded::Unsure), "{literal}");
        }
    }

    #[test]
    fn the_modifier_is_the_number_of_bits() {
        assert_eq!((limit(5), limit(0), limit(-1)), (Some(5), None, None));
    }

    proptest! {
        #[test]
        fn all_bits_read_back(bits in prop::collection::vec(any::<bool>(), 0..40)) {
            let literal: String = bits.iter().map(|bit| if *bit { '1' } else { '0' }).collect();
            let field = encoded(&literal).unwrap();
            prop_assert_eq!(usize::from(field[3]), bits.len());
            prop_assert_eq!(field.len(), 4 + bits.len().div_ceil(8));
            for (at, bit) in bits.iter().enumerate() {
                prop_assert_eq!(field[4 + at / 8] >> (7 - at % 8) & 1 == 1, *bit);
            }
        }
    }
}
