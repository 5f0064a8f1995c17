//! Annotated SQL files: blocks with a header, modifiers, variables and a statement, each with its place in the file.

mod always_true;
mod annotations;
mod block;
mod choices;
mod every_row;
mod header;
pub(crate) mod lexer;
mod optional;
mod parse;
mod statements;
mod uses;

pub use block::{Block, BlockKind, Choices, Modifier, Override, Piece, Variable};
pub use parse::parse;

/// What can be written in a file, on one screen; it is such a file itself.
pub const SYNTAX: &str = include_str!("syntax.sql");
