//! `timestamp` and `timestamptz`: microseconds since 2000-01-01, from ISO literals.

use super::fixed::{DateLiteral, DateTime, plain_date, plain_time};
use super::iso;
use crate::civil::{MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_EPOCH_DAYS};
use crate::session::Zone;
use crate::verdict::NotEncoded;

/// How the binary format says infinity.
const INFINITY: i64 = i64::MAX;
const NEGATIVE_INFINITY: i64 = i64::MIN;

/// The time of day as written; like the server, an offset is checked and dropped.
#[inline]
pub(super) fn parse_timestamp(literal: &[u8]) -> Result<i64, NotEncoded> {
    if let Some(read) = plain(literal) {
        return Ok(local(read));
    }
    Ok(match iso::read(literal, "timestamp")? {
        DateLiteral::DateTime(read) => local(read),
        other => fixed_point(other),
    })
}

/// The moment in UTC; a literal without an offset is in the session's zone.
#[inline]
pub(super) fn parse_timestamptz(literal: &[u8], zone: Zone) -> Result<i64, NotEncoded> {
    let read = match plain(literal) {
        Some(read) => read,
        None => match iso::read(literal, "timestamp with time zone")? {
            DateLiteral::DateTime(read) => read,
            other => return Ok(fixed_point(other)),
        },
    };
    match (read.offset, zone) {
        (Some(offset), _) | (None, Zone::Fixed(offset)) => {
            Ok(local(read) - i64::from(offset) * MICROS_PER_SECOND)
        }
        (None, Zone::Named) => Err(NotEncoded::Unsure),
    }
}

#[inline]
fn local(read: DateTime) -> i64 {
    i64::from(read.days) * MICROS_PER_DAY + read.micros
}

#[cold]
fn fixed_point(literal: DateLiteral) -> i64 {
    match literal {
        DateLiteral::DateTime(read) => local(read),
        DateLiteral::Epoch => i64::from(UNIX_EPOCH_DAYS) * MICROS_PER_DAY,
        DateLiteral::Infinity => INFINITY,
        DateLiteral::NegativeInfinity => NEGATIVE_INFINITY,
    }
}

/// `YYYY-MM-DD HH:MM:SS` with at most six digits of fraction and an offset of hours, or hours and minutes.
#[inline]
fn plain(literal: &[u8]) -> Option<DateTime> {
    let (head, tail) = literal.split_first_chunk::<19>()?;
    let days = plain_date(head.first_chunk()?)?;
    if !matches!(head[10], b' ' | b'T') {
        return None;
    }
    let (micros, offset) = plain_clock(*head.last_chunk()?, tail)?;
    Some(DateTime { days, micros, offset })
}

/// Microseconds since midnight and seconds east of UTC of `HH:MM:SS` and what follows it: at most six digits of
/// fraction, then perhaps an offset.
#[inline(always)]
pub(super) fn plain_clock(time: [u8; 8], mut tail: &[u8]) -> Option<(i64, Option<i32>)> {
    let mut micros = plain_time(time)?;
    if let [b'.', rest @ ..] = tail {
        let mut unit = MICROS_PER_SECOND;
        let mut digits = rest;
        while let [digit @ b'0'..=b'9', rest @ ..] = digits
            && unit > 1
        {
            unit /= 10;
            micros += i64::from(digit - b'0') * unit;
            digits = rest;
        }
        if unit == MICROS_PER_SECOND {
            return None;
        }
        tail = digits;
    }
    let offset = match tail {
        [] => None,
        [b'Z'] | [b'+', b'0', b'0'] => Some(0),
        _ => Some(plain_offset(tail)?),
    };
    Some((micros, offset))
}

/// Seconds east of `±HH`, `±HHMM` and `±HH:MM`.
fn plain_offset(tail: &[u8]) -> Option<i32> {
    let (sign, [hours, minutes]) = match *tail {
        [sign, a, b] => (sign, [[a, b], [b'0'; 2]]),
        [sign, a, b, c, d] | [sign, a, b, b':', c, d] => (sign, [[a, b], [c, d]]),
        _ => return None,
    };
    let number = |[tens, ones]: [u8; 2]| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 15 || minutes > 59 {
        return None;
    }
    let east = hours * 3600 + minutes * 60;
    match sign {
        b'+' => Some(east),
        b'-' => Some(-east),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UTC: Zone = Zone::Fixed(0);

    #[test]
    fn a_moment_is_the_same_in_every_spelling() {
        for text in [
            "2000-01-02 00:00:00+00",
            "2000-01-02T00:00:00Z",
            "2000-01-02 00:00:00",
            "2000-01-02 00:00:00.000000+00:00",
            "2000-01-02 00:00",
            "2000-1-2 0:0:0",
            "2000-01-02",
            "2000-01-01 24:00:00",
            "2000-01-01 23:59:60",
            "2000-01-01T19:00:00-05",
            "2000-01-02 05:30:00+0530",
            "2000-01-02 05:30:15+05:30:15",
            "2000-01-02t00:00:00z",
            " 2000-01-02  00:00:00 +00 ",
            "2000-01-01 23:59:59.9999999",
        ] {
            assert_eq!(parse_timestamptz(text.as_bytes(), UTC), Ok(MICROS_PER_DAY), "{text}");
        }
        assert_eq!(parse_timestamptz(b"2000-01-02 05:30:00", Zone::Fixed(19_800)), Ok(MICROS_PER_DAY));
        assert_eq!(parse_timestamptz(b"2000-01-02 05:30:00", Zone::Named), Err(NotEncoded::Unsure));
        assert_eq!(parse_timestamptz(b"2000-01-02 00:00:00Z", Zone::Named), Ok(MICROS_PER_DAY));
    }

    #[test]
    fn an_offset_does_not_shift_a_timestamp_without_zone() {
        assert_eq!(parse_timestamp(b"2000-01-02 00:00:00+05"), Ok(MICROS_PER_DAY));
        assert_eq!(parse_timestamp(b"infinity"), Ok(i64::MAX));
        assert_eq!(parse_timestamp(b"epoch"), Ok(-946_684_800 * MICROS_PER_SECOND));
    }

    #[test]
    fn fields_out_of_range_are_refused_in_the_servers_words() {
        for text in [
            "2023-02-29 00:00:00",
            "2024-01-01 25:00:00",
            "2024-01-01 24:00:01",
            "2024-01-01 23:60:00",
            "2024-01-01 23:59:61",
            "2024-01-01 23:59:60.5",
        ] {
            let Err(NotEncoded::Invalid(invalid)) = parse_timestamp(text.as_bytes()) else {
                panic!("{text} was read")
            };
            assert_eq!(invalid.reason, format!("date/time field value out of range: \"{text}\""));
            assert_eq!(invalid.sqlstate, "22008");
        }
        for text in ["2024-01-01 00:00:00+16", "2024-01-01 00:00:00-05:60"] {
            let Err(NotEncoded::Invalid(invalid)) = parse_timestamptz(text.as_bytes(), UTC) else {
                panic!("{text}")
            };
            assert_eq!(invalid.reason, format!("time zone displacement out of range: \"{text}\""));
            assert_eq!(invalid.sqlstate, "22009");
        }
    }

    #[test]
    fn other_shapes_are_left_to_the_server() {
        for text in [
            "2024-01-01 12:00:00 Europe/Berlin",
            "2024-01-01 12:00:00 UTC",
            "2024-01-01 12:00:00 PM",
            "2024-01-01 12",
            "2024-01-01 12:00:00.",
            "2024-01-01 12:00.5",
            "2024-01-01 12:00:00+053015",
            "2024-01-01T 12:00:00",
            "Mon Jan 1 12:00:00 2024",
            "now",
        ] {
            assert_eq!(parse_timestamptz(text.as_bytes(), UTC), Err(NotEncoded::Unsure), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_microsecond_reads_back(micros in -63_000_000_000_000_000_i64..250_000_000_000_000_000, hours in -15..=15) {
            let shifted = micros + i64::from(hours) * 3600 * MICROS_PER_SECOND;
            let (day, time) = (shifted.div_euclid(MICROS_PER_DAY), shifted.rem_euclid(MICROS_PER_DAY));
            let (year, month, date) = civil_date(day);
            let (seconds, fraction) = (time / MICROS_PER_SECOND, time % MICROS_PER_SECOND);
            let text = format!(
                "{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}.{fraction:06}{hours:+03}",
                seconds / 3600, seconds / 60 % 60, seconds % 60
            );
            prop_assert_eq!(parse_timestamptz(text.as_bytes(), Zone::Named), Ok(micros));
            prop_assert_eq!(parse_timestamp(text.as_bytes()), Ok(shifted));
        }
    }

    /// Year, month and day by stepping through years and months.
    fn civil_date(mut day: i64) -> (i64, i64, i64) {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut year = 2000;
        while day < 0 {
            year -= 1;
            day += if leap(year) { 366 } else { 365 };
        }
        while day >= if leap(year) { 366 } else { 365 } {
            day -= if leap(year) { 366 } else { 365 };
            year += 1;
        }
        let mut month = 1;
        for length in [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if day < length {
                break;
            }
            day -= length;
            month += 1;
        }
        (year, month, day + 1)
    }
}
