//! What a Python object must be to be a row: a tuple or a list, a dict or what has keys like one, an object whose class
//! declares its fields.

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

/// Where pydantic's models have their fields: the second and the first of its versions.
const FIELDS_OF_MODELS: [&str; 3] = ["__pydantic_fields__", "model_fields", "__fields__"];

/// The names of the fields of a dataclass, of a class of attrs', or of a model of pydantic's; `None`: it is none.
pub(crate) fn declared_fields(row: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    let class = row.get_type();
    let name = |field: PyResult<Bound<'_, PyAny>>| field?.getattr("name")?.extract();
    if class.hasattr("__dataclass_fields__")? {
        let fields = row.py().import("dataclasses")?.call_method1("fields", (row,))?;
        return fields.try_iter()?.map(name).collect::<PyResult<Vec<String>>>().map(Some);
    }
    if let Some(fields) = class.getattr_opt("__attrs_attrs__")? {
        return fields.try_iter()?.map(name).collect::<PyResult<Vec<String>>>().map(Some);
    }
    for place in FIELDS_OF_MODELS {
        if let Some(fields) = class.getattr_opt(place)?
            && let Ok(fields) = fields.cast::<PyDict>()
        {
            return Ok(Some(fields.keys().extract()?));
        }
    }
    Ok(None)
}

/// Why anything else is refused.
pub(crate) fn is_no_row(row: &Bound<'_, PyAny>) -> ConversionError {
    ConversionError::Refused {
        message: format!("{} is no row", type_of(row)),
        hint: Some(
            "rows are tuples, lists, dicts, named tuples, dataclasses, or objects of attrs or pydantic",
        ),
    }
}
