//! The SQL of pieces as the server gets it, and the way back from the server's positions to places of the file.

use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::source::{Block, Piece};

/// SQL with `$1` for variables.
pub(crate) struct BlockText<'b> {
    /// For the server.
    pub(crate) sql: String,
    /// The pieces, each with the number of characters before it.
    starts: Vec<(usize, &'b Piece)>,
}

impl<'b> BlockText<'b> {
    /// Joins pieces; variables get the places of their names in `parameters`.
    pub(crate) fn new(pieces: &'b [Piece], parameters: &[String]) -> Self {
        let mut text = Self { sql: String::new(), starts: Vec::new() };
        let mut characters = 0;
        for piece in pieces {
            text.starts.push((characters, piece));
            let part = match piece {
                Piece::Text { text, .. } => text.clone(),
                // Of optional lines, a text has the pieces or nothing.
                Piece::Optional { .. } => String::new(),
                Piece::Variable { name, .. } => {
                    let index = parameters.iter().position(|parameter| parameter == name);
                    format!("${}", index.map_or(0, |index| index + 1))
                }
            };
            characters += part.chars().count();
            text.sql.push_str(&part);
        }
        text
    }

    /// Where a position of the server's, a count of characters from 1, is in the file.
    fn place(&self, position: usize) -> Option<Place> {
        let offset = position.checked_sub(1)?;
        let (start, piece) = self.starts.iter().rev().find(|(start, _)| *start <= offset)?;
        let mut place = piece.place_of(offset - start);
        if let Piece::Text { text, .. } = piece {
            let word = text.chars().skip(offset - start);
            place.length = word.take_while(|c| c.is_alphanumeric() || *c == '_').count().max(1);
        }
        Some(place)
    }

    /// What the server said of this text.
    pub(crate) fn refused(&self, error: Error, block: &Block) -> Diagnostic {
        self.refused_of(error, &block.place, title(block))
    }

    /// The same, of what is a block or a step of another tool's.
    pub(crate) fn refused_of(&self, error: Error, whole: &Place, title: String) -> Diagnostic {
        let begin = self.starts.first().map(|(_, piece)| piece.place_of(0));
        let at = error.position.and_then(|position| self.place(position));
        refused_of(error, at.or(begin).unwrap_or_else(|| whole.clone()), title)
    }
}

/// What the server said, at a place.
pub(crate) fn refused(error: Error, place: Place, block: &Block) -> Diagnostic {
    refused_of(error, place, title(block))
}

/// The same, of what is a block or a step of another tool's.
pub(crate) fn refused_of(error: Error, place: Place, title: String) -> Diagnostic {
    let code = if error.sqlstate.is_some() { Code::SqlExecutionError } else { Code::DatabaseError };
    Diagnostic {
        suggestion: error.hint.or(error.detail).map(String::from),
        sqlstate: error.sqlstate,
        ..about_of(code, place, error.message, title)
    }
}

/// An error about a block.
pub(crate) fn about(code: Code, place: Place, message: impl Into<String>, block: &Block) -> Diagnostic {
    about_of(code, place, message, title(block))
}

/// The same, of what is a block or a step of another tool's.
pub(crate) fn about_of(code: Code, place: Place, message: impl Into<String>, title: String) -> Diagnostic {
    Diagnostic { block: Some(title), ..Diagnostic::error(code, place, message) }
}

/// A block as messages name it.
pub(crate) fn title(block: &Block) -> String {
    format!("{} {}", block.kind.word(), block.name)
}
