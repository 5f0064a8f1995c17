//! Exact decimals of any scale: what an Arrow decimal is, and what a float shows.

use std::io::Write;

use arrow_buffer::i256;

/// `mantissa` × 10^-`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) mantissa: i256,
    pub(super) scale: i32,
}

/// What remains of a decimal when its decimal places go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The value itself.
    Exact(i128),
    /// Half away from zero, as `numeric` rounds.
    Rounded(i128),
    TooLarge,
}

/// 10^`exponent`; `None` where that is larger than every mantissa.
fn power(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

impl Decimal {
    pub(super) fn of_int(value: i128) -> Self {
        Decimal { mantissa: value.into(), scale: 0 }
    }

    /// Whether only zeros stand behind the first `scale` decimal places.
    pub(super) fn fits_scale(&self, places: i32) -> bool {
        match u32::try_from(self.scale.saturating_sub(places)) {
            Err(_) | Ok(0) => true,
            Ok(surplus) => match power(surplus) {
                Some(unit) => self.mantissa.wrapping_rem(unit) == i256::ZERO,
                None => self.mantissa == i256::ZERO,
            },
        }
    }

    pub(super) fn whole(&self) -> Whole {
        let exact = |value: Option<i256>| value.and_then(i256::to_i128).map_or(Whole::TooLarge, Whole::Exact);
        if self.mantissa == i256::ZERO {
            return Whole::Exact(0);
        }
        let unit = power(self.scale.unsigned_abs());
        if self.scale <= 0 {
            return exact(unit.and_then(|unit| self.mantissa.checked_mul(unit)));
        }
        // Far below a half: Arrow's scales end where powers do, and floats show few digits.
        let Some(unit) = unit else { return Whole::Rounded(0) };
        let (quotient, rest) = (self.mantissa.wrapping_div(unit), self.mantissa.wrapping_rem(unit));
        if rest == i256::ZERO {
            return exact(Some(quotient));
        }
        // Against half the unit, which is even, so that nothing has to be doubled.
        let half = unit.wrapping_div(i256::from_i128(2));
        let away = i128::from(rest.wrapping_abs() >= half);
        let sign = if self.mantissa.is_negative() { -1 } else { 1 };
        match quotient.to_i128().and_then(|quotient| quotient.checked_add(sign * away)) {
            Some(rounded) => Whole::Rounded(rounded),
            None => Whole::TooLarge,
        }
    }

    /// Appends the literal, which has as many decimal places as the scale.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        if self.mantissa.is_negative() {
            out.push(b'-');
        }
        match self.mantissa.to_i128() {
            Some(mantissa) => {
                let mut digits = itoa::Buffer::new();
                put_scaled(digits.format(mantissa.unsigned_abs()).as_bytes(), self.scale, out);
            }
            None => {
                let mut digits = Vec::with_capacity(80);
                // Writing to memory does not fail.
                let _ = write!(digits, "{}", self.mantissa);
                put_scaled(digits.strip_prefix(b"-").unwrap_or(&digits), self.scale, out);
            }
        }
    }
}

/// Appends digits with the point `scale` places from their end.
fn put_scaled(digits: &[u8], scale: i32, out: &mut Vec<u8>) {
    let places = scale.unsigned_abs() as usize;
    if scale <= 0 {
        out.extend_from_slice(digits);
        if digits != b"0" {
            out.resize(out.len() + places, b'0');
        }
        return;
    }
    match digits.len().checked_sub(places) {
        None | Some(0) => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + (places - digits.len()), b'0');
            out.extend_from_slice(digits);
        }
        Some(whole) => {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(mantissa: i128, scale: i32) -> Decimal {
        Decimal { mantissa: mantissa.into(), scale }
    }

    fn text(decimal: Decimal) -> String {
        let mut out = Vec::new();
        decimal.put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_point_stands_where_the_scale_says() {
        for (mantissa, scale, expected) in [
            (0, 0, "0"),
            (0, 3, "0.000"),
            (0, -3, "0"),
            (5, -2, "500"),
            (-5, -2, "-500"),
            (5, 1, "0.5"),
            (-5, 3, "-0.005"),
            (1234, 2, "12.34"),
            (1234, 4, "0.1234"),
            (-1234, 6, "-0.001234"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(text(decimal(mantissa, scale)), expected);
        }
        let widest = Decimal { mantissa: i256::MIN, scale: 76 };
        let expected = "-5.7896044618658097711785492504343953926634992332820282019728792003956564819968";
        assert_eq!(text(widest), expected);
    }

    #[test]
    fn only_digits_that_count_are_in_the_way_of_a_scale() {
        assert!(decimal(1500, 3).fits_scale(1) && !decimal(1510, 3).fits_scale(1));
        assert!(decimal(1200, 0).fits_scale(-2) && !decimal(1250, 0).fits_scale(-2));
        assert!(decimal(0, 400).fits_scale(2) && !decimal(1, 400).fits_scale(2));
        assert!(decimal(7, -3).fits_scale(0) && !decimal(7, -3).fits_scale(-4));
    }

    #[test]
    fn halves_go_away_from_zero() {
        assert_eq!(decimal(1200, 2).whole(), Whole::Exact(12));
        assert_eq!(decimal(12, -2).whole(), Whole::Exact(1200));
        for (mantissa, rounded) in [(149, 1), (150, 2), (-149, -1), (-150, -2), (49, 0), (50, 1)] {
            assert_eq!(decimal(mantissa, 2).whole(), Whole::Rounded(rounded), "{mantissa}");
        }
        assert_eq!(decimal(1, 100).whole(), Whole::Rounded(0));
        assert_eq!(decimal(1, -77).whole(), Whole::TooLarge);
        assert_eq!(decimal(1, -39).whole(), Whole::TooLarge);
    }
}
