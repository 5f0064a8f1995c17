//! Why a statement could not be described.

use std::fmt;

use tokio_postgres::error::{DbError, ErrorPosition};

/// The server refused a statement, or could not be asked.
#[derive(Debug)]
pub struct Error {
    /// What went wrong, in the server's words where it is the server that refused.
    pub message: String,
    /// The server's code, such as `42703`. None if the server could not be asked.
    pub sqlstate: Option<String>,
    /// Where in the statement: the server's count of characters, from 1.
    pub position: Option<usize>,
    /// More of it, in the server's words.
    pub detail: Option<Box<str>>,
    /// The server's advice.
    pub hint: Option<Box<str>>,
    /// The index of the parameter whose requested type the server refused; `position` is not set then.
    pub parameter: Option<usize>,
    source: Option<tokio_postgres::Error>,
}

impl Error {
    /// What is wrong with an answer that no server gives.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Error {
            message: message.into(),
            sqlstate: None,
            position: None,
            detail: None,
            hint: None,
            parameter: None,
            source: None,
        }
    }

    /// The same of a requested type, which is not in the statement's text.
    pub(crate) fn of_parameter(self, parameter: usize) -> Self {
        Error { parameter: Some(parameter), position: None, ..self }
    }

    /// An error of a question that is not the user's: its places mean nothing to them.
    pub(crate) fn of_question(error: tokio_postgres::Error) -> Self {
        Error { position: None, ..Error::from(error) }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let said = error.as_db_error();
        let position = said.and_then(DbError::position).and_then(|position| match position {
            ErrorPosition::Original(position) => usize::try_from(*position).ok(),
            ErrorPosition::Internal { .. } => None,
        });
        Error {
            message: said.map_or_else(|| error.to_string(), |said| said.message().to_owned()),
            sqlstate: error.code().map(|code| code.code().to_owned()),
            position,
            detail: said.and_then(DbError::detail).map(Box::from),
            hint: said.and_then(DbError::hint).map(Box::from),
            parameter: None,
            source: Some(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.sqlstate {
            Some(code) => write!(formatter, " ({code})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
