//! Objects of stores: `s3://`, `gs://`, `az://`, `http(s)://`; one by one, by patterns, or all under a prefix.

#[cfg_attr(not(feature = "stores"), expect(dead_code, reason = "URLs are known, and refused"))]
mod address;
#[cfg(feature = "stores")]
mod connect;
#[cfg(feature = "stores")]
mod environment;
#[cfg(feature = "stores")]
mod failure;
#[cfg(feature = "stores")]
mod find;
#[cfg(feature = "stores")]
mod io;
#[cfg(not(feature = "stores"))]
mod none;
#[cfg(feature = "stores")]
mod object;
#[cfg(feature = "stores")]
mod profile;
#[cfg(feature = "stores")]
mod settings;
#[cfg(feature = "stores")]
#[cfg(test)]
mod tests;

pub(crate) use address::{Address, local_path};
#[cfg(not(feature = "stores"))]
pub(crate) use none::{Ends, Failure, Object, find};

#[cfg(feature = "stores")]
pub(crate) use self::{
    failure::Failure,
    find::find,
    object::{Ends, Object},
};
