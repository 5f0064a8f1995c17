//! From inputs to fields: open → decompress → transcode → cut into pieces of whole records → split into records and fields.

pub(crate) mod batches;
pub(crate) mod blob;
pub mod cut;
mod decompress;
pub mod dialect;
pub(crate) mod encoding;
mod field;
pub mod format;
pub(crate) mod guess;
pub(crate) mod hive;
pub(crate) mod json;
pub(crate) mod layout;
pub mod listing;
pub(crate) mod live;
pub(crate) mod mended;
pub(crate) mod morsel;
pub mod open;
pub(crate) mod provenance;
pub(crate) mod reading;
pub(crate) mod sniff;
pub mod spelling;
pub mod split;
pub(crate) mod store;
mod structural;
pub(crate) mod transcode;
pub(crate) mod tuples;

pub(crate) use cut::first_eol;
pub use cut::{Cutter, Origin, PIECE_BYTES, Piece};
pub use dialect::{Dialect, DialectOptions, Eol, Family};
pub use encoding::Encoding;
pub use format::Format;
pub(crate) use morsel::{Hold, Morsel, Supply};
pub use open::Input;
pub(crate) use provenance::Provenance;
pub use spelling::DateFormat;
pub use split::{Field, Form, Splitter};
