//! Dates and times of day whose digits stand at fixed places, as ISO 8601 and PostgreSQL write them.

use crate::civil::{MICROS_PER_SECOND, days_of};

/// A date with a time of day, as a literal writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateTime {
    /// Days since 2000-01-01.
    pub(super) days: i32,
    /// Microseconds since midnight; a whole day for `24:00:00`.
    pub(super) micros: i64,
    /// Seconds east of UTC, where the literal names an offset.
    pub(super) offset: Option<i32>,
}

/// What a literal of `date`, `timestamp` or `timestamptz` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateLiteral {
    /// A day with a time of day.
    DateTime(DateTime),
    /// 1970-01-01 00:00:00 UTC.
    Epoch,
    /// Later than all others.
    Infinity,
    /// Earlier than all others.
    NegativeInfinity,
}

/// Adds up to a clear high bit for a byte of 0 to 9.
const DIGIT: u8 = 0x76;
/// Adds up to a clear high bit for a zero byte.
const NOTHING: u8 = 0x7f;
/// The high bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Eight bytes, of which some are digits and the others always the same.
struct Pattern {
    /// '0' for each digit.
    bytes: u64,
    /// What added to a byte's difference sets its high bit, unless it fits.
    limits: u64,
}

impl Pattern {
    /// Computed when this is compiled: a loop over closures is no word of constants in every build.
    const fn of(pattern: [u8; 8]) -> Pattern {
        let mut limits = [NOTHING; 8];
        let mut at = 0;
        while at < limits.len() {
            if pattern[at] == b'0' {
                limits[at] = DIGIT;
            }
            at += 1;
        }
        Pattern { bytes: u64::from_le_bytes(pattern), limits: u64::from_le_bytes(limits) }
    }

    /// The numbers of two digits that begin at each of eight bytes, if the text has this pattern.
    #[inline]
    fn pairs(&self, text: [u8; 8]) -> Option<[u8; 8]> {
        let word = u64::from_le_bytes(text) ^ self.bytes;
        if (word.wrapping_add(self.limits) | word) & HIGH != 0 {
            return None;
        }
        Some((word * 10 + (word >> 8)).to_le_bytes())
    }
}

const YEAR_AND_MONTH: Pattern = Pattern::of(*b"0000-00-");
const TIME_OF_DAY: Pattern = Pattern::of(*b"00:00:00");

/// The day that `YYYY-MM-DD` names, if it exists.
#[inline]
pub(super) fn plain_date(text: &[u8; 10]) -> Option<i32> {
    let [century, _, year, _, _, month, _, _] = YEAR_AND_MONTH.pairs(*text.first_chunk()?)?;
    let [tens, ones] = *text.last_chunk::<2>()?;
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    let year = i32::from(century) * 100 + i32::from(year);
    if tens > 9 || ones > 9 || year == 0 {
        return None;
    }
    days_of(year, month.into(), (tens * 10 + ones).into())
}

/// The microseconds of `HH:MM:SS` up to 23:59:59.
#[inline]
pub(super) fn plain_time(text: [u8; 8]) -> Option<i64> {
    let [hours, _, _, minutes, _, _, seconds, _] = TIME_OF_DAY.pairs(text)?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
    Some(seconds * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_places_take_no_other_byte() {
        assert_eq!(plain_date(b"2000-01-02"), Some(1));
        assert_eq!(plain_time(*b"23:59:59"), Some(86_399 * MICROS_PER_SECOND));
        for byte in 0..=255_u8 {
            for at in 0..10 {
                let mut text = *b"2011-11-11";
                text[at] = byte;
                let right = if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
                assert!(right || plain_date(&text).is_none(), "{byte} at {at}");
            }
            for at in 0..8 {
                let mut text = *b"11:11:11";
                text[at] = byte;
                let right = if at == 2 || at == 5 { byte == b':' } else { byte.is_ascii_digit() };
                assert!(right || plain_time(text).is_none(), "{byte} at {at}");
            }
        }
        assert_eq!(
            (plain_date(b"0000-01-01"), plain_time(*b"24:00:00"), plain_time(*b"12:60:00")),
            (None, None, None)
        );
    }
}
