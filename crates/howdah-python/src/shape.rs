//! The shape of rows of Python objects: what their columns are called, and how a row gives its values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::form::ConversionError;
use crate::row_object::{declared_fields, has_keys, is_lookup_error, is_no_row, is_tuple, type_of};

/// What the first rows say of all of them.
pub(crate) struct Shape {
    way: ColumnAccess,
    /// What the columns are called; `None`: nobody knows, and they count by position.
    pub(crate) names: Option<Vec<String>>,
    width: usize,
}

/// How a row gives the value of a column.
enum ColumnAccess {
    /// Tuples and lists, by position.
    Positions,
    /// Dicts and what has keys like them; `open`: a row may have others too.
    Keys { keys: Vec<Py<PyString>>, open: bool },
    /// Objects, by attribute.
    Attributes(Vec<Py<PyString>>),
}

impl Shape {
    /// The shape of rows that begin with `first`, of which there is at least one; `columns`: their names, said by the caller.
    pub(crate) fn of(
        first: &[Bound<'_, PyAny>],
        columns: Option<Vec<String>>,
    ) -> Result<Shape, ConversionError> {
        let row = &first[0];
        let py = row.py();
        let keys = |names: &[String]| names.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        if is_tuple(row) {
            let fields = row.getattr_opt("_fields")?;
            let width = row.len()?;
            if width == 0 {
                return Err(ConversionError::refused("the row is empty"));
            }
            let names = match columns {
                Some(names) if names.len() != width => {
                    return Err(ConversionError::refused(format!(
                        "columns names {} columns, and the row has {width} values",
                        names.len()
                    )));
                }
                Some(names) => Some(names),
                None => fields.map(|fields| fields.extract()).transpose()?,
            };
            return Ok(Shape { way: ColumnAccess::Positions, names, width });
        }
        if has_keys(row)? {
            let open = columns.is_some();
            let names = columns.map_or_else(|| all_keys(first), Ok)?;
            if names.is_empty() {
                return Err(ConversionError::refused("the row is empty"));
            }
            return Ok(Shape {
                width: names.len(),
                way: ColumnAccess::Keys { keys: keys(&names), open },
                names: Some(names),
            });
        }
        if let Some(fields) = declared_fields(row)? {
            let names = columns.unwrap_or(fields);
            return Ok(Shape {
                width: names.len(),
                way: ColumnAccess::Attributes(keys(&names)),
                names: Some(names),
            });
        }
        Err(is_no_row(row))
    }

    /// What the column at `position` is called in messages.
    pub(crate) fn name(&self, position: usize) -> String {
        let named = self.names.as_ref().and_then(|names| names.get(position));
        named.cloned().unwrap_or_else(|| format!("field {}", position + 1))
    }

    /// Puts the values of `row` into `values`; `None` for a key that it lacks.
    pub(crate) fn values<'py>(
        &self,
        row: &Bound<'py, PyAny>,
        values: &mut Vec<Option<Bound<'py, PyAny>>>,
    ) -> Result<(), ConversionError> {
        values.clear();
        let py = row.py();
        match &self.way {
            ColumnAccess::Positions => {
                if !is_tuple(row) {
                    return Err(self.other_kind(row, "a tuple or a list"));
                }
                for value in row.try_iter()? {
                    values.push(Some(value?));
                }
                if values.len() != self.width {
                    return Err(ConversionError::refused(format!(
                        "the row has {} values, and the first has {}",
                        values.len(),
                        self.width
                    )));
                }
            }
            ColumnAccess::Keys { keys, open } => match row.cast::<PyDict>() {
                Ok(dict) => {
                    for key in keys {
                        values.push(dict.get_item(key.bind(py))?);
                    }
                    let found = values.iter().flatten().count();
                    if !open && found < dict.len() {
                        return Err(self.stranger(dict)?);
                    }
                }
                Err(_) if has_keys(row)? => {
                    for key in keys {
                        values.push(match row.get_item(key.bind(py)) {
                            Ok(value) => Some(value),
                            Err(missing) if is_lookup_error(py, &missing) => None,
                            Err(error) => return Err(error.into()),
                        });
                    }
                }
                Err(_) => return Err(self.other_kind(row, "a dict")),
            },
            ColumnAccess::Attributes(names) => {
                for name in names {
                    values.push(Some(row.getattr(name.bind(py))?));
                }
            }
        }
        Ok(())
    }

    fn other_kind(&self, row: &Bound<'_, PyAny>, kind: &str) -> ConversionError {
        ConversionError::refused(format!("the row is {}, and the first is {kind}", type_of(row)))
    }

    fn stranger(&self, dict: &Bound<'_, PyDict>) -> PyResult<ConversionError> {
        let names = self.names.as_deref().unwrap_or_default();
        for key in dict.keys() {
            let key = key.str()?.to_string();
            if !names.contains(&key) {
                return Ok(ConversionError::Refused {
                    message: format!("the row has the key {key:?}, which none of the first rows has"),
                    hint: Some("columns=[...] says which keys are loaded"),
                });
            }
        }
        Ok(ConversionError::refused("the row has keys that are no strings"))
    }
}

/// The keys of all of them, in the order in which they appear.
fn all_keys(rows: &[Bound<'_, PyAny>]) -> Result<Vec<String>, ConversionError> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !has_keys(row)? {
            continue;
        }
        for key in row.call_method0("keys")?.try_iter()? {
            let key = key?;
            let Ok(key) = key.cast::<PyString>() else {
                return Err(ConversionError::refused(format!("{} is no name of a column", key.repr()?)));
            };
            let key = key.to_str()?;
            if !names.iter().any(|name| name == key) {
                names.push(key.to_owned());
            }
        }
    }
    Ok(names)
}
