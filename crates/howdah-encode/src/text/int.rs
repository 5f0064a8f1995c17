//! `smallint`, `integer`, `bigint`: decimal digits with a sign, white space around them.

use std::ops::Range;

use super::digits::{all_digits, load8, load16, signed8_within, value8};
use super::space::trimmed;
use crate::verdict::NotEncoded;

#[inline]
pub(super) fn parse_i16(literal: &[u8]) -> Result<i16, NotEncoded> {
    match short(literal).and_then(|value| i16::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => parse_any(literal, "smallint", i16::MIN.into(), i16::MAX.into()),
    }
}

#[inline]
pub(super) fn parse_i32(literal: &[u8]) -> Result<i32, NotEncoded> {
    match short(literal).and_then(|value| i32::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => parse_any(literal, "integer", i32::MIN.into(), i32::MAX.into()),
    }
}

#[inline]
pub(super) fn parse_i64(literal: &[u8]) -> Result<i64, NotEncoded> {
    match short(literal) {
        Some(value) => Ok(value),
        None => parse_any(literal, "bigint", i64::MIN, i64::MAX),
    }
}

/// One to eight digits, perhaps after a minus sign and nothing else.
#[inline(always)]
pub(super) fn short_i32_within(text: &[u8], range: Range<usize>) -> Option<i32> {
    let (negative, word) = signed8_within(text, range)?;
    if !all_digits(word) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "eight digits are below 2^31")]
    let magnitude = value8(word) as i32;
    Some(if negative { -magnitude } else { magnitude })
}

/// One to sixteen digits, perhaps after a minus sign and nothing else.
#[inline]
fn short(literal: &[u8]) -> Option<i64> {
    let negative = literal.first() == Some(&b'-');
    let digits = &literal[usize::from(negative)..];
    let magnitude = if let Some(word) = load8(digits) {
        if !all_digits(word) {
            return None;
        }
        value8(word)
    } else {
        let (high, low) = load16(digits)?;
        if !(all_digits(high) && all_digits(low)) {
            return None;
        }
        value8(high) * 100_000_000 + value8(low)
    };
    let magnitude = magnitude.cast_signed();
    Some(if negative { -magnitude } else { magnitude })
}

/// All the forms that every version since 15 reads alike.
#[cold]
fn parse_any<T: TryFrom<i64>>(literal: &[u8], type_name: &str, min: i64, max: i64) -> Result<T, NotEncoded> {
    let text = trimmed(literal);
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let syntax = || NotEncoded::syntax(type_name, literal);
    // Since version 16: 0x1F, 0o17, 0b11 and 1_000.
    if digits.contains(&b'_') || matches!(digits, [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]) {
        return Err(NotEncoded::Unsure);
    }
    let junk = !digits.iter().all(u8::is_ascii_digit);
    if digits.first().is_none_or(|first| !first.is_ascii_digit()) {
        return Err(syntax());
    }
    let mut value: i64 = 0;
    for &byte in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(byte - b'0');
        let next = value
            .checked_mul(10)
            .and_then(|v| if negative { v.checked_sub(digit) } else { v.checked_add(digit) });
        match next {
            Some(next) if (min..=max).contains(&next) => value = next,
            // Whether the server complains of the size or of what follows depends on its version.
            _ if junk => return Err(NotEncoded::Unsure),
            _ => return Err(NotEncoded::out_of_range(type_name, literal)),
        }
    }
    if junk {
        return Err(syntax());
    }
    T::try_from(value).map_err(|_| NotEncoded::Unsure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal<T: std::fmt::Debug>(result: Result<T, NotEncoded>) -> (&'static str, String) {
        match result {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn signs_and_white_space_are_read_as_the_server_reads_them() {
        for text in ["42", "+42", " 42 ", "\x0b\x0c\t\r\n042\x0b", "0000000000000000000042"] {
            assert_eq!(parse_i32(text.as_bytes()), Ok(42), "{text:?}");
        }
        assert_eq!(parse_i16(b"-32768"), Ok(i16::MIN));
        assert_eq!(parse_i32(b"-2147483648"), Ok(i32::MIN));
        assert_eq!(parse_i64(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(parse_i32(b"-0"), Ok(0));
    }

    #[test]
    fn what_is_no_integer_is_refused_in_the_servers_words() {
        for text in ["", " ", "-", "+", "--5", "+-5", "- 5", "1.0", "1e3", "abc", "4 2", "5-"] {
            let reason = format!("invalid input syntax for type integer: \"{text}\"");
            assert_eq!(refusal(parse_i32(text.as_bytes())), ("22P02", reason));
        }
        let reason = "value \"2147483648\" is out of range for type integer".to_owned();
        assert_eq!(refusal(parse_i32(b"2147483648")), ("22003", reason));
        let reason = "value \" -32769\" is out of range for type smallint".to_owned();
        assert_eq!(refusal(parse_i16(b" -32769")), ("22003", reason));
        let reason = "value \"9223372036854775808\" is out of range for type bigint".to_owned();
        assert_eq!(refusal(parse_i64(b"9223372036854775808")), ("22003", reason));
    }

    #[test]
    fn forms_that_depend_on_the_version_are_left_to_the_server() {
        for text in ["0x1F", "0b1", "-0o17", "1_000", "_1", "99999999999x", "\u{a0}5"] {
            assert_eq!(parse_i32(text.as_bytes()), Err(NotEncoded::Unsure), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_integer_reads_back(a: i16, b: i32, c: i64) {
            prop_assert_eq!(parse_i16(a.to_string().as_bytes()), Ok(a));
            prop_assert_eq!(parse_i32(b.to_string().as_bytes()), Ok(b));
            prop_assert_eq!(parse_i64(c.to_string().as_bytes()), Ok(c));
        }
    }
}
