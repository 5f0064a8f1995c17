//! How integers, floats and booleans are written.

use std::fmt::LowerExp;
use std::io::Write;

use super::decimal::Decimal;

/// The shortest digits from which a float reads back: `d.ddd` × 10^`exponent`.
pub(super) struct Shortest {
    negative: bool,
    digits: [u8; 20],
    count: u8,
    exponent: i32,
}

impl Shortest {
    /// Finds the digits of a finite number.
    pub(super) fn of(value: impl LowerExp) -> Self {
        // `-d.dddddddddddddddde-ddd` at most.
        let mut text = [0_u8; 32];
        let mut rest = &mut text[..];
        // `-2.2250738585072014e-308` is the longest there is: it fits, so writing cannot fail.
        let _ = write!(rest, "{value:e}");
        let unused = rest.len();
        let text = &text[..text.len() - unused];
        let mut shortest = Shortest { negative: false, digits: [0; 20], count: 0, exponent: 0 };
        let mut exponent_sign = None;
        for &byte in text {
            match (byte, exponent_sign) {
                (b'-', None) => shortest.negative = true,
                (b'-', Some(_)) => exponent_sign = Some(-1),
                (b'e', _) => exponent_sign = Some(1),
                (b'0'..=b'9', Some(_)) => shortest.exponent = shortest.exponent * 10 + i32::from(byte - b'0'),
                (b'0'..=b'9', None) => {
                    shortest.digits[usize::from(shortest.count)] = byte;
                    shortest.count += 1;
                }
                _ => {}
            }
        }
        shortest.exponent *= exponent_sign.unwrap_or(1);
        shortest
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..usize::from(self.count)]
    }

    pub(super) fn decimal(&self) -> Decimal {
        let magnitude = self.digits().iter().fold(0, |value, digit| value * 10 + i128::from(digit - b'0'));
        let mantissa = if self.negative { -magnitude } else { magnitude };
        let places = i32::from(self.count) - 1 - self.exponent;
        Decimal { mantissa: mantissa.into(), scale: places }
    }

    /// Appends the number in PostgreSQL's form: with an exponent from 10^`exponent_from` on and below 0.0001.
    fn put(&self, exponent_from: i32, out: &mut Vec<u8>) {
        if (-4..exponent_from).contains(&self.exponent) {
            if self.negative && self.digits() == b"0" {
                // A decimal has no negative zero.
                out.push(b'-');
            }
            self.decimal().put(out);
            return;
        }
        if self.negative {
            out.push(b'-');
        }
        let (first, rest) = self.digits().split_at(1);
        out.extend_from_slice(first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.extend_from_slice(if self.exponent < 0 { b"e-" } else { b"e+" });
        if self.exponent.unsigned_abs() < 10 {
            out.push(b'0');
        }
        out.extend_from_slice(itoa::Buffer::new().format(self.exponent.unsigned_abs()).as_bytes());
    }
}

/// The sign, digits and decimal places of a number that shows at most fifteen digits, six of them behind the point: what
/// most measurements and prices are. No two decimals that short are nearest to one double, so these are the digits that
/// [`Shortest`] finds.
#[inline]
pub(super) fn short_decimal(value: f64) -> Option<(bool, u64, u8)> {
    /// Below it every digit counts.
    const LIMIT: f64 = 1e15;
    let magnitude = value.abs();
    let mut unit = 1.0;
    for places in 0..=6 {
        let mantissa = (magnitude * unit).round_ties_even();
        if mantissa.is_nan() || mantissa >= LIMIT {
            return None;
        }
        // Both are exact, so the division rounds once, as reading the decimal does.
        if mantissa / unit == magnitude {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number below 10^15"
            )]
            let digits = mantissa as u64;
            return Some((value < 0.0, digits, places));
        }
        unit *= 10.0;
    }
    None
}

/// Appends a `double precision` in PostgreSQL's form; of two shortest decimals that read back the digits may differ.
pub(super) fn put_double(value: f64, out: &mut Vec<u8>) {
    match special(value) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => Shortest::of(value).put(15, out),
    }
}

/// Appends a `real` in the same way.
pub(super) fn put_single(value: f32, out: &mut Vec<u8>) {
    match special(value.into()) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => Shortest::of(value).put(6, out),
    }
}

/// The name of a number that is not finite.
pub(super) fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_finite() => None,
        _ if value.is_nan() => Some("NaN"),
        _ if value > 0.0 => Some("Infinity"),
        _ => Some("-Infinity"),
    }
}

/// Appends a boolean.
pub(super) fn put_bool(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { "true" } else { "false" }.as_bytes());
}

/// Appends an integer.
pub(super) fn put_int(value: i128, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A `double precision`, of whose NaNs PostgreSQL has only one.
#[inline]
pub(super) fn one_nan_f64(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// A `real`, of whose NaNs PostgreSQL has only one.
#[inline]
pub(super) fn one_nan_f32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn double_text(value: f64) -> String {
        let mut out = Vec::new();
        put_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn single_text(value: f32) -> String {
        let mut out = Vec::new();
        put_single(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_written_as_the_server_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-100.0, "-100"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.234e-7, "1.234e-07"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.25e300, "1.25e+300"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double_text(value), text);
        }
        assert_eq!(single_text(0.1), "0.1");
        assert_eq!(single_text(123_456.0), "123456");
        assert_eq!(single_text(1_234_567.0), "1.234567e+06");
    }

    #[test]
    fn a_float_as_decimal_has_the_digits_that_it_shows() {
        let decimal = |value: f64| {
            let mut out = Vec::new();
            Shortest::of(value).decimal().put(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(decimal(0.1), "0.1");
        assert_eq!(decimal(1e22), "10000000000000000000000");
        assert_eq!(decimal(-2.5e-7), "-0.00000025");
    }

    proptest! {
        #[test]
        fn short_decimals_have_the_digits_that_are_shown(
            mantissa in 0_i64..2_000_000_000_000_000,
            places in 0..9,
            any: f64,
        ) {
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            let near = -(mantissa as f64) / 10_f64.powi(places);
            for value in [near, any, near.next_up(), near.trunc()] {
                let Some((negative, digits, places)) = short_decimal(value) else { continue };
                let magnitude = i128::from(digits);
                let mantissa = if negative { -magnitude } else { magnitude };
                let short = Decimal { mantissa: mantissa.into(), scale: places.into() };
                let text = |decimal: Decimal| {
                    let mut out = Vec::new();
                    decimal.put(&mut out);
                    String::from_utf8(out).unwrap()
                };
                prop_assert_eq!(text(short), text(Shortest::of(value).decimal()));
            }
        }
    }
}
