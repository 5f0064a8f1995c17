//! Texts as literals and comments of Rust.

use std::fmt::Write as _;

use crate::languages::literal::is_plain;

/// A string in double quotes, in which line ends stand as themselves.
pub(super) fn text(text: &str) -> String {
    let kept = |c: char| is_plain(c) || c == '\n';
    if text.contains(['"', '\\']) && text.chars().all(kept) {
        return raw(text);
    }
    escaped(text, true)
}

/// A part of a text: on one line, if it is no more than one with line ends around it.
pub(super) fn part(part: &str) -> String {
    let is_line = part.contains('\n') && !part.trim().contains('\n');
    if is_line { word(part) } else { text(part) }
}

/// A string in double quotes, on one line.
pub(super) fn word(text: &str) -> String {
    escaped(text, false)
}

fn escaped(text: &str, lines: bool) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' if lines => literal.push('\n'),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            c if is_plain(c) => literal.push(c),
            c => {
                let _ = write!(literal, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    literal.push('"');
    literal
}

/// A raw string with as many `#` as nothing in it ends.
fn raw(text: &str) -> String {
    let runs = text.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len() + 1);
    let hashes = "#".repeat(runs.max().unwrap_or(0));
    format!("r{hashes}\"{text}\"{hashes}")
}

/// A line behind `///`, of which Markdown makes neither code, which Cargo would run as a test, nor links.
pub(super) fn documentation(line: &str) -> String {
    let mut shown = String::new();
    for c in line.trim_matches([' ', '\t']).chars() {
        match c {
            '\\' | '`' | '[' | ']' | '<' | '>' | '&' | '~' => shown.extend(['\\', c]),
            c if is_plain(c) => shown.push(c),
            _ => shown.push('\u{fffd}'),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{documentation, text, word};

    #[test]
    fn no_text_becomes_code() {
        assert_eq!(text("a\nb"), "\"a\nb\"");
        assert_eq!(text("a\"#b\\"), "r##\"a\"#b\\\"##");
        assert_eq!(text("a\\"), "r\"a\\\"");
        assert_eq!(text("\"\r\n"), "\"\\\"\\r\n\"");
        assert_eq!(word("\u{202e}\n\0"), "\"\\u{202e}\\n\\u{0}\"");
        assert_eq!(documentation("    ```rust\u{2028}"), "\\`\\`\\`rust\u{fffd}");
    }
}
