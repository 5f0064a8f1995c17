//! Numbers and times as text, appended to a buffer without going through the formatting machinery.

use howdah_encode::civil::{Date, UNIX_EPOCH_DAYS, date_of};

/// The float8 of a gauge.
pub(super) fn gauge(scaled: i32, decimals: u32) -> f64 {
    f64::from(scaled) / f64::from(10_u32.pow(decimals))
}

/// Appends an integer.
pub(super) fn push_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `scaled / 10^decimals` with as few digits as say it exactly.
pub(super) fn push_scaled(out: &mut Vec<u8>, scaled: i32, decimals: u32) {
    let unit = 10_u32.pow(decimals);
    let (whole, mut fraction) = (scaled.unsigned_abs() / unit, scaled.unsigned_abs() % unit);
    if scaled < 0 {
        out.push(b'-');
    }
    push_integer(out, whole);
    if fraction == 0 {
        return;
    }
    out.push(b'.');
    let mut place = unit / 10;
    while fraction > 0 {
        push_digit(out, (fraction / place).into());
        fraction %= place;
        place /= 10;
    }
}

/// Appends `scaled / 10^scale` with all its decimals, as PostgreSQL prints a numeric.
pub(super) fn push_fixed(out: &mut Vec<u8>, scaled: i64, scale: u32) {
    let unit = 10_u64.pow(scale);
    if scaled < 0 {
        out.push(b'-');
    }
    push_integer(out, scaled.unsigned_abs() / unit);
    out.push(b'.');
    push_padded(out, scaled.unsigned_abs() % unit, unit / 10);
}

/// Appends an instant given in microseconds since 1970, with a fraction only where there is one.
pub(super) fn push_instant(out: &mut Vec<u8>, micros: i64, separator: u8, zone: &[u8]) {
    push_date_time(out, micros.div_euclid(1_000_000), separator);
    let fraction = micros.rem_euclid(1_000_000).unsigned_abs();
    if fraction > 0 {
        out.push(b'.');
        push_padded(out, fraction, 100_000);
    }
    out.extend_from_slice(zone);
}

/// Appends `2024-01-31` and `23:59:59` with `separator` between them, for seconds since 1970.
pub(super) fn push_date_time(out: &mut Vec<u8>, seconds: i64, separator: u8) {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400).unsigned_abs());
    let Date { year, month, day } = date_of(days + i64::from(UNIX_EPOCH_DAYS));
    push_padded(out, year.unsigned_abs(), 1_000);
    for (lead, two) in [
        (b'-', month.into()),
        (b'-', day.into()),
        (separator, second / 3600),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        out.push(lead);
        push_padded(out, two, 10);
    }
}

/// Appends a number with zeros before it, the first digit at `place`.
fn push_padded(out: &mut Vec<u8>, mut number: u64, mut place: u64) {
    while place > 0 {
        push_digit(out, number / place);
        number %= place;
        place /= 10;
    }
}

fn push_digit(out: &mut Vec<u8>, digit: u64) {
    out.push(b'0' + u8::try_from(digit).expect("a digit is below ten"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn scaled_numbers_do_not_lose_zeros_or_signs() {
        for (scaled, decimals, expected) in [
            (0, 5, "0"),
            (5, 5, "0.00005"),
            (-5, 5, "-0.00005"),
            (7_200_000, 5, "72"),
            (7_200_100, 5, "72.001"),
            (-17_999_999, 5, "-179.99999"),
            (255, 1, "25.5"),
            (37, 0, "37"),
        ] {
            assert_eq!(text(|out| push_scaled(out, scaled, decimals)), expected);
        }
    }

    #[test]
    fn fixed_numbers_and_fractions_keep_their_zeros() {
        assert_eq!(text(|out| push_fixed(out, -98_005, 2)), "-980.05");
        assert_eq!(text(|out| push_fixed(out, 100, 2)), "1.00");
        assert_eq!(text(|out| push_instant(out, -1, b' ', b"+00")), "1969-12-31 23:59:59.999999+00");
        assert_eq!(text(|out| push_instant(out, 500_000, b'T', b"Z")), "1970-01-01T00:00:00.500000Z");
        assert_eq!(text(|out| push_date_time(out, -62_135_596_800, b' ')), "0001-01-01 00:00:00");
    }

    #[test]
    fn dates_do_not_slip_at_leap_days_and_year_ends() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (1_735_689_600, "2025-01-01 00:00:00"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(text(|out| push_date_time(out, seconds, b' ')), expected);
        }
    }
}
