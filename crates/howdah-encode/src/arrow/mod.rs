//! Arrow values in, binary fields or literals out: one codec per pair of an Arrow type and a PostgreSQL type.
//!
//! A codec is planned once from a schema's field and the catalog's description of the column, bound once a batch, and
//! then asked row by row. What is exact passes; a value that PostgreSQL would change is refused unless [`Allowed`]
//! names the loss. Strings are literals: they go through the [`TextCodec`](crate::TextCodec) of the column's type, as
//! those of a CSV file do.
//!
//! A way from Arrow to PostgreSQL: an array is a `source` of cells; a cell becomes the `value` that its `target` has
//! for it; and that is put as a binary field or written as a literal. What most data is made of goes `direct`.

mod allowed;
mod array;
mod casts;
mod codec;
mod composite;
mod created;
mod decimal;
mod direct;
mod extension;
mod family;
mod hstore;
mod json;
mod mapping;
mod moments;
mod numbers;
mod places;
mod precision;
mod source;
mod strings;
mod target;
mod value;
mod vector;
pub mod written;

pub use self::allowed::Allowed;
pub use self::codec::{ArrowCodec, ArrowColumn};
pub use self::created::created_type;
pub use self::json::json_row;
pub use self::mapping::NoMapping;
pub use self::precision::Precision;
