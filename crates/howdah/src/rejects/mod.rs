//! Rejects: records that are not rows, kept with their bytes and the reason, to be corrected and loaded again.

mod file;

pub(crate) use file::{Existing, Rejects};
