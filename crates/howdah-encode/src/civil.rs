//! The calendar that PostgreSQL counts in: days from dates, and dates from days.
//!
//! It is the Gregorian calendar, also for the time before that was introduced. Days are counted from 2000-01-01,
//! PostgreSQL's epoch. Years are counted as astronomers do: 0 is 1 BC, -1 is 2 BC.
//!
//! The arithmetic is our own because of its range: PostgreSQL's dates reach from 4713 BC to 5874897 AD and its timestamps
//! to 294276 AD ([date/time types]), while `jiff` ends with the year 9999, `chrono` with 262142 and `time` with 999999.
//! The algorithms are those of Howard Hinnant's [chrono-compatible low-level date algorithms].
//!
//! ```
//! use howdah_encode::civil::{Date, UNIX_EPOCH_DAYS, date_of, days_of};
//! assert_eq!(days_of(1970, 1, 1), Some(UNIX_EPOCH_DAYS));
//! assert_eq!(days_of(2023, 2, 29), None);
//! assert_eq!(date_of(59), Date { year: 2000, month: 2, day: 29 });
//! ```
//!
//! [date/time types]: https://www.postgresql.org/docs/current/datatype-datetime.html
//! [chrono-compatible low-level date algorithms]: https://howardhinnant.github.io/date_algorithms.html

use std::ops::Range;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// The day 1970-01-01, from which Unix and Arrow count.
pub const UNIX_EPOCH_DAYS: i32 = -10_957;
/// PostgreSQL's finite dates, in days since 2000-01-01: from 4714-11-24 BC to 5874897-12-31.
pub const DATES: Range<i32> = -2_451_545..2_145_031_949;
/// PostgreSQL's finite timestamps, in microseconds since 2000-01-01: from 4714-11-24 BC to the end of 294276.
pub const TIMESTAMPS: Range<i64> = -2_451_545 * MICROS_PER_DAY..106_751_983 * MICROS_PER_DAY;

/// Days of 400 years, after which the calendar repeats.
const CYCLE_DAYS: u32 = 146_097;

/// A day of the calendar by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// The year; 0 is 1 BC.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day of the month, 1 to 31.
    pub day: u32,
}

/// Days since 2000-01-01 of a date; `None` when the calendar has no such day, or its year is not one of PostgreSQL's
/// (-4713 to 5874897).
#[inline]
#[must_use]
pub fn days_of(year: i32, month: u32, day: u32) -> Option<i32> {
    const YEARS: Range<i32> = -4713..5_874_898;
    /// Days before each month in a year that begins with March.
    const BEFORE: [u16; 13] = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    const LENGTH: [u8; 13] = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    /// Twelve cycles of 400 years keep the divisions unsigned.
    const SHIFT: i32 = 4800;
    /// Days from the first of March of year -4800 to 2000-01-01.
    const TO_2000: u32 = 6800 / 400 * CYCLE_DAYS - 60;
    let length = *LENGTH.get(month as usize)?;
    if !YEARS.contains(&year) {
        return None;
    }
    let year = year + SHIFT;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if day == 0 || day > u32::from(length) || (month == 2 && day == 29 && !is_leap) {
        return None;
    }
    let years = (year - i32::from(month <= 2)).cast_unsigned();
    let before = u32::from(BEFORE[month as usize]);
    let days = years * 365 + years / 4 - years / 100 + years / 400 + before + day - 1;
    // The last years are beyond i32 until the epoch is subtracted, the first ones below zero afterwards.
    Some(days.wrapping_sub(TO_2000).cast_signed())
}

/// The date of a day counted from 2000-01-01. Any count within 2^62 of zero has one, also beyond PostgreSQL's range.
#[inline]
#[must_use]
pub fn date_of(days: i64) -> Date {
    /// From 0000-03-01, so that a leap day is the last of its year, to 2000-01-01.
    const TO_2000: i64 = 730_425;
    /// Days of five months from March or from August on.
    const FIVE_MONTHS: u32 = 153;
    let days = days + TO_2000;
    #[expect(clippy::cast_possible_truncation, reason = "a remainder below 146,097")]
    let day = days.rem_euclid(CYCLE_DAYS.into()) as u32;
    // Every fourth year has a leap day, but of the hundredth ones only the last.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / FIVE_MONTHS;
    let day = day - (FIVE_MONTHS * month + 2) / 5 + 1;
    let year = days.div_euclid(CYCLE_DAYS.into()) * 400 + i64::from(year);
    match month {
        0..10 => Date { year, month: month + 3, day },
        _ => Date { year: year + 1, month: month - 9, day },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree_with_counting_them_one_by_one() {
        let mut expected = days_of(-4713, 11, 24).unwrap();
        assert_eq!(expected, DATES.start);
        for year in -4713..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if (year, month, day) < (-4713, 11, 24) {
                        continue;
                    }
                    if let Some(days) = days_of(year, month, day) {
                        assert_eq!(days, expected, "{year}-{month}-{day}");
                        assert_eq!(date_of(days.into()), Date { year: year.into(), month, day });
                        expected += 1;
                    } else {
                        assert!(day > 28, "{year}-{month}-{day}");
                    }
                }
            }
        }
        assert_eq!(days_of(2000, 1, 1), Some(0));
        assert_eq!(days_of(1970, 1, 1), Some(UNIX_EPOCH_DAYS));
        for (year, month, day) in [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 1, 0)] {
            assert_eq!(days_of(year, month, day), None, "{year}-{month}-{day}");
        }
        assert!(days_of(2000, 2, 29).is_some());
    }

    #[test]
    fn months_have_the_lengths_of_the_calendar() {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut days = -730_485;
        for year in 0..2500 {
            for month in 1..=12 {
                let length = match month {
                    2 => 28 + u32::from(is_leap(year)),
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                for day in 1..=length {
                    assert_eq!(date_of(days), Date { year, month, day });
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_postgresqls_and_nothing_beyond_them_wraps() {
        assert_eq!(date_of(DATES.start.into()), Date { year: -4713, month: 11, day: 24 });
        assert_eq!(days_of(5_874_897, 12, 31), Some(DATES.end - 1));
        assert_eq!(date_of(i64::from(DATES.end) - 1), Date { year: 5_874_897, month: 12, day: 31 });
        let last = TIMESTAMPS.end / MICROS_PER_DAY - 1;
        assert_eq!(date_of(last), Date { year: 294_276, month: 12, day: 31 });
        assert_eq!(TIMESTAMPS.start, i64::from(DATES.start) * MICROS_PER_DAY);
        for year in [i32::MIN, -4800, -4714, 5_874_898, i32::MAX] {
            assert_eq!(days_of(year, 1, 1), None, "{year}");
        }
        assert!(date_of(1 << 62).year > 0 && date_of(-1 << 62).year < 0);
    }
}
