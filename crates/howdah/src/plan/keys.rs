//! The keys of JSON records, which take the place of a header.

use crate::catalog::inferred_type::InferredType;

/// What was seen of the keys, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenKeys {
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<InferredType>,
    /// Whether every record has a value that is not null.
    pub(crate) never_null: Vec<bool>,
    /// Whether a value was seen that the server would compress.
    pub(crate) has_wide: Vec<bool>,
    /// The first key's integers grow from record to record.
    pub(crate) first_ascends: bool,
}
