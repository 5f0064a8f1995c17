//! A reject file as a stream of Arrow's, for whatever reads such streams.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use base64::Engine;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use serde_json::Value;

/// Rejects are looked at, not loaded in bulk: a batch is small.
const BATCH_ROWS: usize = 4096;

/// The rejects of one load, each time read anew from their file.
#[pyclass(frozen, module = "howdah")]
pub(crate) struct Rejects {
    /// `None`: there are none.
    path: Option<PathBuf>,
}

#[pymethods]
impl Rejects {
    #[new]
    #[pyo3(signature = (path))]
    fn new(path: Option<PathBuf>) -> Self {
        Rejects { path }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, Schema::new(fields()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let lines = self.path.as_ref().map(File::open).transpose().map_err(PyErr::from)?.map(BufReader::new);
        let batches = RejectBatches { lines, number: 0 };
        let field = Arc::new(Field::new_struct("", fields(), false));
        to_stream_pycapsule(py, Box::new(ArrayIterator::new(batches, field)), requested_schema)
    }

    fn __repr__(&self) -> String {
        match &self.path {
            Some(path) => format!("<howdah.Rejects in {}>", path.display()),
            None => "<howdah.Rejects: none>".to_owned(),
        }
    }
}

fn fields() -> Fields {
    let field = |name, data_type| Field::new(name, data_type, true);
    Fields::from(vec![
        field("file", DataType::Utf8),
        field("line", DataType::Int64),
        field("byte_offset", DataType::Int64),
        field("row_group", DataType::Int64),
        field("row", DataType::Int64),
        field("column", DataType::Utf8),
        field("sqlstate", DataType::Utf8),
        field("reason", DataType::Utf8),
        field("raw", DataType::Binary),
    ])
}

/// Lines of JSON as batches of rows.
struct RejectBatches {
    lines: Option<BufReader<File>>,
    number: u64,
}

impl Iterator for RejectBatches {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch();
        if !matches!(batch, Ok(Some(_))) {
            self.lines = None;
        }
        batch.transpose()
    }
}

impl RejectBatches {
    fn batch(&mut self) -> Result<Option<ArrayRef>, ArrowError> {
        let failed = |error: io::Error| ArrowError::IoError(error.to_string(), error);
        let Some(lines) = &mut self.lines else { return Ok(None) };
        let mut rejects: Vec<Value> = Vec::new();
        let mut text = String::new();
        while rejects.len() < BATCH_ROWS {
            text.clear();
            if lines.read_line(&mut text).map_err(failed)? == 0 {
                break;
            }
            self.number += 1;
            if !text.trim().is_empty() {
                let reject = serde_json::from_str(&text).map_err(|error| {
                    ArrowError::ParseError(format!("line {} is not a reject: {error}", self.number))
                })?;
                rejects.push(reject);
            }
        }
        if rejects.is_empty() {
            return Ok(None);
        }
        let text = |key: &str| -> ArrayRef {
            Arc::new(rejects.iter().map(|reject| reject[key].as_str()).collect::<StringArray>())
        };
        let number = |key: &str| -> ArrayRef {
            Arc::new(rejects.iter().map(|reject| reject[key].as_i64()).collect::<Int64Array>())
        };
        let raw: ArrayRef = Arc::new(rejects.iter().map(raw).collect::<BinaryArray>());
        let columns = vec![
            text("file"),
            number("line"),
            number("byte_offset"),
            number("row_group"),
            number("row"),
            text("column"),
            text("sqlstate"),
            text("reason"),
            raw,
        ];
        Ok(Some(Arc::new(StructArray::try_new(fields(), columns, None)?)))
    }
}

/// The record's bytes.
fn raw(reject: &Value) -> Option<Vec<u8>> {
    match reject["raw"].as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => base64::engine::general_purpose::STANDARD.decode(reject["raw_base64"].as_str()?).ok(),
    }
}
