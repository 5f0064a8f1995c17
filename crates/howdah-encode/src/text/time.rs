//! `time` and `timetz`: microseconds since midnight, with an offset that a literal or the session names.

use super::iso;
use super::timestamp::plain_clock;
use crate::session::Zone;
use crate::verdict::NotEncoded;

/// The time of day as written; like the server, an offset is checked and dropped.
#[inline]
pub(super) fn parse_time(literal: &[u8]) -> Result<i64, NotEncoded> {
    match plain(literal) {
        Some((micros, _)) => Ok(micros),
        None => Ok(iso::read_clock(literal, "time")?.0),
    }
}

/// The time of day as written and its offset in seconds east of UTC. Without one in the literal it is the session's
/// of today.
#[inline]
pub(super) fn parse_timetz(literal: &[u8], zone: Zone) -> Result<(i64, i32), NotEncoded> {
    let (micros, offset) = match plain(literal) {
        Some(clock) => clock,
        None => iso::read_clock(literal, "time with time zone")?,
    };
    match (offset, zone) {
        (Some(offset), _) | (None, Zone::Fixed(offset)) => Ok((micros, offset)),
        (None, Zone::Named) => Err(NotEncoded::Unsure),
    }
}

/// `HH:MM`, or `HH:MM:SS` with what [`plain_clock`] reads behind it.
#[inline]
fn plain(literal: &[u8]) -> Option<(i64, Option<i32>)> {
    if let [a, b, c, d, e] = *literal {
        return plain_clock([a, b, c, d, e, b':', b'0', b'0'], b"");
    }
    let (time, tail) = literal.split_first_chunk::<8>()?;
    plain_clock(*time, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 04:05:06 in microseconds.
    const EARLY: i64 = 14_706_000_000;
    const DAY: i64 = 86_400_000_000;

    fn time(text: &str) -> Result<i64, NotEncoded> {
        parse_time(text.as_bytes())
    }

    #[test]
    fn a_time_is_the_same_in_every_spelling() {
        for text in [
            "04:05:06",
            "4:5:6",
            " 04:05:06.0000 ",
            "04:05:06+02",
            "04:05:06 -0330",
            "04:05:06Z",
            "4:05:06 AM",
        ] {
            assert_eq!(time(text), Ok(EARLY), "{text}");
        }
        assert_eq!(time("04:05"), Ok(EARLY - 6_000_000));
        assert_eq!(time("04:05:06.789"), Ok(EARLY + 789_000));
        assert_eq!(time("04:05:06.0000005"), Ok(EARLY));
        assert_eq!((time("24:00"), time("24:00:00"), time("23:59:60")), (Ok(DAY), Ok(DAY), Ok(DAY)));
    }

    #[test]
    fn twelve_begins_each_half_of_the_day() {
        for (text, hour) in
            [("12:00 AM", 0), ("12:00PM", 12), ("01:00 pm", 13), ("0:00 pm", 12), ("11:00:00\tam", 11)]
        {
            assert_eq!(time(text), Ok(hour * 3_600_000_000), "{text}");
        }
        assert!(matches!(time("13:00 AM"), Err(NotEncoded::Invalid(i)) if i.sqlstate == "22008"));
    }

    #[test]
    fn the_offset_is_the_literals_or_else_the_sessions() {
        let tokyo = Zone::Fixed(32_400);
        assert_eq!(parse_timetz(b"04:05:06", tokyo), Ok((EARLY, 32_400)));
        assert_eq!(parse_timetz(b"04:05:06", Zone::Named), Err(NotEncoded::Unsure));
        for zone in [tokyo, Zone::Named] {
            assert_eq!(parse_timetz(b"04:05:06-08", zone), Ok((EARLY, -28_800)));
            assert_eq!(parse_timetz(b"04:05:06+05:30:15", zone), Ok((EARLY, 19_815)));
            assert_eq!(parse_timetz(b"04:05:06 Z", zone), Ok((EARLY, 0)));
        }
    }

    #[test]
    fn what_is_no_time_is_refused_in_the_servers_words() {
        for text in ["24:00:01", "25:00", "12:60", "12:00:61", "23:59:60.5"] {
            let Err(NotEncoded::Invalid(invalid)) = time(text) else { panic!("{text} was read") };
            assert_eq!(
                (invalid.sqlstate, invalid.reason),
                ("22008", format!("date/time field value out of range: \"{text}\""))
            );
        }
        let Err(NotEncoded::Invalid(invalid)) = time("12:00+16") else { panic!("was read") };
        assert_eq!(invalid.reason, "time zone displacement out of range: \"12:00+16\"");
        let Err(NotEncoded::Invalid(invalid)) = parse_timetz(b"", Zone::Named) else { panic!("was read") };
        assert_eq!(invalid.reason, "invalid input syntax for type time with time zone: \"\"");
    }

    #[test]
    fn other_shapes_are_left_to_the_server() {
        for text in [
            "now",
            "allballs",
            "040506",
            "0405",
            "4",
            "4 PM",
            "04:05:06 EST",
            "04:05:06 Europe/Berlin",
            "2024-01-01 04:05:06",
            "04:05:06.",
            "04:05+02 PM",
            "PM",
            "04:05.5",
            "noon",
            "25:00+16",
        ] {
            assert_eq!(time(text), Err(NotEncoded::Unsure), "{text}");
        }
    }
}
