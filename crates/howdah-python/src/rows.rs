//! Rows of Python objects as lines that the engine reads: COPY's text format, in which every row is one line, or NDJSON
//! where values are lists, which only the engine can make an array, a vector or json of.

use std::time::{Duration, Instant};

use howdah::options::{Format, HeaderOption, LoadOptions};
use howdah::{Error, ErrorKind, Location};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::error::{ROWS, described, raise_described, raised};
use crate::form::{ConversionError, Spelling};
use crate::json_string;
use crate::literal::{Kind, Kinds, common_type};
use crate::shape::Shape;

/// The rows that are looked at before the load begins: they decide the columns, and the types of a new table.
const FIRST_ROWS: usize = 1000;

/// Lines are handed on in pieces of this size: a few hundred calls a second, and little memory.
const CHUNK_BYTES: usize = 256 * 1024;

/// Or after this time: rows may come slowly, and somebody may want to stop.
const CHUNK_TIME: Duration = Duration::from_millis(50);

/// How a row becomes a line.
enum Form {
    Text,
    Json { keys: Vec<Vec<u8>> },
}

/// An iterable of rows, in the middle.
pub(crate) struct Rows {
    iterator: Py<PyIterator>,
    /// Those that were looked at.
    first: std::vec::IntoIter<Py<PyAny>>,
    ended: bool,
    shape: Shape,
    form: Form,
    kinds: Kinds,
    scratch: Vec<u8>,
    header: Vec<u8>,
    /// Lines before the first row.
    pub(crate) header_lines: u64,
    /// The number of the next row, from 0.
    next: u64,
}

impl Rows {
    /// Looks at the first rows, `first` and those that follow from `iterator`, and sets in `options` how they are read.
    pub(crate) fn begin<'py>(
        first: Bound<'py, PyAny>,
        iterator: &Bound<'py, PyIterator>,
        options: &mut LoadOptions,
    ) -> PyResult<Rows> {
        let py = first.py();
        refuse_options_of_files(options).map_err(|error| raised(py, &error))?;
        let mut looked_at = vec![first];
        let mut rest = iterator.clone();
        let mut ended = false;
        while looked_at.len() < FIRST_ROWS && !ended {
            match rest.next() {
                Some(row) => looked_at.push(row?),
                None => ended = true,
            }
        }
        let shape = match Shape::of(&looked_at, options.columns.column_list.take()) {
            Ok(shape) => shape,
            Err(error) => return Err(explain(py, error, 0, 0, None)),
        };
        let mut rows = Rows {
            iterator: iterator.clone().unbind(),
            first: Vec::new().into_iter(),
            ended,
            shape,
            form: Form::Text,
            kinds: Kinds::default(),
            scratch: Vec::new(),
            header: Vec::new(),
            header_lines: 0,
            next: 0,
        };
        let has_lists = rows.look(&looked_at, options)?;
        rows.set_form(has_lists, options);
        rows.first = looked_at.into_iter().map(Bound::unbind).collect::<Vec<_>>().into_iter();
        Ok(rows)
    }

    /// Whether all rows were looked at.
    pub(crate) fn is_complete(&self) -> bool {
        self.ended
    }

    /// Presumes the types that the values have in Python; says whether some are lists.
    fn look(&mut self, rows: &[Bound<'_, PyAny>], options: &mut LoadOptions) -> PyResult<bool> {
        let mut types: Vec<Option<&'static str>> = Vec::new();
        let mut values = Vec::new();
        let mut has_lists = false;
        for row in rows {
            // What is wrong with a row is said when it is its turn.
            if self.shape.values(row, &mut values).is_err() {
                continue;
            }
            types.resize(values.len(), None);
            for (known, value) in types.iter_mut().zip(&values) {
                let Some(value) = value else { continue };
                has_lists |= self.kinds.of(value)? == Kind::List;
                if let Some(new) = self.kinds.column_type(value)? {
                    *known = Some(known.map_or(new, |known| common_type(known, new)));
                }
            }
        }
        for (at, found) in types.into_iter().enumerate() {
            if let Some(found) = found {
                options.columns.known_types.push((self.shape.name(at), found.to_owned()));
            }
        }
        Ok(has_lists)
    }

    fn set_form(&mut self, has_lists: bool, options: &mut LoadOptions) {
        match (&self.shape.names, has_lists) {
            (Some(names), true) => {
                let key = |name: &String| {
                    let mut key = Vec::new();
                    json_string::quote(name.as_bytes(), &mut key);
                    key.push(b':');
                    key
                };
                self.form = Form::Json { keys: names.iter().map(key).collect() };
                options.input.format = Some(Format::Ndjson);
            }
            (Some(names), false) => {
                self.header = header_line(names);
                self.header_lines = 1;
                self.as_text(options, HeaderOption::Yes);
            }
            (None, _) => self.as_text(options, HeaderOption::No),
        }
    }

    fn as_text(&self, options: &mut LoadOptions, header: HeaderOption) {
        options.input.format = Some(Format::Text);
        options.columns.header = header;
        options.input.dialect.null = Some("\\N".to_owned());
    }

    /// The next lines; none at the end.
    pub(crate) fn lines(&mut self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        let start = Instant::now();
        let mut out = std::mem::take(&mut self.header);
        let mut values = Vec::new();
        while out.len() < CHUNK_BYTES && (out.is_empty() || start.elapsed() < CHUNK_TIME) {
            let Some(row) = self.row(py)? else { break };
            self.write(&row, &mut values, &mut out)?;
            self.next += 1;
        }
        Ok((!out.is_empty()).then_some(out))
    }

    fn row<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(row) = self.first.next() {
            return Ok(Some(row.into_bound(py)));
        }
        if self.ended {
            return Ok(None);
        }
        let row = self.iterator.bind(py).clone().next().transpose()?;
        self.ended = row.is_none();
        Ok(row)
    }

    fn write<'py>(
        &mut self,
        row: &Bound<'py, PyAny>,
        values: &mut Vec<Option<Bound<'py, PyAny>>>,
        out: &mut Vec<u8>,
    ) -> PyResult<()> {
        let py = row.py();
        if let Err(error) = self.shape.values(row, values) {
            return Err(explain(py, error, self.next, self.header_lines, None));
        }
        if matches!(self.form, Form::Json { .. }) {
            out.push(b'{');
        }
        for (at, value) in values.iter().enumerate() {
            self.scratch.clear();
            let spelling = match value {
                Some(value) => self.kinds.spell(value, &mut self.scratch),
                None => Ok(Spelling::Null),
            };
            let spelling = spelling.map_err(|error| {
                explain(py, error, self.next, self.header_lines, Some(self.shape.name(at)))
            })?;
            match &self.form {
                Form::Text => {
                    separate(at, out);
                    match spelling {
                        Spelling::Null => out.extend_from_slice(b"\\N"),
                        Spelling::Bare | Spelling::Quoted => escape(&self.scratch, out),
                    }
                }
                Form::Json { keys } => {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(&keys[at]);
                    match spelling {
                        Spelling::Null => out.extend_from_slice(b"null"),
                        Spelling::Bare => out.extend_from_slice(&self.scratch),
                        Spelling::Quoted => json_string::quote(&self.scratch, out),
                    }
                }
            }
        }
        out.extend_from_slice(if matches!(self.form, Form::Json { .. }) { b"}\n" } else { b"\n" });
        Ok(())
    }
}

/// The line that names the columns.
pub(crate) fn header_line(names: &[String]) -> Vec<u8> {
    let mut line = Vec::new();
    for (at, name) in names.iter().enumerate() {
        separate(at, &mut line);
        escape(name.as_bytes(), &mut line);
    }
    line.push(b'\n');
    line
}

fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.push(b'\t');
    }
}

/// COPY's text format: what would end a field or a line, or begin an escape, is escaped.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut from = 0;
    for (at, byte) in text.iter().enumerate() {
        let escaped = match byte {
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            _ => continue,
        };
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(escaped);
        from = at + 1;
    }
    out.extend_from_slice(&text[from..]);
}

/// What says how a file is written says nothing about objects.
fn refuse_options_of_files(options: &LoadOptions) -> Result<(), Error> {
    let dialect = &options.input.dialect;
    let said = [
        ("format", options.input.format.is_some()),
        ("encoding", options.input.encoding.is_some()),
        ("delimiter", dialect.delimiter.is_some()),
        ("null", dialect.null.is_some()),
        ("default", dialect.default.is_some()),
        ("quote", dialect.quote.is_some()),
        ("escape", dialect.escape.is_some()),
        ("decimal", options.input.decimal_comma),
        ("thousands", options.input.thousands.is_some()),
        ("booleans", !options.input.booleans.is_empty()),
        ("date_format", options.input.date_format.is_some()),
        ("header", options.columns.header != HeaderOption::Auto),
        ("skip_lines", options.input.skip_lines > 0),
    ];
    match said.iter().find(|(_, said)| *said) {
        Some((name, _)) => Err(Error::usage(format!("{name} is about files, and the data are rows"))),
        None => Ok(()),
    }
}

/// The exception for a row that cannot be converted.
fn explain(
    py: Python<'_>,
    error: ConversionError,
    row: u64,
    header_lines: u64,
    column: Option<String>,
) -> PyErr {
    match error {
        ConversionError::Python(error) => {
            let column = column.map(|name| format!(", column {name}")).unwrap_or_default();
            // A note that cannot be added is no reason to hide the error.
            let _ = error.add_note(py, format!("howdah: in row {row}{column}; nothing was changed"));
            error
        }
        ConversionError::Engine(error) => raised(py, &error),
        ConversionError::Refused { message, hint } => {
            let line = Some(row + header_lines + 1);
            let mut error = Error::new(ErrorKind::Usage, message)
                .at(Location { line, ..Location::of_source(ROWS.into()) })
                .nothing_changed();
            if let Some(column) = column {
                error = error.in_column(column);
            }
            if let Some(hint) = hint {
                error = error.with_hint(hint);
            }
            raise_described(py, &described(&error, Some(header_lines)))
        }
    }
}
