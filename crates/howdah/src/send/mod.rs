//! Sending: the threads that read, encode and send, the write paths, and the search for a row that the server refused.

pub(crate) mod bisect;
pub(crate) mod context;
pub(crate) mod crew;
pub(crate) mod isolate;
pub(crate) mod lane;
pub(crate) mod part;
pub(crate) mod peer;
pub(crate) mod row_commits;
pub(crate) mod row_error;
pub(crate) mod spent;
pub(crate) mod watcher;
pub(crate) mod write;
