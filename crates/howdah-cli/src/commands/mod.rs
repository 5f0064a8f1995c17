//! One file a command: each takes what was typed and returns the exit code.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod dataset;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod promote;
pub(crate) mod server;
pub(crate) mod stream;
