//! Programs that are timed from their start to their end, and the command lines that make them load a table.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process;

use crate::error::Error;
use crate::worker::{Order, VARIABLE, WorkKind};

/// One program, or several side by side, that put rows into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `howdah load`.
    Howdah {
        /// The input that it reads.
        input: Input,
        /// Connections.
        jobs: u32,
        /// The way in which `howdah load` is called.
        variant: Variant,
    },
    /// psql's `\copy` of the CSV file.
    Psql,
    /// A floor: one psql a connection, each with a part of the rows that is encoded already.
    PsqlBinary {
        /// The number of connections.
        connections: u32,
    },
    /// A floor: our minimal client, with a part of the rows that is encoded already for each connection.
    MinimalClient {
        /// The number of connections.
        connections: u32,
    },
    /// `howdah stream` of CSV from a pipe that is always full.
    Stream {
        /// The time for which rows come, in seconds.
        seconds: u64,
    },
}

/// The ways in which `howdah load` is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Into a table that is there.
    Append,
    /// Into a table that it makes, with the types that it finds.
    Create,
    /// Into a table that is there, with records that are no rows put aside.
    Ignore,
}

/// The file that a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The rows as CSV.
    Csv,
    /// The rows as gzipped CSV.
    GzippedCsv,
    /// The rows as CSV, one in `every` of them spoilt.
    SpoiltCsv {
        /// The distance between two spoilt rows.
        every: u64,
    },
    /// The rows as Parquet.
    Parquet,
    /// The rows as NDJSON.
    Ndjson,
    /// Three rows of `id,body`, one of them with a very long body, instead of the data set's.
    LongField {
        /// The length of the file in bytes.
        bytes: u64,
    },
}

/// The paths of the programs that are measured.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The words that run the howdah to measure.
    pub howdah: Vec<OsString>,
    /// The words that run this program as a worker.
    pub worker: Vec<OsString>,
    /// The directory of psql; None: where the server's own programs are, or on the search path.
    pub bin_dir: Option<PathBuf>,
}

/// What a command is told.
pub(crate) struct CommandTask<'a> {
    pub(crate) conninfo: &'a str,
    pub(crate) table: &'a str,
    pub(crate) psql: &'a Path,
    /// One file, or one a connection for the floors.
    pub(crate) files: &'a [PathBuf],
    /// Where records go that are put aside.
    pub(crate) rejects: &'a Path,
}

impl Command {
    /// Connections that write.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Command::Howdah { jobs, .. } => *jobs,
            Command::PsqlBinary { connections } | Command::MinimalClient { connections } => *connections,
            Command::Psql | Command::Stream { .. } => 1,
        }
    }

    /// Returns the command that is run, for people to read.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Command::Howdah { input, jobs, variant } => {
                let file = match input {
                    Input::Csv | Input::SpoiltCsv { .. } | Input::LongField { .. } => "rows.csv",
                    Input::GzippedCsv => "rows.csv.gz",
                    Input::Parquet => "rows.parquet",
                    Input::Ndjson => "rows.ndjson",
                };
                let variant = match variant {
                    Variant::Append => "--mode append",
                    Variant::Create => "--mode create",
                    Variant::Ignore => "--mode append --on-error ignore",
                };
                format!("howdah load {file} {variant} --jobs {jobs}")
            }
            Command::Psql => "psql -c '\\copy … (FORMAT csv, HEADER)'".to_owned(),
            Command::PsqlBinary { connections } => {
                format!("{connections} × psql -c '\\copy … (FORMAT binary)'")
            }
            Command::MinimalClient { connections } => {
                format!("minimal client, {connections} × COPY … (FORMAT binary)")
            }
            Command::Stream { seconds } => format!("howdah stream, for {seconds} s"),
        }
    }

    /// Whether howdah makes the table itself.
    pub(crate) fn makes_table(&self) -> bool {
        matches!(self, Command::Howdah { variant: Variant::Create, .. })
    }

    /// Whether it prints a report of howdah's.
    pub(crate) fn reports(&self) -> bool {
        matches!(self, Command::Howdah { .. })
    }

    /// Whether it needs psql.
    pub(crate) fn needs_psql(&self) -> bool {
        matches!(self, Command::Psql | Command::PsqlBinary { .. })
    }

    /// The exit code that says "loaded, some records put aside", where that is what is measured.
    pub(crate) fn also_fine(&self) -> Option<i32> {
        matches!(self, Command::Howdah { variant: Variant::Ignore, .. }).then_some(3)
    }

    /// The processes, all started at once, that are the command.
    ///
    /// # Errors
    /// An order for the minimal client cannot be written down.
    pub(crate) fn processes(
        &self,
        programs: &Programs,
        task: &CommandTask,
    ) -> Result<Vec<process::Command>, Error> {
        let CommandTask { conninfo, table, psql, files, rejects } = *task;
        let each = |options: &'static str| {
            files.iter().map(move |file| copy_by_psql(psql, conninfo, file, table, options))
        };
        Ok(match self {
            Command::Howdah { jobs, variant, .. } => {
                let mut command = of_words(&programs.howdah)?;
                let mode = if *variant == Variant::Create { "create" } else { "append" };
                command.arg("load").args(files).args(["--table", table, "-d", conninfo, "--mode", mode]);
                command.args(["--jobs", &jobs.to_string(), "--quiet", "--report", "json"]);
                if *variant == Variant::Ignore {
                    command.args(["--on-error", "ignore", "--rejects"]).arg(rejects);
                }
                vec![command]
            }
            Command::Psql => each("(FORMAT csv, HEADER)").collect(),
            Command::PsqlBinary { .. } => each("(FORMAT binary)").collect(),
            Command::MinimalClient { .. } => {
                let work = WorkKind::Binary { table: table.to_owned(), files: files.to_vec() };
                let order = serde_json::to_string(&Order { conninfo: conninfo.to_owned(), work });
                let order = order.map_err(|error| Error::Usage(format!("no order: {error}")))?;
                let mut command = of_words(&programs.worker)?;
                command.env(VARIABLE, order);
                vec![command]
            }
            Command::Stream { .. } => {
                let mut command = of_words(&programs.howdah)?;
                command.args(["stream", "--table", table, "-d", conninfo, "--quiet"]);
                vec![command]
            }
        })
    }
}

fn of_words(words: &[OsString]) -> Result<process::Command, Error> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::Usage("there is no program to run".to_owned()));
    };
    let mut command = process::Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn copy_by_psql(psql: &Path, conninfo: &str, file: &Path, table: &str, options: &str) -> process::Command {
    let mut command = process::Command::new(psql);
    // -X: a user's start-up file is not part of the measurement.
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c"]);
    let mut copy = OsString::from(format!("\\copy {table} from '"));
    copy.push(file);
    copy.push(format!("' {options}"));
    command.arg(copy);
    command
}
