//! The values that a statement returned for a row.

use std::sync::Arc;

use tokio_postgres::types::FromSql;
use tokio_postgres::{Column, Row};

/// The stored values of a row: of the columns that [`WriterOptions::returning`](super::WriterOptions::returning) named, in
/// its order.
#[derive(Debug, Clone)]
pub struct ReturnedRow {
    row: Arc<Row>,
    /// Behind them the row may have a number of our own.
    columns: usize,
}

impl ReturnedRow {
    pub(super) fn new(row: Row, columns: usize) -> ReturnedRow {
        ReturnedRow { columns: columns.min(row.len()), row: Arc::new(row) }
    }

    /// The columns, in the order of the values.
    pub fn columns(&self) -> &[Column] {
        &self.row.columns()[..self.columns]
    }

    /// The value of a column.
    ///
    /// # Panics
    /// There is no such column, or its value is no `T`.
    pub fn get<'a, T: FromSql<'a>>(&'a self, column: &str) -> T {
        self.row.get(column)
    }

    /// The value at a place, from 0. `None` where there is no such place, or the value is no `T`.
    pub fn at<'a, T: FromSql<'a>>(&'a self, place: usize) -> Option<T> {
        if place < self.columns { self.row.try_get(place).ok() } else { None }
    }
}
