//! What the server says of itself: names, types, tables, and the settings of a session.

mod fitting;
pub(crate) mod indexes;
pub(crate) mod inferred_type;
pub(crate) mod kept;
pub(crate) mod load_id;
pub mod name;
pub(crate) mod session;
pub(crate) mod snake;
pub(crate) mod table;
pub(crate) mod types;
