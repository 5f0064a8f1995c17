//! Rows of Python objects as binary rows, for writers: each value becomes what its column's type makes of it.

use parking_lot::Mutex;
use std::cell::{Cell, RefCell};

use howdah::rows::{FieldWriter, Fields, OpenField, Row, RowShape, Value};
use howdah::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::raised;
use crate::form::{ConversionError, Spelling, utf8};
use crate::literal::{Kind, Kinds, as_bytes, without_numpy};
use crate::record::{Columns, Ways};

/// So many threads find memory that was used before; more make their own.
const KEPT: usize = 16;

/// A row that was larger is not kept room for.
const KEPT_BYTES: usize = 1 << 20;

/// Encodes rows for one writer, for any number of threads.
pub(crate) struct Encoders {
    shape: RowShape,
    columns: Columns,
    /// Encoding calls Python, which may let another thread go on: nothing is locked meanwhile.
    idle: Mutex<Vec<Encoder>>,
}

/// What one thread at a time needs, and what it learned of types.
#[derive(Default)]
struct Encoder {
    ways: Ways,
    speller: RefCell<Speller>,
    row: Vec<u8>,
    open: Vec<OpenField>,
}

#[derive(Default)]
struct Speller {
    kinds: Kinds,
    literal: Vec<u8>,
}

impl Encoders {
    /// For rows of `shape`; `chosen`: the caller has named the columns.
    pub(crate) fn new(py: Python<'_>, shape: RowShape, chosen: bool) -> Encoders {
        let columns = Columns::new(py, shape.columns().iter().map(|column| column.name.as_str()), chosen);
        Encoders { shape, columns, idle: Mutex::default() }
    }

    /// The columns' names.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.shape.columns().iter().map(|column| column.name.clone()).collect()
    }

    /// Encodes `row` and calls `give` with it and its open fields.
    ///
    /// # Errors
    /// The row is none for these columns, or Python failed when it was asked for values.
    pub(crate) fn encode<R>(
        &self,
        row: &Bound<'_, PyAny>,
        give: impl FnOnce(&[u8], &[OpenField]) -> R,
    ) -> PyResult<R> {
        let taken = self.idle.lock().pop();
        let mut encoder = taken.unwrap_or_default();
        let given = encoder.encode(self, row).map(|()| give(&encoder.row, &encoder.open));
        if encoder.row.capacity() <= KEPT_BYTES {
            let mut idle = self.idle.lock();
            if idle.len() < KEPT {
                idle.push(encoder);
            }
        }
        given
    }
}

impl Encoder {
    fn encode(&mut self, of: &Encoders, row: &Bound<'_, PyAny>) -> PyResult<()> {
        self.row.clear();
        self.open.clear();
        let record = Record {
            row,
            columns: &of.columns,
            ways: Cell::new(Some(&mut self.ways)),
            speller: &self.speller,
            failure: Cell::new(None),
        };
        let encoded = of.shape.encode(&record, &mut self.row, &mut self.open);
        encoded.map_err(|error| record.failure.take().unwrap_or_else(|| raised(row.py(), &error)))
    }
}

/// A row of Python's, as the engine asks for one.
struct Record<'a, 'py> {
    row: &'a Bound<'py, PyAny>,
    columns: &'a Columns,
    /// Taken by the only call.
    ways: Cell<Option<&'a mut Ways>>,
    speller: &'a RefCell<Speller>,
    /// What Python raised: it is raised again, in place of the engine's error.
    failure: Cell<Option<PyErr>>,
}

impl Row for Record<'_, '_> {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        let Some(ways) = self.ways.take() else {
            return Err(Error::new(ErrorKind::Internal, "a row was asked for its values twice"));
        };
        let put = ways.values(self.columns, self.row, |value| {
            let value = PyValue { value, speller: self.speller, failure: &self.failure };
            fields.put(&value).map_err(ConversionError::Engine)
        });
        put.map_err(|error| told(error, &self.failure))
    }
}

/// A value of Python's; `None`: the row has none for that column.
struct PyValue<'a, 'py> {
    value: Option<Bound<'py, PyAny>>,
    speller: &'a RefCell<Speller>,
    failure: &'a Cell<Option<PyErr>>,
}

impl Value for PyValue<'_, '_> {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        let Some(value) = &self.value else { return field.null() };
        // Python code that is called for a value may write a row of its own, which has an encoder of its own.
        let put = self.speller.borrow_mut().put(value, field);
        put.map_err(|error| {
            let column = &field.column().name;
            if let ConversionError::Python(error) = &error {
                // A note that cannot be added is no reason to hide the error.
                let _ = error.add_note(value.py(), format!("howdah: in column {column}"));
            }
            let told = told(error, self.failure);
            if told.column().is_none() { told.in_column(column) } else { told }
        })
    }
}

impl Speller {
    fn put(&mut self, value: &Bound<'_, PyAny>, field: &mut FieldWriter<'_>) -> Result<(), ConversionError> {
        let put = match self.kinds.of(value)? {
            Kind::Null => field.null(),
            Kind::Bool => field.bool(value.is_truthy()?),
            Kind::Int => match value.extract::<i64>() {
                Ok(int) => field.int(int),
                Err(_) => return self.literal(value, field),
            },
            Kind::Float => field.float8(value.extract()?),
            Kind::Text => field.text(utf8(value.cast::<PyString>()?)?),
            Kind::Bytes => field.bytes(as_bytes(value)?.as_bytes()),
            Kind::List if field.column().type_name.ends_with("[]") => {
                self.literal.clear();
                self.kinds.array(value, &mut self.literal)?;
                field.text(text(&self.literal)?)
            }
            Kind::Scalar => return self.put(&without_numpy(value)?, field),
            // Other lists and dicts are JSON, which is a vector's literal too.
            _ => return self.literal(value, field),
        };
        put.map_err(ConversionError::Engine)
    }

    fn literal(
        &mut self,
        value: &Bound<'_, PyAny>,
        field: &mut FieldWriter<'_>,
    ) -> Result<(), ConversionError> {
        self.literal.clear();
        let put = match self.kinds.spell(value, &mut self.literal)? {
            Spelling::Null => field.null(),
            Spelling::Bare | Spelling::Quoted => field.text(text(&self.literal)?),
        };
        put.map_err(ConversionError::Engine)
    }
}

fn text(literal: &[u8]) -> Result<&str, ConversionError> {
    std::str::from_utf8(literal)
        .map_err(|_| ConversionError::refused("a literal is not UTF-8: this is a bug"))
}

/// A failed conversion as the engine's error; what Python raised waits in `failure`.
fn told(error: ConversionError, failure: &Cell<Option<PyErr>>) -> Error {
    match error {
        ConversionError::Engine(error) => error,
        ConversionError::Python(raised) => {
            failure.set(Some(raised));
            Error::new(ErrorKind::Data, "Python failed")
        }
        ConversionError::Refused { message, hint } => {
            let error = Error::usage(message);
            if let Some(hint) = hint { error.with_hint(hint) } else { error }
        }
    }
}
