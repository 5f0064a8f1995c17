//! Why an Arrow type has no counterpart in PostgreSQL.

use arrow_array::Array;

/// Why an Arrow type cannot become a PostgreSQL type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMapping {
    /// What does not fit.
    pub reason: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl std::fmt::Display for NoMapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for NoMapping {}

impl NoMapping {
    pub(super) fn new(reason: String) -> Self {
        NoMapping { reason, hint: None }
    }

    /// An array whose type nothing here can read.
    pub(super) fn of_array(array: &dyn Array) -> Self {
        NoMapping::new(format!("Arrow's {} has no counterpart in PostgreSQL", array.data_type()))
    }

    /// Says of which part of the type this is true.
    pub(super) fn within(self, part: &str) -> Self {
        NoMapping { reason: format!("{part}: {}", self.reason), ..self }
    }
}
