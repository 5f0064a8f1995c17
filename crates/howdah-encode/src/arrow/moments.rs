//! Dates, times of day, points in time and spans: Arrow's counts, PostgreSQL's counts, and how both are written.
//!
//! A moment is kept as days and nanoseconds, which holds every count of every unit exactly.

use arrow_schema::TimeUnit;

use super::allowed::{Allowed, lossy};
use crate::verdict::{Loss, NotEncoded};

/// Nanoseconds of a day.
const DAY_NANOS: i64 = 86_400 * SECOND_NANOS;
const SECOND_NANOS: i64 = 1_000_000_000;
/// Microseconds of a day.
const DAY_MICROS: i64 = DAY_NANOS / 1000;
/// Days from 1970-01-01, where Arrow counts from, to 2000-01-01, where PostgreSQL does.
pub(super) const EPOCH_DAYS: i64 = 10_957;
/// The same in microseconds.
pub(super) const EPOCH_MICROS: i64 = EPOCH_DAYS * DAY_MICROS;
/// PostgreSQL's calendar begins with 4714-11-24 BC.
const FIRST_DAY: i64 = -2_451_545;
/// Its timestamps end before 294277-01-01,
const TIMESTAMP_END: i64 = 106_751_983;
/// its dates before 5874898-01-01.
const DATE_END: i64 = 2_145_031_949;
/// PostgreSQL's timestamps, in microseconds from its epoch.
pub(super) const TIMESTAMPS: std::ops::Range<i64> = FIRST_DAY * DAY_MICROS..TIMESTAMP_END * DAY_MICROS;

/// Nanoseconds of one count.
const fn nanos_of(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => SECOND_NANOS,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Microseconds of one count; `None` where a count is less than one.
pub(super) fn micros_of(unit: TimeUnit) -> Option<i64> {
    match nanos_of(unit) / 1000 {
        0 => None,
        micros => Some(micros),
    }
}

/// How a moment is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As PostgreSQL writes it under `DateStyle` ISO.
    Sql,
    /// As `to_jsonb` does.
    Json,
}

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Days since 1970-01-01.
    pub(super) days: i64,
    /// Nanoseconds since midnight.
    pub(super) nanos: i64,
}

impl Moment {
    /// From a count since 1970-01-01.
    pub(super) fn of(count: i64, unit: TimeUnit) -> Self {
        let nanos = nanos_of(unit);
        let counts = DAY_NANOS / nanos;
        Moment { days: count.div_euclid(counts), nanos: count.rem_euclid(counts) * nanos }
    }

    /// From PostgreSQL's count.
    pub(super) fn of_postgres(micros: i64) -> Self {
        Moment {
            days: micros.div_euclid(DAY_MICROS) + EPOCH_DAYS,
            nanos: micros.rem_euclid(DAY_MICROS) * 1000,
        }
    }

    /// PostgreSQL's count. Nanoseconds are cut off where that is allowed, towards the past.
    pub(super) fn postgres(self, allowed: Allowed) -> Result<i64, NotEncoded> {
        let days = self.days - EPOCH_DAYS;
        if !(FIRST_DAY..TIMESTAMP_END).contains(&days) {
            return Err(out_of_range("timestamp"));
        }
        let micros = whole_micros(self.nanos.into(), allowed, |out| self.put(Style::Sql, "", out))?;
        Ok(days * DAY_MICROS + i64::try_from(micros).map_err(|_| out_of_range("timestamp"))?)
    }

    /// The moment with its zone, if any, in front of the era.
    pub(super) fn put(self, style: Style, zone: &str, out: &mut Vec<u8>) {
        let before_christ = put_date(self.days, out);
        out.push(if style == Style::Json { b'T' } else { b' ' });
        put_clock(self.nanos, out);
        out.extend_from_slice(zone.as_bytes());
        put_era(before_christ, out);
    }
}

/// How the zone of a moment in UTC is written.
pub(super) const fn utc(style: Style) -> &'static str {
    match style {
        Style::Sql => "+00",
        Style::Json => "+00:00",
    }
}

#[cold]
pub(super) fn out_of_range(what: &str) -> NotEncoded {
    NotEncoded::invalid("22008", format!("{what} out of range"))
}

/// Nanoseconds as microseconds, the surplus cut off towards the past where that is allowed.
fn whole_micros(nanos: i128, allowed: Allowed, shown: impl FnOnce(&mut Vec<u8>)) -> Result<i128, NotEncoded> {
    if nanos % 1000 != 0 && !allowed.nanoseconds {
        return Err(lossy(shown, "is no whole number of microseconds", Loss::Nanoseconds));
    }
    Ok(nanos.div_euclid(1000))
}

/// PostgreSQL's count of days since 1970-01-01.
pub(super) fn postgres_date(days: i64) -> Result<i32, NotEncoded> {
    let days = days - EPOCH_DAYS;
    match i32::try_from(days) {
        Ok(count) if (FIRST_DAY..DATE_END).contains(&days) => Ok(count),
        _ => Err(out_of_range("date")),
    }
}

/// Nanoseconds since midnight of a time of day; beyond all days where the count is.
pub(super) fn clock_nanos(count: i64, unit: TimeUnit) -> i64 {
    count.saturating_mul(nanos_of(unit))
}

/// PostgreSQL's count of a time of day.
pub(super) fn postgres_time(nanos: i64, allowed: Allowed) -> Result<i64, NotEncoded> {
    if !(0..=DAY_NANOS).contains(&nanos) {
        return Err(out_of_range("time"));
    }
    let micros = whole_micros(nanos.into(), allowed, |out| put_clock(nanos, out))?;
    i64::try_from(micros).map_err(|_| out_of_range("time"))
}

/// Months, days and a time, none of which is a number of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) nanos: i128,
}

impl Span {
    pub(super) fn of_duration(count: i64, unit: TimeUnit) -> Self {
        Span { months: 0, days: 0, nanos: i128::from(count) * i128::from(nanos_of(unit)) }
    }

    pub(super) fn of_postgres(months: i32, days: i32, micros: i64) -> Self {
        Span { months, days, nanos: i128::from(micros) * 1000 }
    }

    /// The microseconds of PostgreSQL's interval.
    pub(super) fn postgres_micros(self, allowed: Allowed) -> Result<i64, NotEncoded> {
        let micros = whole_micros(self.nanos, allowed, |out| self.put(out))?;
        i64::try_from(micros).map_err(|_| out_of_range("interval"))
    }

    /// As PostgreSQL writes it under `IntervalStyle` postgres, which reads back the same under every style.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut negative_before = false;
        for (count, unit) in [(self.months / 12, " year"), (self.months % 12, " mon"), (self.days, " day")] {
            if count == 0 {
                continue;
            }
            if out.len() > start {
                out.push(b' ');
            }
            if negative_before && count > 0 {
                out.push(b'+');
            }
            put_number(count.into(), 1, out);
            out.extend_from_slice(unit.as_bytes());
            if count != 1 {
                out.push(b's');
            }
            negative_before = count < 0;
        }
        if self.nanos == 0 && out.len() > start {
            return;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if self.nanos < 0 {
            out.push(b'-');
        } else if negative_before {
            out.push(b'+');
        }
        let nanos = self.nanos.unsigned_abs();
        let second = u128::from(SECOND_NANOS.unsigned_abs());
        put_clock_parts(nanos / (3600 * second), nanos % (3600 * second), out);
    }
}

/// Appends a time of day.
pub(super) fn put_clock(nanos: i64, out: &mut Vec<u8>) {
    if nanos < 0 {
        out.push(b'-');
    }
    let nanos = nanos.unsigned_abs();
    let hour = 3600 * SECOND_NANOS.unsigned_abs();
    put_clock_parts((nanos / hour).into(), (nanos % hour).into(), out);
}

/// Hours, and the nanoseconds of an hour.
fn put_clock_parts(hours: u128, nanos: u128, out: &mut Vec<u8>) {
    let second = u128::from(SECOND_NANOS.unsigned_abs());
    put_number(i128::try_from(hours).unwrap_or(i128::MAX), 2, out);
    out.push(b':');
    put_number((nanos / (60 * second)).cast_signed(), 2, out);
    out.push(b':');
    put_number((nanos / second % 60).cast_signed(), 2, out);
    let fraction = nanos % second;
    if fraction != 0 {
        out.push(b'.');
        put_number(fraction.cast_signed(), 9, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// Appends a number with at least so many digits.
fn put_number(number: i128, width: usize, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number.unsigned_abs());
    out.resize(out.len() + width.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits.as_bytes());
}

/// Appends a date since 1970-01-01 with its era.
pub(super) fn put_day(days: i64, out: &mut Vec<u8>) {
    let before_christ = put_date(days, out);
    put_era(before_christ, out);
}

fn put_era(before_christ: bool, out: &mut Vec<u8>) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a date without its era; returns whether that is before Christ.
fn put_date(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil(days);
    let before_christ = year <= 0;
    // There is no year 0: 1 BC comes before 1 AD.
    put_number((if before_christ { 1 - year } else { year }).into(), 4, out);
    out.push(b'-');
    put_number(month.into(), 2, out);
    out.push(b'-');
    put_number(day.into(), 2, out);
    before_christ
}

/// Year, month and day of a day since 1970-01-01 in the Gregorian calendar, the year before 1 being 0.
fn civil(days: i64) -> (i64, i64, i64) {
    /// Days of 400 years, after which the calendar repeats.
    const CYCLE: i64 = 146_097;
    /// From 0000-03-01, so that a leap day is the last of its year, to 1970-01-01.
    const TO_1970: i64 = 719_468;
    /// Days of five months from March or from August on.
    const FIVE_MONTHS: i64 = 153;
    let days = days + TO_1970;
    let day = days.rem_euclid(CYCLE);
    // Every fourth year has a leap day, but of the hundredth ones only the last.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / FIVE_MONTHS;
    let day = day - (FIVE_MONTHS * month + 2) / 5 + 1;
    let year = days.div_euclid(CYCLE) * 400 + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn moment(count: i64, unit: TimeUnit) -> String {
        text(|out| Moment::of(count, unit).put(Style::Sql, "", out))
    }

    #[test]
    fn days_are_written_as_counting_them_one_by_one_finds_them() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut days = -(1970 * 365 + 478);
        assert_eq!(civil(days), (0, 1, 1));
        for year in 0..2500 {
            for month in 1..=12 {
                let length = match month {
                    2 => 28 + i64::from(leap(year)),
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                for day in 1..=length {
                    assert_eq!(civil(days), (year, month, day));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn moments_before_an_epoch_are_not_rounded_towards_it() {
        assert_eq!(moment(0, TimeUnit::Second), "1970-01-01 00:00:00");
        assert_eq!(moment(-1, TimeUnit::Nanosecond), "1969-12-31 23:59:59.999999999");
        assert_eq!(moment(946_684_799_999_999, TimeUnit::Microsecond), "1999-12-31 23:59:59.999999");
        assert_eq!(moment(-62_135_596_801_000, TimeUnit::Millisecond), "0001-12-31 23:59:59 BC");
        let cut = Allowed { nanoseconds: true, ..Allowed::default() };
        assert_eq!(Moment::of(-1, TimeUnit::Nanosecond).postgres(cut), Ok(-EPOCH_MICROS - 1));
        assert!(Moment::of(-1, TimeUnit::Nanosecond).postgres(Allowed::default()).is_err());
        assert_eq!(
            Moment::of(-1, TimeUnit::Second).postgres(Allowed::default()),
            Ok(-EPOCH_MICROS - 1_000_000)
        );
    }

    #[test]
    fn the_range_is_postgresqls() {
        let first = Moment::of_postgres(TIMESTAMPS.start);
        assert_eq!(text(|out| first.put(Style::Sql, "+00", out)), "4714-11-24 00:00:00+00 BC");
        let last = Moment::of_postgres(TIMESTAMPS.end - 1);
        assert_eq!(text(|out| last.put(Style::Json, "", out)), "294276-12-31T23:59:59.999999");
        for moment in [first, last] {
            assert!(moment.postgres(Allowed::default()).is_ok());
        }
        let beyond = [i64::MIN, i64::MAX]
            .map(|count| [TimeUnit::Second, TimeUnit::Millisecond].map(|unit| (count, unit)));
        for (count, unit) in beyond.into_iter().flatten().chain([(i64::MIN, TimeUnit::Microsecond)]) {
            assert_eq!(Moment::of(count, unit).postgres(Allowed::default()), Err(out_of_range("timestamp")));
        }
        assert_eq!(postgres_date(FIRST_DAY + EPOCH_DAYS), Ok(-2_451_545));
        assert!(postgres_date(FIRST_DAY + EPOCH_DAYS - 1).is_err());
        assert!(postgres_date(DATE_END + EPOCH_DAYS).is_err());
        assert_eq!(text(|out| put_day(DATE_END + EPOCH_DAYS - 1, out)), "5874897-12-31");
        assert_eq!(postgres_time(DAY_NANOS, Allowed::default()), Ok(DAY_MICROS));
        assert!(postgres_time(DAY_NANOS + 1000, Allowed::default()).is_err());
        assert!(postgres_time(-1000, Allowed::default()).is_err());
    }

    #[test]
    fn spans_are_written_with_the_signs_that_keep_them_apart() {
        let span = |months, days, micros| text(|out| Span::of_postgres(months, days, micros).put(out));
        assert_eq!(span(0, 0, 0), "00:00:00");
        assert_eq!(span(14, 3, 14_706_700_000), "1 year 2 mons 3 days 04:05:06.7");
        assert_eq!(span(-1, 2, -1), "-1 mons +2 days -00:00:00.000001");
        assert_eq!(span(0, -1, 1_000_000), "-1 days +00:00:01");
        assert_eq!(span(1, 0, 0), "1 mon");
        assert_eq!(span(0, 0, i64::MIN), "-2562047788:00:54.775808");
        assert_eq!(span(i32::MIN, 0, 0), "-178956970 years -8 mons");
        let duration = Span::of_duration(-1500, TimeUnit::Nanosecond);
        assert_eq!(text(|out| duration.put(out)), "-00:00:00.0000015");
        assert!(duration.postgres_micros(Allowed::default()).is_err());
        let cut = Allowed { nanoseconds: true, ..Allowed::default() };
        assert_eq!(duration.postgres_micros(cut), Ok(-2));
        assert!(Span::of_duration(i64::MAX, TimeUnit::Second).postgres_micros(cut).is_err());
    }
}
