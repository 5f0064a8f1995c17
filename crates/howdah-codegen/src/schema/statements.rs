//! The statements of a part of a file, each with its places; without what is not run.

use std::ops::Range;

use super::skipped::{self, SkipReason, SkippedStatements};
use crate::config::Tool;
use crate::diagnostic::{Code, Diagnostic, Lines};
use crate::source::Piece;
use crate::source::lexer::{self, Splitter, Token, TokenKind};

/// How a part is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// `${x}` is replaced wherever it stands.
    pub(super) placeholders: bool,
    /// It is a dump.
    pub(super) is_dump: bool,
}

#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) statements: Vec<Vec<Piece>>,
    pub(super) skipped: SkippedStatements,
    pub(super) wrong: Vec<Diagnostic>,
}

/// Commands of psql without which a file means the same: what dumps have, and what is printed.
const HARMLESS: [&str; 11] =
    ["restrict", "unrestrict", "connect", "c", "set", "unset", "echo", "qecho", "timing", "pset", "encoding"];

/// What begins statements that no transaction may have.
const ALONE: [&[&str]; 8] = [
    &["create", "index", "concurrently"],
    &["create", "unique", "index", "concurrently"],
    &["drop", "index", "concurrently"],
    &["reindex"],
    &["vacuum"],
    &["create", "database"],
    &["drop", "database"],
    &["alter", "system"],
];

/// Cuts a part of a text into statements, which end where psql ends them.
pub(super) fn cut(file: &str, text: &str, part: Range<usize>, lines: &Lines<'_>, rules: Rules) -> Cut {
    let text = &text[..part.end];
    let mut cutter = Cutter { file, text, lines, rules, open: OpenStatement::default(), cut: Cut::default() };
    let mut splitter = Splitter::default();
    let mut at = part.start;
    while at < text.len() {
        let token = lexer::next_token(text, at);
        at = token.end;
        if !token.closed {
            cutter.endless(&token);
            return cutter.cut;
        }
        if token.kind == TokenKind::Backslash {
            cutter.psql(&token);
            continue;
        }
        cutter.placeholder(&token);
        if splitter.ends(&token, text) {
            at = cutter.end(token.start, token.end);
        } else {
            cutter.open.take(&token, text);
        }
    }
    cutter.end(text.len(), text.len());
    cutter.cut
}

/// Whether a step that does not say so has to be without a transaction, as its tool finds out itself.
pub(super) fn must_be_alone(tool: Tool, statements: &[Vec<Piece>]) -> bool {
    let alone = |pieces: &Vec<Piece>| {
        let Some(Piece::Text { text, .. }) = pieces.first() else { return false };
        let words = lexer::lex(text).into_iter().filter(|token| !token.is_trivia());
        let words = words.take(4).map(|token| token.text(text).to_ascii_lowercase()).collect::<Vec<_>>();
        ALONE.iter().any(|begin| words.iter().zip(*begin).filter(|(a, b)| a == *b).count() == begin.len())
    };
    match tool {
        // The server wraps several statements of one message, and golang-migrate sends a file as one.
        Tool::GolangMigrate => matches!(statements, [one] if alone(one)),
        Tool::Flyway => !statements.is_empty() && statements.iter().all(alone),
        _ => false,
    }
}

/// A statement that is not at its end.
#[derive(Default)]
struct OpenStatement {
    pieces: Vec<Range<usize>>,
    /// Where the piece begins that is not at its end, and the end of its last token that says something.
    piece: Option<Range<usize>>,
    /// The tokens that say something.
    tokens: Vec<Token>,
}

impl OpenStatement {
    fn take(&mut self, token: &Token, text: &str) {
        let hint = token.text(text).starts_with("/*+");
        if token.is_trivia() && !(hint && self.piece.is_none()) {
            return;
        }
        let piece = self.piece.get_or_insert(token.start..token.end);
        piece.end = token.end;
        if !token.is_trivia() {
            self.tokens.push(*token);
        }
    }
}

struct Cutter<'a> {
    file: &'a str,
    text: &'a str,
    lines: &'a Lines<'a>,
    rules: Rules,
    open: OpenStatement,
    cut: Cut,
}

impl Cutter<'_> {
    fn wrong(&mut self, code: Code, range: Range<usize>, message: impl Into<String>, help: &str) {
        let place = self.lines.place(self.file, range);
        self.cut.wrong.push(Diagnostic::error(code, place, message).help(help));
    }

    fn endless(&mut self, token: &Token) {
        let what = match token.kind {
            TokenKind::BlockComment => "comment",
            TokenKind::QuotedName => "quoted name",
            TokenKind::DollarQuoted => "dollar-quoted string",
            _ => "string",
        };
        let message = format!("this {what} has no end");
        self.wrong(Code::SqlParseError, token.start..token.start + 1, message, "close it");
    }

    /// A line for psql cuts the piece that it is in.
    fn psql(&mut self, token: &Token) {
        let command = token.text(self.text);
        let name = command[1..].split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        if HARMLESS.contains(&name) {
            self.cut.skipped.count(SkipReason::Psql);
        } else {
            let length = 1 + name.len();
            let message = format!("`\\{name}` is a command of psql's, which is never run");
            let help = "write what it does as SQL, or leave it out";
            self.wrong(Code::PsqlCommand, token.start..token.start + length, message, help);
        }
        if let Some(piece) = self.open.piece.take() {
            self.open.pieces.push(piece.start..token.start);
        }
    }

    /// `${x}` that a tool replaces, and for which nobody here has a value.
    fn placeholder(&mut self, token: &Token) {
        if !self.rules.placeholders || token.is_trivia() {
            return;
        }
        let said = token.text(self.text);
        let Some(at) = said.find("${") else { return };
        let Some(length) = said[at..].find('}') else { return };
        let range = token.start + at..token.start + at + length + 1;
        let message = format!("nobody gives the placeholder `{}` a value here", &self.text[range.clone()]);
        let help = "write its value, or name a dump: `schema: [dump.sql]`";
        self.wrong(Code::NotSupported, range, message, help);
    }

    /// Ends a statement; what comes next begins where this returns.
    fn end(&mut self, end: usize, next: usize) -> usize {
        let OpenStatement { mut pieces, piece, tokens } = std::mem::take(&mut self.open);
        if tokens.is_empty() {
            return next;
        }
        pieces.extend(piece);
        let has_rows = end < next && skipped::copies_in(&tokens, self.text);
        if let Some(left) = skipped::skip_reason(&tokens, self.text, self.rules.is_dump) {
            self.encoding(&tokens);
            self.cut.skipped.count(left);
        } else if has_rows {
            self.cut.skipped.count(SkipReason::Rows);
        } else {
            let text = |range: Range<usize>| Piece::Text {
                text: self.text[range.clone()].to_owned(),
                place: self.lines.place(self.file, range),
            };
            self.cut
                .statements
                .push(pieces.into_iter().filter(|range| !range.is_empty()).map(text).collect());
        }
        if !has_rows {
            return next;
        }
        self.rows_end(next).unwrap_or_else(|| {
            let copy = tokens[0].start..tokens[0].end;
            let message = "the rows of this COPY have no end";
            self.wrong(Code::SqlParseError, copy, message, "end them by a line `\\.`");
            self.text.len()
        })
    }

    /// A dump in another encoding would be read as what it is not.
    fn encoding(&mut self, tokens: &[Token]) {
        let words = tokens.iter().map(|token| token.text(self.text)).collect::<Vec<_>>();
        let [set, name, _, value] = words[..] else { return };
        let utf8 = ["'UTF8'", "'UTF-8'", "'SQL_ASCII'"];
        if set.eq_ignore_ascii_case("set")
            && name.eq_ignore_ascii_case("client_encoding")
            && !utf8.iter().any(|utf8| utf8.eq_ignore_ascii_case(value))
        {
            let message = format!("the dump is in {value}");
            let range = tokens[3].start..tokens[3].end;
            self.wrong(Code::NotSupported, range, message, "make it by `pg_dump --encoding UTF8`");
        }
    }

    /// Behind the line `\.` that ends rows, which begin on the next line.
    fn rows_end(&self, from: usize) -> Option<usize> {
        let mut at = from + self.text[from..].find('\n')? + 1;
        loop {
            let rest = &self.text[at..];
            let length = rest.find('\n').unwrap_or(rest.len());
            if rest[..length].trim_end_matches('\r') == "\\." {
                return Some(at + length);
            }
            if length == rest.len() {
                return None;
            }
            at += length + 1;
        }
    }
}
