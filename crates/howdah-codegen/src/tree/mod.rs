//! The server's own analysed tree of a statement, and what it says of nulls.

mod read;

pub(crate) use read::{Node, Value, parse};
