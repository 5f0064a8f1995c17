//! Integers, floats and booleans: which PostgreSQL number is exactly theirs, and how floats are written.

use std::fmt::LowerExp;
use std::io::Write;

use super::allowed::{Allowed, lossy};
use super::decimal::{Decimal, Whole};
use super::source::Cell;
use crate::verdict::{Loss, NotEncoded};

/// The shortest digits from which a float reads back: `d.ddd` × 10^`exponent`.
pub(super) struct Shortest {
    negative: bool,
    digits: [u8; 20],
    count: usize,
    exponent: i32,
}

impl Shortest {
    /// Of a finite number.
    pub(super) fn of(value: impl LowerExp) -> Self {
        // `-d.dddddddddddddddde-ddd` at most.
        let mut text = [0_u8; 32];
        let mut rest = &mut text[..];
        // It fits, so writing does not fail.
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
                    shortest.digits[shortest.count] = byte;
                    shortest.count += 1;
                }
                _ => {}
            }
        }
        shortest.exponent *= exponent_sign.unwrap_or(1);
        shortest
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..self.count]
    }

    pub(super) fn decimal(&self) -> Decimal {
        let magnitude = self.digits().iter().fold(0, |value, digit| value * 10 + i128::from(digit - b'0'));
        let mantissa = if self.negative { -magnitude } else { magnitude };
        let places = i32::try_from(self.count).unwrap_or(0) - 1 - self.exponent;
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

/// A number that PostgreSQL has only one of, whatever its bits are here.
#[inline]
pub(super) fn one_nan_f64(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// The same of a `real`.
#[inline]
pub(super) fn one_nan_f32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

/// A number as an integer type holds it; other cells are no numbers.
pub(super) fn integer<T: TryFrom<i128>>(
    cell: &Cell<'_>,
    type_name: &str,
    allowed: Allowed,
) -> Result<T, NotEncoded> {
    let rounded = |rounded, is_allowed, loss| {
        if is_allowed {
            return Ok(rounded);
        }
        Err(lossy(|out| put_number(cell, out), "is no whole number", loss))
    };
    let of_float = |value| whole(value, |nearest| rounded(nearest, allowed.floats, Loss::Floats));
    let integer = match *cell {
        Cell::Int(value) => Some(value),
        Cell::Single(value) => of_float(value.into())?,
        Cell::Double(value) => of_float(value)?,
        Cell::Decimal(decimal) => match decimal.whole() {
            Whole::Exact(value) => Some(value),
            Whole::Rounded(value) => Some(rounded(value, allowed.decimals, Loss::Decimals)?),
            Whole::TooLarge => None,
        },
        _ => None,
    };
    integer.and_then(|integer| T::try_from(integer).ok()).ok_or_else(|| {
        let mut number = Vec::new();
        put_number(cell, &mut number);
        NotEncoded::out_of_range(type_name, &number)
    })
}

/// A float as an integer; `None` where it is far beyond all integers or no number. `fractional` judges one that had
/// to be rounded, half to even as the server's casts do.
fn whole(
    value: f64,
    fractional: impl FnOnce(i128) -> Result<i128, NotEncoded>,
) -> Result<Option<i128>, NotEncoded> {
    /// Beyond every integer type, and exact here.
    const LIMIT: f64 = (1_u128 << 100) as f64;
    if value.is_nan() || value.abs() >= LIMIT {
        return Ok(None);
    }
    let rounded = value.round_ties_even();
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^100")]
    let integer = rounded as i128;
    if rounded == value { Ok(Some(integer)) } else { fractional(integer).map(Some) }
}

/// A number as a `double precision`; other cells, and decimals, have none here.
pub(super) fn double(cell: &Cell<'_>, allowed: Allowed) -> Result<Option<f64>, NotEncoded> {
    Ok(Some(match *cell {
        Cell::Single(value) => one_nan_f64(value.into()),
        Cell::Double(value) => one_nan_f64(value),
        Cell::Int(value) => {
            #[expect(clippy::cast_precision_loss, reason = "it is looked at")]
            let nearest = value as f64;
            #[expect(clippy::cast_possible_truncation, reason = "a whole number near 2^64 at most")]
            let is_exact = nearest as i128 == value;
            if !is_exact && !allowed.floats {
                return Err(inexact(cell, "double precision"));
            }
            nearest
        }
        _ => return Ok(None),
    }))
}

/// A number as a `real`; other cells, and decimals, have none here.
pub(super) fn single(cell: &Cell<'_>, allowed: Allowed) -> Result<Option<f32>, NotEncoded> {
    Ok(Some(match *cell {
        Cell::Single(value) => one_nan_f32(value),
        Cell::Double(value) => {
            #[expect(clippy::cast_possible_truncation, reason = "it is looked at")]
            let nearest = value as f32;
            // The server's cast lets no number become an infinity or nothing.
            if value.is_finite() && (nearest.is_infinite() || (nearest == 0.0 && value != 0.0)) {
                let mut number = Vec::new();
                put_double(value, &mut number);
                return Err(NotEncoded::out_of_range("real", &number));
            }
            if f64::from(nearest) != value && !value.is_nan() && !allowed.floats {
                return Err(inexact(cell, "real"));
            }
            one_nan_f32(nearest)
        }
        Cell::Int(value) => {
            #[expect(clippy::cast_precision_loss, reason = "it is looked at")]
            let nearest = value as f32;
            #[expect(clippy::cast_possible_truncation, reason = "a whole number near 2^64 at most")]
            let is_exact = nearest as i128 == value;
            if !is_exact && !allowed.floats {
                return Err(inexact(cell, "real"));
            }
            nearest
        }
        _ => return Ok(None),
    }))
}

#[cold]
fn inexact(cell: &Cell<'_>, type_name: &str) -> NotEncoded {
    lossy(|out| put_number(cell, out), &format!("is not exactly a {type_name}"), Loss::Floats)
}

/// Appends a number as a message shows it.
fn put_number(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match *cell {
        Cell::Int(value) => put_int(value, out),
        Cell::Single(value) => put_single(value, out),
        Cell::Double(value) => put_double(value, out),
        Cell::Decimal(decimal) => decimal.put(out),
        _ => {}
    }
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

    #[test]
    fn only_whole_numbers_in_range_become_integers() {
        let none = Allowed::default();
        let floats = Allowed { floats: true, ..none };
        let small = |value: f64, allowed| integer::<i16>(&Cell::Double(value), "smallint", allowed);
        assert_eq!(small(-3.0, none), Ok(-3));
        assert!(small(2.5, none).is_err());
        assert_eq!([2.5, 3.5, -2.5].map(|value| small(value, floats)), [Ok(2), Ok(4), Ok(-2)]);
        for value in [f64::NAN, f64::INFINITY, 1e300, 32_768.0, -32_769.0] {
            let Err(NotEncoded::Invalid(invalid)) = small(value, floats) else { panic!("{value} fits") };
            assert_eq!(invalid.sqlstate, "22003");
        }
    }

    #[test]
    fn no_digit_is_lost_unless_that_is_allowed() {
        let none = Allowed::default();
        let floats = Allowed { floats: true, ..none };
        assert_eq!(double(&Cell::Int(1 << 53), none), Ok(Some(9_007_199_254_740_992.0)));
        assert!(double(&Cell::Int((1 << 53) + 1), none).is_err());
        assert!(double(&Cell::Int((1 << 53) + 1), floats).is_ok());
        assert_eq!(single(&Cell::Double(0.5), none), Ok(Some(0.5)));
        assert!(single(&Cell::Double(0.1), none).is_err());
        assert_eq!(single(&Cell::Double(0.1), floats), Ok(Some(0.1)));
        for value in [1e300, 1e-300] {
            let Err(NotEncoded::Invalid(invalid)) = single(&Cell::Double(value), floats) else {
                panic!("{value} fits")
            };
            assert_eq!(invalid.sqlstate, "22003");
        }
    }
}
