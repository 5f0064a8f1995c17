//! Texts as literals and comments of TypeScript, of which no character can become code.

use std::fmt::Write as _;

use crate::languages::literal::{in_double_quotes, is_plain};

/// A string in double quotes, on one line.
pub(super) fn string(text: &str) -> String {
    in_double_quotes(text, push)
}

/// A text of several lines in backticks, in which line ends stand as themselves; one of one line in double quotes.
pub(super) fn lines(text: &str) -> String {
    if !text.contains('\n') {
        return string(text);
    }
    let mut literal = String::from('`');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '`' => literal.push_str("\\`"),
            '$' if chars.peek() == Some(&'{') => literal.push_str("\\$"),
            '\n' => literal.push('\n'),
            c => push(&mut literal, c),
        }
    }
    literal.push('`');
    literal
}

fn push(literal: &mut String, c: char) {
    match c {
        '\\' => literal.push_str("\\\\"),
        // A template takes it for a line end, and makes it one.
        '\r' => literal.push_str("\\r"),
        '\t' => literal.push_str("\\t"),
        c if is_plain(c) => literal.push(c),
        c => {
            // Writing to a string does not fail.
            let _ = write!(literal, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// A line of documentation inside of `/** … */`, in which no end and no tag is left.
pub(super) fn documentation(line: &str) -> String {
    let plain = line.chars().map(|c| if is_plain(c) { c } else { '\u{fffd}' }).collect::<String>();
    plain.replace("*/", "*\\/").replace('@', "\\@")
}

#[cfg(test)]
mod tests {
    use super::{documentation, lines, string};

    #[test]
    fn no_character_of_a_text_ends_its_literal() {
        assert_eq!(
            string("a\"b\\c\n\u{202e}\u{1f600}\0`${x}"),
            "\"a\\\"b\\\\c\\n\\u{202e}\u{1f600}\\u{0}`${x}\""
        );
        assert_eq!(lines("`${x}$\n\r\\`$"), "`\\`\\${x}$\n\\r\\\\\\`$`");
        assert_eq!(lines("a`"), "\"a`\"");
        assert_eq!(documentation("*/ @ts-ignore\u{202e}\n"), "*\\/ \\@ts-ignore\u{fffd}\u{fffd}");
    }
}
