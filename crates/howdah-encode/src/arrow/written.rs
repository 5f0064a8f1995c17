//! Writes values as literals from which PostgreSQL's input functions make the same values.

use super::moments::{EPOCH_MICROS, Style, Timestamp, utc};
use super::{numbers, strings};
use crate::civil::TIMESTAMPS;
use crate::verdict::Verdict;

/// Appends a `double precision` with the fewest digits that read back.
pub fn put_double(value: f64, out: &mut Vec<u8>) {
    numbers::put_double(value, out);
}

/// Appends a `real` with the fewest digits that read back.
pub fn put_real(value: f32, out: &mut Vec<u8>) {
    numbers::put_single(value, out);
}

/// Appends a uuid.
pub fn put_uuid(value: [u8; 16], out: &mut Vec<u8>) {
    strings::put_uuid(&value, out);
}

/// Appends bytes as `bytea` in hexadecimal digits.
pub fn put_bytea(value: &[u8], out: &mut Vec<u8>) {
    strings::put_hex(value, out);
}

/// Appends a timestamptz given in microseconds since 2000-01-01 in UTC.
pub fn put_timestamptz(micros: i64, out: &mut Vec<u8>) {
    Timestamp::of_postgres(micros).put(Style::Sql, utc(Style::Sql), out);
}

/// Appends a literal as an element of an array's literal: in quotes, which any literal may be.
pub fn put_element(literal: &[u8], out: &mut Vec<u8>) {
    strings::put_quoted(literal, out);
}

/// Converts microseconds since 1970-01-01 into microseconds since 2000-01-01, from which PostgreSQL counts; `None` outside
/// the range of its [timestamps](crate::civil::TIMESTAMPS).
#[inline]
#[must_use]
pub fn since_2000(micros_since_1970: i64) -> Option<i64> {
    micros_since_1970.checked_sub(EPOCH_MICROS).filter(|micros| TIMESTAMPS.contains(micros))
}

/// Checks that PostgreSQL can store bytes as text.
///
/// # Errors
/// `Invalid` (22021) in the server's words: they are not UTF-8, or hold a NUL.
pub fn check_text(bytes: &[u8]) -> Verdict {
    strings::check_text(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_count_from_postgresqls_epoch_and_end_with_its_calendar() {
        assert_eq!(since_2000(946_684_800_000_000), Some(0));
        let (first, before) = (-210_866_803_200_000_000, -210_866_803_200_000_001);
        assert_eq!((since_2000(first).is_some(), since_2000(before)), (true, None));
        assert_eq!(since_2000(i64::MIN), None);
        // The count ends before the calendar does.
        assert!(since_2000(i64::MAX).is_some());
        let mut out = Vec::new();
        put_timestamptz(-1, &mut out);
        assert_eq!(out, b"1999-12-31 23:59:59.999999+00");
    }
}
