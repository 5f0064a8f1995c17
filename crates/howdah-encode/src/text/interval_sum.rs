//! The sum of an interval's parts, with the server's arithmetic: how fractions of large units spill into smaller ones,
//! and what is too much.

use crate::civil::{MICROS_PER_DAY, MICROS_PER_SECOND};

const MINUTE: i64 = 60 * MICROS_PER_SECOND;
const HOUR: i64 = 60 * MINUTE;
/// Days that a fraction of a month is counted in.
const DAYS_OF_MONTH: i32 = 30;
const MONTHS_OF_YEAR: i32 = 12;

/// What a part of an interval is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// Why an interval has no value here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntervalError {
    /// It is no interval.
    Syntax,
    /// A part of it is too large.
    Overflow,
    /// The versions or platforms of the server differ.
    Unsure,
}

/// A number with its fraction apart, both of the same sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    pub(super) whole: i64,
    pub(super) fraction: f64,
}

/// Years are kept apart from months: each has limits of its own until the end.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct IntervalSum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

impl IntervalSum {
    pub(super) fn add(&mut self, quantity: Quantity, unit: Unit) -> Result<(), IntervalError> {
        // Nines enough are read as one.
        if quantity.fraction.abs() >= 1.0 {
            return Err(IntervalError::Unsure);
        }
        match unit {
            Unit::Microsecond => self.add_micros(quantity, 1),
            Unit::Millisecond => self.add_micros(quantity, 1000),
            Unit::Second => self.add_micros(quantity, MICROS_PER_SECOND),
            Unit::Minute => self.add_micros(quantity, MINUTE),
            Unit::Hour => self.add_micros(quantity, HOUR),
            Unit::Day => self.add_days(quantity, 1),
            Unit::Week => self.add_days(quantity, 7),
            Unit::Month => {
                add(&mut self.months, quantity.whole, 1)?;
                self.add_days(Quantity { whole: 0, ..quantity }, DAYS_OF_MONTH)
            }
            Unit::Year => self.add_years(quantity, 1),
            Unit::Decade => self.add_years(quantity, 10),
            Unit::Century => self.add_years(quantity, 100),
            Unit::Millennium => self.add_years(quantity, 1000),
        }
    }

    /// Sets the microseconds, as a time of day within an interval does.
    pub(super) fn set_clock(&mut self, micros: i64) -> Result<(), IntervalError> {
        // The fraction of a day read before would be lost.
        if self.micros != 0 {
            return Err(IntervalError::Unsure);
        }
        self.micros = micros;
        Ok(())
    }

    pub(super) fn negate(&mut self) -> Result<(), IntervalError> {
        let part = |value: i32| value.checked_neg().ok_or(IntervalError::Unsure);
        let micros = self.micros.checked_neg().ok_or(IntervalError::Unsure)?;
        let (years, months, days) = (part(self.years)?, part(self.months)?, part(self.days)?);
        *self = IntervalSum { years, months, days, micros };
        Ok(())
    }

    /// Months, days and microseconds; `None` when there are too many months.
    pub(super) fn fields(&self) -> Option<(i32, i32, i64)> {
        let months = i64::from(self.years) * i64::from(MONTHS_OF_YEAR) + i64::from(self.months);
        Some((i32::try_from(months).ok()?, self.days, self.micros))
    }

    fn add_micros(&mut self, Quantity { whole, fraction }: Quantity, unit: i64) -> Result<(), IntervalError> {
        let whole = whole.checked_mul(unit).ok_or(IntervalError::Overflow)?;
        let sum = self.micros.checked_add(whole).ok_or(IntervalError::Overflow)?;
        self.micros = sum.checked_add(rounded(fraction, unit)?).ok_or(IntervalError::Overflow)?;
        Ok(())
    }

    /// The fraction becomes whole days first, and what is left of it microseconds.
    fn add_days(&mut self, Quantity { whole, fraction }: Quantity, days: i32) -> Result<(), IntervalError> {
        add(&mut self.days, whole, days)?;
        let fraction = fraction * f64::from(days);
        add(&mut self.days, truncated(fraction), 1)?;
        self.add_micros(Quantity { whole: 0, fraction: fraction - fraction.trunc() }, MICROS_PER_DAY)
    }

    /// The fraction becomes the nearest number of months.
    fn add_years(&mut self, Quantity { whole, fraction }: Quantity, years: i32) -> Result<(), IntervalError> {
        add(&mut self.years, whole, years)?;
        let months = fraction * f64::from(years) * f64::from(MONTHS_OF_YEAR);
        add(&mut self.months, truncated(months.round_ties_even()), 1)
    }
}

fn add(sum: &mut i32, count: i64, unit: i32) -> Result<(), IntervalError> {
    let product = i32::try_from(count).ok().and_then(|count| count.checked_mul(unit));
    *sum = product.and_then(|product| sum.checked_add(product)).ok_or(IntervalError::Overflow)?;
    Ok(())
}

/// The microseconds in a fraction of a unit. Where rounding is a close call it is the server's: a processor that
/// multiplies and subtracts in one step decides otherwise than one that rounds in between.
fn rounded(fraction: f64, unit: i64) -> Result<i64, IntervalError> {
    /// Twice the error of a day's microseconds, where thirty times the fraction was rounded before.
    const CLOSE: f64 = 1e-3;
    if fraction == 0.0 {
        return Ok(0);
    }
    #[expect(clippy::cast_precision_loss, reason = "at most a day of microseconds")]
    let micros = fraction * unit as f64;
    let rest = (micros - micros.trunc()).abs();
    if (rest - 0.5).abs() < CLOSE {
        return Err(IntervalError::Unsure);
    }
    Ok(truncated(micros.round()))
}

#[expect(clippy::cast_possible_truncation, reason = "fractions of units are far within the type")]
fn truncated(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(parts: &[(i64, f64, Unit)]) -> Result<(i32, i32, i64), IntervalError> {
        let mut span = IntervalSum::default();
        for &(whole, fraction, unit) in parts {
            span.add(Quantity { whole, fraction }, unit)?;
        }
        span.fields().ok_or(IntervalError::Overflow)
    }

    #[test]
    fn fractions_spill_into_smaller_units_as_the_servers_do() {
        assert_eq!(span(&[(1, 0.5, Unit::Year)]), Ok((18, 0, 0)));
        // Months are rounded to even, and nothing of a year reaches the days.
        assert_eq!(span(&[(0, 0.125, Unit::Year)]), Ok((2, 0, 0)));
        assert_eq!(span(&[(0, 0.01, Unit::Year)]), Ok((0, 0, 0)));
        assert_eq!(span(&[(0, 0.25, Unit::Decade)]), Ok((30, 0, 0)));
        assert_eq!(span(&[(1, 0.05, Unit::Month)]), Ok((1, 1, MICROS_PER_DAY / 2)));
        assert_eq!(span(&[(0, 0.3, Unit::Week)]), Ok((0, 2, MICROS_PER_DAY / 10)));
        assert_eq!(span(&[(-1, -0.25, Unit::Day)]), Ok((0, -1, -MICROS_PER_DAY / 4)));
        assert_eq!(span(&[(1, 0.5, Unit::Minute), (2, 0.25, Unit::Millisecond)]), Ok((0, 0, 90_002_250)));
        assert_eq!(span(&[(0, 0.123_456_7, Unit::Second)]), Ok((0, 0, 123_457)));
    }

    #[test]
    fn rounding_that_depends_on_the_processor_is_left_to_the_server() {
        assert_eq!(span(&[(0, 0.000_000_5, Unit::Second)]), Err(IntervalError::Unsure));
        assert_eq!(span(&[(0, -0.5, Unit::Microsecond)]), Err(IntervalError::Unsure));
    }

    #[test]
    fn sums_beyond_the_servers_limits_are_refused_not_wrapped() {
        let (int, long) = (i64::from(i32::MAX), i64::MAX);
        assert_eq!(span(&[(int, 0.0, Unit::Day)]), Ok((0, i32::MAX, 0)));
        for parts in [
            &[(int, 0.0, Unit::Day), (1, 0.0, Unit::Day)][..],
            &[(int, 0.0, Unit::Week)],
            &[(int + 1, 0.0, Unit::Month)],
            &[(int, 0.9, Unit::Year)],
            &[(int, 0.0, Unit::Millennium)],
            &[(long, 0.0, Unit::Millisecond)],
            &[(long, 0.9, Unit::Microsecond)],
            &[(long / HOUR + 1, 0.0, Unit::Hour)],
        ] {
            assert_eq!(span(parts), Err(IntervalError::Overflow), "{parts:?}");
        }
        let mut lowest = IntervalSum { days: i32::MIN, ..IntervalSum::default() };
        assert_eq!(lowest.negate(), Err(IntervalError::Unsure));
    }
}
