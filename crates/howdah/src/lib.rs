//! Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived.
//!
//! [`load()`] is the whole engine: files and streams in, rows in a table out, and an [`Outcome`] that says what happened
//! whether it worked or not. [`BulkWriter`] takes the rows of a program. `ARCHITECTURE.md` draws the flow.

#[macro_use]
pub extern crate howdah_message as message;

#[macro_use]
mod words;

mod catalog;
pub mod control;
mod encode;
pub mod error;
mod infer;
mod load;
pub mod options;
mod plan;
mod promote;
mod publish;
mod read;
pub mod report;
pub mod rows;
mod send;

pub mod stream;
pub mod writer;

/// The name under which the server lists the engine's connections, unless another was given.
const APPLICATION_NAME: &str = "howdah";

pub use catalog::name;
pub use control::Control;
pub use howdah_connect as connect;
pub use howdah_derive::Row;
pub use howdah_source as source;

pub use error::{Committed, Error, ErrorKind, Location};
pub use load::{load, load_inputs};
pub use message::{Message, message};
pub use options::LoadOptions;
pub use promote::{PromoteOptions, PromotePhases, PromoteReport, promote};
pub use report::{Outcome, Report};
pub use rows::{
    BulkWriter, Element, FieldWriter, Fields, Literal, OpenField, Row, RowColumn, RowShape, Uuid, Value,
};
pub use writer::{Writer, WriterOptions};
