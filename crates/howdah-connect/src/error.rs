//! Why there is no connection, or no answer on one.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tokio_postgres::error::DbError;

use crate::last_words::LastWords;
use crate::sqlstate;

/// A connection failure: its [kind](Error::kind) for programs, its texts for people, its [cause](StdError::source) for both.
///
/// The texts follow libpq's where libpq has one, and never contain a password. Where the server itself refused, its
/// SQLSTATE is in [`Error::sqlstate`] and everything else that it said in [`Error::as_db_error`].
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    /// The server's, where it is not in the source.
    sqlstate: Option<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What kind of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connection string, a variable of the environment, a service or a certificate file cannot be used.
    Configuration,
    /// Nothing names the user, and the operating system knows none for this process.
    NoUser,
    /// No host took a connection, or one closed it before the session began.
    Unreachable,
    /// A host did not complete the connection within `connect_timeout`.
    TimedOut,
    /// TLS failed: the server has none, or its certificate is not trusted.
    Tls,
    /// The server asks for a password and none is known: a program may ask for one and try again with
    /// [`Target::with_password`](crate::Target::with_password).
    PasswordRequired,
    /// The server did not let the client in, or asked for a login that the client does not allow (`require_auth`).
    Refused,
    /// A server was reached, but `target_session_attrs` asks for another kind.
    Unsuitable,
    /// The server answered a request on an open connection with an error.
    Server,
    /// An open connection broke.
    Lost,
    /// A pipelined COPY was asked for while the connection was not idle. Nothing of it was sent.
    Busy,
    /// A pipelined COPY holds what no message can carry. Nothing of it was sent.
    Unsendable,
    /// The server's answer is not one that PostgreSQL's protocol allows at this point.
    Protocol,
}

impl Error {
    /// `message` is lower case and without a full stop.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            sqlstate: None,
            source: None,
        }))
    }

    /// Shorthand for [`ErrorKind::Configuration`].
    pub(crate) fn configuration(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Configuration, message)
    }

    pub(crate) fn with_detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        self.0.source = Some(Arc::new(source));
        self
    }

    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self
    }

    pub(crate) fn prefixed(mut self, prefix: &str) -> Error {
        self.0.message = format!("{prefix}: {}", self.0.message);
        self
    }

    /// What the server said, with its detail and hint.
    pub(crate) fn of_server(kind: ErrorKind, db: &DbError) -> Error {
        let mut error = Error::new(kind, db.message());
        error.0.detail = db.detail().map(str::to_owned);
        error.0.hint = db.hint().map(str::to_owned);
        error
    }

    /// The failure of a connection that was [lost](ErrorKind::Lost), with what the server said when it ended it:
    /// [`Connection::last_words`](crate::Connection::last_words). Any other failure stays as it is.
    #[must_use]
    pub fn told(mut self, words: Option<LastWords>) -> Error {
        if let Some(words) = words
            && self.kind() == ErrorKind::Lost
        {
            (self.0.sqlstate, self.0.message) = (Some(words.sqlstate), words.message);
            (self.0.detail, self.0.hint) = (words.detail, words.hint);
        }
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// More about it: the server's DETAIL, or what the other hosts of the connection string said.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// What to do about it: the server's HINT, or this crate's.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The five characters of the SQLSTATE, where the server reported the failure.
    pub fn sqlstate(&self) -> Option<&str> {
        self.as_db_error().map(|db| db.code().code()).or(self.0.sqlstate.as_deref())
    }

    /// Everything that the server said, where it reported the failure.
    pub fn as_db_error(&self) -> Option<&DbError> {
        self.as_driver_error()?.as_db_error()
    }

    /// The error of tokio-postgres, where that is the cause.
    pub fn as_driver_error(&self) -> Option<&tokio_postgres::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// Whether the cause is likely to pass, so that trying again later makes sense.
    ///
    /// These are [`Unreachable`](ErrorKind::Unreachable), [`TimedOut`](ErrorKind::TimedOut),
    /// [`Unsuitable`](ErrorKind::Unsuitable) and [`Lost`](ErrorKind::Lost), and of the server's errors those that
    /// [`sqlstate::is_transient`] names. Whether a request that was lost took effect is another question, which only the
    /// caller can answer.
    pub fn is_retryable(&self) -> bool {
        match self.sqlstate() {
            _ if self.kind() == ErrorKind::Lost => true,
            Some(code) => sqlstate::is_transient(code),
            None => matches!(
                self.kind(),
                ErrorKind::Unreachable | ErrorKind::TimedOut | ErrorKind::Unsuitable | ErrorKind::Lost
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.sqlstate() {
            Some(sqlstate) => write!(f, " (SQLSTATE {sqlstate})"),
            None => Ok(()),
        }
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

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

/// A failure on a connection that was open.
impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Error {
        let out = match error.as_db_error() {
            Some(db) => Error::of_server(ErrorKind::Server, db),
            None => {
                let mut reason = error.to_string();
                if let Some(cause) =
                    error.source().map(ToString::to_string).filter(|cause| !reason.contains(cause))
                {
                    reason = format!("{reason}: {cause}");
                }
                Error::new(ErrorKind::Lost, format!("the connection to the server was lost: {reason}"))
                    .with_hint("the server stopped or somebody ended the session: try again when it answers")
            }
        };
        out.caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stays_within_reach_of_a_program() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = Error::new(ErrorKind::Unreachable, "nothing listens").caused_by(io).clone();
        let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>()).unwrap();
        assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(error.is_retryable() && error.sqlstate().is_none());
    }

    #[test]
    fn a_mistake_of_the_user_is_not_tried_again() {
        for kind in [ErrorKind::Configuration, ErrorKind::NoUser, ErrorKind::Tls, ErrorKind::PasswordRequired]
        {
            assert!(!Error::new(kind, "no").is_retryable(), "{kind:?}");
        }
    }
}
