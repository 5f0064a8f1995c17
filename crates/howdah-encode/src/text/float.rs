//! `real` and `double precision`: the nearest binary value, as C's `strtof` and `strtod` find it.

use std::ops::Range;

use super::digits::{LONE_POINT, decimal8, short_decimal, signed8_within};
use super::space::trimmed;
use crate::verdict::{NotEncoded, shown};

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
/// Powers of ten that a float holds exactly.
const TENS_F32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

#[inline]
pub(super) fn parse_f64(literal: &[u8]) -> Result<f64, NotEncoded> {
    if let Some((negative, mantissa, places)) = short_decimal(literal)
        && mantissa <= 1 << f64::MANTISSA_DIGITS
        && let Some(&ten) = TENS.get(places)
    {
        // Both are exact, so the division rounds once: that is the nearest double (Clinger's fast path).
        #[expect(clippy::cast_precision_loss, reason = "at most 2^53 was checked")]
        let value = mantissa as f64 / ten;
        // A sign is as often random as not: no branch on it.
        return Ok(f64::from_bits(value.to_bits() | u64::from(negative) << 63));
    }
    parse_any(literal)
}

/// Up to eight characters of digits and a point, perhaps after a minus sign.
#[inline(always)]
pub(super) fn short_f64_within(text: &[u8], range: Range<usize>) -> Option<f64> {
    let length = range.len();
    let (negative, word) = signed8_within(text, range)?;
    let (mantissa, places) = decimal8(word)?;
    if word == LONE_POINT && length - usize::from(negative) == 1 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "eight digits are below 2^53")]
    let mut value = mantissa.cast_signed() as f64;
    // Whole numbers have columns of their own, so this branch is predicted, and a division takes as long as the rest.
    if places > 0 {
        value /= TENS[places];
    }
    Some(f64::from_bits(value.to_bits() | u64::from(negative) << 63))
}

#[inline(never)]
pub(super) fn parse_f32(literal: &[u8]) -> Result<f32, NotEncoded> {
    if let Some((negative, mantissa, places)) = short_decimal(literal)
        && mantissa <= 1 << f32::MANTISSA_DIGITS
        && let Some(&ten) = TENS_F32.get(places)
    {
        #[expect(clippy::cast_precision_loss, reason = "at most 2^24 was checked")]
        let value = mantissa as f32 / ten;
        return Ok(f32::from_bits(value.to_bits() | u32::from(negative) << 31));
    }
    parse_any(literal)
}

/// The differences between `real` and `double precision`.
trait Binary: Sized + PartialEq {
    const TYPE_NAME: &'static str;
    const ZERO: Self;
    const NAN: Self;
    const INFINITY: Self;
    fn negated(self) -> Self;
    /// Whether it is finite and not zero.
    fn is_ordinary(&self) -> bool;
    /// Nearest value to a decimal literal, names of values that are not finite included.
    fn nearest(decimal: &[u8]) -> Option<Self>;
}

impl Binary for f64 {
    const TYPE_NAME: &'static str = "double precision";
    const ZERO: Self = 0.0;
    const NAN: Self = f64::from_bits(0x7ff8 << 48);
    const INFINITY: Self = f64::INFINITY;
    fn negated(self) -> Self {
        -self
    }
    fn is_ordinary(&self) -> bool {
        self.is_finite() && *self != 0.0
    }
    fn nearest(decimal: &[u8]) -> Option<Self> {
        fast_float2::parse(decimal).ok()
    }
}

impl Binary for f32 {
    const TYPE_NAME: &'static str = "real";
    const ZERO: Self = 0.0;
    const NAN: Self = f32::from_bits(0x7fc0 << 16);
    const INFINITY: Self = f32::INFINITY;
    fn negated(self) -> Self {
        -self
    }
    fn is_ordinary(&self) -> bool {
        self.is_finite() && *self != 0.0
    }
    fn nearest(decimal: &[u8]) -> Option<Self> {
        fast_float2::parse(decimal).ok()
    }
}

/// Reads exponents and many digits at once; leaves the rest to [`parse_odd`].
#[inline(never)]
fn parse_any<F: Binary>(literal: &[u8]) -> Result<F, NotEncoded> {
    match F::nearest(literal) {
        // A finite value other than zero can have come from digits alone.
        Some(value) if value.is_ordinary() => Ok(value),
        _ => parse_odd(literal),
    }
}

/// Reads what the fast paths leave over: white space, names, zeros and everything that is refused.
#[cold]
fn parse_odd<F: Binary>(literal: &[u8]) -> Result<F, NotEncoded> {
    let text = trimmed(literal);
    let (negative, magnitude) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let Some(shape) = DecimalPrefix::of(magnitude) else { return name(literal, text, negative, magnitude) };
    // Hexadecimal forms are up to the server's C library; after a number's end only white space may follow, and what the
    // server says of `1e999x` depends on the number first.
    if matches!(magnitude, [b'0', b'x' | b'X', ..]) {
        return Err(NotEncoded::Unsure);
    }
    let Some(value) = F::nearest(&magnitude[..shape.length]) else { return Err(NotEncoded::Unsure) };
    // strtod reports ERANGE for these two; a denormal is taken as it is.
    if value == F::INFINITY || (value == F::ZERO && shape.nonzero) {
        let number = &text[..text.len() - magnitude.len() + shape.length];
        let reason = format!("\"{}\" is out of range for type {}", shown(number), F::TYPE_NAME);
        return Err(NotEncoded::invalid("22003", reason));
    }
    if shape.length != magnitude.len() {
        return Err(NotEncoded::syntax(F::TYPE_NAME, literal));
    }
    Ok(if negative { value.negated() } else { value })
}

/// Reads the names of values that are not finite, in the spellings that PostgreSQL and every C library agree on.
#[cold]
fn name<F: Binary>(literal: &[u8], text: &[u8], negative: bool, magnitude: &[u8]) -> Result<F, NotEncoded> {
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    let (Ok(text), Ok(magnitude)) = (str::from_utf8(text), str::from_utf8(magnitude)) else {
        return Err(NotEncoded::Unsure);
    };
    if is(text, "nan") {
        return Ok(F::NAN);
    }
    if is(magnitude, "infinity") || is(magnitude, "inf") {
        return Ok(if negative { F::INFINITY.negated() } else { F::INFINITY });
    }
    // `nan(…)`, `-nan`: some C libraries read them.
    let starts = |prefix: &str| magnitude.get(..3).is_some_and(|start| is(start, prefix));
    if starts("nan") || starts("inf") {
        return Err(NotEncoded::Unsure);
    }
    Err(NotEncoded::syntax(F::TYPE_NAME, literal))
}

/// What follows the decimal number, sign included, that a text starts with.
pub(super) fn after_number(text: &[u8]) -> Option<&[u8]> {
    let magnitude = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    DecimalPrefix::of(magnitude).map(|shape| &magnitude[shape.length..])
}

/// The longest start of a text that is a decimal number.
struct DecimalPrefix {
    length: usize,
    /// Whether any digit of the mantissa is not zero.
    nonzero: bool,
}

impl DecimalPrefix {
    fn of(text: &[u8]) -> Option<DecimalPrefix> {
        let count = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = count(0);
        let mut length = whole;
        let mut fraction = 0;
        if text.get(whole) == Some(&b'.') {
            fraction = count(whole + 1);
            length += 1 + fraction;
        }
        if whole + fraction == 0 {
            return None;
        }
        let nonzero = text[..length].iter().any(|byte| matches!(byte, b'1'..=b'9'));
        if let [b'e' | b'E', after @ ..] = &text[length..] {
            let sign = usize::from(matches!(after.first(), Some(b'+' | b'-')));
            let digits = count(length + 1 + sign);
            if digits > 0 {
                length += 1 + sign + digits;
            }
        }
        Some(DecimalPrefix { length, nonzero })
    }
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
    fn plain_decimals_are_read_at_every_length_and_place_of_the_point() {
        let digits = "123456789012345678";
        for length in 1..=18 {
            for point in 0..=length {
                let text = format!("{}.{}", &digits[..point], &digits[point..length]);
                for text in [text.clone(), format!("-{text}")] {
                    let expected: f64 = text.parse().unwrap();
                    assert_eq!(parse_f64(text.as_bytes()), Ok(expected), "{text}");
                    let expected: f32 = text.parse().unwrap();
                    assert_eq!(parse_f32(text.as_bytes()), Ok(expected), "{text}");
                }
            }
        }
    }

    #[test]
    fn minus_zero_keeps_its_sign() {
        for text in ["-0", "-0.0", "-.0", " -0e5"] {
            assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), Ok(1 << 63), "{text}");
        }
    }

    #[test]
    fn a_real_is_rounded_once() {
        // Through double precision this would round to even, away from the nearest float.
        assert_eq!(parse_f32(b"1.00000017881393432617187499"), Ok(1.000_000_1));
        assert_eq!(parse_f32(b"1.00000017881393432617187500"), Ok(1.000_000_2));
    }

    #[test]
    fn names_are_read_in_any_case_and_odd_ones_are_left_to_the_server() {
        for text in ["inf", "Infinity", "+INF", " +infinity "] {
            assert_eq!(parse_f64(text.as_bytes()), Ok(f64::INFINITY), "{text}");
        }
        assert_eq!(parse_f64(b"-inf"), Ok(f64::NEG_INFINITY));
        assert_eq!(parse_f64(b"NaN").map(f64::to_bits), Ok(0x7ff8 << 48));
        for text in ["-nan", "nan(1)", "infin", "0x1p3", "-0X", "\u{2003}1"] {
            assert_eq!(parse_f64(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
    }

    #[test]
    fn values_too_large_or_too_small_are_refused_but_denormals_are_not() {
        for (text, number) in [("1e309", "1e309"), (" -1e-400 ", "-1e-400"), ("1e400x", "1e400")] {
            let reason = format!("\"{number}\" is out of range for type double precision");
            assert_eq!(refusal(parse_f64(text.as_bytes())), ("22003", reason));
        }
        let reason = "\"1e39\" is out of range for type real".to_owned();
        assert_eq!(refusal(parse_f32(b"1e39")), ("22003", reason));
        assert_eq!(parse_f64(b"4.9e-324").map(f64::to_bits), Ok(1));
        assert_eq!(parse_f64(b"0e-9999"), Ok(0.0));
    }

    #[test]
    fn what_is_no_number_is_refused_in_the_servers_words() {
        for text in ["", " ", ".", "-", "-.", "1e", "1e+", "1..2", "1.2.3", "1,5", "abc", "1 2", "--1", "1_0"]
        {
            let reason = format!("invalid input syntax for type double precision: \"{text}\"");
            assert_eq!(refusal(parse_f64(text.as_bytes())), ("22P02", reason));
        }
    }

    proptest! {
        #[test]
        fn every_value_reads_back(bits: u64, short: u32) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [format!("{value:?}"), format!("{value:e}"), format!("{value}")] {
                prop_assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), Ok(bits));
            }
            let value = f32::from_bits(short);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse_f32(format!("{value:?}").as_bytes()).map(f32::to_bits), Ok(short));
        }

        #[test]
        fn plain_decimals_equal_the_standard_librarys(text in "-?[0-9]{0,12}\\.?[0-9]{0,12}(e[+-]?[0-9]{1,2})?") {
            let ours = parse_f64(text.as_bytes()).map(f64::to_bits).ok();
            prop_assert_eq!(ours, text.parse::<f64>().map(f64::to_bits).ok());
        }
    }
}
