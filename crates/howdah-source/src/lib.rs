//! Inputs and the records in them: files, streams, objects of stores and Arrow data, read piece by piece or batch by batch.
//!
//! ```text
//! open (paths, stores, readers; decompressed, in UTF-8) ─► text: cut into pieces ─► split into records and fields
//!                                                       └► batches: Parquet and Arrow, row group by row group
//! ```
//!
//! ```
//! use std::sync::Arc;
//!
//! use howdah_source::{
//!     Cutter, Dialect, DialectOptions, Format, Input, Morsel, MorselSource, PIECE_BYTES, Progress, Splitter, WorkerState,
//! };
//!
//! let input = Input::memory("people.csv", b"id,name\n1,Ann\n2,\"Ben, jr.\"\n".as_slice().into());
//! let dialect = Arc::new(Dialect::resolve(Format::Csv, &DialectOptions::default())?);
//! let cutter = Cutter::new(vec![input], dialect.clone(), Progress::new(), PIECE_BYTES);
//! let source = MorselSource::text(cutter); // For any number of threads; each has a state of its own.
//! let mut state = WorkerState::default();
//! let mut last_fields = Vec::new();
//! while let Some(morsel) = source.next(&mut state)? {
//!     let Morsel::Text(piece) = &morsel else { continue };
//!     let (mut splitter, mut fields) = (Splitter::of(piece, &dialect), Vec::new());
//!     while let Some(_record) = splitter.next_record(&mut fields).expect("no record is broken") {
//!         let last = fields.last().expect("a record has a field");
//!         last_fields.push(String::from_utf8_lossy(&piece.bytes()[last.range()]).into_owned());
//!     }
//!     state.reuse(morsel);
//! }
//! assert_eq!(last_fields, ["name", "Ann", "Ben, jr."]);
//! # Ok::<(), howdah_source::Error>(())
//! ```
//!
//! Any number of threads pull [`Morsel`]s from one [`MorselSource`]. Where an input is cut follows from its bytes alone, never
//! from timing or the number of threads. Nothing here knows PostgreSQL's tables; what a record has to be is told by a
//! [`Dialect`].

#[macro_use]
extern crate howdah_message;

pub mod batches;
mod delimiter;
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

/// In whose arrays batches come.
pub use arrow_array;
/// In whose words their columns are.
pub use arrow_schema;
pub use delimiter::Delimiter;
pub use dialect::{Dialect, DialectOptions, Eol, Family};
pub use error::{Error, ErrorKind, Location};
pub use field::{Field, Form};
pub use format::Format;
pub use morsel::{Morsel, MorselSource, WorkerState};
pub use open::Input;
pub use open::encoding::Encoding;
pub use open::provenance::Provenance;
pub use progress::{Progress, Reading};
pub use span::{Fault, FaultReason, Span};
pub use spelling::{BooleanWords, DateFormat, Spelling, Thousands};
pub use text::confine::Widths;
pub use text::cut::Cutter;
pub use text::piece::{Origin, PIECE_BYTES, Piece};
pub use text::split::Splitter;
