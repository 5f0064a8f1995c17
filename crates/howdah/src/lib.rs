//! Carries data into PostgreSQL as fast as the server can take it, and proves that it arrived.
//!
//! [`load()`] is the whole engine: files and streams in, rows in a table out, and an [`Outcome`] that says what happened
//! whether it worked or not. `ARCHITECTURE.md` draws the flow.

pub mod connect;
pub mod control;
pub mod error;
pub mod lattice;
pub mod name;
pub mod options;
pub mod report;

pub use control::Control;
pub use error::{Error, ErrorKind, Location};
pub use options::LoadOptions;
pub use report::{Outcome, Report};
