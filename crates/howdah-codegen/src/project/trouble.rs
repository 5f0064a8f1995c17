//! The server cannot be reached or used: one message, whoever noticed it.

use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic, Severity};

/// The server cannot be used.
pub(crate) struct Trouble(pub(crate) Box<Diagnostic>);

impl Trouble {
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

impl From<howdah_connect::Error> for Trouble {
    fn from(error: howdah_connect::Error) -> Self {
        let mut trouble = Self::of(error.message().to_owned(), error.hint());
        trouble.0.sqlstate = error.sqlstate().map(str::to_owned);
        trouble
    }
}

impl From<howdah_server::Error> for Trouble {
    fn from(error: howdah_server::Error) -> Self {
        Self::of(error.to_string(), error.hint().as_deref())
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let mut trouble = Self::of(error.message, error.hint.as_deref());
        trouble.0.sqlstate = error.sqlstate;
        trouble
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Error::from(error).into()
    }
}
