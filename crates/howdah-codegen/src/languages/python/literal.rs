//! Texts as literals and comments of Python, of which no character can become code.

use std::fmt::Write as _;

use crate::languages::literal::{in_double_quotes, is_plain};

/// A Python string in double quotes, on one line.
pub(super) fn string(text: &str) -> String {
    in_double_quotes(text, push_escaped)
}

/// A Python string in three double quotes, in which line ends stand as themselves.
pub(super) fn lines(text: &str) -> String {
    let mut literal = String::from("\"\"\"");
    let mut quotes = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        quotes = if c == '"' { quotes + 1 } else { 0 };
        match c {
            // The third of a row, and one before the end, would end the string.
            '"' if quotes == 3 || chars.peek().is_none() => {
                literal.push_str("\\\"");
                quotes = 0;
            }
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push('\n'),
            '\t' => literal.push('\t'),
            c => push_escaped(&mut literal, c),
        }
    }
    literal.push_str("\"\"\"");
    literal
}

fn push_escaped(literal: &mut String, c: char) {
    // Writing to a string does not fail.
    let _ = match u32::from(c) {
        _ if is_plain(c) => {
            literal.push(c);
            Ok(())
        }
        number @ ..=0xff => write!(literal, "\\x{number:02x}"),
        number @ ..=0xffff => write!(literal, "\\u{number:04x}"),
        number => write!(literal, "\\U{number:08x}"),
    };
}

/// A line of documentation inside of a Python docstring.
pub(super) fn documentation(line: &str) -> String {
    line.chars()
        .map(|c| if is_plain(c) { c } else { '\u{fffd}' })
        .collect::<String>()
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::{documentation, lines, string};

    #[test]
    fn no_character_of_a_text_ends_its_literal() {
        assert_eq!(string("a\"b\\c\nd\u{202e}"), r#""a\"b\\c\nd\u202e""#);
        assert_eq!(lines("a\"\"\"b\"\"\"\""), "\"\"\"a\"\"\\\"b\"\"\\\"\\\"\"\"\"");
        assert_eq!(lines("SELECT '\\'"), "\"\"\"SELECT '\\\\'\"\"\"");
        assert_eq!(documentation("a\"\"\"\\\u{202e}"), "a\\\"\\\"\\\"\\\\\u{fffd}");
    }
}
