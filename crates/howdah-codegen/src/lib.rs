//! Typed code from annotated SQL: SQL files are read ([`source`]), described by a server, and written down as a
//! [`model`] that knows no language; languages render it and know no server.

mod bookkeeping;
pub mod check;
pub mod config;
pub mod dependencies;
pub mod describe;
pub mod diagnostic;
pub mod example;
pub mod languages;
pub mod migrate;
pub mod model;
pub mod project;
pub mod schema;
pub mod source;
mod sql_file;
mod tree;
mod yaml;
