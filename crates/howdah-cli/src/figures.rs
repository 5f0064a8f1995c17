//! Numbers and foreign text as a person reads them: thousands, units, seconds, and no raw control characters.

use howdah::message::is_hidden;

/// `1234567` as `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Decimal units, as disks and file managers count: `512 B`, `3.4 kB`, `248 MB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    // 999.5 would print as "1000".
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(value < 9.95);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A measured time: `0.043 s`, `1.42 s`, `2 min 05 s`, `1 h 02 min`.
pub(crate) fn seconds(s: f64) -> String {
    if s < 0.0995 {
        format!("{s:.3} s")
    } else if s < 9.995 {
        format!("{s:.2} s")
    } else if s < 59.95 {
        format!("{s:.1} s")
    } else {
        remaining(s)
    }
}

/// An estimated time, no more precise than it is: `4 s`, `2 min 05 s`, `1 h 02 min`.
pub(crate) fn remaining(s: f64) -> String {
    let whole = whole(s);
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// A rate, to three digits: more would be noise.
pub(crate) fn rate(per_second: f64) -> String {
    let whole = whole(per_second);
    let step = 10_u64.pow(whole.checked_ilog10().unwrap_or(0).saturating_sub(2));
    count((whole + step / 2) / step * step)
}

/// The nearest whole number that is not negative.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is what a display wants")]
pub(crate) fn whole(x: f64) -> u64 {
    x.max(0.0).round() as u64
}

/// Foreign text on one line. Control characters could move the cursor, retitle the terminal or fake a line of ours;
/// the bidirectional and invisible ones could show a name as another. All of them are shown as escapes.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Foreign text that may have several lines; the second and later ones are indented so that none passes for ours.
pub(crate) fn visible_lines(text: &str, indent: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join(&format!("\n{indent}"))
}

/// An argument for a POSIX shell, quoted only when it has to be.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if text.contains(is_hidden) {
        return escaped_word(text);
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An argument with what cannot be seen as escapes, which bash, zsh and newer POSIX shells read as the same bytes: `$'a\nb'`.
fn escaped_word(text: &str) -> String {
    let mut out = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\'' | '\\' => out.extend(['\\', c]),
            c if is_hidden(c) => {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(count), ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "row", "rows"), counted(0, "row", "rows")], ["1 row", "0 rows"]);
        assert_eq!(
            [0, 999, 1000, 9_949, 9_951, 248_000_000, 999_499_999, 999_600_000].map(bytes),
            ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "248 MB", "999 MB", "1.0 GB"]
        );
        assert_eq!(
            [0.0434, 0.5, 1.417, 12.34, 59.96, 125.0, 3725.0].map(seconds),
            ["0.043 s", "0.50 s", "1.42 s", "12.3 s", "1 min 00 s", "2 min 05 s", "1 h 02 min"]
        );
        assert_eq!([0.0, 7.4, 999.0, 1234.0, 704_225.3].map(rate), ["0", "7", "999", "1,230", "704,000"]);
    }

    #[test]
    fn data_cannot_drive_the_terminal_or_fake_our_lines() {
        assert_eq!(visible("a\x1b[2Jb\r\n\tc\u{9b}\u{7f}\0"), r"a\u{1b}[2Jb\r\n\tc\u{9b}\u{7f}\u{0}");
        assert_eq!(visible("a\u{202e}b\u{200b}\u{2066}ü漢"), r"a\u{202e}b\u{200b}\u{2066}ü漢");
        assert_eq!(
            visible_lines("one\nhint: rm -rf /\r\n\x1b]0;x", "  "),
            "one\n  hint: rm -rf /\n  \\u{1b}]0;x"
        );
        assert_eq!(visible_lines("a\rhint: x", "  "), r"a\rhint: x");
    }

    #[test]
    fn a_printed_command_can_be_pasted() {
        assert_eq!(shell_word("db-1.example.com"), "db-1.example.com");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "''");
        let hidden = "a\n7\t\u{1b}7\u{202e}'\\ü$HOME";
        assert_eq!(shell_word(hidden), r"$'a\n7\011\0337\342\200\256\'\\ü$HOME'");
        let printed =
            Command::new("bash").args(["-c", &format!("printf %s {}", shell_word(hidden))]).output();
        assert_eq!(String::from_utf8(printed.unwrap().stdout).unwrap(), hidden);
    }
}
