//! UPDATE and DELETE whose whole condition can go by optional lines: without them, every row is changed.

use super::lexer::{Token, TokenKind};
use super::optional::{self, Line};
use crate::diagnostic::{Code, Diagnostic};

/// Warns of a statement that then changes every row.
pub(super) fn warning(text: &str, statement: &[Token], lines: &[Line]) -> Option<Diagnostic> {
    let kept = statement.iter().flat_map(|token| optional::cut(*token, lines));
    let kept = kept.filter(|(_, line)| line.is_none()).map(|(token, _)| token).collect::<Vec<_>>();
    let [whole, kept] = [statement, &kept].map(|tokens| condition(text, tokens));
    let (whole, place) = (whole?, lines.first()?.place.clone());
    if selects(&whole) && !kept.is_some_and(|kept| selects(&kept)) {
        let message = "without its optional lines, this statement changes every row";
        let help = "keep a condition that is always there, or write a block of its own for all rows";
        return Some(Diagnostic::warning(Code::EveryRow, place, message).help(help));
    }
    None
}

/// The words of a statement's condition, none where it has none; nothing, if it is no UPDATE or DELETE.
fn condition(text: &str, tokens: &[Token]) -> Option<Vec<String>> {
    let mut depth = 0_usize;
    let mut changes = false;
    let mut condition = None::<Vec<String>>;
    for token in tokens.iter().filter(|token| !token.is_trivia()) {
        let word = token.text(text).to_ascii_lowercase();
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 && !changes => match word.as_str() {
                "update" | "delete" => changes = true,
                "insert" | "merge" | "select" | "values" | "call" => return None,
                _ => {}
            },
            TokenKind::Word if depth == 0 && word == "returning" => break,
            TokenKind::Word if depth == 0 && word == "where" && condition.is_none() => {
                condition = Some(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(condition) = &mut condition {
            condition.push(word);
        }
    }
    changes.then(|| condition.unwrap_or_default())
}

/// Whether some rows may be none of those that a condition means.
fn selects(condition: &[String]) -> bool {
    !matches!(condition.join(" ").as_str(), "" | "true" | "( true )" | "1 = 1")
}

#[cfg(test)]
mod tests {
    use crate::source::parse;

    #[test]
    fn a_condition_that_can_go_as_a_whole_is_told() {
        let told = |statement: &str| {
            let (_, told) = parse("a.sql", &format!("-- EXEC q\n{statement};\n"));
            told.into_iter().map(|warning| warning.code.name()).collect::<Vec<_>>()
        };
        for wrong in [
            "DELETE FROM t\nWHERE a = 1 --? x\n",
            "DELETE FROM t WHERE true\nAND a = 1 --? x\nAND b = 2 --? y\n",
            "UPDATE t SET a = 1 WHERE 1 = 1\nAND a = 1 --? x\nRETURNING a",
            "WITH u AS (SELECT 1 WHERE true) UPDATE t SET a = 1\nWHERE a = 1 --? x\nRETURNING a",
        ] {
            assert_eq!(told(wrong), ["EVERY_ROW"], "{wrong}");
        }
        for right in [
            "DELETE FROM t WHERE a = 1\nAND b = 2 --? x\n",
            "DELETE FROM t\nWHERE a = 1",
            "UPDATE t SET a = 1\n, b = 2 --? x\n",
            "UPDATE t SET a = 1\n, b = 2 --? x\nWHERE a = 1",
            "INSERT INTO t SELECT 1\nWHERE true --? x\n",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1\nWHERE t.b > 1 --? x\n",
        ] {
            assert_eq!(told(right), [""; 0], "{right}");
        }
    }
}
