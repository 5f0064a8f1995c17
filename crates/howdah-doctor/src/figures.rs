//! Figures as a person reads them.

/// Decimal units, as disks count: `512 B`, `3.4 kB`, `248 MB`.
pub fn bytes(n: f64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n.max(0.0);
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 9.95);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A time that need not be exact: `250 ms`, `12 s`, `10 min`, `3 h`, `5 days`.
pub fn duration(seconds: f64) -> String {
    let s = seconds.max(0.0);
    match s {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A short time: `12 µs`, `4.0 ms`, `1.2 s`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds.max(0.0) {
        s if s < 0.9995e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 0.9995 => format!("{:.1$} ms", s * 1e3, usize::from(s < 9.95e-3)),
        s => format!("{s:.1} s"),
    }
}

/// Three digits of a rate, which is more than a measurement bears.
pub(crate) fn rate(n: f64) -> String {
    let n = n.max(0.0);
    if n < 1000.0 {
        return count(n);
    }
    let unit = 10_f64.powf(n.log10().floor() - 2.0);
    count((n / unit).round() * unit)
}

/// A whole number with its thousands.
pub(crate) fn count(n: f64) -> String {
    let digits = format!("{:.0}", n.max(0.0));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many rows.
pub(crate) fn rows(n: f64) -> String {
    let n = count(n);
    let rows = if n == "1" { "row" } else { "rows" };
    format!("{n} {rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(
            [0.0, 999.0, 1000.0, 9_949.0, 248e6, 1e20].map(bytes),
            ["0 B", "999 B", "1.0 kB", "9.9 kB", "248 MB", "100000 PB"]
        );
        assert_eq!(
            [0.25, 1.0, 90.0, 600.0, 10_800.0, 432_000.0].map(duration),
            ["250 ms", "1 s", "90 s", "10 min", "3 h", "5 days"]
        );
        assert_eq!(
            [12e-6, 999.4e-6, 4e-3, 0.0123, 1.23].map(time),
            ["12 µs", "999 µs", "4.0 ms", "12 ms", "1.2 s"]
        );
        assert_eq!([7.4, 1_000.0, 212_345.0, 999_900.0].map(rate), ["7", "1,000", "212,000", "1,000,000"]);
        assert_eq!([0.0, 999.0, 1_234_567.0].map(count), ["0", "999", "1,234,567"]);
        assert_eq!([0.0, 1.0, 2_000.0].map(rows), ["0 rows", "1 row", "2,000 rows"]);
    }
}
