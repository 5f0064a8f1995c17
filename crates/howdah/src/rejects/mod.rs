//! Rejects: records that are not rows, kept with their bytes and the reason, to be corrected and loaded again.

pub(crate) mod corrected;

mod file;
mod provenance;

pub(crate) use file::{Existing, Rejects};
pub(crate) use provenance::{default_path, is_an_input, provenance};
