//! Texts as literals and comments of Java, of which no character can become code.

use std::fmt::Write as _;

use crate::languages::literal::{in_double_quotes, is_plain};

/// Constants of a class file hold 65535 bytes.
const LONGEST_CONSTANT: usize = 16_000;

/// A Java string in double quotes, on one line, in ASCII: javac reads sources in the encoding of its machine.
pub(super) fn string(text: &str) -> String {
    in_double_quotes(text, push_escaped)
}

/// A Java text of several lines: a text block where Java's rules for its blanks change nothing, else a string.
pub(super) fn lines(text: &str, indent: &str) -> String {
    let characters = text.chars().collect::<Vec<_>>();
    if characters.len() > LONGEST_CONSTANT {
        let parts = characters.chunks(LONGEST_CONSTANT).map(|part| string(&part.iter().collect::<String>()));
        return format!("String.join(\"\", {})", parts.collect::<Vec<_>>().join(", "));
    }
    let kept = |line: &str| !line.ends_with(char::is_whitespace);
    if !text.contains('\n') || !text.split('\n').all(kept) || text.starts_with(char::is_whitespace) {
        return string(text);
    }
    let mut literal = format!("\"\"\"\n{indent}");
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // An empty line stays empty.
            '\n' if chars.peek() == Some(&'\n') => literal.push('\n'),
            '\n' => {
                literal.push('\n');
                literal.push_str(indent);
            }
            '"' if chars.peek() != Some(&'"') && chars.peek().is_some() && !literal.ends_with('"') => {
                literal.push('"');
            }
            c => push_escaped(&mut literal, c),
        }
    }
    literal.push_str("\"\"\"");
    literal
}

fn push_escaped(literal: &mut String, c: char) {
    match c {
        '"' => literal.push_str("\\\""),
        '\\' => literal.push_str("\\\\"),
        '\r' => literal.push_str("\\r"),
        '\t' => literal.push_str("\\t"),
        ' '..='~' => literal.push(c),
        // Java reads \u before anything else: \u000a would be a line end of the source. An octal number is none.
        c if u32::from(c) < 0x80 => {
            let _ = write!(literal, "\\{:03o}", u32::from(c));
        }
        c => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(literal, "\\u{unit:04x}");
            }
        }
    }
}

/// A line of documentation inside of `/** … */`: HTML, in which no tag, end or escape is left.
pub(super) fn documentation(line: &str) -> String {
    let mut html = String::new();
    for c in line.chars() {
        match c {
            '\\' | '*' | '@' | '<' | '>' | '&' | '{' | '}' => {
                let _ = write!(html, "&#{};", u32::from(c));
            }
            ' '..='~' => html.push(c),
            c if is_plain(c) => {
                let _ = write!(html, "&#{};", u32::from(c));
            }
            _ => html.push_str("&#65533;"),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::{documentation, lines, string};

    #[test]
    fn no_character_of_a_text_ends_its_literal() {
        assert_eq!(string("a\"b\\c\n\u{202e}\u{1f600}\0"), r#""a\"b\\c\n\u202e\ud83d\ude00\000""#);
        assert_eq!(lines("a\"\"\"\n\n b\"", "  "), "\"\"\"\n  a\\\"\\\"\\\"\n\n   b\\\"\"\"\"");
        assert_eq!(lines("a \nb", "  "), r#""a \nb""#);
        assert_eq!(
            documentation("*/ \\u000a @deprecated a/b \u{202e}\n"),
            "&#42;/ &#92;u000a &#64;deprecated a/b &#65533;&#65533;"
        );
    }
}
