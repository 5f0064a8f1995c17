//! ISO dates and timestamps, and only those that come back as the same moment written the same way.
//!
//! The leap second `:60` and the hour 24 are text: PostgreSQL takes them and stores another minute, another day.

use super::InferredType::{Date, Timestamp, Timestamptz};
use super::TypeSet;

/// PostgreSQL keeps microseconds; a seventh digit would be rounded away.
const FRACTION_DIGITS: usize = 6;
/// PostgreSQL refuses zones of 16 hours and more.
const ZONE_HOURS: u8 = 15;

/// `value` has at least eight bytes.
pub(super) fn classify(value: &[u8]) -> TypeSet {
    if value.len() < 10 || !is_date(&value[..10]) {
        return TypeSet::NONE;
    }
    match &value[10..] {
        [] => TypeSet::of(&[Date, Timestamp]),
        [b' ' | b'T', time @ ..] => match after_time(time) {
            Some([]) => TypeSet::of(&[Timestamp]),
            Some(zone) if is_zone(zone) => TypeSet::of(&[Timestamptz]),
            _ => TypeSet::NONE,
        },
        _ => TypeSet::NONE,
    }
}

/// `YYYY-MM-DD`, a day that the Gregorian calendar has, from year 1 on.
fn is_date(date: &[u8]) -> bool {
    let (Some(century), Some(year)) = (two_digits(&date[..2]), two_digits(&date[2..4])) else { return false };
    let (Some(month), Some(day)) = (two_digits(&date[5..7]), two_digits(&date[8..10])) else { return false };
    let year = u16::from(century) * 100 + u16::from(year);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    date[4] == b'-' && date[7] == b'-' && year > 0 && (1..=days).contains(&day)
}

/// What follows `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`.
fn after_time(time: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = time.split_at_checked(2)?;
    let rest = rest.strip_prefix(b":")?;
    let (minute, rest) = rest.split_at_checked(2)?;
    if two_digits(hour)? > 23 || two_digits(minute)? > 59 {
        return None;
    }
    let Some(rest) = rest.strip_prefix(b":") else { return Some(rest) };
    let (second, rest) = rest.split_at_checked(2)?;
    if two_digits(second)? > 59 {
        return None;
    }
    let Some(rest) = rest.strip_prefix(b".") else { return Some(rest) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=FRACTION_DIGITS).contains(&digits).then(|| &rest[digits..])
}

/// `Z`, `±HH`, `±HHMM`, `±HH:MM`.
fn is_zone(zone: &[u8]) -> bool {
    let [b'+' | b'-', offset @ ..] = zone else { return zone == b"Z" };
    let (hours, minutes): (&[u8], &[u8]) = match offset {
        [_, _] => (offset, b"00"),
        [_, _, _, _] => offset.split_at(2),
        [_, _, b':', _, _] => (&offset[..2], &offset[3..]),
        _ => return false,
    };
    two_digits(hours).is_some_and(|hours| hours <= ZONE_HOURS)
        && two_digits(minutes).is_some_and(|minutes| minutes < 60)
}

#[inline]
fn two_digits(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    }
}
