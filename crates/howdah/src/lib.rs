//! Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived.
//!
//! # Load files
//!
//! ```
//! # let database = howdah_testkit::Database::new();
//! # let file = database.file("events.csv", "id,at\n1,2026-01-01 12:00\n2,2026-01-01 12:05\n");
//! # let conninfo = database.conninfo();
//! use howdah::{Control, LoadOptions, Target, load};
//!
//! let report = load(&LoadOptions::new(file), &Target::new(conninfo)?, &Control::new())?;
//! println!("{} rows into {}", report.rows, report.table);
//! # assert_eq!((report.rows, &*report.table), (2, "public.events"));
//! # assert_eq!(database.sql("SELECT pg_typeof(at) FROM events LIMIT 1"), "timestamp without time zone");
//! # Ok::<(), howdah::Error>(())
//! ```
//!
//! The table is made where it is missing, with types that fit every value of the file. All rows are committed together, or
//! none. [`LoadOptions`] says what to do otherwise; a [`Control`] shows how far the load is, and stops it.
//!
//! # When something is wrong
//!
//! An [`Error`] says where (file, line, column), why (the server's SQLSTATE and detail), what is in the table now, and what
//! can be done. Its answers for programs are [`kind`](Error::kind), [`is_retryable`](Error::is_retryable) and
//! [`committed`](Error::committed); [`load_report`](Error::load_report) has the figures up to the failure.
//!
//! ```
//! # let database = howdah_testkit::Database::new();
//! # database.sql("CREATE TABLE people (id int, born date)");
//! # let file = database.file("people.csv", "id,born\n1,2001-02-28\n2,2001-02-29\n");
//! # let target = howdah::Target::new(database.conninfo())?;
//! use howdah::{Committed, Control, ErrorKind, LoadOptions, load};
//! use howdah::options::OnError;
//!
//! let strict = LoadOptions::new(file);
//! let error = load(&strict, &target, &Control::new()).unwrap_err();
//! assert_eq!((error.kind(), error.committed()), (ErrorKind::Data, Committed::No));
//! assert_eq!((error.location().unwrap().line, error.column()), (Some(3), Some("born")));
//!
//! // Keep the bad records in a file, and load the others.
//! # let rejects = database.path("rejects.jsonl");
//! let tolerant = strict.on_error(OnError::Ignore).rejects(rejects);
//! let report = load(&tolerant, &target, &Control::new())?;
//! assert_eq!((report.rows, report.rows_rejected), (1, 1));
//! # Ok::<(), howdah::Error>(())
//! ```
//!
//! # Write rows as they come
//!
//! A [`Writer`] gathers the rows of a running program and writes them in batches. Each row is acknowledged when it is
//! committed, or refused by itself, and is in the table once, whatever happens to connections.
//!
//! ```
//! use howdah::{Row, Target, Writer, WriterOptions};
//!
//! #[derive(Row)]
//! struct Reading {
//!     truck: &'static str,
//!     km: i32,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), howdah::Error> {
//! # let database = howdah_testkit::Database::new();
//! # database.sql("CREATE TABLE readings (truck text, km int)");
//! # let conninfo = database.conninfo();
//! let writer = Writer::connect(&Target::new(conninfo)?, "readings", WriterOptions::default()).await?;
//! let ack = writer.write(&Reading { truck: "truck_1", km: 1200 }).await?;
//! ack.await?; // It is in the table, durably.
//! writer.close(std::time::Duration::from_secs(30)).await?;
//! # assert_eq!(database.sql("TABLE readings"), "truck_1|1200");
//! # Ok(()) }
//! ```
//!
//! # Write many rows at once
//!
//! A [`BulkWriter`] puts a program's rows, or Arrow batches, into one COPY: all of them are committed, or none.
//!
//! Both have a [guide].
//!
//! # Streams, and tables of text
//!
//! [`stream`](stream::stream) carries lines that come without an end (a pipe, a growing file) through a [`Writer`].
//! [`promote()`] reads a landing table, whose columns are all text, into a typed one.
//!
//! # Features
//!
//! All are on by default: `compression` (gzip, zstd, xz, bzip2), `parquet`, and `stores` (S3, Google, Azure, HTTP). Without
//! them the crate is the writers, and loads of files that are plain text or Arrow.
//!
//! `ARCHITECTURE.md` in the repository draws the flow from an input's bytes to the commit.

#[macro_use]
pub extern crate howdah_message as message;

#[macro_use]
mod words;
#[macro_use]
mod settings;

mod catalog;
pub mod control;
mod encode;
pub mod error;
pub mod facts;
pub mod guide;
mod infer;
mod load;
pub mod options;
mod plan;
mod promote;
mod publish;
mod read;
mod rejects;
pub mod report;
mod resolve;
pub mod rows;
mod send;

pub mod stream;
pub mod writer;

/// The name under which the server lists the engine's connections, unless another was given.
const APPLICATION_NAME: &str = "howdah";

/// Arrow's arrays, which [`BulkWriter`] takes.
pub use arrow_array;
/// The description of their columns.
pub use arrow_schema;
pub use catalog::name;
pub use control::Control;
pub use howdah_connect as connect;
pub use howdah_derive::Row;
pub use howdah_source as source;

pub use connect::{Target, tokio_postgres};
pub use error::{Committed, Error, ErrorKind, Location};
pub use load::{load, load_inputs};
pub use message::{Message, message};
pub use options::LoadOptions;
pub use promote::{PromoteOptions, PromotePhases, PromoteReport, promote};
pub use publish::hidden_table::HiddenTable;
pub use report::{Outcome, Report};
pub use rows::{
    BulkWriter, Element, FieldWriter, Fields, Literal, OpenField, Row, RowColumn, RowShape, Uuid, Value,
};
pub use writer::{Writer, WriterOptions};
