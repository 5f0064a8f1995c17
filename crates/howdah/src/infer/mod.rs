//! What the input itself tells: its header, its NULL marker, and the types of a new table's columns.

pub(crate) mod columns;
pub(crate) mod head;
pub(crate) mod json_keys;
pub(crate) mod lattice;
pub(crate) mod null_marker;
pub(crate) mod spelling_advice;
