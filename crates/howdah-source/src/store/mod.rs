//! Objects of stores: `s3://`, `gs://`, `az://`, `http(s)://`; one by one, by patterns, or all under a prefix.

mod address;
mod connect;
mod environment;
mod failure;
mod find;
mod io;
mod object;
#[cfg(test)]
mod tests;

pub use address::{Address, local_path};
pub use environment::Environment;
pub use failure::Failure;
pub use find::find;
pub use object::{Ends, Object};
