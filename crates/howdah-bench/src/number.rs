//! Figures as people read them: thousands apart, no more digits than the measurement holds.

/// `1,234,567`; decimals only below 100.
pub(crate) fn thousands(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (plain.as_str(), ""),
    };
    let digits = whole.trim_start_matches('-').len();
    let mut text = String::new();
    for (index, digit) in whole.trim_start_matches('-').chars().enumerate() {
        if index > 0 && (digits - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    let sign = if whole.starts_with('-') { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{text}{point}{fraction}")
}

/// The step to which a figure is rounded that was seen from `min` to `max`: the first digit of half that range, so that two or
/// three digits of the figure are left. One run says nothing of its spread: two.
pub(crate) fn step_of(figure: f64, min: f64, max: f64) -> f64 {
    let first_digit = |value: f64| 10.0_f64.powf(value.abs().log10().floor());
    if figure == 0.0 {
        return 1.0;
    }
    let coarse = first_digit(figure) / 10.0;
    let half = (max - min) / 2.0;
    if half > 0.0 { first_digit(half).clamp(coarse / 10.0, coarse) } else { coarse }
}

/// [`thousands`] of `value` in steps.
pub(crate) fn stepped(value: f64, step: f64) -> String {
    thousands((value / step).round() * step)
}

/// `3.1×`, `240×`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        small if small < 0.1 => format!("{small:.3}×"),
        small if small < 1.0 => format!("{small:.2}×"),
        middle if middle < 20.0 => format!("{middle:.1}×"),
        large => format!("{}×", thousands(large.round())),
    }
}

/// `+190 %`, `−3 %`.
pub(crate) fn gain(ratio: f64) -> String {
    let percent = ((ratio - 1.0) * 100.0).round();
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{} %", thousands(percent))
}

/// `4.2 ms`, `0.31 ms`, `120 ms`.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms {
        small if small < 1.0 => format!("{small:.2} ms"),
        middle if middle < 100.0 => format!("{middle:.1} ms"),
        large => format!("{} ms", thousands(large.round())),
    }
}

/// `1.5 GiB`.
pub(crate) fn bytes(count: f64) -> String {
    let mut value = count;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{value:.0} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_the_digits_that_its_spread_allows() {
        for (figure, min, max, text) in [
            (526_206.0, 526_206.0, 526_206.0, "530,000"),
            (526_206.0, 526_100.0, 526_300.0, "526,000"),
            (526_206.0, 523_000.0, 530_000.0, "526,000"),
            (526_206.0, 480_000.0, 560_000.0, "530,000"),
            (526_206.0, 100_000.0, 900_000.0, "530,000"),
            (14.26, 14.26, 14.26, "14"),
            (0.0, 0.0, 0.0, "0"),
        ] {
            assert_eq!(stepped(figure, step_of(figure, min, max)), text, "{min} to {max}");
        }
    }

    #[test]
    fn figures_have_their_thousands_apart_and_no_digits_that_mean_nothing() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123, "0.012"),
            (7.5, "7.5"),
            (99.04, "99"),
            (999.4, "999"),
            (1000.0, "1,000"),
            (1_234_567.8, "1,234,568"),
            (-12_000.0, "−12,000"),
        ] {
            assert_eq!(thousands(value), text);
        }
        assert_eq!([times(0.5), times(3.12), times(1240.4)], ["0.50×", "3.1×", "1,240×"]);
        assert_eq!([gain(2.9), gain(0.97), gain(1.0)], ["+190 %", "−3 %", "0 %"]);
        assert_eq!(
            [milliseconds(0.314), milliseconds(4.25), milliseconds(1240.0)],
            ["0.31 ms", "4.2 ms", "1,240 ms"]
        );
        assert_eq!(
            [bytes(12.0), bytes(1536.0), bytes(3.0 * 1024.0_f64.powi(3))],
            ["12 B", "1.5 KiB", "3.0 GiB"]
        );
    }
}
