//! Literals of times of day and intervals.

use super::Random;

pub(super) const TIME_ALPHABET: &str = "0123456789-+:. AaPpMmZ";
pub(super) const INTERVAL_ALPHABET: &str = "0123456789-+:.,@/ PTYMDHSdhmsyago";

#[rustfmt::skip]
pub(super) const TIMES: &[&str] = &[
    "", "now", "allballs", "today", "infinity", "04:05:06", "04:05:06.789", "04:05", "4:5", "4:5:6", "040506", "0405",
    "4", "04:05 AM", "04:05 PM", "04:05PM", "12:00 AM", "12:00 PM", "00:00 PM", "00:00 AM", "13:00 AM", "12:30:00.5 pm",
    "11:59:60 PM", "4 PM", "AM", "04:05 A", "04:05:06-08:00", "04:05-08:00", "040506-08", "04:05:06+02:30:15",
    "04:05:06 +02", "04:05:06Z", "04:05:06 z", "04:05:06 PST", "04:05:06 Europe/Berlin", "2024-07-01 04:05:06",
    "2024-07-01 04:05:06 America/New_York", "24:00", "24:00:00", "24:00:00.0000001", "24:00:01", "25:00:00", "23:59:60",
    "23:59:60.5", "23:59:61", "23:60:00", "12:59:60", "23:59:59.9999999", "00:00:00.0000005", "00:00:00.0000015",
    "04:05:06.", "04:05.5", "04:05:06.123456789012345678901234567890", "04:05:06+16", "04:05:06-15:60",
    "04:05:06-15:59:59", "04:05:06+5", "04:05:06+0530", "25:00+16", "T04:05:06", "04:05:06 BC", "004:05", "4:005", ":05",
    "04:05:06,7", "04:05 PM+02", "04:05+02 PM", "-04:05",
];

pub(super) fn time(random: &mut Random) -> String {
    let (hour, minute, second) = (random.below(25), random.below(60), random.below(60));
    let clock = match random.below(4) {
        0 => format!("{hour:02}:{minute:02}"),
        1 => format!("{hour}:{minute:02}:{second:02}"),
        2 => format!("{hour:02}:{minute:02}:{second:02}.{}", random.digits(9)),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    };
    let (sign, hours, minutes) = (random.pick(&["+", "-"]), random.below(16), random.below(60));
    match random.below(10) {
        0 => format!("{clock}{sign}{hours:02}"),
        1 => format!("{clock}{sign}{hours:02}:{minutes:02}"),
        2 => format!("{clock} {sign}{hours:02}{minutes:02}"),
        3 => format!("{clock}{}", random.pick(&[" AM", " PM", "am", "PM"])),
        4 => format!("{clock}Z"),
        _ => clock,
    }
}

#[rustfmt::skip]
pub(super) const INTERVALS: &[&str] = &[
    "", " ", "0", "1", "-1", "+1", "1.5", ".5", "-.5", "1.", "@ 0", "@", "1 day", "1day", "1 days", "1 dayz", "day",
    "day 1", "1 day day", "1 2 days", "1 day 2 days", "-3 mons 04:05:06.789", "1 year 2 mons 3 days", "1 year 2 months",
    "1-2", "-1-2", "+1-2", "1-12", "1-2-3", "1-", "1-2 3", "1-2 3 4:05:06", "-1-2 -3 -4:05:06", "-1-2 3 4:05:06",
    "+1-2 -3 +4:05:06.789", "-1 2:03:04", "1 -2:03:04", "-1 day 2:03:04", "-1 day +2:03:04", "-1.5", "-2:03", "+2:03:04",
    "- 1 day", "-  2:03", "04:05:06", "04:05", "05:06.7", "4:05:06.789 ago", "1 hour 04:05:06", "1.5 days 04:05:06",
    "04:05:06 1.5 days", "1.5 04:05:06", "04:60:00", "04:05:60", "04:05:61", "24:00:00", "9999:00:00", "1:2:3:4",
    "-25:61", "-99999999999999999999:00", "99999999999999999999:00", "2562047788:00:54.775807", "2562047789:00:00",
    "-2562047788:00:54.775808", "1.5 hours", "1.5 minutes", "1.1 seconds", "0.0000005 s", "0.0000015 s", "0.5 us",
    "1.5 ms", "2.7 us", "1.5 weeks", "1.15 weeks", "0.3 months", "1.05 months", "-1.5 months", "1.5 years", "0.125 years",
    "-0.125 years", "1.01 years", "2.5 decades", "1.5 centuries", "0.001 millennia", "1 decade", "1 dec", "1 c", "1 mil",
    "1 millenniums", "1 milliseconds", "1 microsecondsxyz", "1 qtr", "1 quarter", "@ 1 minute ago", "1 minute ago",
    "1 ago", "ago", "ago 1 day", "1 day ago ago", "1 day ago 2 hours", "-1 day ago", "1 day -2 hours ago",
    "@ 1 year 2 mons -3 days 4 hours 5 mins 6.789 secs ago", "1 day, 2 hours", "1,000 days", "1h30m", "1d12h", "2mon3d",
    "1m 30s", "1min30s", "1hr 2 sec", "1 y 2 mon", "1Y", "2 DAYS", "3 Hours", "1 at day", "1 on day", "infinity",
    "-infinity", "+infinity", "inf", "1 timezone", "now", "1 pm", "P", "PT", "P0D", "PT0S", "P1Y2M3DT4H5M6S",
    "P1Y2M3DT4H5M6.789S", "P-1Y-2M3DT-4H-5M-6.789S", "P1W", "P1.5W", "P0.5Y", "P0.3M", "P1.5D", "PT1.5H", "PT.5H", "PT1.H",
    "P1D", "p1d", " P1D", "P1D ", "P1H", "PT1D", "P1DT", "P1DT2H3H", "P1M1M", "PT-0.5S", "PT1e3S", "P1e3D", "P0x1D", "P+1D",
    "P2021-01-02T03:04:05", "P0002-06-07", "P20210102T030405", "P1", "PT1", "PT010203", "P1-2", "P1Y2", "PM1", "PM",
    "PM99999999999999999999S", "P1000000000000000D", "P999999999999999D", "PT9999999999999999S", "P2147483647D",
    "P2147483648D", "P178956970Y7M", "P178956970Y8M", "2147483647 days", "2147483648 days", "-2147483648 days",
    "-2147483648 days ago", "2147483647 months", "178956970 years 7 months", "178956970 years 8 months",
    "178956971 years", "-178956970 years -8 months", "2147483647 years", "2147483648 years", "214748364 decades",
    "214748365 decades", "9223372036854775807 us", "9223372036854775808 us", "-9223372036854775808 us",
    "-9223372036854775808 us ago", "9223372036854 s", "9223372036855 s", "306783378 weeks", "306783379 weeks",
    "2147483647 days 0.5 weeks", "2147483647 months 2147483647 days 9223372036854775807 us",
    "-2147483648 months -2147483648 days -9223372036854775808 us", "0.99999999999999999999 days",
    "1 microsecond 2 milliseconds", "1.5 s 2 ms", "1 s 2 ms", "1 week 2 days", "2 days 1 week", "1/2", "1 day!",
    "1 day - 2 hours", "1 day + 2 hours", "1 day +- 2", "1 день", "１ day", "1_000 days", "1e3 days", "0x10 days",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27", "2024-01-01", "2024-01-01 00:00:00",
];

pub(super) fn interval(random: &mut Random) -> String {
    match random.below(6) {
        0 => designators(random),
        1 => sql(random),
        2 => verbose(random),
        3 => clock(random),
        _ => words(random),
    }
}

/// An interval as PostgreSQL writes it by default, or in one of the ways in which people write them.
fn words(random: &mut Random) -> String {
    const UNITS: [&str; 24] = [
        "year",
        "years",
        "mon",
        "mons",
        "months",
        "day",
        "days",
        "d",
        "week",
        "w",
        "hours",
        "hour",
        "h",
        "minutes",
        "mins",
        "m",
        "seconds",
        "secs",
        "s",
        "ms",
        "us",
        "microseconds",
        "decade",
        "century",
    ];
    let mut parts = Vec::new();
    for _ in 0..=random.below(3) {
        let space = random.pick(&[" ", " ", " ", ""]);
        parts.push(format!("{}{space}{}", number(random), random.pick(&UNITS)));
    }
    match random.below(4) {
        0 => parts.push(clock(random)),
        1 if random.below(3) == 0 => parts.push("ago".to_owned()),
        _ => {}
    }
    parts.join(random.pick(&[" ", " ", ", "]))
}

fn number(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "", "", "-", "+"]);
    match random.below(6) {
        0 => format!("{sign}{}.{}", random.below(100), random.digits(8)),
        1 => format!("{sign}{}.5", random.below(10)),
        2 => format!("{sign}{}", random.next() >> random.below(64)),
        _ => format!("{sign}{}", random.below(1000)),
    }
}

fn clock(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "+"]);
    let (hour, minute, second) = (random.below(200), random.below(62), random.below(62));
    match random.below(4) {
        0 => format!("{sign}{hour:02}:{minute:02}"),
        1 => format!("{sign}{hour:02}:{minute:02}:{second:02}.{}", random.digits(8)),
        _ => format!("{sign}{hour:02}:{minute:02}:{second:02}"),
    }
}

fn designators(random: &mut Random) -> String {
    let mut text = "P".to_owned();
    for unit in ["Y", "M", "W", "D"] {
        if random.below(3) == 0 {
            text = text + &number(random) + unit;
        }
    }
    if random.below(2) == 0 {
        text.push('T');
        for unit in ["H", "M", "S"] {
            if random.below(2) == 0 {
                text = text + &number(random) + unit;
            }
        }
    }
    text
}

fn sql(random: &mut Random) -> String {
    let sign = |random: &mut Random| random.pick(&["", "", "-", "+"]);
    let mut parts = Vec::new();
    if random.below(2) == 0 {
        parts.push(format!("{}{}-{}", sign(random), random.below(100), random.below(13)));
    }
    if random.below(2) == 0 {
        parts.push(format!("{}{}", sign(random), random.below(100)));
    }
    if random.below(2) == 0 {
        parts.push(clock(random));
    }
    parts.join(" ")
}

fn verbose(random: &mut Random) -> String {
    let ago = random.pick(&["", " ago"]);
    let (days, hours, seconds) = (random.below(31), random.below(24), random.below(60));
    format!("@ {days} days {hours} hours {seconds}.{} secs{ago}", random.digits(6))
}
