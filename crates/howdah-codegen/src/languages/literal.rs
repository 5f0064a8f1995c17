//! Which characters of a text may stand as they are in literals and comments of generated code; each language escapes the
//! others its own way.

use howdah_message::is_hidden;

/// Whether a character is shown as itself: not a control, nor one that moves or hides what stands around it.
pub(super) fn is_plain(c: char) -> bool {
    !is_hidden(c)
}

/// A string in double quotes, on one line, with the escapes that all languages share; `push` adds every other character.
pub(super) fn in_double_quotes(text: &str, push: fn(&mut String, char)) -> String {
    let mut literal = String::from('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            c => push(&mut literal, c),
        }
    }
    literal.push('"');
    literal
}

/// A name inside of `/* … */` in SQL: what could end the comment or begin another is replaced.
pub(crate) fn sql_comment(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::sql_comment;

    #[test]
    fn no_name_ends_a_comment() {
        assert_eq!(sql_comment("a*/b"), "a__b");
    }
}
