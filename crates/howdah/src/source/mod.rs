//! From inputs to fields: open → cut into pieces of whole records → split into records and fields.

pub mod cut;
pub mod dialect;
mod field;
pub(crate) mod mended;
pub mod open;
pub mod split;
mod structural;

pub use cut::{Cutter, Origin, PIECE_BYTES, Piece};
pub use dialect::{Dialect, Eol, Family};
pub use open::Input;
pub use split::{Field, Form, Splitter};
