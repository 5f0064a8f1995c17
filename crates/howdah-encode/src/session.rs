//! The session settings that decide what a literal means.

/// The settings of the session in which the server would have read the literals.
///
/// They are `TimeZone`, `DateStyle`, `IntervalStyle` and `lc_monetary`: see [client connection defaults].
///
/// [client connection defaults]: https://www.postgresql.org/docs/current/runtime-config-client.html
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRules {
    /// Zone of a timestamptz literal that names none.
    pub zone: Zone,
    /// Order in which ambiguous dates are read. The codecs decide only dates that no order makes ambiguous.
    pub date_order: DateOrder,
    /// Whether `IntervalStyle` is `sql_standard`: then a leading minus negates a whole interval.
    pub sql_intervals: bool,
    /// Whether `lc_monetary` is the C locale, the only one whose way of writing money is known here.
    pub plain_money: bool,
}

/// The session's `TimeZone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// A zone with one offset at all times, in seconds east of UTC.
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
    /// Reads the rules from the values that `SHOW` gives for the settings `TimeZone`, `DateStyle`, `IntervalStyle` and
    /// `lc_monetary`.
    #[must_use]
    pub fn from_settings(timezone: &str, datestyle: &str, intervalstyle: &str, lc_monetary: &str) -> Self {
        let style = datestyle.to_ascii_uppercase();
        let date_order = if style.contains("YMD") {
            DateOrder::Ymd
        } else if style.contains("DMY") {
            DateOrder::Dmy
        } else {
            DateOrder::Mdy
        };
        let zone = fixed_offset(timezone).map_or(Zone::Named, Zone::Fixed);
        SessionRules {
            zone,
            date_order,
            sql_intervals: intervalstyle.eq_ignore_ascii_case("sql_standard"),
            plain_money: matches!(lc_monetary, "C" | "POSIX"),
        }
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
        SessionRules::from_settings(name, "ISO, MDY", "postgres", "C").zone
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
        let order = |style| SessionRules::from_settings("UTC", style, "postgres", "C").date_order;
        assert_eq!(order("ISO, DMY"), DateOrder::Dmy);
        assert_eq!(order("German, YMD"), DateOrder::Ymd);
        assert_eq!(order("ISO, MDY"), DateOrder::Mdy);
    }

    #[test]
    fn only_one_style_of_intervals_and_one_locale_of_money_are_special() {
        let rules = |style, locale| SessionRules::from_settings("UTC", "ISO, MDY", style, locale);
        assert!(rules("sql_standard", "C").sql_intervals);
        for style in ["postgres", "postgres_verbose", "iso_8601"] {
            assert!(!rules(style, "C").sql_intervals);
        }
        assert!(rules("postgres", "C").plain_money && rules("postgres", "POSIX").plain_money);
        for locale in ["", "C.UTF-8", "en_US.UTF-8", "de_DE.utf8"] {
            assert!(!rules("postgres", locale).plain_money);
        }
    }
}
