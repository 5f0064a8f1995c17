//! A field of the input and the column that it goes into.

/// One field and its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) field: usize,
    /// The header's name, or `field N`.
    pub(crate) source: String,
    pub(crate) target: String,
    /// The value is the input's name; `field` is one behind the record's.
    pub(crate) is_file_name: bool,
}
