//! How one row of Python's gives a value for each column: by position, by key or by attribute, as its type has it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::data::is_arrow;
use crate::form::ConversionError;
use crate::row_object::{declared_fields, has_keys, is_lookup_error, is_no_row, is_tuple, type_of};

/// More types than that are looked at anew each time: somebody makes them by the thousand.
const MOST_KNOWN: usize = 64;

/// How the rows of a type give their values.
enum RecordAccess {
    /// Tuples and lists: a value for each column, in order.
    Positions,
    /// Named tuples: where the value of each column is.
    Places(Vec<Option<usize>>),
    /// Dicts and what has keys like them.
    Keys,
    /// Objects: whether there is an attribute of each column's name.
    Attributes(Vec<bool>),
}

/// The columns that rows are for.
pub(crate) struct Columns {
    names: Vec<Py<PyString>>,
    /// The caller chose them: rows may have more than that.
    chosen: bool,
}

impl Columns {
    pub(crate) fn new<'a>(py: Python<'_>, names: impl Iterator<Item = &'a str>, chosen: bool) -> Columns {
        Columns { names: names.map(|name| PyString::intern(py, name).unbind()).collect(), chosen }
    }

    fn listed(&self, py: Python<'_>) -> String {
        let names: Vec<String> = self.names.iter().map(|name| name.bind(py).to_string()).collect();
        names.join(", ")
    }

    /// Where `fields` has each column.
    fn places(&self, py: Python<'_>, fields: &[String]) -> Result<Vec<Option<usize>>, ConversionError> {
        let names: Vec<String> = self.names.iter().map(|name| name.bind(py).to_string()).collect();
        if let Some(stranger) = fields.iter().find(|field| !self.chosen && !names.contains(field)) {
            return Err(self.stranger(py, stranger));
        }
        Ok(names.iter().map(|name| fields.iter().position(|field| field == name)).collect())
    }

    fn stranger(&self, py: Python<'_>, name: &str) -> ConversionError {
        ConversionError::Refused {
            message: format!(
                "the row has {name:?}, which is none of the columns that are written ({})",
                self.listed(py)
            ),
            hint: Some(
                "columns=[...] says which they are; those that the server fills in by itself must be named",
            ),
        }
    }
}

/// The types of rows met so far.
#[derive(Default)]
pub(crate) struct Ways(Vec<(Py<PyType>, RecordAccess)>);

impl Ways {
    /// Calls `take` with the value for each column, in order; `None` where the row has none.
    pub(crate) fn values<'py>(
        &mut self,
        columns: &Columns,
        row: &Bound<'py, PyAny>,
        mut take: impl FnMut(Option<Bound<'py, PyAny>>) -> Result<(), ConversionError>,
    ) -> Result<(), ConversionError> {
        let py = row.py();
        match self.way_of(columns, row)? {
            RecordAccess::Positions => {
                let width = row.len()?;
                if width != columns.names.len() {
                    let values = if width == 1 { "1 value".to_owned() } else { format!("{width} values") };
                    return Err(ConversionError::Refused {
                        message: format!(
                            "the row has {values}, and the columns are {}: {}",
                            columns.names.len(),
                            columns.listed(py)
                        ),
                        hint: Some("columns=[...] says what the values are for"),
                    });
                }
                if let Ok(tuple) = row.cast::<PyTuple>() {
                    return tuple.iter().try_for_each(|value| take(Some(value)));
                }
                row.cast::<PyList>()?.iter().try_for_each(|value| take(Some(value)))
            }
            RecordAccess::Places(places) => {
                let tuple = row.cast::<PyTuple>()?;
                for place in places {
                    take(place.map(|place| tuple.get_item(place)).transpose()?)?;
                }
                Ok(())
            }
            RecordAccess::Keys => match row.cast::<PyDict>() {
                Ok(dict) => {
                    let mut found = 0;
                    for name in &columns.names {
                        let value = dict.get_item(name.bind(py))?;
                        found += usize::from(value.is_some());
                        take(value)?;
                    }
                    if columns.chosen || found == dict.len() { Ok(()) } else { Err(odd_key(columns, dict)?) }
                }
                Err(_) => columns.names.iter().try_for_each(|name| match row.get_item(name.bind(py)) {
                    Ok(value) => take(Some(value)),
                    Err(missing) if is_lookup_error(py, &missing) => take(None),
                    Err(error) => Err(error.into()),
                }),
            },
            RecordAccess::Attributes(there) => {
                for (name, there) in columns.names.iter().zip(there) {
                    take(there.then(|| row.getattr(name.bind(py))).transpose()?)?;
                }
                Ok(())
            }
        }
    }

    fn way_of(
        &mut self,
        columns: &Columns,
        row: &Bound<'_, PyAny>,
    ) -> Result<&RecordAccess, ConversionError> {
        let r#type = row.get_type();
        let at = match self.0.iter().position(|(known, _)| known.is(&r#type)) {
            Some(at) => at,
            None => {
                let way = RecordAccess::of(columns, row)?;
                self.0.truncate(MOST_KNOWN - 1);
                self.0.push((r#type.unbind(), way));
                self.0.len() - 1
            }
        };
        Ok(&self.0[at].1)
    }
}

impl RecordAccess {
    fn of(columns: &Columns, row: &Bound<'_, PyAny>) -> Result<RecordAccess, ConversionError> {
        let py = row.py();
        if is_tuple(row) {
            return Ok(match row.getattr_opt("_fields")? {
                Some(fields) => RecordAccess::Places(columns.places(py, &fields.extract::<Vec<String>>()?)?),
                None => RecordAccess::Positions,
            });
        }
        if is_arrow(row)? {
            return Err(ConversionError::Refused {
                message: format!("{} is a table, not a row", type_of(row)),
                hint: Some("howdah.bulk writes tables too"),
            });
        }
        if has_keys(row)? {
            return Ok(RecordAccess::Keys);
        }
        if let Some(fields) = declared_fields(row)? {
            let places = columns.places(py, &fields)?;
            return Ok(RecordAccess::Attributes(places.iter().map(Option::is_some).collect()));
        }
        Err(is_no_row(row))
    }
}

/// Why a dict with keys that are no columns is refused.
fn odd_key(columns: &Columns, dict: &Bound<'_, PyDict>) -> PyResult<ConversionError> {
    let py = dict.py();
    for key in dict.keys() {
        let is_column = |name: &Py<PyString>| name.bind(py).as_any().eq(&key).unwrap_or(false);
        if !columns.names.iter().any(is_column) {
            return Ok(columns.stranger(py, &key.str()?.to_string()));
        }
    }
    Ok(ConversionError::refused("the row changed while it was read"))
}
