//! Data sets made from a name, a row count and a seed: the same bytes on every machine, in constant memory.

mod checksum;
mod copy_binary;
mod csv;
mod decimal;
mod file;
mod generator;
pub mod gh_archive;
mod github_events;
mod hash;
mod hostile;
mod instest;
mod ndjson;
mod parquet;
mod readings;
mod rng;
mod sensor_readings;
mod set;
mod tasks;
mod value;

pub use checksum::Checksum;
pub(crate) use copy_binary::{HEADER as COPY_HEADER, TRAILER as COPY_TRAILER};
pub(crate) use file::write_whole;
pub use generator::{Generator, Part};
pub use set::Dataset;

#[cfg(test)]
mod tests;
