//! Texts as literals and comments of Go, of which no character can become code.

use std::fmt::Write as _;

use crate::languages::literal::{in_double_quotes, is_plain};

/// A Go string in double quotes, on one line.
pub(super) fn string(text: &str) -> String {
    in_double_quotes(text, push_escaped)
}

/// A Go text of several lines: a raw string where it can be one, which has no escapes and loses `\r`.
pub(super) fn lines(text: &str) -> String {
    let raw = |c: char| c == '\n' || c == '\t' || (is_plain(c) && c != '`');
    let shown = text.contains(['\n', '"', '\\']) && text.chars().all(raw);
    if shown { format!("`{text}`") } else { string(text) }
}

fn push_escaped(literal: &mut String, c: char) {
    // Writing to a string does not fail.
    let _ = match u32::from(c) {
        _ if is_plain(c) => {
            literal.push(c);
            Ok(())
        }
        number @ ..=0x7f => write!(literal, "\\x{number:02x}"),
        number @ ..=0xffff => write!(literal, "\\u{number:04x}"),
        number => write!(literal, "\\U{number:08x}"),
    };
}

/// Lines of documentation behind a first one of ours. gofmt lays out headings, lists and blocks only where they begin a
/// paragraph, so there is only one.
pub(super) fn documentation(first: &str, lines: &[String]) -> Vec<String> {
    let plain = |line: &str| {
        let line = line.trim_matches([' ', '\t']);
        line.chars().map(|c| if is_plain(c) { c } else { '\u{fffd}' }).collect::<String>()
    };
    let rest = lines.iter().flat_map(|line| line.split('\n'));
    std::iter::once(first).chain(rest).map(plain).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{documentation, lines, string};

    #[test]
    fn no_character_of_a_text_ends_its_literal() {
        assert_eq!(string("a\"b\\c\nd\u{202e}\u{e0001}\0é"), "\"a\\\"b\\\\c\\nd\\u202e\\U000e0001\\x00é\"");
        assert_eq!(string("\u{80}\u{feff}"), "\"\\u0080\\ufeff\"");
        assert_eq!(lines("a\n\"b\\"), "`a\n\"b\\`");
        assert_eq!(lines("a\n`"), "\"a\\n`\"");
        assert_eq!(lines("a\r\nb"), "\"a\\r\\nb\"");
        assert_eq!(
            documentation("A.", &["\tx\n\n # y\u{2028}\r".into()]),
            ["A.", "x", "# y\u{fffd}\u{fffd}"]
        );
    }
}
