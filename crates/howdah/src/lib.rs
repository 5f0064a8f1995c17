//! Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived.
//!
//! [`load()`] is the whole engine: files and streams in, rows in a table out, and an [`Outcome`] that says what happened
//! whether it worked or not. [`BulkWriter`] takes the rows of a program. `ARCHITECTURE.md` draws the flow.

#[macro_use]
pub mod message;

mod advice;
mod answers;
mod buffers;
mod chunk;
mod commit;
pub mod connect;
pub mod control;
mod creation;
mod crew;
mod date_format;
mod decimal;
mod declared;
mod encode;
pub mod error;
mod feed;
mod force;
mod head;
mod jobs;
mod landing;
mod lane;
mod lattice;
mod layout;
mod load;
mod mapping;
pub mod name;
mod narrow;
mod null_marker;
pub mod options;
mod part;
mod pass_on;
mod peer;
mod plan;
mod promote;
mod records;
mod rejects;
mod replace;
pub mod report;
mod resolver;
mod row;
mod row_commits;
pub mod rows;
mod session;
mod snake;
pub mod source;
mod spent;
mod staged;
mod stoppable;
pub mod stream;
mod table;
mod types;
mod usage;
mod watcher;
mod write;
pub mod writer;

pub use control::Control;
pub use howdah_derive::Row;

pub use error::{Committed, Error, ErrorKind, Location};
pub use load::{load, load_inputs};
pub use message::Message;
pub use options::LoadOptions;
pub use promote::{PromoteOptions, PromotePhases, PromoteReport, promote};
pub use report::{Outcome, Report};
pub use rows::{
    BulkWriter, Element, FieldWriter, Fields, Literal, OpenField, Row, RowColumn, RowShape, Uuid, Value,
};
pub use writer::{Writer, WriterOptions};
