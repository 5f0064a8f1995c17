//! The statements of a block that may have several, each with its places.

use super::block::{Block, Piece};
use super::lexer::{self, Kind, Splitter};
use super::lines::Lines;
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
            let mut start = 0;
            for token in lexer::lex(text) {
                if splitter.ends(&token, text) {
                    push(&mut statement, piece, start..token.start);
                    let whole = std::mem::take(&mut statement);
                    statements.extend(says.then_some(whole));
                    (start, says) = (token.end, false);
                    continue;
                }
                let hint = token.text(text).starts_with("/*+");
                if token.is_trivia() && !says && !hint {
                    start = token.end;
                }
                says |= !token.is_trivia() && token.kind != Kind::Semicolon;
            }
            push(&mut statement, piece, start..text.len());
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
            Self::Variable { place, .. } => return place.clone(),
        };
        let offset = text.char_indices().nth(characters).map_or(text.len(), |(offset, _)| offset);
        let mut found = Lines::new(text).place(&place.file, offset..offset);
        if found.line == 1 {
            found.column += place.column - 1;
        }
        found.line += place.line - 1;
        found
    }
}

/// Adds a range of a text, if there is anything in it.
fn push(statement: &mut Vec<Piece>, piece: &Piece, range: std::ops::Range<usize>) {
    let Piece::Text { text, .. } = piece else { return };
    if range.is_empty() {
        return;
    }
    let mut place = piece.place_of(text[..range.start].chars().count());
    let text = text[range].to_owned();
    place.length = text.split(['\n', '\r']).next().unwrap_or_default().chars().count().max(1);
    statement.push(Piece::Text { text, place });
}
