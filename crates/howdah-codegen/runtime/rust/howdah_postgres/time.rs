//! Dates, times and intervals. What chrono or PostgreSQL cannot hold is refused: infinity, nanoseconds, leap seconds.

use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};
use tokio_postgres::types::Type;

use super::codec::{Decode, Encode, Refused, Value, exactly, take, take_i32};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 2000-01-01, from which PostgreSQL counts, in microseconds of Unix.
const EPOCH: i64 = 946_684_800 * SECOND;
/// 4714-11-24 BC, PostgreSQL's first day, from 2000-01-01.
const FIRST_DAY: i64 = -2_451_545;
/// PostgreSQL's zones are less than 16 hours from UTC.
const ZONE: i32 = 16 * 3600;

fn beyond(what: &str) -> Refused {
    Refused::new(format!("this {what} is beyond what chrono holds"))
}

fn infinite(what: &str) -> Refused {
    Refused::new(format!("no {what} of chrono is infinity or -infinity"))
}

/// A time of a day with the offset from UTC, PostgreSQL's `timetz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// The time there.
    pub time: NaiveTime,
    /// How far it is ahead of UTC.
    pub offset: FixedOffset,
}

/// An interval as PostgreSQL keeps it: a month has no fixed number of days, a day none of hours.
///
/// The greatest and the least values of all three are infinite (PostgreSQL 17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}

impl Interval {
    /// Longer than all others.
    pub const INFINITE: Self = Self {
        months: i32::MAX,
        days: i32::MAX,
        microseconds: i64::MAX,
    };
    /// Shorter than all others.
    pub const MINUS_INFINITE: Self = Self {
        months: i32::MIN,
        days: i32::MIN,
        microseconds: i64::MIN,
    };
}

/// Microseconds of a day.
fn micros(time: NaiveTime) -> Result<i64, Refused> {
    let nanos = time.nanosecond();
    if nanos >= 1_000_000_000 {
        return Err(Refused::new("PostgreSQL has no leap seconds"));
    }
    if nanos / 1000 * 1000 != nanos {
        return Err(Refused::new("PostgreSQL has no nanoseconds"));
    }
    Ok(i64::from(time.num_seconds_from_midnight()) * SECOND + i64::from(nanos / 1000))
}

fn time(micros: i64) -> Result<NaiveTime, Refused> {
    if micros == DAY {
        return Err(Refused::new("chrono has no 24:00"));
    }
    let seconds = u32::try_from(micros.div_euclid(SECOND)).ok();
    let nanos = u32::try_from(micros.rem_euclid(SECOND) * 1000).ok();
    let time = seconds
        .zip(nanos)
        .and_then(|(s, n)| NaiveTime::from_num_seconds_from_midnight_opt(s, n));
    time.ok_or_else(|| beyond("time"))
}

/// Days from 2000-01-01.
fn days(date: NaiveDate) -> Result<i32, Refused> {
    let days = date.signed_duration_since(NaiveDate::default()).num_days() - EPOCH / DAY;
    if days < FIRST_DAY {
        return Err(Refused::new("PostgreSQL's first day is 4714-11-24 BC"));
    }
    i32::try_from(days).map_err(|_| Refused::new("PostgreSQL has no such day"))
}

/// Microseconds from 2000-01-01.
fn timestamp(value: NaiveDateTime) -> Result<i64, Refused> {
    // Days of chrono are fewer than microseconds of 64 bits hold.
    Ok(i64::from(days(value.date())?) * DAY + micros(value.time())?)
}

fn instant(bytes: &[u8]) -> Result<DateTime<Utc>, Refused> {
    let micros = i64::from_be_bytes(exactly(bytes)?);
    if matches!(micros, i64::MIN | i64::MAX) {
        return Err(infinite("timestamp"));
    }
    let micros = micros.checked_add(EPOCH);
    micros
        .and_then(DateTime::from_timestamp_micros)
        .ok_or_else(|| beyond("timestamp"))
}

/// As PostgreSQL reads it whatever DateStyle is: a year has no sign but BC.
fn push_date(date: NaiveDate, out: &mut String) -> bool {
    use chrono::Datelike;
    let before = date.year() < 1;
    let year = if before { 1 - date.year() } else { date.year() };
    out.push_str(&format!("{year:04}-{:02}-{:02}", date.month(), date.day()));
    before
}

fn push_time(time: NaiveTime, out: &mut String) {
    out.push_str(&time.format("%H:%M:%S%.6f").to_string());
}

fn push_timestamp(value: NaiveDateTime, zone: &str, out: &mut String) -> Result<(), Refused> {
    timestamp(value)?;
    let before = push_date(value.date(), out);
    out.push(' ');
    push_time(value.time(), out);
    out.push_str(zone);
    out.push_str(if before { " BC" } else { "" });
    Ok(())
}

macro_rules! value_of {
    ($type:ty, $of:ident) => {
        impl Value for $type {
            fn accepts(ty: &Type) -> bool {
                *ty == Type::$of
            }

            fn built_in() -> Option<Type> {
                Some(Type::$of)
            }
        }
    };
}

value_of!(NaiveDate, DATE);
value_of!(NaiveTime, TIME);
value_of!(TimeTz, TIMETZ);
value_of!(NaiveDateTime, TIMESTAMP);
value_of!(DateTime<Utc>, TIMESTAMPTZ);
value_of!(Interval, INTERVAL);

impl Encode for NaiveDate {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_i32(days(*self)?);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        days(*self)?;
        let before = push_date(*self, out);
        out.push_str(if before { " BC" } else { "" });
        Ok(())
    }
}

impl Decode for NaiveDate {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        let days = i32::from_be_bytes(exactly(bytes)?);
        if matches!(days, i32::MIN | i32::MAX) {
            return Err(infinite("date"));
        }
        let epoch = Self::from_ymd_opt(2000, 1, 1).ok_or_else(|| beyond("date"))?;
        let distance = Days::new(u64::from(days.unsigned_abs()));
        let date = if days < 0 {
            epoch.checked_sub_days(distance)
        } else {
            epoch.checked_add_days(distance)
        };
        date.ok_or_else(|| beyond("date"))
    }
}

impl Encode for NaiveTime {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_i64(micros(*self)?);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        micros(*self)?;
        push_time(*self, out);
        Ok(())
    }
}

impl Decode for NaiveTime {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        time(i64::from_be_bytes(exactly(bytes)?))
    }
}

impl TimeTz {
    fn zone(self) -> Result<i32, Refused> {
        let ahead = self.offset.local_minus_utc();
        if ahead.abs() >= ZONE {
            return Err(Refused::new(
                "PostgreSQL's zones are less than 16 hours from UTC",
            ));
        }
        Ok(ahead)
    }
}

impl Encode for TimeTz {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        let zone = self.zone()?;
        out.put_i64(micros(self.time)?);
        out.put_i32(-zone);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        self.zone()?;
        micros(self.time)?;
        push_time(self.time, out);
        out.push_str(&self.offset.to_string());
        Ok(())
    }
}

impl Decode for TimeTz {
    fn decode(_: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let time = time(i64::from_be_bytes(exactly(take(&mut bytes, 8)?)?))?;
        let behind = take_i32(&mut bytes)?;
        let offset = FixedOffset::west_opt(behind).ok_or_else(|| beyond("zone"))?;
        Ok(Self { time, offset })
    }
}

impl Encode for NaiveDateTime {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_i64(timestamp(*self)?);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        push_timestamp(*self, "", out)
    }
}

impl Decode for NaiveDateTime {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        Ok(instant(bytes)?.naive_utc())
    }
}

impl Encode for DateTime<Utc> {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_i64(timestamp(self.naive_utc())?);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        push_timestamp(self.naive_utc(), "+00", out)
    }
}

impl Decode for DateTime<Utc> {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        instant(bytes)
    }
}

impl Encode for Interval {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_i64(self.microseconds);
        out.put_i32(self.days);
        out.put_i32(self.months);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        match *self {
            Self::INFINITE => out.push_str("infinity"),
            Self::MINUS_INFINITE => out.push_str("-infinity"),
            Self {
                months,
                days,
                microseconds,
            } => {
                out.push_str(&format!(
                    "{months} mons {days} days {microseconds} microseconds"
                ));
            }
        }
        Ok(())
    }
}

impl Decode for Interval {
    fn decode(_: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let microseconds = i64::from_be_bytes(exactly(take(&mut bytes, 8)?)?);
        Ok(Self {
            microseconds,
            days: take_i32(&mut bytes)?,
            months: take_i32(&mut bytes)?,
        })
    }
}
