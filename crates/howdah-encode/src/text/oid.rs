//! `oid`: plain decimal digits. Signs, leading zeros and other bases mean different things to different versions.

use super::space::trimmed;
use crate::verdict::NotEncoded;

const TYPE_NAME: &str = "oid";

#[inline]
pub(super) fn parse_oid(literal: &[u8]) -> Result<u32, NotEncoded> {
    let digits = trimmed(literal);
    if !plain(digits) {
        return Err(refusal(literal, digits));
    }
    digits
        .iter()
        .try_fold(0_u32, |value, byte| value.checked_mul(10)?.checked_add(u32::from(byte - b'0')))
        .ok_or_else(|| too_large(literal, digits))
}

/// The server takes the largest numbers of 64 bits for negative ones, which are oids: 18446744073709551615 is -1.
#[cold]
fn too_large(literal: &[u8], digits: &[u8]) -> NotEncoded {
    const DIGITS_OF_64_BITS: usize = 20;
    if digits.len() == DIGITS_OF_64_BITS {
        return NotEncoded::Unsure;
    }
    NotEncoded::out_of_range(TYPE_NAME, literal)
}

/// Whether there are digits only, the first of them no zero that another follows.
#[inline]
fn plain(digits: &[u8]) -> bool {
    let starts_well = matches!(digits, [b'0'] | [b'1'..=b'9', ..]);
    starts_well && digits.iter().all(u8::is_ascii_digit)
}

/// Digits that are certainly no number out of range.
const CERTAIN_DIGITS: usize = 9;

#[cold]
fn refusal(literal: &[u8], text: &[u8]) -> NotEncoded {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match text {
        [b'0' | b'+' | b'-', ..] => NotEncoded::Unsure,
        // Whether the complaint is of the size or of what follows depends on the platform.
        _ if digits > CERTAIN_DIGITS => NotEncoded::Unsure,
        _ => NotEncoded::syntax(TYPE_NAME, literal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (&'static str, String) {
        match parse_oid(text.as_bytes()) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("{text} was not refused: {other:?}"),
        }
    }

    #[test]
    fn every_oid_reads_back() {
        for (text, oid) in [("0", 0), (" 16384\n", 16_384), ("2147483648", 1 << 31), ("4294967295", u32::MAX)]
        {
            assert_eq!(parse_oid(text.as_bytes()), Ok(oid));
        }
    }

    #[test]
    fn what_is_no_oid_is_refused_in_the_servers_words() {
        for text in ["", " ", "abc", "x1", "(1)", "1x", "1 2", "1.5", "999999999x"] {
            assert_eq!(refused(text), ("22P02", format!("invalid input syntax for type oid: \"{text}\"")));
        }
        for text in ["4294967296", "99999999999999999999999"] {
            assert_eq!(refused(text), ("22003", format!("value \"{text}\" is out of range for type oid")));
        }
    }

    #[test]
    fn forms_that_depend_on_the_version_are_left_to_the_server() {
        let wraps = "18446744073709551615";
        for text in ["010", "0x1F", "-1", "+1", "9999999999x", "0b1", "-", "\u{a0}1", wraps] {
            assert_eq!(parse_oid(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
    }
}
