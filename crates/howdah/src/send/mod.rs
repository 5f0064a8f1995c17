//! Sending: the threads that read, encode and send, the write paths, and the search for a row that the server refused.

pub(crate) mod best_order;
pub(crate) mod bisect;
pub(crate) mod context;
pub(crate) mod deadlock;
pub(crate) mod isolate;
pub(crate) mod part;
pub(crate) mod pool;
pub(crate) mod rate_limit;
pub(crate) mod row_commits;
pub(crate) mod row_error;
pub(crate) mod savepoint;
pub(crate) mod sort;
pub(crate) mod timings;
pub(crate) mod worker;
pub(crate) mod write;
