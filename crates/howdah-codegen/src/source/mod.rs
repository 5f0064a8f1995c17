//! Annotated SQL files: blocks with a header, modifiers, variables and a statement, each with its place in the file.

mod annotations;
mod block;
mod header;
mod lexer;
mod lines;
mod parse;
mod statements;

pub use block::{Block, BlockKind, Modifier, Override, Piece, Variable};
pub(crate) use lines::Lines;
pub use parse::parse;
