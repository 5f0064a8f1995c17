//! The session settings that decide what a date or time literal means.

/// What the codecs must know of the session in which the server would have read the literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRules {
    /// Zone of a timestamptz literal that names none.
    pub zone: Zone,
    /// Order in which ambiguous dates are read. The codecs decide only dates that no order makes ambiguous.
    pub date_order: DateOrder,
}

/// The session's `TimeZone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// The same offset at all times, in seconds east of UTC.
    Fixed(i32),
    /// A zone whose offset depends on the date: only the server knows its rules.
    Named,
}

/// The order part of the session's `DateStyle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// Year, month, day.
    Ymd,
    /// Day, month, year.
    Dmy,
    /// Month, day, year: PostgreSQL's default.
    Mdy,
}

impl SessionRules {
    /// From the values that `SHOW timezone` and `SHOW datestyle` give.
    #[must_use]
    pub fn from_settings(timezone: &str, datestyle: &str) -> Self {
        let style = datestyle.to_ascii_uppercase();
        let date_order = if style.contains("YMD") {
            DateOrder::Ymd
        } else if style.contains("DMY") {
            DateOrder::Dmy
        } else {
            DateOrder::Mdy
        };
        let zone = fixed_offset(timezone).map_or(Zone::Named, Zone::Fixed);
        SessionRules { zone, date_order }
    }
}

/// Names in the time zone database that have meant UTC for as long as they exist.
const UTC_NAMES: [&str; 8] = ["utc", "uct", "gmt", "zulu", "universal", "greenwich", "gmt0", "gmt+0"];

fn fixed_offset(timezone: &str) -> Option<i32> {
    let name = timezone.to_ascii_lowercase();
    let (base, is_etc) = match name.strip_prefix("etc/") {
        Some(rest) => (rest, true),
        None => (name.as_str(), false),
    };
    if UTC_NAMES.contains(&base) || base == "gmt-0" {
        return Some(0);
    }
    if is_etc {
        let hours = base.strip_prefix("gmt")?;
        return (hours.len() <= 3).then(|| posix_offset(hours)).flatten();
    }
    // `SET timezone = 5.5` is shown as `<+05:30>-05:30`.
    let (_, offset) = name.strip_prefix('<')?.split_once('>')?;
    posix_offset(offset)
}

/// `±hh[:mm[:ss]]` with POSIX's sign, which counts westwards, as seconds east.
fn posix_offset(text: &str) -> Option<i32> {
    let (east, digits) = match text.as_bytes().first()? {
        b'-' => (1, &text[1..]),
        b'+' => (-1, &text[1..]),
        _ => (-1, text),
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        if unit == 0 || part.is_empty() || part.len() > 2 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let value: i32 = part.parse().ok()?;
        if value > 59 || (unit == 3600 && value > 15) {
            return None;
        }
        seconds += value * unit;
        unit /= 60;
    }
    Some(east * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        SessionRules::from_settings(name, "ISO, MDY").zone
    }

    #[test]
    fn zones_without_rules_of_their_own_are_fixed() {
        for name in ["UTC", "utc", "Etc/UTC", "GMT", "Etc/Zulu", "Zulu", "Universal", "Etc/GMT0", "Etc/GMT-0"]
        {
            assert_eq!(zone(name), Zone::Fixed(0), "{name}");
        }
        assert_eq!(zone("Etc/GMT+5"), Zone::Fixed(-5 * 3600));
        assert_eq!(zone("Etc/GMT-14"), Zone::Fixed(14 * 3600));
        assert_eq!(zone("<+05:30>-05:30"), Zone::Fixed(19_800));
        assert_eq!(zone("<-03>+03"), Zone::Fixed(-10_800));
    }

    #[test]
    fn a_zone_with_rules_is_never_taken_for_a_fixed_one() {
        for name in [
            "Europe/Berlin",
            "EST",
            "EST5EDT",
            "<-03>+03<-02>",
            "<-03>+03<-02>,M3.2.0",
            "",
            "PST8",
            "Etc/GMT+99",
        ] {
            assert_eq!(zone(name), Zone::Named, "{name}");
        }
    }

    #[test]
    fn the_date_order_is_read_from_the_style() {
        assert_eq!(SessionRules::from_settings("UTC", "ISO, DMY").date_order, DateOrder::Dmy);
        assert_eq!(SessionRules::from_settings("UTC", "German, YMD").date_order, DateOrder::Ymd);
        assert_eq!(SessionRules::from_settings("UTC", "ISO, MDY").date_order, DateOrder::Mdy);
    }
}
