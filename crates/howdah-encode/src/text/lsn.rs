//! `pg_lsn`: two hexadecimal numbers of up to eight digits with a slash between.

use super::digits::{NOT_HEX, hex_value};
use crate::verdict::NotEncoded;

#[inline(never)]
pub(super) fn parse_lsn(literal: &[u8]) -> Result<u64, NotEncoded> {
    let at = memchr::memchr(b'/', literal);
    let halves = at.and_then(|at| Some((half(&literal[..at])?, half(&literal[at + 1..])?)));
    match halves {
        Some((high, low)) => Ok(u64::from(high) << 32 | u64::from(low)),
        None => Err(NotEncoded::syntax("pg_lsn", literal)),
    }
}

fn half(digits: &[u8]) -> Option<u32> {
    if !(1..=8).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| match hex_value(*digit) {
        NOT_HEX => None,
        digit => Some(value << 4 | u32::from(digit)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_the_server_prints_them() {
        for (text, lsn) in [
            ("0/0", 0),
            ("16/B374D848", 0x16_b374_d848),
            ("00000001/00000002", 1 << 32 | 2),
            ("FFFFFFFF/ffffffff", u64::MAX),
        ] {
            assert_eq!(parse_lsn(text.as_bytes()), Ok(lsn), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "/", "0/", "/0", "0", "0/0/0", " 0/0", "0/0 ", "123456789/0", "0/123456789", "-1/0", "G/0"]
        {
            let Err(NotEncoded::Invalid(invalid)) = parse_lsn(text.as_bytes()) else {
                panic!("{text} was read")
            };
            assert_eq!(invalid.reason, format!("invalid input syntax for type pg_lsn: \"{text}\""));
        }
        assert_eq!(parse_lsn("0/٣".as_bytes()), Err(NotEncoded::Unsure));
    }
}
