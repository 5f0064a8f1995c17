//! UPDATE and DELETE whose whole condition can go by optional lines: without them, every row is changed.

use super::always_true::always_true;
use super::lexer::{Token, TokenKind};
use super::optional::{self, Line};
use crate::diagnostic::{Code, Diagnostic};

/// A token that is more than a blank or comment, and the index of the line with which it goes.
type LinedWord<'t> = (TokenKind, &'t str, Option<usize>);

/// Warns of a statement, and of those in its WITH, that then change every row.
pub(super) fn warnings(text: &str, statement: &[Token], lines: &[Line]) -> Vec<Diagnostic> {
    let parts = statement.iter().flat_map(|token| optional::cut(*token, lines));
    let parts = parts.filter(|(token, _)| !token.is_trivia());
    let parts: Vec<LinedWord<'_>> = parts.map(|(token, line)| (token.kind, token.text(text), line)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let warning = |statement: &[LinedWord<'_>]| {
        let line = changes_all_without(statement)?;
        let message = "without its optional lines, this statement changes every row";
        let help = "keep a condition that is always there, or write a block of its own for all rows";
        Some(Diagnostic::warning(Code::EveryRow, lines.get(line)?.place.clone(), message).help(help))
    };
    std::iter::once(&*parts).chain(in_with(&parts)).filter_map(warning).collect()
}

/// The statements in parentheses behind AS, as WITH has them.
fn in_with<'p, 't>(parts: &'p [LinedWord<'t>]) -> impl Iterator<Item = &'p [LinedWord<'t>]> {
    let opens = parts.windows(2).enumerate().filter(|(_, pair)| {
        let before = pair[0].1;
        pair[1].0 == TokenKind::Open
            && pair[0].0 == TokenKind::Word
            && (before.eq_ignore_ascii_case("as") || before.eq_ignore_ascii_case("materialized"))
    });
    opens.map(|(at, _)| {
        let inside = &parts[at + 2..];
        let mut depth = 1_usize;
        let end = inside.iter().position(|(kind, ..)| {
            match kind {
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        &inside[..end.unwrap_or(inside.len())]
    })
}

/// The first optional line of an UPDATE or DELETE that means some rows with all of its lines, and all rows without them.
fn changes_all_without(statement: &[LinedWord<'_>]) -> Option<usize> {
    let line = statement.iter().find_map(|(.., line)| *line)?;
    let kept = statement.iter().filter(|(.., line)| line.is_none()).copied().collect::<Vec<_>>();
    let (whole, kept) = (condition(statement)?, condition(&kept)?);
    (!always_true(&whole) && always_true(&kept)).then_some(line)
}

/// The words of a statement's condition, none where it has none; nothing, if it is no UPDATE or DELETE.
fn condition(statement: &[LinedWord<'_>]) -> Option<Vec<String>> {
    let first = statement.first()?.1.to_ascii_lowercase();
    if !matches!(first.as_str(), "with" | "update" | "delete") {
        return None;
    }
    let mut depth = 0_usize;
    let mut changes = false;
    let mut condition = None::<Vec<String>>;
    for (kind, word, _) in statement {
        // What stands in quotes is not folded.
        let word = match kind {
            TokenKind::Word => word.to_ascii_lowercase(),
            _ => (*word).to_owned(),
        };
        match kind {
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

#[cfg(test)]
mod tests {
    use crate::source::parse;

    #[test]
    fn a_condition_that_can_go_as_a_whole_is_told() {
        let told = |statement: &str| {
            let told = ["EXEC", "QUERY"].map(|kind| {
                let (_, told) = parse("a.sql", &format!("-- {kind} q\n{statement};\n"));
                told.into_iter().map(|warning| warning.code.name()).collect::<Vec<_>>()
            });
            assert_eq!(told[0], told[1], "{statement}");
            told.into_iter().next().unwrap_or_default()
        };
        for wrong in [
            "DELETE FROM t\nWHERE a = 1 --? x\n",
            "DELETE FROM t WHERE true\nAND a = 1 --? x\nAND b = 2 --? y\n",
            "UPDATE t SET a = 1 WHERE 1 = 1\nAND a = 1 --? x\nRETURNING a",
            "DELETE FROM t WHERE ((1=1)) AND 'a' = 'a'\nAND a = 1 --? x\n",
            "DELETE FROM t WHERE b = 1 OR NOT false\nAND a = 1 --? x\n",
            "WITH gone AS (DELETE FROM t\nWHERE a = 1 --? x\nRETURNING a) SELECT count(*) FROM gone",
            "WITH gone AS MATERIALIZED (\nUPDATE t SET a = 1 WHERE true\nAND a = 1 --? x\n) SELECT 1",
            "WITH u AS (SELECT 1 WHERE true) UPDATE t SET a = 1\nWHERE a = 1 --? x\nRETURNING a",
        ] {
            assert_eq!(told(wrong), ["EVERY_ROW"], "{wrong}");
        }
        for right in [
            "DELETE FROM t WHERE a = 1\nAND b = 2 --? x\n",
            "DELETE FROM t\nWHERE a = 1",
            "UPDATE t SET a = 1\n, b = 2 --? x\n",
            "UPDATE t SET a = 1\n, b = 2 --? x\nWHERE a = 1",
            "DELETE FROM t WHERE a = 1 AND true\nAND b = 2 --? x\n",
            "DELETE FROM t WHERE 1 = 2\nOR b = 2 --? x\n",
            "DELETE FROM t WHERE \"true\"\nAND b = 2 --? x\n",
            "DELETE FROM t WHERE CASE WHEN a OR true OR b THEN c END\nAND b = 2 --? x\n",
            "DELETE FROM t WHERE a\nOR true --? x\n",
            "WITH gone AS (DELETE FROM t WHERE a = 1 RETURNING a) SELECT a FROM gone\nWHERE a = 1 --? x\n",
            "WITH gone AS (\nSELECT 1 --? x\nFOR UPDATE) SELECT 1",
            "SELECT 1\nWHERE true --? x\nFOR UPDATE",
            "INSERT INTO t SELECT 1\nWHERE true --? x\n",
            "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1\nWHERE t.b > 1 --? x\n",
        ] {
            assert_eq!(told(right), [""; 0], "{right}");
        }
    }
}
