//! What a Python object must be to be a row: a tuple or a list, a dict or what has keys like one, a dataclass.

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::form::ConversionError;

pub(crate) fn is_tuple(row: &Bound<'_, PyAny>) -> bool {
    row.is_instance_of::<PyTuple>() || row.is_instance_of::<PyList>()
}

/// Dicts, and what drivers make of rows, which is often no dict but has keys.
pub(crate) fn has_keys(row: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(row.is_instance_of::<PyDict>() || row.hasattr("keys")? && row.hasattr("__getitem__")?)
}

pub(crate) fn is_lookup_error(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyKeyError>(py) || error.is_instance_of::<PyIndexError>(py)
}

pub(crate) fn type_of(row: &Bound<'_, PyAny>) -> String {
    let name = row.get_type().qualname().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    format!("a value of type {name}")
}

/// The names of a dataclass's fields; `None`: it is none.
pub(crate) fn dataclass_fields(row: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if !row.get_type().hasattr("__dataclass_fields__")? {
        return Ok(None);
    }
    let fields = row.py().import("dataclasses")?.call_method1("fields", (row,))?;
    let name = |field: PyResult<Bound<'_, PyAny>>| field?.getattr("name")?.extract();
    fields.try_iter()?.map(name).collect::<PyResult<Vec<String>>>().map(Some)
}

/// Why anything else is refused.
pub(crate) fn is_no_row(row: &Bound<'_, PyAny>) -> ConversionError {
    ConversionError::Refused {
        message: format!("{} is no row", type_of(row)),
        hint: Some("rows are tuples, lists, dicts, named tuples or dataclasses"),
    }
}
