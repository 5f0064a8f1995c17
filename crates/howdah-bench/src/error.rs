//! What can end a measurement early. A figure that could not be checked is an error, never a footnote.

use std::io;

/// The reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request cannot be carried out as it stands.
    #[error("{0}")]
    Usage(String),
    /// A file or process could not be handled.
    #[error("{doing}: {source}")]
    Io {
        /// The action that failed.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// The server refused something that belongs to the measuring itself.
    #[error("{doing}: {}", in_full(source))]
    Server {
        /// The action that failed.
        doing: String,
        /// The server's error.
        source: tokio_postgres::Error,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
    /// There is no connection.
    #[error("could not connect: {0}")]
    Connect(#[from] howdah::Error),
    /// There is no server of our own.
    #[error(transparent)]
    OwnServer(#[from] howdah_server::Error),
    /// A measured program failed.
    #[error("{program} failed ({status}): {stderr}")]
    Program {
        /// The program's name.
        program: String,
        /// Its exit status, in words.
        status: String,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// A measured program did not load what it should have.
    #[error("{0}")]
    Wrong(String),
}

impl From<howdah::connect::Error> for Error {
    fn from(error: howdah::connect::Error) -> Self {
        Error::Connect(error.into())
    }
}

impl Error {
    /// For `map_err` on input and output.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Error::Io { doing, source }
    }

    /// For `map_err` on what the server answers.
    pub fn server(doing: impl Into<String>) -> impl FnOnce(tokio_postgres::Error) -> Self {
        let doing = doing.into();
        move |source| Error::Server { doing, source }
    }
}

/// The driver's own text says little more than "db error".
fn in_full(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}
