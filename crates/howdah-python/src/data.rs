//! What `howdah.load` is given to load: which kind of thing it is, and the engine's input for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use howdah::options::{Format, HeaderOption, LoadOptions};
use howdah::source::Input;
use howdah::{Error, ErrorKind};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyMemoryView, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;

use crate::error::{ROWS, raised};
use crate::pull::{Batches, Bytes, Event, Pull, Pulled};
use crate::rows::{self, Rows};

/// A file is read in pieces of this size.
const FILE_BYTES: usize = 1 << 20;

/// An input, or the name of one, which only the load's own thread looks for: it may lie on the network.
pub(crate) enum Given {
    Place(String),
    Input(Input),
}

/// What gives data as long as the load runs.
pub(crate) struct Source {
    producer: Producer,
    answers: Option<Sender<Pulled>>,
}

enum Producer {
    File { read: Py<PyAny> },
    Rows(Box<Rows>),
    Batches { iterator: Py<PyIterator>, ready: VecDeque<RecordBatch>, schema: SchemaRef, number: u64 },
}

/// Everything that is to be loaded.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) given: Vec<Given>,
    pub(crate) sources: Vec<Source>,
    /// Where the data are rows: the lines before the first.
    pub(crate) header_lines: Option<u64>,
}

impl Taken {
    /// Takes `data`, and sets in `options` what it says itself of how it is read.
    pub(crate) fn of(
        data: &Bound<'_, PyAny>,
        options: &mut LoadOptions,
        events: &Sender<Event>,
    ) -> PyResult<Taken> {
        let py = data.py();
        let mut taken = Taken::default();
        if is_list_of_places(data)? {
            for item in data.try_iter()? {
                let item = item?;
                if !is_place_or_file(&item)? {
                    return Err(refused(py, &item, "in a list that begins with a path or a file"));
                }
                taken.place_or_file(&item, options, events)?;
            }
        } else if is_place_or_file(data)? {
            taken.place_or_file(data, options, events)?;
        } else if is_arrow(data)? {
            taken.arrow(data, options)?;
        } else {
            taken.iterable(data, options, events)?;
        }
        if options.target.table.is_none() && !taken.given.iter().any(|given| matches!(given, Given::Place(_)))
        {
            let error = Error::usage("the data have no name that a table could take")
                .with_hint("name the table: howdah.load(data, \"my_table\")");
            return Err(raised(py, &error));
        }
        Ok(taken)
    }

    fn place_or_file(
        &mut self,
        item: &Bound<'_, PyAny>,
        options: &mut LoadOptions,
        events: &Sender<Event>,
    ) -> PyResult<()> {
        if !is_place(item)? {
            return self.file(item, options, events);
        }
        let path: std::path::PathBuf = item.extract()?;
        let name = path.into_os_string().into_string();
        let name = name.map_err(|name| {
            raised(item.py(), &Error::usage(format!("{} is no name in UTF-8", name.to_string_lossy())))
        })?;
        self.given.push(Given::Place(name));
        Ok(())
    }

    fn file(
        &mut self,
        file: &Bound<'_, PyAny>,
        options: &mut LoadOptions,
        events: &Sender<Event>,
    ) -> PyResult<()> {
        let py = file.py();
        let named = file.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok());
        let name = named.filter(|name| !name.is_empty()).unwrap_or_else(|| type_name(file));
        let is_text = file.is_instance(&py.import("io")?.getattr("TextIOBase")?)?;
        if is_text && options.input.encoding.is_some() {
            let error = Error::usage("encoding is about bytes, and the file gives text already")
                .with_hint("open it with mode \"rb\"");
            return Err(raised(py, &error));
        }
        // Its index is at its end.
        if options.input.format == Some(Format::Parquet) || name.to_lowercase().ends_with(".parquet") {
            options.input.format = Some(Format::Parquet);
            let content = bytes_of(&file.call_method0("read")?)?;
            self.given.push(Given::Input(Input::memory(&name, Arc::from(content))));
            return Ok(());
        }
        // What is there, rather than all that was asked for: a pipe may be slow.
        let read = if file.hasattr("read1")? { file.getattr("read1")? } else { file.getattr("read")? };
        let pull = self.source(Producer::File { read: read.unbind() }, events);
        self.given.push(Given::Input(Input::reader(&name, Box::new(Bytes::new(pull)))));
        Ok(())
    }

    fn arrow(&mut self, data: &Bound<'_, PyAny>, options: &mut LoadOptions) -> PyResult<()> {
        let reader = reader_of(data)?;
        leave_out_unnamed_index(&reader.schema(), options);
        let input = Input::record_batches(&type_name(data), reader).with_rows(rows_of(data)?);
        self.given.push(Given::Input(input));
        Ok(())
    }

    /// An iterable of rows or of batches: its first item tells.
    fn iterable(
        &mut self,
        data: &Bound<'_, PyAny>,
        options: &mut LoadOptions,
        events: &Sender<Event>,
    ) -> PyResult<()> {
        let py = data.py();
        let is_one_thing = data.is_instance_of::<PyBytes>()
            || data.is_instance_of::<PyByteArray>()
            || data.is_instance_of::<PyMemoryView>()
            || data.is_instance_of::<PyDict>()
            || data.hasattr("collect")?
            || data.hasattr("scanner")?;
        if is_one_thing {
            return Err(refused(py, data, ""));
        }
        let Ok(iterator) = data.try_iter() else { return Err(refused(py, data, "")) };
        let Some(first) = iterator.clone().next().transpose()? else {
            let input = without_rows(options);
            self.given.push(Given::Input(input));
            return Ok(());
        };
        if is_arrow(&first)? {
            let reader = reader_of(&first)?;
            let schema = reader.schema();
            leave_out_unnamed_index(&schema, options);
            let mut ready = VecDeque::new();
            for batch in reader {
                ready.push_back(batch.map_err(arrow_failure)?);
            }
            let name = type_name(&first);
            let iterator = iterator.unbind();
            let producer = Producer::Batches { iterator, ready, schema: schema.clone(), number: 0 };
            let pull = self.source(producer, events);
            let reader = Box::new(Batches::new(pull, schema));
            self.given.push(Given::Input(Input::record_batches(&name, reader)));
            return Ok(());
        }
        let mut rows = Rows::begin(first, &iterator, options)?;
        self.header_lines = Some(rows.header_lines);
        if rows.is_complete() {
            // At hand as a whole, as a small file is: it can be read twice.
            let mut lines = Vec::new();
            while let Some(more) = rows.lines(py)? {
                lines.extend(more);
            }
            self.given.push(Given::Input(Input::memory(ROWS, Arc::from(lines))));
        } else {
            let pull = self.source(Producer::Rows(Box::new(rows)), events);
            self.given.push(Given::Input(Input::reader(ROWS, Box::new(Bytes::new(pull)))));
        }
        Ok(())
    }

    fn source(&mut self, producer: Producer, events: &Sender<Event>) -> Pull {
        let (pull, answers) = Pull::new(self.sources.len(), events.clone());
        self.sources.push(Source { producer, answers: Some(answers) });
        pull
    }
}

impl Source {
    /// Gives what comes next to whoever waits for it.
    pub(crate) fn answer(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(answers) = &self.answers else { return Ok(()) };
        match self.producer.produce(py) {
            Ok(parcel) => {
                // Nobody may wait any more.
                let _ = answers.send(parcel);
                Ok(())
            }
            Err(error) => {
                self.close();
                Err(error)
            }
        }
    }

    /// Gives nothing more: whoever waits fails.
    pub(crate) fn close(&mut self) {
        self.answers = None;
    }
}

impl Producer {
    fn produce(&mut self, py: Python<'_>) -> PyResult<Pulled> {
        match self {
            Producer::File { read } => {
                let piece = bytes_of(&read.bind(py).call1((FILE_BYTES,))?)?;
                Ok(if piece.is_empty() { Pulled::End } else { Pulled::Bytes(piece) })
            }
            Producer::Rows(rows) => Ok(rows.lines(py)?.map_or(Pulled::End, Pulled::Bytes)),
            Producer::Batches { iterator, ready, schema, number } => loop {
                if let Some(batch) = ready.pop_front() {
                    return Ok(Pulled::Batch(batch));
                }
                let Some(item) = iterator.bind(py).clone().next().transpose()? else {
                    return Ok(Pulled::End);
                };
                *number += 1;
                let reader = reader_of(&item)?;
                if reader.schema().fields() != schema.fields() {
                    let error = Error::new(
                        ErrorKind::Usage,
                        format!("batch {number} has other columns or types than the first"),
                    );
                    return Err(raised(py, &error.nothing_changed()));
                }
                for batch in reader {
                    ready.push_back(batch.map_err(arrow_failure)?);
                }
            },
        }
    }
}

fn is_place(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(item.is_instance_of::<PyString>() || item.hasattr("__fspath__")?)
}

fn is_place_or_file(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    // An Arrow reader has a `read` too, which is something else.
    Ok(is_place(item)? || !is_arrow(item)? && item.hasattr("read")?)
}

fn is_list_of_places(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_list = data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>();
    Ok(is_list && data.len()? > 0 && is_place_or_file(&data.get_item(0)?)?)
}

pub(crate) fn is_arrow(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(item.hasattr("__arrow_c_array__")? || item.hasattr("__arrow_c_stream__")?)
}

pub(crate) fn reader_of(item: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    if !is_arrow(item)? {
        return Err(refused(item.py(), item, "among record batches"));
    }
    let reader = item.extract::<AnyRecordBatch>().and_then(AnyRecordBatch::into_reader);
    reader.map_err(|cause| {
        let py = item.py();
        let is_ours = cause.value(py).hasattr("visible").unwrap_or(false);
        if is_ours || !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        // Such as of a single column, which has a stream but no columns.
        let error =
            Error::usage(format!("a value of type {} is no table: {}", type_name(item), cause.value(py)))
                .with_hint("howdah loads tables: what has named columns")
                .nothing_changed();
        let error = raised(py, &error);
        error.set_cause(py, Some(cause));
        error
    })
}

/// What a batch that could not be made says: the exception of Python's that was the cause, where there was one.
pub(crate) fn arrow_failure(error: arrow_schema::ArrowError) -> PyErr {
    pyo3_arrow::error::PyArrowError::from(error).into()
}

/// Whole numbers in an index without a name are those that pandas gave the rows: nobody made them a column.
fn leave_out_unnamed_index(schema: &SchemaRef, options: &mut LoadOptions) {
    if !schema.metadata().contains_key("pandas") {
        return;
    }
    for field in schema.fields() {
        let name = field.name();
        if name.starts_with("__index_level_")
            && name.ends_with("__")
            && field.data_type().is_integer()
            && !options.columns.skip_columns.contains(name)
        {
            options.columns.skip_columns.push(name.clone());
        }
    }
}

/// The input of an iterable that has nothing in it.
fn without_rows(options: &mut LoadOptions) -> Input {
    let header = options.columns.column_list.take().map(|names| rows::header_line(&names));
    options.input.format = Some(Format::Text);
    options.columns.header = if header.is_some() { HeaderOption::Yes } else { HeaderOption::No };
    Input::memory(ROWS, Arc::from(header.unwrap_or_default()))
}

/// What `read` gave.
fn bytes_of(piece: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = piece.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(text) = piece.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes().to_vec());
    }
    if piece.is_instance_of::<PyByteArray>() || piece.is_instance_of::<PyMemoryView>() {
        let bytes = piece.py().get_type::<PyBytes>().call1((piece,))?;
        return Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec());
    }
    Err(PyTypeError::new_err(format!("read() gave a value of type {} and no bytes", type_name(piece))))
}

fn refused(py: Python<'_>, item: &Bound<'_, PyAny>, r#where: &str) -> PyErr {
    let is = |name: &str| item.hasattr(name).unwrap_or(false);
    let hint = if item.is_instance_of::<PyBytes>() {
        "a file's content is loaded as a file: io.BytesIO(data)"
    } else if item.is_instance_of::<PyDict>() {
        "one row is a list of one dict"
    } else if is("collect") {
        "a lazy frame is collected first: .collect()"
    } else if is("scanner") {
        "a dataset is loaded by its scanner: .scanner()"
    } else {
        "data are paths, files, rows (tuples, dicts, dataclasses), columns, or tables of pyarrow, polars, pandas or DuckDB"
    };
    let space = if r#where.is_empty() { "" } else { " " };
    let message = format!("a value of type {} cannot be loaded{space}{}", type_name(item), r#where);
    raised(py, &Error::usage(message).with_hint(hint))
}

/// How many rows a table has that is at hand as a whole. Asked of a query, its length would run it.
fn rows_of(data: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let module = data.get_type().getattr("__module__")?.to_string();
    let is_at_hand = ["pandas", "polars", "pyarrow"].contains(&module.split('.').next().unwrap_or_default());
    if !is_at_hand || !data.hasattr("__len__")? {
        return Ok(None);
    }
    Ok(Some(data.len()? as u64))
}

fn type_name(item: &Bound<'_, PyAny>) -> String {
    item.get_type().name().map_or_else(|_| "data".to_owned(), |name| name.to_string())
}
