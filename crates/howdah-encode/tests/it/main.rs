//! The codecs from outside: one program, so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a step of a test that fails is a failed test")]

mod arbitrary_bytes;
#[cfg(feature = "arrow")]
mod arrow_values;
