//! The statements of a block that may have several, each with its places.

use std::ops::Range;

use super::block::{Block, Piece};
use super::lexer::{self, Splitter, TokenKind};
use crate::diagnostic::Lines;
use crate::diagnostic::Place;

impl Block {
    /// The statements, without the semicolons between them and without those that are only comments.
    ///
    /// They end where psql ends them: at a semicolon outside of quotes, parentheses and `BEGIN ATOMIC … END`.
    #[must_use]
    pub fn statements(&self) -> Vec<Vec<Piece>> {
        let mut splitter = Splitter::default();
        let mut statements = Vec::new();
        let mut statement = Vec::new();
        let mut says = false;
        for piece in &self.body {
            let Piece::Text { text, .. } = piece else {
                statement.push(piece.clone());
                says = true;
                continue;
            };
            let lines = Lines::new(text);
            let mut start = 0;
            for token in lexer::lex(text) {
                if splitter.ends(&token, text) {
                    push(&mut statement, piece, &lines, start..token.start);
                    let whole = std::mem::take(&mut statement);
                    statements.extend(says.then_some(whole));
                    (start, says) = (token.end, false);
                    continue;
                }
                let hint = token.text(text).starts_with("/*+");
                if token.is_trivia() && !says && !hint {
                    start = token.end;
                }
                says |= !token.is_trivia() && token.kind != TokenKind::Semicolon;
            }
            push(&mut statement, piece, &lines, start..text.len());
        }
        statements.extend(says.then_some(statement));
        statements
    }
}

impl Piece {
    /// Where a character stands, counted from the beginning of the piece.
    #[must_use]
    pub fn place_of(&self, characters: usize) -> Place {
        let (text, place) = match self {
            Self::Text { text, place } => (text, place),
            Self::Variable { place, .. } | Self::Optional { place, .. } => return place.clone(),
        };
        let offset = text.char_indices().nth(characters).map_or(text.len(), |(offset, _)| offset);
        within(place, &Lines::new(text), offset..offset)
    }
}

/// The place of a range of a text that stands at a place.
fn within(place: &Place, lines: &Lines<'_>, range: Range<usize>) -> Place {
    let mut found = lines.place(&place.file, range);
    if found.line == 1 {
        found.column += place.column - 1;
    }
    found.line += place.line - 1;
    found
}

/// Adds a range of a text, if there is anything in it.
fn push(statement: &mut Vec<Piece>, piece: &Piece, lines: &Lines<'_>, range: Range<usize>) {
    if let Piece::Text { text, place } = piece
        && !range.is_empty()
    {
        let place = within(place, lines, range.clone());
        statement.push(Piece::Text { text: text[range].to_owned(), place });
    }
}

#[cfg(test)]
mod tests {
    use crate::source::parse;

    #[test]
    fn a_schema_of_many_statements_is_split_in_one_pass() {
        let count = 20_000;
        let text = format!(
            "-- BASELINE all\n{}",
            "CREATE TABLE a (b text, c text, d text, e text);\n".repeat(count)
        );
        let (blocks, messages) = parse("a.sql", &text);
        assert!(messages.is_empty());
        let statements = blocks[0].statements();
        assert_eq!(statements.len(), count);
        assert_eq!(statements[count - 1][0].place_of(7).line, count + 1);
    }
}
