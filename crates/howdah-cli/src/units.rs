//! Numbers with units as the command line takes them: `10_000`, `4MiB`, `5ms`.

use std::time::Duration;

use howdah::Error;

/// A whole number of at least 1; `_` may divide its digits.
pub(crate) fn count(option: &str, text: &str) -> Result<usize, Error> {
    let number = text.replace('_', "").parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Error::usage(format!("{option} takes a number from 1 on, not {text:?}")))
}

/// A number of bytes: kB, MB, GB are thousands, KiB, MiB, GiB are 1024s.
pub(crate) fn bytes(option: &str, text: &str) -> Result<usize, Error> {
    let refuse = || Error::usage(format!("{option} takes a size as 512kB or 4MiB, not {text:?}"));
    let (number, unit) = divided(text).ok_or_else(refuse)?;
    let factor: f64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(refuse()),
    };
    match crate::figures::whole(number * factor) {
        0 => Err(refuse()),
        bytes => usize::try_from(bytes).map_err(|_| refuse()),
    }
}

/// A time, with its unit.
pub(crate) fn time(option: &str, text: &str) -> Result<Duration, Error> {
    let refuse = || Error::usage(format!("{option} takes a time as 5ms, 2s, 5min or 1h, not {text:?}"));
    let (number, unit) = divided(text).ok_or_else(refuse)?;
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(refuse()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| refuse())
}

/// The number and its unit.
fn divided(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_mean_what_they_say_and_a_time_without_one_is_refused() {
        assert_eq!(count("--n", "10_000").unwrap(), 10_000);
        assert_eq!(bytes("--b", "4MiB").unwrap(), 4 * 1024 * 1024);
        assert_eq!(bytes("--b", "1.5kB").unwrap(), 1500);
        assert_eq!(bytes("--b", "100").unwrap(), 100);
        assert_eq!(time("--t", "5ms").unwrap(), Duration::from_millis(5));
        assert_eq!(time("--t", "5min").unwrap(), Duration::from_secs(300));
        assert_eq!(time("--t", "0s").unwrap(), Duration::ZERO);
        for bad in ["5", "ms", "-5ms", "5 lightyears", ""] {
            assert!(time("--t", bad).unwrap_err().message().contains("--t takes a time"), "{bad}");
        }
        for bad in ["0", "4XB", "MiB", "1e3"] {
            assert!(bytes("--b", bad).is_err(), "{bad}");
        }
        assert!(count("--n", "0").is_err() && count("--n", "1.5").is_err());
    }
}
