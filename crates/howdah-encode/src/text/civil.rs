//! The calendar: days and microseconds from digits at fixed places, shared by `date`, `timestamp` and `timestamptz`.

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400 * SECOND;
/// Microseconds of a second.
pub(super) const SECOND: i64 = 1_000_000;
/// Days from 2000-01-01 back to the Unix epoch.
pub(super) const UNIX_EPOCH_DAYS: i32 = -10_957;

/// A date with a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    /// Days since 2000-01-01.
    pub(super) days: i32,
    /// Microseconds since midnight; a whole day for `24:00:00`.
    pub(super) micros: i64,
    /// Seconds east of UTC, where the literal names an offset.
    pub(super) offset: Option<i32>,
}

/// What a literal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A point of the calendar.
    Civil(Civil),
    /// 1970-01-01 00:00:00 UTC.
    Epoch,
    /// Later than all others.
    Infinity,
    /// Earlier than all others.
    NegativeInfinity,
}

/// Days since 2000-01-01 of a date in the Gregorian calendar; `None` when there is no such day. Year 0 is 1 BC;
/// the year is above -4800.
#[inline]
pub(super) fn days(year: i32, month: u32, day: u32) -> Option<i32> {
    /// Days before each month in a year that begins with March.
    const BEFORE: [u16; 13] = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    const LENGTH: [u8; 13] = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    /// Twelve cycles of 400 years keep the divisions unsigned.
    const SHIFT: i32 = 4800;
    /// Days from the first of March of year -4800 to 2000-01-01.
    const TO_2000: i32 = 6800 / 400 * 146_097 - 60;
    let length = *LENGTH.get(month as usize)?;
    let year = year + SHIFT;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if day == 0 || day > u32::from(length) || (month == 2 && day == 29 && !leap) {
        return None;
    }
    let years = (year - i32::from(month <= 2)).cast_unsigned();
    let before = u32::from(BEFORE[month as usize]);
    let days = years * 365 + years / 4 - years / 100 + years / 400 + before + day - 1;
    Some(days.cast_signed() - TO_2000)
}

/// Adds up to a clear high bit for a byte of 0 to 9.
const DIGIT: u8 = 0x76;
/// Adds up to a clear high bit for a zero byte.
const NOTHING: u8 = 0x7f;
/// The high bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The numbers of two digits that begin at each of eight bytes, if the text has the shape of `pattern`: a digit where
/// it says '0', the same byte elsewhere.
#[inline]
fn pairs(text: [u8; 8], pattern: [u8; 8]) -> Option<[u8; 8]> {
    let limits = u64::from_le_bytes(pattern.map(|byte| if byte == b'0' { DIGIT } else { NOTHING }));
    let word = u64::from_le_bytes(text) ^ u64::from_le_bytes(pattern);
    if (word.wrapping_add(limits) | word) & HIGH != 0 {
        return None;
    }
    Some((word * 10 + (word >> 8)).to_le_bytes())
}

/// The day that `YYYY-MM-DD` names, if it exists.
#[inline]
pub(super) fn plain_date(text: &[u8; 10]) -> Option<i32> {
    let [century, _, year, _, _, month, _, _] = pairs(*text.first_chunk()?, *b"0000-00-")?;
    let [tens, ones] = text.last_chunk::<2>()?.map(|byte| byte.wrapping_sub(b'0'));
    let year = i32::from(century) * 100 + i32::from(year);
    if tens > 9 || ones > 9 || year == 0 {
        return None;
    }
    days(year, month.into(), (tens * 10 + ones).into())
}

/// The microseconds of `HH:MM:SS` up to 23:59:59.
#[inline]
pub(super) fn plain_time(text: [u8; 8]) -> Option<i64> {
    let [hours, _, _, minutes, _, _, seconds, _] = pairs(text, *b"00:00:00")?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
    Some(seconds * SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_agree_with_counting_them_one_by_one() {
        let mut expected = days(-4712, 1, 1).unwrap();
        for year in -4712..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = days(year, month, day) {
                        assert_eq!(days, expected, "{year}-{month}-{day}");
                        expected += 1;
                    } else {
                        assert!(day > 28, "{year}-{month}-{day}");
                    }
                }
            }
        }
        assert_eq!(days(2000, 1, 1), Some(0));
        assert_eq!(days(1970, 1, 1), Some(UNIX_EPOCH_DAYS));
        assert_eq!(
            (days(2023, 2, 29), days(1900, 2, 29), days(2024, 13, 1), days(2024, 0, 1)),
            (None, None, None, None)
        );
        assert!(days(2000, 2, 29).is_some());
    }

    #[test]
    fn fixed_places_take_no_other_byte() {
        assert_eq!(plain_date(b"2000-01-02"), Some(1));
        assert_eq!(plain_time(*b"23:59:59"), Some(86_399 * SECOND));
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
