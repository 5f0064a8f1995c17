//! One file a command: each takes what was typed and returns the exit code.

#[cfg(feature = "bench")]
pub(crate) mod bench;
pub(crate) mod codegen;
pub(crate) mod completions;
#[cfg(feature = "bench")]
pub(crate) mod dataset;
pub(crate) mod doctor;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod promote;
pub(crate) mod server;
pub(crate) mod stream;
