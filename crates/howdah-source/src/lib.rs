//! Inputs and the records in them: files, streams, objects of stores and Arrow data, read piece by piece or batch by batch.
//!
//! ```text
//! open (paths, stores, readers; decompressed, in UTF-8) ─► text: cut into pieces ─► split into records and fields
//!                                                       └► batches: Parquet and Arrow, row group by row group
//! ```
//!
//! Any number of threads pull [`Morsel`]s from one [`MorselSource`]. Where an input is cut follows from its bytes alone, never
//! from timing or the number of threads. Nothing here knows PostgreSQL's tables; what a record has to be is told by a
//! [`Dialect`].

#[macro_use]
extern crate howdah_message;

pub mod batches;
mod dialect;
mod error;
mod field;
mod format;
mod hive;
pub mod json;
pub mod layout;
pub mod listing;
mod morsel;
pub mod open;
mod progress;
mod span;
pub mod spelling;
mod store;
pub mod text;
pub mod tuples;

pub use dialect::{Dialect, DialectOptions, Eol, Family};
pub use error::{Error, ErrorKind, Location};
pub use field::{Field, Form};
pub use format::Format;
pub use morsel::{Morsel, MorselSource, WorkerState};
pub use open::Input;
pub use open::encoding::Encoding;
pub use open::provenance::Provenance;
pub use progress::{Progress, Reading};
pub use span::{Fault, Span};
pub use spelling::DateFormat;
pub use text::cut::Cutter;
pub use text::piece::{Origin, PIECE_BYTES, Piece};
pub use text::split::Splitter;
