//! Annotated SQL files: blocks with a header, modifiers, variables and a statement, each with its place in the file.

mod block;

pub use block::{Block, BlockKind, Modifier, Override, Piece, Variable};
