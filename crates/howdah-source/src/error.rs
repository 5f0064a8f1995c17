//! What went wrong with an input, and where.

use std::fmt;
use std::sync::Arc;

use howdah_message::Message;

/// A failure to find, open or read an input, with everything a person needs to act on it.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: Message,
    location: Option<Location>,
    column: Option<String>,
    sqlstate: Option<&'static str>,
    detail: Option<Message>,
    hint: Option<Message>,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The classes of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be carried out: options that contradict each other or the input.
    Usage,
    /// An input could not be opened or read.
    Source,
    /// A value or record of the input is wrong.
    Data,
    /// [`Progress::cancel`](crate::Progress::cancel) was called.
    Cancelled,
    /// This crate itself is wrong.
    Internal,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The input as the user named it (`-` is standard input).
    pub source: Arc<str>,
    /// Physical line, counted from 1, on which the record starts.
    pub line: Option<u64>,
    /// Offset in bytes, from 0, of the record in the input, decompressed and in UTF-8.
    pub byte_offset: Option<u64>,
    /// The row group of a Parquet file, from 0.
    pub row_group: Option<u64>,
    /// The row, from 0, in its row group, or in an input that has neither lines nor row groups.
    pub row: Option<u64>,
}

impl Location {
    /// The input as a whole.
    pub fn of_source(source: Arc<str>) -> Self {
        Location { source, line: None, byte_offset: None, row_group: None, row: None }
    }

    /// A record of text: its physical line, from 1, and its first byte, from 0.
    pub fn of_text(source: Arc<str>, line: u64, byte_offset: Option<u64>) -> Self {
        Location { line: Some(line), byte_offset, ..Location::of_source(source) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.byte_offset {
            write!(f, " (byte {offset})")?;
        }
        if let Some(group) = self.row_group {
            write!(f, ", row group {group}")?;
        }
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        Ok(())
    }
}

impl Error {
    /// A failure of `kind`; `message` is lower case, without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            location: None,
            column: None,
            sqlstate: None,
            detail: None,
            hint: None,
            cause: None,
        }))
    }

    /// Shorthand for [`ErrorKind::Usage`].
    pub fn usage(message: impl Into<Message>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// Reading ended because [`Progress::cancel`](crate::Progress::cancel) was called.
    pub fn cancelled() -> Self {
        Error::new(ErrorKind::Cancelled, "stopped on request")
    }

    /// Adds the place in the input.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.0.location = Some(location);
        self
    }

    /// Adds the name of the column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// Adds the five-character SQLSTATE that PostgreSQL would give.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: &'static str) -> Self {
        self.0.sqlstate = Some(sqlstate);
        self
    }

    /// Adds more about the cause.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Message>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Message>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the error behind this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// One line, without location, in the spelling of the [library](howdah_message::Library).
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message, the detail and the hint, with the options they name as data.
    pub fn messages(&self) -> [Option<&Message>; 3] {
        [Some(&self.0.message), self.0.detail.as_ref(), self.0.hint.as_ref()]
    }

    /// Where in the input, when known.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// Which column, when known.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The SQLSTATE that PostgreSQL would give.
    pub fn sqlstate(&self) -> Option<&'static str> {
        self.0.sqlstate
    }

    /// More about the cause.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.0.location {
            write!(f, "{location}: ")?;
        }
        if let Some(column) = &self.0.column {
            write!(f, "column {column:?}: ")?;
        }
        write!(f, "{}", self.0.message)?;
        if let Some(sqlstate) = &self.0.sqlstate {
            write!(f, " (SQLSTATE {sqlstate})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        for (label, part) in [("detail", &self.0.detail), ("hint", &self.0.hint)] {
            if let Some(text) = part {
                write!(f, "\n{label}: {text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause = self.0.cause.as_deref()?;
        Some(cause)
    }
}
