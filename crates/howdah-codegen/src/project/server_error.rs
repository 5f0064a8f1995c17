//! The server cannot be reached or used: one message, whoever noticed it.

use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic, Severity};

/// The server cannot be used.
pub(crate) struct ServerError(pub(crate) Box<Diagnostic>);

impl ServerError {
    /// A message without a place, and what to do.
    pub(crate) fn of(message: String, help: Option<&str>) -> Self {
        Self(Box::new(Diagnostic {
            severity: Severity::Error,
            code: Code::DatabaseError,
            message,
            suggestion: help.map(str::to_owned),
            place: None,
            block: None,
            sqlstate: None,
        }))
    }
}

impl From<howdah_connect::Error> for ServerError {
    fn from(error: howdah_connect::Error) -> Self {
        let mut reported = Self::of(error.message().to_owned(), error.hint());
        reported.0.sqlstate = error.sqlstate().map(str::to_owned);
        reported
    }
}

impl From<howdah_server::Error> for ServerError {
    fn from(error: howdah_server::Error) -> Self {
        Self::of(error.to_string(), error.hint().as_deref())
    }
}

impl From<Error> for ServerError {
    fn from(error: Error) -> Self {
        let mut reported = Self::of(error.message, error.hint.as_deref());
        reported.0.sqlstate = error.sqlstate;
        reported
    }
}

impl From<tokio_postgres::Error> for ServerError {
    fn from(error: tokio_postgres::Error) -> Self {
        Error::from(error).into()
    }
}
