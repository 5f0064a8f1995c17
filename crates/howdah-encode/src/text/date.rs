//! `date`: days since 2000-01-01 from `YYYY-MM-DD`; a time of day that follows is checked and dropped.

use super::fixed::{DateLiteral, plain_date};
use super::iso;
use crate::civil::UNIX_EPOCH_DAYS;
use crate::verdict::NotEncoded;

/// How the binary format says infinity.
const INFINITY: i32 = i32::MAX;
const NEGATIVE_INFINITY: i32 = i32::MIN;

#[inline]
pub(super) fn parse_date(literal: &[u8]) -> Result<i32, NotEncoded> {
    if let Ok(date) = <&[u8; 10]>::try_from(literal)
        && let Some(days) = plain_date(date)
    {
        return Ok(days);
    }
    Ok(match iso::read(literal, "date")? {
        DateLiteral::DateTime(read) => read.days,
        DateLiteral::Epoch => UNIX_EPOCH_DAYS,
        DateLiteral::Infinity => INFINITY,
        DateLiteral::NegativeInfinity => NEGATIVE_INFINITY,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_dates_are_read_and_a_time_of_day_is_dropped() {
        for (text, days) in [
            ("2000-01-01", 0),
            ("1970-01-01", -10_957),
            (" 2000-01-02\n", 1),
            ("2000-1-2", 1),
            ("2000-01-02 24:00:00+05", 1),
            ("0001-01-01 BC", -730_485),
            ("epoch", -10_957),
            ("Infinity", i32::MAX),
            ("-infinity", i32::MIN),
        ] {
            assert_eq!(parse_date(text.as_bytes()), Ok(days), "{text}");
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused_in_the_servers_words() {
        for text in ["2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-04-31", "0000-01-01"] {
            let Err(NotEncoded::Invalid(invalid)) = parse_date(text.as_bytes()) else {
                panic!("{text} was read")
            };
            assert_eq!(invalid.reason, format!("date/time field value out of range: \"{text}\""));
            assert_eq!(invalid.sqlstate, "22008");
        }
        let Err(NotEncoded::Invalid(invalid)) = parse_date(b"") else { panic!("empty text was read") };
        assert_eq!(
            (invalid.sqlstate, invalid.reason.as_str()),
            ("22007", "invalid input syntax for type date: \"\"")
        );
    }

    #[test]
    fn other_shapes_are_left_to_the_server() {
        for text in
            ["24-01-05", "20240105", "01/02/2024", "January 8, 1999", "today", "12024-01-01", "2024-01-01x"]
        {
            assert_eq!(parse_date(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
    }
}
