//! What many connections write.

use super::shape::Shape;
use crate::dataset::Dataset;

/// Rows, shape and connections of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The data set that rows are taken from.
    pub dataset: Dataset,
    /// A table with the data set's columns; the name goes into statements as it is.
    pub table: String,
    /// The statement.
    pub shape: Shape,
    /// Rows of one statement, which are one transaction.
    pub rows_per_statement: usize,
    /// Connections, each with one statement under way at most.
    pub connections: usize,
}
