//! What went wrong: where (input, line, column), what the server said (SQLSTATE, detail, hint), what is visible now.

use std::fmt;
use std::sync::Arc;

/// A failure, with everything a person needs to act on it. Built with `with_*` setters, read with questions.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    location: Option<Location>,
    column: Option<String>,
    sqlstate: Option<String>,
    constraint: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    visible: Option<String>,
    cause: Option<Cause>,
}

type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// What to do when an open connection broke.
const LOST: &str =
    "the server stopped or somebody ended the session: run the same command again when it answers";

/// The classes of failure; they decide the exit code (2 usage or connection, 4 too many rejects, 5 partly committed, else 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself cannot be carried out: options, names, a mapping that does not fit.
    Usage,
    /// No connection to the server.
    Connect,
    /// The server asks for a password and none is known: a front end may ask for one and try again.
    PasswordRequired,
    /// An input could not be opened or read.
    Source,
    /// A value or record of the input is wrong.
    Data,
    /// More records were refused than the caller allows.
    TooManyRejects,
    /// The server refused or failed.
    Server,
    /// A writer's queue has no room for the row.
    QueueFull,
    /// A writer is closed, or was before the row was sent.
    Closed,
    /// Somebody asked us to stop.
    Cancelled,
    /// Some transactions are committed and some are not, or nobody knows.
    PartlyCommitted,
    /// howdah itself is wrong.
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
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            location: None,
            column: None,
            sqlstate: None,
            constraint: None,
            detail: None,
            hint: None,
            visible: None,
            cause: None,
        }))
    }

    /// The server's own words, as fields.
    pub(crate) fn from_db(db: &tokio_postgres::error::DbError) -> Self {
        let mut out = Error::new(ErrorKind::Server, db.message()).with_sqlstate(db.code().code());
        if let Some(detail) = db.detail() {
            out = out.with_detail(detail);
        }
        if let Some(hint) = db.hint() {
            out = out.with_hint(hint);
        }
        if let Some(column) = db.column() {
            out = out.in_column(column);
        }
        out.0.constraint = db.constraint().map(str::to_owned);
        out
    }

    /// The message behind `prefix: `.
    #[must_use]
    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        self.0.message = format!("{prefix}: {}", self.0.message);
        self
    }

    /// Shorthand for [`ErrorKind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// The place in the input.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.0.location = Some(location);
        self
    }

    /// The column's name.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// The five-character SQLSTATE.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: impl Into<String>) -> Self {
        self.0.sqlstate = Some(sqlstate.into());
        self
    }

    /// The server's DETAIL, or ours.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What other sessions see now, as a sentence ("nothing was changed").
    #[must_use]
    pub fn with_visible(mut self, visible: impl Into<String>) -> Self {
        self.0.visible = Some(visible.into());
        self
    }

    /// The error behind this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Arc<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The same failure in another class.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// One line, without location.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Where in the input, when known.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }
    /// Which column, when known.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }
    /// SQLSTATE: the server's, or the one it would have given.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.sqlstate.as_deref()
    }
    /// The constraint that the server named.
    pub fn constraint(&self) -> Option<&str> {
        self.0.constraint.as_deref()
    }
    /// More about the cause.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// What is visible now.
    pub fn visible(&self) -> Option<&str> {
        self.0.visible.as_deref()
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
        f.write_str(&self.0.message)?;
        if let Some(sqlstate) = &self.0.sqlstate {
            write!(f, " (SQLSTATE {sqlstate})")?;
        }
        Ok(())
    }
}

/// The failure of a connection, which stays its [source](std::error::Error::source).
impl From<howdah_connect::Error> for Error {
    fn from(error: howdah_connect::Error) -> Self {
        use howdah_connect::ErrorKind as Kind;
        let (kind, hint) = match error.kind() {
            Kind::PasswordRequired => (ErrorKind::PasswordRequired, error.hint()),
            Kind::NoUser => (ErrorKind::Connect, Some("-U names one")),
            Kind::Server => (ErrorKind::Server, error.hint()),
            Kind::Lost => (ErrorKind::Server, Some(LOST)),
            Kind::Busy | Kind::Unsendable | Kind::Protocol => (ErrorKind::Internal, error.hint()),
            _ => (ErrorKind::Connect, error.hint()),
        };
        let db = error.as_db_error();
        let mut out = Error::new(kind, error.message());
        out.0.sqlstate = error.sqlstate().map(str::to_owned);
        out.0.column = db.and_then(|db| db.column()).map(str::to_owned);
        out.0.constraint = db.and_then(|db| db.constraint()).map(str::to_owned);
        out.0.detail = error.detail().map(Into::into);
        out.0.hint = hint.map(Into::into);
        out.caused_by(Arc::new(error) as Cause)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        for (label, part) in
            [("detail", &self.0.detail), ("hint", &self.0.hint), ("visible", &self.0.visible)]
        {
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

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(db) = error.as_db_error() else {
            let mut message = error.to_string();
            if let Some(cause) = std::error::Error::source(&error) {
                let cause = cause.to_string();
                if !message.contains(&cause) {
                    message = format!("{message}: {cause}");
                }
            }
            return Error::new(
                ErrorKind::Server,
                format!("the connection to the server was lost: {message}"),
            )
            .with_hint(LOST);
        };
        Error::from_db(db)
    }
}
