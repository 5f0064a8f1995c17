//! Texts as literals and comments of host languages, of which no character can become code.

use std::fmt::Write as _;

/// Whether a character is shown as itself: not a control, nor one that moves or hides what stands around it.
pub(crate) fn is_plain(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'))
}

/// A Python string in double quotes, on one line.
pub(crate) fn python(text: &str) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            c => push_escaped(&mut literal, c),
        }
    }
    literal.push('"');
    literal
}

/// A Python string in three double quotes, in which line ends stand as themselves.
pub(crate) fn python_lines(text: &str) -> String {
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
pub(crate) fn python_documentation(line: &str) -> String {
    line.chars()
        .map(|c| if is_plain(c) { c } else { '\u{fffd}' })
        .collect::<String>()
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
}

/// Constants of a class file hold 65535 bytes.
const JAVA_CONSTANT: usize = 16_000;

/// A Java string in double quotes, on one line, in ASCII: javac reads sources in the encoding of its machine.
pub(crate) fn java(text: &str) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            c => push_java(&mut literal, c),
        }
    }
    literal.push('"');
    literal
}

/// A Java text of several lines: a text block where Java's rules for its blanks change nothing, else a string.
pub(crate) fn java_lines(text: &str, indent: &str) -> String {
    let characters = text.chars().collect::<Vec<_>>();
    if characters.len() > JAVA_CONSTANT {
        let parts = characters.chunks(JAVA_CONSTANT).map(|part| java(&part.iter().collect::<String>()));
        return format!("String.join(\"\", {})", parts.collect::<Vec<_>>().join(", "));
    }
    let kept = |line: &str| !line.ends_with(char::is_whitespace);
    if !text.contains('\n') || !text.split('\n').all(kept) || text.starts_with(char::is_whitespace) {
        return java(text);
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
            c => push_java(&mut literal, c),
        }
    }
    literal.push_str("\"\"\"");
    literal
}

fn push_java(literal: &mut String, c: char) {
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
pub(crate) fn java_documentation(line: &str) -> String {
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

/// A name inside of `/* … */` in SQL: what could end the comment or begin another is replaced.
pub(crate) fn sql_comment(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        java, java_documentation, java_lines, python, python_documentation, python_lines, sql_comment,
    };

    #[test]
    fn no_character_of_a_text_ends_its_literal() {
        assert_eq!(python("a\"b\\c\nd\u{202e}"), r#""a\"b\\c\nd\u202e""#);
        assert_eq!(python_lines("a\"\"\"b\"\"\"\""), "\"\"\"a\"\"\\\"b\"\"\\\"\\\"\"\"\"");
        assert_eq!(python_lines("SELECT '\\'"), "\"\"\"SELECT '\\\\'\"\"\"");
        assert_eq!(python_documentation("a\"\"\"\\\u{202e}"), "a\\\"\\\"\\\"\\\\\u{fffd}");
        assert_eq!(sql_comment("a*/b"), "a__b");
        assert_eq!(java("a\"b\\c\n\u{202e}\u{1f600}\0"), r#""a\"b\\c\n\u202e\ud83d\ude00\000""#);
        assert_eq!(java_lines("a\"\"\"\n\n b\"", "  "), "\"\"\"\n  a\\\"\\\"\\\"\n\n   b\\\"\"\"\"");
        assert_eq!(java_lines("a \nb", "  "), r#""a \nb""#);
        assert_eq!(
            java_documentation("*/ \\u000a @deprecated a/b \u{202e}\n"),
            "&#42;/ &#92;u000a &#64;deprecated a/b &#65533;&#65533;"
        );
    }
}
