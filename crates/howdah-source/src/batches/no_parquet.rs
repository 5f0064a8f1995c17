//! In the place of Parquet where it is not compiled in: files that cannot be opened.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::Progress;
use crate::open::blob::Blob;

/// Without the feature no file is told apart from one.
pub(super) fn is_parquet(_start: &[u8]) -> bool {
    true
}

/// A file that nobody can have.
pub(super) enum ParquetFile {}

/// The reader of a row group that nobody can have.
pub(super) enum Rows {}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match *self {}
    }
}

impl ParquetFile {
    /// # Errors
    /// Always.
    pub(super) fn open(_blob: Blob) -> Result<Self, String> {
        Err("this program was built without Parquet (the feature parquet)".to_owned())
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        match *self {}
    }

    pub(super) fn row_groups(&self) -> usize {
        match *self {}
    }

    pub(super) fn rows(&self, _at: usize) -> u64 {
        match *self {}
    }

    pub(super) fn rows_per_batch(&self, _at: usize, _columns: &[usize]) -> u64 {
        match *self {}
    }

    pub(super) fn read(
        &self,
        _at: usize,
        _columns: &[usize],
        _rows: u64,
        _progress: &Progress,
    ) -> Result<Rows, String> {
        match *self {}
    }
}
