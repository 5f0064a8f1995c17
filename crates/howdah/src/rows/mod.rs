//! Typed rows of programs: values in, binary rows out, each value as the type of its column, never by its own type alone.
//!
//! A [`Row`] puts its values into [`Fields`], a [`Value`] puts itself as one field through a [`FieldWriter`], and a
//! [`RowShape`] knows the columns. [`BulkWriter`] carries rows into a table, all of them or none.
//!
//! What is no value is no field; the compiler says so:
//!
//! ```compile_fail
//! #[derive(howdah::Row)]
//! struct Job {
//!     id: i64,
//!     thread: std::thread::Thread,
//! }
//! ```

mod batch;
mod bulk;
mod field;
mod literal;
mod open;
mod row;
mod shape;
mod value;

pub use bulk::BulkWriter;
pub use field::FieldWriter;
pub use open::OpenField;
pub(crate) use open::{OpenRow, resolve};
pub use row::{Fields, Row};
pub use shape::{RowColumn, RowShape};
pub use value::{Element, Literal, Uuid, Value};
