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

pub(crate) use address::{Address, local_path};
pub(crate) use environment::Environment;
pub(crate) use failure::Failure;
pub(crate) use find::find;
pub(crate) use object::{Ends, Object};
