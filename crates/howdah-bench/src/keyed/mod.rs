//! Loads into tables as people have them: rows are there, and a primary key, indexes and a foreign key.
//!
//! Every way is a whole program, as a person runs it. Before each run the table comes from a template database; after it
//! the table's rows and indexes are compared with what they should be.

mod grid;
mod orders;
mod rounds;
mod run;
mod section;
mod way;

pub use grid::{NAMES as GRIDS, verdict};
pub use rounds::{KeyedOptions, measure};
pub use section::{NAME, SCENARIO};
