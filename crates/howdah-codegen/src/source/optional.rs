//! Optional lines: `AND role = ${role} --? role` is there while `role` is not null, or, if it is no variable, true.

use std::ops::Range;

use super::block::BlockKind;
use super::header::is_name;
use super::lexer::{Token, TokenKind};
use crate::diagnostic::{Code, Diagnostic, Lines, Place};

/// How such a comment begins.
const MARK: &str = "--?";

/// A line that is not always there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// What stands behind `--?`.
    pub(super) name: String,
    /// Where it stands.
    pub(super) place: Place,
    /// From the line end before it to its last token: what goes.
    sql: Range<usize>,
    /// Where its comment ends, which is never sent.
    end: usize,
}

/// Finds the optional lines among the tokens of a block, of which some are its statement.
pub(super) fn lines(
    file: &str,
    text: &str,
    tokens: &[Token],
    statement: Range<usize>,
    kind: BlockKind,
    places: &Lines<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let said = &tokens[statement];
    for mark in tokens.iter().filter(|token| token.kind == TokenKind::LineComment) {
        let comment = mark.text(text);
        let place = |range: Range<usize>| places.place(file, range);
        let mut wrong = |range: Range<usize>, message: String, help: &str| {
            diagnostics.push(Diagnostic::error(Code::SqlParseError, place(range), message).help(help));
        };
        let Some(behind) = comment.strip_prefix(MARK) else {
            // Comments on lines of their own may tell of it.
            if let Some(at) = comment.find(MARK).map(|at| mark.start + at)
                && !places.opens(mark.start)
            {
                let message = "this makes no line optional, since it stands in a comment";
                let warning = Diagnostic::warning(Code::HeaderLikeComment, place(at..mark.end), message);
                diagnostics.push(warning.help("put the comment on a line of its own"));
            }
            continue;
        };
        if !kind.has_parameters() {
            let message = format!("a {} has no optional lines: nobody would choose", kind.word());
            wrong(mark.start..mark.end, message, "write what is always there");
            continue;
        }
        let name = behind.trim();
        if name.is_empty() || !name.bytes().all(is_name) {
            let message = "an optional line ends with `--? name`".to_owned();
            let help = "the name of one variable, without `${}`, or of a switch: letters, digits and _";
            wrong(mark.start..mark.end, message, help);
            continue;
        }
        let start = places.start(mark.start);
        let inside = |token: &&Token| token.end > start && token.start < mark.start;
        if let Some(token) = tokens
            .iter()
            .find(|token| token.start < start && token.end > start && token.kind != TokenKind::Space)
        {
            let message = "this line begins inside of a string or comment, and cannot go alone".to_owned();
            let line = place(token.start..token.end).line;
            wrong(mark.start..mark.end, message, &format!("what it belongs to begins in line {line}"));
            continue;
        }
        let Some(last) = said.iter().rfind(|token| inside(token) && !token.is_trivia()) else {
            let message = format!("there is no SQL in this line that could go without `{name}`");
            wrong(mark.start..mark.end, message, "`--? name` stands behind the SQL of one line");
            continue;
        };
        let first = said.first().map_or(start, |token| token.start);
        let last = said.iter().rfind(|token| inside(token) && token.kind != TokenKind::Space).unwrap_or(last);
        let at = mark.end - behind.trim_start().len();
        lines.push(Line {
            name: name.to_owned(),
            place: place(at..at + name.len()),
            sql: before(text, start).max(first)..last.end,
            end: mark.end,
        });
    }
    let kept = |token: &Token| cut(*token, &lines).iter().any(|(_, line)| line.is_none());
    if let Some(line) = lines.first().filter(|_| !said.iter().any(|token| !token.is_trivia() && kept(token)))
    {
        let message = "all lines are optional: nothing would be left of the statement";
        diagnostics.push(Diagnostic::error(Code::SqlParseError, line.place.clone(), message));
    }
    lines
}

/// Where the line end begins that stands before a line.
fn before(text: &str, start: usize) -> usize {
    let above = &text[..start];
    above.strip_suffix("\r\n").or(above.strip_suffix(['\n', '\r'])).map_or(start, str::len)
}

/// Divides a token by the lines that it is in: its parts, each with the index of its line, without what is never sent.
pub(super) fn cut(token: Token, lines: &[Line]) -> Vec<(Token, Option<usize>)> {
    let mut parts = Vec::new();
    let mut start = token.start;
    while start < token.end {
        let next = lines.partition_point(|line| line.end <= start);
        let (line, end) = match lines.get(next) {
            None => (None, token.end),
            Some(line) if start < line.sql.start => (None, line.sql.start),
            Some(line) if start < line.sql.end => (Some(next), line.sql.end),
            Some(line) => {
                start = line.end;
                continue;
            }
        };
        let end = end.min(token.end);
        parts.push((Token { start, end, ..token }, line));
        start = end;
    }
    parts
}
