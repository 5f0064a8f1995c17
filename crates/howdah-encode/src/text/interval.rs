//! `interval`: months, days and microseconds from words, clocks and numbers, read from the right to the left as the
//! server reads them.

use super::designators;
use super::interval_sum::{IntervalError, IntervalSum, Unit};
use super::tokens::{Sign, Token, Tokens};
use crate::verdict::{NotEncoded, shown};

/// Whether a literal means the same to a column with this modifier as to one without. The server applies the modifier to
/// what was read, but some fields also say what a last number without a unit counts (`interval year`) and that `1:2` are
/// minutes and seconds.
pub(super) fn reads_as_usual(typmod: i32) -> bool {
    const DAY: i32 = 1 << 3;
    const HOUR: i32 = 1 << 10;
    const MINUTE: i32 = 1 << 11;
    const SECOND: i32 = 1 << 12;
    const ALL: i32 = 0x7fff;
    // The fields stand above the precision.
    let fields = typmod >> 16 & ALL;
    let to_second = [ALL, SECOND, HOUR | MINUTE | SECOND, DAY | HOUR | MINUTE | SECOND];
    typmod < 0 || to_second.contains(&fields)
}

/// Microseconds that are rounded to a whole second without going past the limit.
const LARGEST_ROUNDED: u64 = i64::MAX.unsigned_abs() - 1_000_000;

/// Months, days and microseconds. `sql_style` is the session's `sql_standard`: a minus in front, and no other sign,
/// negates all.
#[inline]
pub(super) fn parse_interval(literal: &[u8], sql_style: bool) -> Result<(i32, i32, i64), NotEncoded> {
    let span = match designators::read(literal) {
        Some(answer) => answer,
        None => words(literal, sql_style),
    };
    let overflow = |sqlstate, reason: &str| Err(NotEncoded::invalid(sqlstate, reason.to_owned()));
    match span {
        Ok(span) => match span.fields() {
            // So near to its limit a time may not be rounded to the column's precision; and there the infinities are.
            Some((_, _, micros)) if micros.unsigned_abs() > LARGEST_ROUNDED => Err(NotEncoded::Unsure),
            Some(fields) => Ok(fields),
            None => overflow("22008", "interval out of range"),
        },
        Err(IntervalError::Overflow) => {
            overflow("22015", &format!("interval field value out of range: \"{}\"", shown(literal)))
        }
        Err(IntervalError::Syntax) => {
            let reason = format!("invalid input syntax for type interval: \"{}\"", shown(literal));
            Err(NotEncoded::invalid("22007", reason))
        }
        Err(IntervalError::Unsure) => Err(NotEncoded::Unsure),
    }
}

/// What the number to the left of the last token counts.
#[derive(Clone, Copy)]
enum Pending {
    /// Nothing stands to the right.
    Last,
    /// The unit named to the right, or the one that comes before what stands there.
    Unit(Unit),
    /// `ago` stands to the right: the number has no unit.
    Nothing,
}

fn words(literal: &[u8], sql_style: bool) -> Result<IntervalSum, IntervalError> {
    let tokens = Tokens::read(literal)?;
    let tokens = tokens.as_slice();
    let signs = tokens.iter().filter(|token| token.sign().is_some()).count();
    let negate_all = sql_style && signs == 1 && tokens[0].sign() == Some(Sign::Minus);
    let mut span = IntervalSum::default();
    let mut pending = Pending::Last;
    let mut unit_waits = false;
    let mut ago = false;
    let mut seen = 0_u16;
    for (index, token) in tokens.iter().enumerate().rev() {
        let kinds = match *token {
            Token::Clock { sign, micros } => {
                let micros = micros?;
                let negative = negate_all || sign == Some(Sign::Minus);
                span.set_clock(if negative { -micros } else { micros })?;
                pending = Pending::Unit(Unit::Day);
                unit_waits = false;
                kind(Unit::Hour) | kind(Unit::Minute) | SECONDS
            }
            Token::Number { quantity, is_year_month, .. } => {
                let mut quantity = quantity?;
                if negate_all {
                    // The other way round there is always a negative counterpart.
                    quantity.whole = quantity.whole.min(quantity.whole.wrapping_neg());
                    quantity.fraction = -quantity.fraction.abs();
                }
                let unit = match pending {
                    _ if is_year_month => Unit::Month,
                    Pending::Last => Unit::Second,
                    Pending::Unit(unit) => unit,
                    Pending::Nothing => return Err(IntervalError::Syntax),
                };
                span.add(quantity, unit)?;
                // What stands before hours are days.
                pending = Pending::Unit(if unit == Unit::Hour { Unit::Day } else { unit });
                unit_waits = false;
                if unit == Unit::Second && quantity.fraction != 0.0 { SECONDS } else { kind(unit) }
            }
            // A unit without a number before it: taken by some versions.
            Token::Word(_) if unit_waits => return Err(IntervalError::Unsure),
            Token::Word(word) => {
                match meaning(word)? {
                    Meaning::Unit(unit) => {
                        pending = Pending::Unit(unit);
                        unit_waits = true;
                    }
                    // Older versions take it anywhere.
                    Meaning::Ago if index + 1 < tokens.len() => return Err(IntervalError::Unsure),
                    Meaning::Ago => {
                        pending = Pending::Nothing;
                        ago = true;
                    }
                }
                0
            }
        };
        if seen & kinds != 0 {
            return Err(IntervalError::Syntax);
        }
        seen |= kinds;
    }
    if seen == 0 {
        return Err(IntervalError::Syntax);
    }
    if unit_waits {
        return Err(IntervalError::Unsure);
    }
    if ago {
        span.negate()?;
    }
    Ok(span)
}

/// The bit of a unit among those that may come only once.
const fn kind(unit: Unit) -> u16 {
    1 << unit as u16
}

/// A second with a fraction counts as all units below the minute.
const SECONDS: u16 = kind(Unit::Second) | kind(Unit::Millisecond) | kind(Unit::Microsecond);

enum Meaning {
    Unit(Unit),
    Ago,
}

/// The server compares ten letters of a word.
fn meaning(word: &[u8]) -> Result<Meaning, IntervalError> {
    const LETTERS: usize = 10;
    let mut lower = [0; LETTERS];
    let length = word.len().min(LETTERS);
    lower[..length].copy_from_slice(&word[..length]);
    lower.make_ascii_lowercase();
    let unit = match &lower[..length] {
        b"day" | b"days" | b"d" => Unit::Day,
        b"mon" | b"mons" | b"month" | b"months" => Unit::Month,
        b"year" | b"years" | b"y" | b"yr" | b"yrs" => Unit::Year,
        b"hour" | b"hours" | b"h" | b"hr" | b"hrs" => Unit::Hour,
        b"min" | b"mins" | b"minute" | b"minutes" | b"m" => Unit::Minute,
        b"sec" | b"secs" | b"second" | b"seconds" | b"s" => Unit::Second,
        b"week" | b"weeks" | b"w" => Unit::Week,
        b"ms" | b"msec" | b"msecs" | b"msecond" | b"mseconds" | b"millisecon" => Unit::Millisecond,
        b"us" | b"usec" | b"usecs" | b"usecond" | b"useconds" | b"microsecon" => Unit::Microsecond,
        b"dec" | b"decs" | b"decade" | b"decades" => Unit::Decade,
        b"c" | b"cent" | b"century" | b"centuries" => Unit::Century,
        b"mil" | b"mils" | b"millennia" | b"millennium" => Unit::Millennium,
        b"ago" => return Ok(Meaning::Ago),
        // Units of another kind, and words of dates that PostgreSQL 17 began to look up.
        b"qtr" | b"quarter" | b"timezone" | b"infinity" | b"at" | b"on" | b"mm" | b"dow" | b"doy"
        | b"isodow" | b"isoyear" | b"j" | b"jd" | b"julian" => return Err(IntervalError::Unsure),
        _ => return Err(IntervalError::Syntax),
    };
    Ok(Meaning::Unit(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::civil::MICROS_PER_SECOND as SECOND;

    const HOUR: i64 = 3600 * SECOND;
    const DAY: i64 = 24 * HOUR;

    fn interval(text: &str) -> Result<(i32, i32, i64), NotEncoded> {
        parse_interval(text.as_bytes(), false)
    }

    fn refused(text: &str) -> (&'static str, String) {
        match interval(text) {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("{text} was not refused: {other:?}"),
        }
    }

    #[test]
    fn every_style_of_the_server_is_read() {
        let both = (14, -3, 4 * HOUR + 306 * SECOND + 789_000);
        for text in [
            "1 year 2 mons -3 days +04:05:06.789",
            "@ 1 year 2 mons -3 days 4 hours 5 mins 6.789 secs",
            "P1Y2M-3DT4H5M6.789S",
            "+1-2 -3 +4:05:06.789",
            "4:05:06.789 -3 days 1-2",
            "1y2mon -3d 4h5m 6789ms",
            "14 Months, -3 DAYS, 04:05:06.789",
        ] {
            assert_eq!(interval(text), Ok(both), "{text}");
        }
        for text in ["0", "@ 0", "PT0S", "PT", "00:00:00", " 0 days "] {
            assert_eq!(interval(text), Ok((0, 0, 0)), "{text}");
        }
    }

    #[test]
    fn parts_are_read_as_people_write_them() {
        for (text, fields) in [
            ("1 day", (0, 1, 0)),
            ("-3 mons 04:05:06", (-3, 0, 4 * HOUR + 306 * SECOND)),
            ("1.5 hours", (0, 0, HOUR + HOUR / 2)),
            ("@ 1 minute ago", (0, 0, -60 * SECOND)),
            ("04:05", (0, 0, 4 * HOUR + 300 * SECOND)),
            ("05:06.5", (0, 0, 306 * SECOND + 500_000)),
            ("-1:30", (0, 0, -HOUR - HOUR / 2)),
            ("- 2 days", (0, -2, 0)),
            ("3 4:00", (0, 3, 4 * HOUR)),
            ("1.5 weeks", (0, 10, DAY / 2)),
            ("12", (0, 0, 12 * SECOND)),
            ("1 2 hours", (0, 1, 2 * HOUR)),
            ("1 microsecondsandmore", (0, 0, 1)),
        ] {
            assert_eq!(interval(text), Ok(fields), "{text}");
        }
    }

    #[test]
    fn a_leading_minus_negates_all_in_the_standards_style_only() {
        let sql = |text: &str| parse_interval(text.as_bytes(), true);
        assert_eq!(interval("-1 2:00"), Ok((0, -1, 2 * HOUR)));
        assert_eq!(sql("-1 2:00"), Ok((0, -1, -2 * HOUR)));
        assert_eq!(sql("-1 day 2 hours"), Ok((0, -1, -2 * HOUR)));
        assert_eq!(sql("-1 +2:00"), Ok((0, -1, 2 * HOUR)));
        assert_eq!(sql("1 day -2:00"), Ok((0, 1, -2 * HOUR)));
        assert_eq!(sql("-9223372036854775808 s"), interval("-9223372036854775808 s"));
    }

    #[test]
    fn what_is_no_interval_is_refused_in_the_servers_words() {
        for text in [
            "",
            " ",
            "@",
            "abc",
            "day",
            "1 dayz",
            "1 ago",
            "1 day 2 days",
            "1.5 s 2 ms",
            "P",
            "P1H",
            "PT1D",
            "1,000 days",
        ] {
            assert_eq!(
                refused(text),
                ("22007", format!("invalid input syntax for type interval: \"{text}\""))
            );
        }
        for text in
            ["04:60:00", "04:05:61", "2147483648 days", "1-12", "9223372036854775808 us", "P2147483648D"]
        {
            assert_eq!(refused(text), ("22015", format!("interval field value out of range: \"{text}\"")));
        }
        assert_eq!(refused("178956970 years 8 months"), ("22008", "interval out of range".to_owned()));
        // A clock with a sign might be a number, which it then is not.
        assert_eq!(refused("-04:60").0, "22007");
        assert_eq!(refused("-99999999999999999999:00").0, "22015");
    }

    #[test]
    fn what_versions_or_platforms_read_differently_is_left_to_the_server() {
        for text in [
            "infinity",
            "-infinity",
            "day 1",
            "1 day ago ago",
            "1 day ago 2 hours",
            "1.",
            "1:",
            "1 day!",
            "1 mm",
            "1 dow",
            "04:05:06 1.5 days",
            "0.0000005 s",
            "P1",
            "P1-2",
            "P0002-06-07",
            "PT1e3S",
            "PT.5H",
            " P1D",
            "P1D ",
            "1 день",
            "PM1",
            "0.99999999999999999999 days",
            "9223372036854775807 us",
            "-2147483648 days ago",
            "1min30s",
        ] {
            assert_eq!(interval(text), Err(NotEncoded::Unsure), "{text}");
        }
    }

    #[test]
    fn columns_whose_fields_change_the_meaning_of_literals_are_told_apart() {
        for typmod in [-1, 0x7fff_0003, 0x1000_ffff, 0x1c00_ffff, 0x1c08_0000] {
            assert!(reads_as_usual(typmod), "{typmod:x}");
        }
        // Year, month, year to month, day, hour, minute, day to minute, minute to second.
        for fields in [4, 2, 6, 8, 0x400, 0x800, 0xc08, 0x1800] {
            assert!(!reads_as_usual(fields << 16 | 0xffff), "{fields:x}");
        }
    }
}
