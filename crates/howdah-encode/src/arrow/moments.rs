//! Dates, times of day, points in time and spans: Arrow's counts, PostgreSQL's counts, and how both are written.
//!
//! A moment is kept as days and nanoseconds, which holds every count of every unit exactly.

use arrow_schema::TimeUnit;

use super::allowed::{Allowed, lossy};
use crate::civil::{DATES, Date, MICROS_PER_DAY, TIMESTAMPS, UNIX_EPOCH_DAYS, date_of};
use crate::verdict::NotEncoded;

const SECOND_NANOS: i64 = 1_000_000_000;
/// Nanoseconds of a day.
const DAY_NANOS: i64 = 86_400 * SECOND_NANOS;
/// Days from 1970-01-01, where Arrow counts from, to 2000-01-01, where PostgreSQL does.
pub(super) const EPOCH_DAYS: i64 = -(UNIX_EPOCH_DAYS as i64);
/// Microseconds from 1970-01-01 to 2000-01-01.
pub(super) const EPOCH_MICROS: i64 = EPOCH_DAYS * MICROS_PER_DAY;

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
    /// The form that PostgreSQL writes under `DateStyle` ISO.
    Sql,
    /// The form that `to_jsonb` writes.
    Json,
}

/// A timestamp: a date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timestamp {
    /// Days since 1970-01-01.
    pub(super) days: i64,
    /// Nanoseconds since midnight.
    pub(super) nanos: i64,
}

impl Timestamp {
    /// From a count since 1970-01-01.
    pub(super) fn of(count: i64, unit: TimeUnit) -> Self {
        let nanos = nanos_of(unit);
        let counts = DAY_NANOS / nanos;
        Timestamp { days: count.div_euclid(counts), nanos: count.rem_euclid(counts) * nanos }
    }

    /// From PostgreSQL's count.
    pub(super) fn of_postgres(micros: i64) -> Self {
        Timestamp {
            days: micros.div_euclid(MICROS_PER_DAY) + EPOCH_DAYS,
            nanos: micros.rem_euclid(MICROS_PER_DAY) * 1000,
        }
    }

    /// PostgreSQL's count. Nanoseconds are cut off where that is allowed, towards the past.
    pub(super) fn postgres(self, allowed: Allowed) -> Result<i64, NotEncoded> {
        let midnight = (self.days - EPOCH_DAYS).checked_mul(MICROS_PER_DAY);
        let midnight =
            midnight.filter(|micros| TIMESTAMPS.contains(micros)).ok_or_else(|| out_of_range("timestamp"))?;
        let micros = whole_micros(self.nanos.into(), allowed, |out| self.put(Style::Sql, "", out))?;
        Ok(midnight + i64::try_from(micros).map_err(|_| out_of_range("timestamp"))?)
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
        return Err(lossy(shown, "is no whole number of microseconds", "nanoseconds"));
    }
    Ok(nanos.div_euclid(1000))
}

/// PostgreSQL's count of days since 1970-01-01.
pub(super) fn postgres_date(days: i64) -> Result<i32, NotEncoded> {
    let count = i32::try_from(days - EPOCH_DAYS).ok().filter(|count| DATES.contains(count));
    count.ok_or_else(|| out_of_range("date"))
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

/// An interval: months, days and a time, none of which can be counted in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) nanos: i128,
}

impl Interval {
    pub(super) fn of_duration(count: i64, unit: TimeUnit) -> Self {
        Interval { months: 0, days: 0, nanos: i128::from(count) * i128::from(nanos_of(unit)) }
    }

    pub(super) fn of_postgres(months: i32, days: i32, micros: i64) -> Self {
        Interval { months, days, nanos: i128::from(micros) * 1000 }
    }

    /// The microseconds of PostgreSQL's interval.
    pub(super) fn postgres_micros(self, allowed: Allowed) -> Result<i64, NotEncoded> {
        let micros = whole_micros(self.nanos, allowed, |out| self.put(out))?;
        i64::try_from(micros).map_err(|_| out_of_range("interval"))
    }

    /// Appends the interval in the form of `IntervalStyle` postgres, which reads back the same under every style.
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
    // Hours are far fewer than the nanoseconds that they were divided from, which have a sign.
    put_number(hours.cast_signed(), 2, out);
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

/// Appends a number with at least `width` digits, zeros in front.
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
    let Date { year, month, day } = date_of(days - EPOCH_DAYS);
    let before_christ = year <= 0;
    // There is no year 0: 1 BC comes before 1 AD.
    put_number((if before_christ { 1 - year } else { year }).into(), 4, out);
    out.push(b'-');
    put_number(month.into(), 2, out);
    out.push(b'-');
    put_number(day.into(), 2, out);
    before_christ
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
        text(|out| Timestamp::of(count, unit).put(Style::Sql, "", out))
    }

    #[test]
    fn moments_before_an_epoch_are_not_rounded_towards_it() {
        assert_eq!(moment(0, TimeUnit::Second), "1970-01-01 00:00:00");
        assert_eq!(moment(-1, TimeUnit::Nanosecond), "1969-12-31 23:59:59.999999999");
        assert_eq!(moment(946_684_799_999_999, TimeUnit::Microsecond), "1999-12-31 23:59:59.999999");
        assert_eq!(moment(-62_135_596_801_000, TimeUnit::Millisecond), "0001-12-31 23:59:59 BC");
        let cut = Allowed { nanoseconds: true, ..Allowed::default() };
        assert_eq!(Timestamp::of(-1, TimeUnit::Nanosecond).postgres(cut), Ok(-EPOCH_MICROS - 1));
        assert!(Timestamp::of(-1, TimeUnit::Nanosecond).postgres(Allowed::default()).is_err());
        assert_eq!(
            Timestamp::of(-1, TimeUnit::Second).postgres(Allowed::default()),
            Ok(-EPOCH_MICROS - 1_000_000)
        );
    }

    #[test]
    fn the_range_is_postgresqls() {
        let first = Timestamp::of_postgres(TIMESTAMPS.start);
        assert_eq!(text(|out| first.put(Style::Sql, "+00", out)), "4714-11-24 00:00:00+00 BC");
        let last = Timestamp::of_postgres(TIMESTAMPS.end - 1);
        assert_eq!(text(|out| last.put(Style::Json, "", out)), "294276-12-31T23:59:59.999999");
        for moment in [first, last] {
            assert!(moment.postgres(Allowed::default()).is_ok());
        }
        let beyond = [i64::MIN, i64::MAX]
            .map(|count| [TimeUnit::Second, TimeUnit::Millisecond].map(|unit| (count, unit)));
        for (count, unit) in beyond.into_iter().flatten().chain([(i64::MIN, TimeUnit::Microsecond)]) {
            assert_eq!(
                Timestamp::of(count, unit).postgres(Allowed::default()),
                Err(out_of_range("timestamp"))
            );
        }
        let [first_day, end] = [DATES.start, DATES.end].map(|days| i64::from(days) + EPOCH_DAYS);
        assert_eq!(postgres_date(first_day), Ok(-2_451_545));
        assert!(postgres_date(first_day - 1).is_err());
        assert!(postgres_date(end).is_err());
        assert_eq!(text(|out| put_day(end - 1, out)), "5874897-12-31");
        assert_eq!(postgres_time(DAY_NANOS, Allowed::default()), Ok(MICROS_PER_DAY));
        assert!(postgres_time(DAY_NANOS + 1000, Allowed::default()).is_err());
        assert!(postgres_time(-1000, Allowed::default()).is_err());
    }

    #[test]
    fn spans_are_written_with_the_signs_that_keep_them_apart() {
        let span = |months, days, micros| text(|out| Interval::of_postgres(months, days, micros).put(out));
        assert_eq!(span(0, 0, 0), "00:00:00");
        assert_eq!(span(14, 3, 14_706_700_000), "1 year 2 mons 3 days 04:05:06.7");
        assert_eq!(span(-1, 2, -1), "-1 mons +2 days -00:00:00.000001");
        assert_eq!(span(0, -1, 1_000_000), "-1 days +00:00:01");
        assert_eq!(span(1, 0, 0), "1 mon");
        assert_eq!(span(0, 0, i64::MIN), "-2562047788:00:54.775808");
        assert_eq!(span(i32::MIN, 0, 0), "-178956970 years -8 mons");
        let duration = Interval::of_duration(-1500, TimeUnit::Nanosecond);
        assert_eq!(text(|out| duration.put(out)), "-00:00:00.0000015");
        assert!(duration.postgres_micros(Allowed::default()).is_err());
        let cut = Allowed { nanoseconds: true, ..Allowed::default() };
        assert_eq!(duration.postgres_micros(cut), Ok(-2));
        assert!(Interval::of_duration(i64::MAX, TimeUnit::Second).postgres_micros(cut).is_err());
    }
}
