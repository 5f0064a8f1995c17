//! `choices:` of a header: the texts of SQL of which a variable is one.

use super::block::Choices;
use super::lexer::{self, TokenKind};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::yaml::{YamlNode, YamlReader, YamlValue};

/// Reads them, and says what is wrong with each text.
pub(super) fn read(reader: &mut YamlReader<'_>, node: Option<YamlNode>) -> Vec<Choices> {
    let mut read = Vec::new();
    for (name, node) in reader.names(node, "`choices`") {
        let place = node.place;
        let YamlValue::List(list) = node.value else {
            let message = format!("`{name}` has no list of texts");
            reader.wrong(&place, message).suggestion =
                Some(format!("write `{name}: [created_at DESC, name]`"));
            continue;
        };
        let mut options: Vec<(String, Place)> = Vec::new();
        for node in list {
            let Some((text, at)) = reader.text(node, "a choice") else { continue };
            let text = text.trim().to_owned();
            if let Some(wrong) = fault(&text) {
                reader.wrong(&at, wrong).suggestion =
                    Some("a choice is complete by itself; quote a text that has commas or colons".to_owned());
            } else if options.iter().any(|(before, _)| *before == text) {
                reader.wrong(&at, format!("`{text}` is there twice"));
            } else {
                options.push((text, at));
            }
        }
        if options.is_empty() {
            let diagnostic = Diagnostic::error(
                Code::ConfigValidationError,
                place.clone(),
                format!("`{name}` has nothing to choose from"),
            );
            reader.diagnostics.push(diagnostic);
        }
        read.push(Choices { name, options, place });
    }
    read
}

/// What keeps a text from being a part of a statement that changes nothing around it.
fn fault(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let unbalanced = || Some("this opens or closes a bracket without the other one".to_owned());
    if text.is_empty() {
        return Some("a choice is a text that is not empty".to_owned());
    }
    if text.contains('\0') {
        return Some("the server takes no NUL characters".to_owned());
    }
    for token in lexer::lex(text) {
        let part = token.text(text);
        if !token.closed {
            return Some(format!("what begins with `{}` has no end", part.chars().next().unwrap_or(' ')));
        }
        match token.kind {
            TokenKind::LineComment => {
                return Some("a comment would hide what follows in the line".to_owned());
            }
            TokenKind::Semicolon => return Some("a semicolon ends the statement".to_owned()),
            TokenKind::Backslash => {
                return Some("a backslash begins a command of psql's, not SQL".to_owned());
            }
            TokenKind::Variable | TokenKind::BadVariable | TokenKind::Positional => {
                return Some(format!("a choice is constant, and `{part}` is not"));
            }
            TokenKind::Open => open.push(part),
            TokenKind::Close => match (open.pop(), part) {
                (Some("("), ")") | (Some("["), "]") => {}
                _ => return unbalanced(),
            },
            _ => {}
        }
    }
    if open.is_empty() { None } else { unbalanced() }
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn a_choice_changes_nothing_around_it() {
        let texts = [
            "a; DROP TABLE t",
            "a -- b",
            "a /* b",
            "'a",
            "\"a",
            "$$a",
            "(a",
            "a)",
            ")(",
            "(a]",
            "${a}",
            "$1",
            "\\! ls",
            "a\0",
        ];
        for text in texts {
            assert!(fault(text).is_some(), "{text}");
        }
        for text in
            ["a DESC NULLS LAST", "lower(a)[1], \"b;--\"", "';--'", "$$;$$", "a /* b */", "<", "$$${a}$$"]
        {
            assert_eq!(fault(text), None, "{text}");
        }
    }
}
