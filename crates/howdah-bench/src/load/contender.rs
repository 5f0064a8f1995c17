//! Who competes, and the command lines that make them do it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Options;
use super::server::Server;
use crate::error::Error;

/// A way to get a file into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    /// `howdah load` of the CSV into an existing table.
    Howdah,
    /// The same with `--on-error ignore`.
    HowdahIgnore,
    /// `howdah load` of the CSV into a table that it makes.
    HowdahCreate,
    /// `howdah load` of Parquet into an existing table.
    HowdahParquet,
    /// `howdah load` of NDJSON into an existing table.
    HowdahNdjson,
    /// N psql side by side, each with a binary part.
    FloorPsql,
    /// Our minimal client, N connections, each with a binary part.
    FloorClient,
    /// `\copy` of the CSV into the typed table.
    PsqlTyped,
    /// `\copy` of the CSV into the table whose columns are all text.
    PsqlText,
}

/// What a contender gets.
pub(super) struct Input<'a> {
    pub(super) table: &'a str,
    pub(super) file: &'a PathBuf,
    /// Binary COPY files, one a connection; only the floors need them.
    pub(super) parts: &'a [PathBuf],
}

/// The programs that are run.
pub(super) struct Programs {
    pub(super) howdah: PathBuf,
    psql: PathBuf,
    myself: PathBuf,
    conninfo: String,
    /// Where ignored records go.
    waste: PathBuf,
    pub(super) jobs: u32,
}

impl Contender {
    /// The name in raw results.
    pub(super) fn key(self) -> &'static str {
        match self {
            Contender::Howdah => "howdah",
            Contender::HowdahIgnore => "howdah-ignore",
            Contender::HowdahCreate => "howdah-create",
            Contender::HowdahParquet => "howdah-parquet",
            Contender::HowdahNdjson => "howdah-ndjson",
            Contender::FloorPsql => "floor-psql",
            Contender::FloorClient => "floor-client",
            Contender::PsqlTyped => "psql-typed",
            Contender::PsqlText => "psql-text",
        }
    }

    /// The name for people.
    pub(super) fn label(self, jobs: u32) -> String {
        match self {
            Contender::Howdah => format!("howdah load, CSV, {jobs} connections"),
            Contender::HowdahIgnore => format!("howdah load --on-error ignore, CSV, {jobs} connections"),
            Contender::HowdahCreate => format!("howdah load, CSV, new table, {jobs} connections"),
            Contender::HowdahParquet => format!("howdah load, Parquet, {jobs} connections"),
            Contender::HowdahNdjson => format!("howdah load, NDJSON, {jobs} connections"),
            Contender::FloorPsql => format!("pre-encoded binary, {jobs} × psql"),
            Contender::FloorClient => format!("pre-encoded binary, minimal client, {jobs} connections"),
            Contender::PsqlTyped => "psql \\copy, CSV".to_owned(),
            Contender::PsqlText => "psql \\copy, CSV, all-text table".to_owned(),
        }
    }

    pub(super) fn is_floor(self) -> bool {
        matches!(self, Contender::FloorPsql | Contender::FloorClient)
    }

    pub(super) fn is_howdah(self) -> bool {
        !self.is_floor() && !matches!(self, Contender::PsqlTyped | Contender::PsqlText)
    }

    /// The exit code that says "loaded, some records ignored", where that is what is measured.
    pub(super) fn also_fine(self) -> Option<i32> {
        (self == Contender::HowdahIgnore).then_some(3)
    }
}

impl Programs {
    pub(super) fn find(options: &Options, server: &Server, waste: PathBuf) -> Result<Self, Error> {
        let myself = std::env::current_exe().map_err(Error::io("could not find this program"))?;
        let howdah = options.howdah.clone().unwrap_or_else(|| myself.with_file_name("howdah"));
        if !howdah.is_file() {
            let howdah = howdah.display();
            return Err(Error::Usage(format!(
                "there is no howdah to measure at {howdah}; build it or use --howdah"
            )));
        }
        let psql =
            server.bin_dir.as_ref().map_or_else(|| PathBuf::from("psql"), |directory| directory.join("psql"));
        Ok(Programs { howdah, psql, myself, conninfo: server.conninfo.clone(), waste, jobs: options.jobs })
    }

    /// The processes, all started at once, that are the contender.
    pub(super) fn commands(&self, contender: Contender, input: &Input) -> Vec<Command> {
        let Input { table, file, parts } = input;
        let csv_options = "(FORMAT csv, HEADER)";
        match contender {
            Contender::Howdah | Contender::HowdahParquet | Contender::HowdahNdjson => {
                vec![self.howdah(file, table, "append")]
            }
            Contender::HowdahIgnore => {
                let mut command = self.howdah(file, table, "append");
                command.args(["--on-error", "ignore", "--rejects"]).arg(&self.waste);
                vec![command]
            }
            Contender::HowdahCreate => vec![self.howdah(file, table, "create")],
            Contender::FloorPsql => {
                parts.iter().map(|part| self.psql(part, table, "(FORMAT binary)")).collect()
            }
            Contender::FloorClient => {
                let mut command = Command::new(&self.myself);
                command.args(["floor-client", "--dbname", &self.conninfo, "--table", table]).args(*parts);
                vec![command]
            }
            Contender::PsqlTyped | Contender::PsqlText => vec![self.psql(file, table, csv_options)],
        }
    }

    /// `howdah stream` of CSV from standard input.
    pub(super) fn stream(&self, table: &str) -> Command {
        let mut command = Command::new(&self.howdah);
        command.args(["stream", "--table", table, "-d", &self.conninfo, "--quiet"]);
        command
    }

    fn howdah(&self, file: &Path, table: &str, mode: &str) -> Command {
        let mut command = Command::new(&self.howdah);
        command.arg("load").arg(file).args(["--table", table, "-d", &self.conninfo, "--mode", mode]);
        command.args(["--jobs", &self.jobs.to_string(), "--quiet", "--report", "json"]);
        command
    }

    fn psql(&self, file: &Path, table: &str, options: &str) -> Command {
        let mut command = Command::new(&self.psql);
        // -X: somebody's start-up file is not part of the measurement.
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &self.conninfo, "-c"]);
        let mut copy = OsString::from(format!("\\copy {table} from '"));
        copy.push(file);
        copy.push(format!("' {options}"));
        command.arg(copy);
        command
    }
}
