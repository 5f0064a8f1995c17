//! `numeric`: exact decimals in base 10,000, rounded half away from zero where the column has a scale.

use super::digits::short_decimal;
use super::space::trimmed;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire::{self, FEW_DIGITS, NumericHead, NumericSpecial};

/// Precision and scale of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumericLimit {
    /// Most decimal digits, 1 to 1000.
    pub precision: u16,
    /// Digits kept after the point, -1000 to 1000.
    pub scale: i16,
}

/// The most decimal places that the stored form can note.
const MAX_DSCALE: i64 = 0x3fff;
/// Digits of an exponent that we read: six reach far beyond both ends of the range, and versions differ on more.
const EXPONENT_DIGITS: usize = 6;

impl NumericLimit {
    /// Reads a column's limits from `atttypmod`; `None` for a column without limits.
    #[must_use]
    pub fn from_typmod(typmod: i32) -> Option<Self> {
        let packed = u32::try_from(typmod).ok()?.checked_sub(4)?;
        let precision = u16::try_from(packed >> 16).ok()?;
        // Eleven bits in two's complement.
        let scale = i16::try_from(packed & 0x7ff).ok()?;
        Some(NumericLimit { precision, scale: (scale ^ 0x400) - 0x400 })
    }

    #[cold]
    fn overflow(self, holds: &str) -> NotEncoded {
        let NumericLimit { precision, scale } = self;
        let reason =
            format!("numeric field overflow: A field with precision {precision}, scale {scale} {holds}.");
        NotEncoded::invalid("22003", reason)
    }

    #[cold]
    fn too_large(self) -> NotEncoded {
        match i32::from(self.precision) - i32::from(self.scale) {
            0 => self.overflow("must round to an absolute value less than 1"),
            power => self.overflow(&format!("must round to an absolute value less than 10^{power}")),
        }
    }
}

#[inline(never)]
pub(super) fn put_literal(literal: &[u8], limit: Option<NumericLimit>, out: &mut Vec<u8>) -> Verdict {
    match short_decimal(literal).and_then(|decimal| Short::limited(decimal, limit)) {
        Some(short) => {
            short.put(out);
            Ok(())
        }
        None => put_any(literal, limit, out),
    }
}

/// Appends `mantissa` / 10^`places`; `false`, and nothing appended, when the number is too long or too large for this.
#[cfg(feature = "arrow")]
#[inline]
pub(crate) fn put_short(
    negative: bool,
    mantissa: u64,
    places: usize,
    limit: Option<NumericLimit>,
    out: &mut Vec<u8>,
) -> bool {
    let is_short = TENS.last().is_some_and(|&end| mantissa < end);
    match Short::limited((negative, mantissa, places), limit).filter(|_| is_short) {
        Some(short) => {
            short.put(out);
            true
        }
        None => false,
    }
}

/// At most sixteen digits, within the limits of the column.
struct Short {
    negative: bool,
    /// The value times 10^places.
    mantissa: u64,
    places: usize,
    dscale: u16,
}

const TENS: [u64; 17] = {
    let mut tens = [1; 17];
    let mut power = 1;
    while power < tens.len() {
        tens[power] = tens[power - 1] * 10;
        power += 1;
    }
    tens
};

impl Short {
    /// Rounds to the column's scale; `None` when that is odd or the value too large.
    #[inline]
    fn limited(
        (negative, mantissa, places): (bool, u64, usize),
        limit: Option<NumericLimit>,
    ) -> Option<Self> {
        let Some(NumericLimit { precision, scale }) = limit else {
            return Some(Short { negative, mantissa, places, dscale: u16::try_from(places).ok()? });
        };
        let dscale = u16::try_from(scale).ok()?;
        let kept = places.min(usize::from(dscale));
        let unit = *TENS.get(places - kept)?;
        // Half of one is nothing: without surplus places this changes no value.
        let mantissa = if unit == 1 { mantissa } else { (mantissa + unit / 2) / unit };
        let digits = usize::from(precision.checked_sub(dscale)?) + kept;
        if TENS.get(digits).is_some_and(|&most| mantissa >= most) {
            return None;
        }
        Some(Short { negative, mantissa, places: kept, dscale })
    }

    /// Splits off base-10,000 digits from the last, which ends on a multiple of four places.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "a digit, and counts up to five"
    )]
    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        const BASE: u64 = 10_000;
        let groups_behind = self.places.div_ceil(4);
        let mut rest = self.mantissa * TENS[4 * groups_behind - self.places];
        // Digits from the first on are followed by zeros.
        let mut digits = [0_u16; 2 * FEW_DIGITS];
        let mut first = FEW_DIGITS;
        let mut end = first;
        while rest > 0 {
            first -= 1;
            let digit = (rest % BASE) as u16;
            rest /= BASE;
            digits[first] = digit;
            if digit == 0 && end == first + 1 {
                end = first;
            }
        }
        let weight = (FEW_DIGITS - first) as i16 - 1 - groups_behind as i16;
        let zero = first == FEW_DIGITS;
        let head = NumericHead {
            negative: self.negative && !zero,
            weight: if zero { 0 } else { weight },
            dscale: self.dscale,
        };
        wire::put_short_numeric(out, head, &digits[first..], end - first);
    }
}

#[inline(never)]
fn put_any(literal: &[u8], limit: Option<NumericLimit>, out: &mut Vec<u8>) -> Verdict {
    let text = trimmed(literal);
    let (negative, magnitude) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if !matches!(magnitude, [b'0'..=b'9' | b'.', ..]) {
        return put_special(literal, text, negative, magnitude, limit, out);
    }
    let Some(decimal) = DecimalLiteral::read(magnitude) else {
        // Since version 16: 0x1F, 0o17, 0b11 and 1_000; before it: blanks in front of an exponent. On exponents out
        // of all range the versions differ too.
        let other_base = matches!(magnitude, [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
        let behind = magnitude.iter().find(|byte| !matches!(byte, b'0'..=b'9' | b'.'));
        if other_base || matches!(behind, Some(b'e' | b'E')) || magnitude.contains(&b'_') {
            return Err(NotEncoded::Unsure);
        }
        return Err(NotEncoded::syntax("numeric", literal));
    };
    decimal.put(negative, limit, out)
}

fn put_special(
    literal: &[u8],
    text: &[u8],
    negative: bool,
    magnitude: &[u8],
    limit: Option<NumericLimit>,
    out: &mut Vec<u8>,
) -> Verdict {
    let value = if text.eq_ignore_ascii_case(b"nan") {
        NumericSpecial::NaN
    } else if magnitude.eq_ignore_ascii_case(b"infinity") || magnitude.eq_ignore_ascii_case(b"inf") {
        if let Some(limit) = limit {
            return Err(limit.overflow("cannot hold an infinite value"));
        }
        if negative { NumericSpecial::NegativeInfinity } else { NumericSpecial::Infinity }
    } else {
        return Err(NotEncoded::syntax("numeric", literal));
    };
    wire::put_numeric_special(out, value);
    Ok(())
}

/// The digits of a literal, in place, and where the point stands.
#[derive(Clone, Copy)]
struct DecimalLiteral<'a> {
    /// Digits with perhaps one point among them.
    text: &'a [u8],
    /// Digits before the written point.
    whole: usize,
    /// How many digits there are.
    count: usize,
    /// Power of ten of the first digit.
    power: i64,
    /// Decimal places to note.
    dscale: i64,
}

impl<'a> DecimalLiteral<'a> {
    fn read(magnitude: &'a [u8]) -> Option<Self> {
        let digits = |from: usize| magnitude[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(0);
        let mut end = whole;
        let mut fraction = 0;
        if magnitude.get(whole) == Some(&b'.') {
            fraction = digits(whole + 1);
            end += 1 + fraction;
        }
        let count = whole + fraction;
        if count == 0 {
            return None;
        }
        let exponent = match &magnitude[end..] {
            [] => 0,
            [b'e' | b'E', exponent @ ..] => read_exponent(exponent)?,
            _ => return None,
        };
        let power = i64::try_from(whole).ok()? - 1 + exponent;
        let dscale = (i64::try_from(fraction).ok()? - exponent).max(0);
        Some(DecimalLiteral { text: &magnitude[..end], whole, count, power, dscale })
    }

    #[inline]
    fn digit(&self, index: usize) -> u8 {
        self.text[index + usize::from(index >= self.whole)] - b'0'
    }

    fn put(&self, negative: bool, limit: Option<NumericLimit>, out: &mut Vec<u8>) -> Verdict {
        let (rounded, dscale) = match limit {
            Some(limit) => (self.round(i64::from(limit.scale)), i64::from(limit.scale.max(0))),
            None => (Rounded { first: 0, end: self.count, up: false }, self.dscale),
        };
        let Rounded { first, end, up } = self.stripped(rounded);
        let overflow = || match limit {
            Some(limit) => limit.too_large(),
            None => NotEncoded::numeric_overflow(),
        };
        let dscale =
            u16::try_from(dscale).ok().filter(|&d| i64::from(d) <= MAX_DSCALE).ok_or_else(overflow)?;
        if first == end && !up {
            let zero = NumericHead { negative: false, weight: 0, dscale };
            return wire::put_numeric(out, zero, std::iter::empty());
        }
        // A carry out of the first digit leaves a single one in front of it.
        let carried = first == end;
        let power = self.power - i64::try_from(first).map_err(|_| NotEncoded::Unsure)? + i64::from(carried);
        if limit.is_some_and(|limit| power + 1 > i64::from(limit.precision) - i64::from(limit.scale)) {
            return Err(overflow());
        }
        let weight = i16::try_from(power.div_euclid(4)).map_err(|_| overflow())?;
        let head = NumericHead { negative, weight, dscale };
        // Decimal digits of the first base-10,000 digit that follow ours, and those in front of it, which are zeros.
        let behind = usize::try_from(power.rem_euclid(4)).map_err(|_| NotEncoded::Unsure)?;
        let lead = 3 - behind;
        if carried {
            return wire::put_numeric(out, head, std::iter::once([1, 10, 100, 1000][behind]));
        }
        let groups = (lead + end - first).div_ceil(4);
        let digits = (0..groups).map(|group| {
            (0..4).fold(0_u16, |value, place| {
                let digit = match (4 * group + place).checked_sub(lead) {
                    Some(at) if first + at < end => {
                        let index = first + at;
                        u16::from(self.digit(index)) + u16::from(up && index + 1 == end)
                    }
                    _ => 0,
                };
                value * 10 + digit
            })
        });
        wire::put_numeric(out, head, digits)
    }

    /// Keeps the digits down to 10^-scale, half away from zero.
    fn round(&self, scale: i64) -> Rounded {
        let kept = self.power + 1 + scale;
        let Ok(kept) = usize::try_from(kept) else { return Rounded { first: 0, end: 0, up: false } };
        if kept >= self.count {
            return Rounded { first: 0, end: self.count, up: false };
        }
        let up = self.digit(kept) >= 5;
        let mut end = kept;
        if up {
            while end > 0 && self.digit(end - 1) == 9 {
                end -= 1;
            }
        }
        Rounded { first: 0, end, up }
    }

    /// Without zeros at either end.
    fn stripped(&self, Rounded { mut first, mut end, up }: Rounded) -> Rounded {
        while !up && end > first && self.digit(end - 1) == 0 {
            end -= 1;
        }
        while first < end && self.digit(first) == 0 && !(up && first + 1 == end) {
            first += 1;
        }
        Rounded { first, end, up }
    }
}

/// The digits `first..end`, the last of them plus one if `up`; with no digits left, `up` means a one before `first`.
struct Rounded {
    first: usize,
    end: usize,
    up: bool,
}

fn read_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > EXPONENT_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(literal: &str, limit: Option<(u16, i16)>) -> Result<Vec<u8>, NotEncoded> {
        let limit = limit.map(|(precision, scale)| NumericLimit { precision, scale });
        let mut out = Vec::new();
        put_literal(literal.as_bytes(), limit, &mut out).map(|()| out)
    }

    /// The value in plain decimals, by an independent reading of the field.
    fn decoded(literal: &str, limit: Option<(u16, i16)>) -> String {
        let field = encoded(literal, limit).unwrap();
        let word = |at: usize| u16::from_be_bytes([field[at], field[at + 1]]);
        assert_eq!(usize::from(word(2)) + 4, field.len());
        let (count, weight) = (i32::from(word(4)), i32::from(word(6).cast_signed()));
        let (sign, dscale) = (word(8), usize::from(word(10)));
        let digits: Vec<u16> = (0..count).map(|i| word(12 + 2 * usize::try_from(i).unwrap())).collect();
        assert!(digits.iter().all(|&d| d < 10_000));
        assert!(digits.first() != Some(&0) && digits.last() != Some(&0), "not stripped: {digits:?}");
        let at = |power: i32| match usize::try_from(weight - power) {
            Ok(index) => digits.get(index).copied().unwrap_or(0),
            Err(_) => 0,
        };
        let whole: String = (0..=weight.max(0)).rev().map(|power| format!("{:04}", at(power))).collect();
        let places: String =
            (1..=dscale.div_ceil(4)).map(|i| format!("{:04}", at(-i32::try_from(i).unwrap()))).collect();
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let sign = if sign == 0x4000 { "-" } else { "" };
        match dscale {
            0 => format!("{sign}{whole}"),
            _ => format!("{sign}{whole}.{}", &places[..dscale]),
        }
    }

    fn refusal(literal: &str, limit: Option<(u16, i16)>) -> (&'static str, String) {
        match encoded(literal, limit) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("{literal} was not refused: {other:?}"),
        }
    }

    #[test]
    fn the_scale_is_kept_as_written() {
        for (literal, value) in [
            ("0", "0"),
            ("-0.00", "0.00"),
            ("1.50", "1.50"),
            ("+12345.678900", "12345.678900"),
            (" .5 ", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            ("1.23456e2", "123.456"),
            ("0e-5", "0.00000"),
            ("00012", "12"),
            ("-10000000000000000000000000000000000000001", "-10000000000000000000000000000000000000001"),
        ] {
            assert_eq!(decoded(literal, None), value, "{literal}");
        }
    }

    #[test]
    fn rounding_is_half_away_from_zero_and_carries() {
        for (literal, limit, value) in [
            ("1.005", (5, 2), "1.01"),
            ("-1.005", (5, 2), "-1.01"),
            ("1.0049999", (5, 2), "1.00"),
            ("999.995", (6, 2), "1000.00"),
            ("0.995", (3, 2), "1.00"),
            ("0.004", (3, 2), "0.00"),
            ("-0.004", (3, 2), "0.00"),
            ("0.005", (3, 2), "0.01"),
            ("12345", (3, -2), "12300"),
            ("12350", (3, -2), "12400"),
            ("99950", (4, -2), "100000"),
            ("49", (3, -2), "0"),
            ("50", (3, -2), "100"),
            ("4", (3, -2), "0"),
            ("0.00012345", (3, 5), "0.00012"),
            ("1e-999999", (3, 2), "0.00"),
            ("10005.5", (5, 0), "10006"),
        ] {
            assert_eq!(decoded(literal, Some(limit)), value, "{literal} {limit:?}");
        }
    }

    #[test]
    fn a_value_beyond_the_precision_is_refused_with_the_servers_detail() {
        let reason =
            "numeric field overflow: A field with precision 5, scale 2 must round to an absolute value less \
                      than 10^3."
                .to_owned();
        for literal in ["1000", "999.995", "-1e3", "1e999999"] {
            assert_eq!(refusal(literal, Some((5, 2))), ("22003", reason.clone()), "{literal}");
        }
        let reason = "numeric field overflow: A field with precision 2, scale 2 must round to an absolute value less than 1.";
        assert_eq!(refusal("1", Some((2, 2))).1, reason);
        let reason =
            "numeric field overflow: A field with precision 2, scale 2 cannot hold an infinite value.";
        assert_eq!(refusal("-Inf", Some((2, 2))).1, reason);
        assert_eq!(refusal("0.001", Some((2, 5))).0, "22003");
        assert_eq!(refusal("1e131072", None), ("22003", "value overflows numeric format".to_owned()));
        assert_eq!(refusal("1e-16384", None), ("22003", "value overflows numeric format".to_owned()));
        assert!(encoded("1e131071", None).is_ok() && encoded("1e-16383", None).is_ok());
    }

    #[test]
    fn names_and_odd_forms() {
        assert_eq!(encoded("nan", Some((5, 2))).unwrap()[8..10], [0xc0, 0]);
        assert_eq!(encoded(" Infinity", None).unwrap()[8..10], [0xd0, 0]);
        assert_eq!(encoded("-inf", None).unwrap()[8..10], [0xf0, 0]);
        for bad in ["", " ", ".", "-", "1..2", "1.2.3", "-nan", "1x", "abc", "1 2", "--1", "infin"] {
            let reason = format!("invalid input syntax for type numeric: \"{bad}\"");
            assert_eq!(refusal(bad, None), ("22P02", reason));
        }
        for odd in ["0x1F", "1_000", "1e9999999", "1e 5", "1e"] {
            assert_eq!(encoded(odd, None), Err(NotEncoded::Unsure), "{odd}");
        }
    }

    #[test]
    fn the_modifier_is_unpacked_with_negative_scales() {
        let typmod = |precision: i32, scale: i32| ((precision << 16) | (scale & 0x7ff)) + 4;
        for (precision, scale) in [(10, 2), (5, 0), (3, -2), (1000, 1000), (1000, -1000)] {
            let limit = NumericLimit::from_typmod(typmod(precision.into(), scale.into())).unwrap();
            assert_eq!(limit, NumericLimit { precision, scale });
        }
        assert_eq!(NumericLimit::from_typmod(-1), None);
    }

    proptest! {
        #[test]
        fn every_decimal_reads_back(literal in "-?[1-9][0-9]{0,30}(\\.[0-9]{1,30})?") {
            prop_assert_eq!(decoded(&literal, None), literal);
        }

        #[test]
        fn rounding_equals_integer_arithmetic(value: i64, places in 0_u32..12, scale in 0_u32..12) {
            let digits = format!("{:0>14}", value.unsigned_abs());
            let (whole, fraction) = digits.split_at(digits.len() - places as usize);
            let literal = format!("{}{whole}.{fraction}", if value < 0 { "-" } else { "" });
            let shifted = match places.checked_sub(scale) {
                Some(down) if down > 0 => {
                    let unit = 10_i128.pow(down);
                    let magnitude = (i128::from(value).abs() + unit / 2) / unit;
                    if value < 0 { -magnitude } else { magnitude }
                }
                _ => i128::from(value) * 10_i128.pow(scale.saturating_sub(places)),
            };
            let digits = format!("{:0>width$}", shifted.unsigned_abs(), width = scale as usize + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let sign = if shifted < 0 { "-" } else { "" };
            let point = if scale > 0 { "." } else { "" };
            let limit = Some((1000, i16::try_from(scale).unwrap()));
            prop_assert_eq!(decoded(&literal, limit), format!("{sign}{whole}{point}{fraction}"));
        }
    }
}
