//! A cell: one method under one set of conditions, which is run several times.

use std::collections::BTreeMap;

use crate::command::Command;
use crate::continuous::{Buffer, Offer};
use crate::dataset::Dataset;
use crate::record::{Conditions, Durability, Evidence, Outcome, Record};
use crate::writers::Shape;

/// A method of loading or writing, with all that decides how fast it can be.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The section's name.
    pub section: &'static str,
    /// The name within the section's chart.
    pub series: String,
    /// The place on the section's axis.
    pub x: Option<f64>,
    /// The rows' data set.
    pub dataset: Dataset,
    /// The number of its rows that are loaded, from the first on.
    pub rows: u64,
    /// The table that they go into.
    pub table: Target,
    /// The program that writes, and its settings.
    pub method: Method,
    /// Server settings other than the defaults.
    pub settings: Vec<(&'static str, &'static str)>,
    /// A cluster of ours gets log files beforehand, as a server that has been running has them.
    pub has_log_files: bool,
    /// Milliseconds that a proxy of ours adds to every round trip; None: there is no proxy.
    pub latency_ms: Option<f64>,
    /// The number of its runs, where that is not for the user to say.
    pub rounds: Option<Rounds>,
}

/// The number of runs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// If true, a first run warms up and does not count.
    pub warm_up: bool,
    /// Runs that count.
    pub count: u32,
}

/// The table before the first row.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// If true, the table is unlogged: its rows are not in the write-ahead log, and a crash takes them.
    pub unlogged: bool,
    /// All columns are text.
    pub all_text: bool,
    /// The moment at which its keys are made, if it has any.
    pub keys: Keys,
    /// The number of the data set's columns that it has, from the first on; None for all.
    pub columns: Option<usize>,
    /// Statements that are run once the table is there, with `{table}` for its name.
    pub extra: Vec<&'static str>,
    /// The effect of `extra`, in words for people.
    pub extra_is: &'static str,
}

/// The moment at which the data set's keys are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keys {
    /// Never.
    #[default]
    None,
    /// Before the rows.
    Before,
    /// After the rows, as a phase of its own.
    After,
}

/// The program that writes a cell's rows, with its settings.
#[derive(Debug, Clone)]
pub enum Method {
    /// A write path of `howdah load`.
    Load(Loading),
    /// The server reads a file of its own machine.
    ServerFile {
        /// COPY FREEZE, in the transaction that empties the table.
        freeze: bool,
    },
    /// The server unnests rows that it has as arrays, 50 in each.
    NestedUnnest {
        /// The arrays stand in a file that file_fdw reads; otherwise in a table.
        file: bool,
    },
    /// Many connections write small batches, each a transaction, as services do.
    Writers {
        /// The statements that a batch is sent as.
        shape: Shape,
        /// Connections.
        connections: u32,
        /// Rows of a batch.
        rows_per_statement: u64,
    },
    /// Somebody else's program, by its name in `bench/contenders`.
    Contender {
        /// The name.
        name: &'static str,
        /// Connections, where the tool can use more than one.
        connections: u32,
        /// If true, it reads a Parquet file that was made before.
        parquet: bool,
    },
    /// A service writes rows one by one, through a buffer that makes batches of them.
    Service {
        /// The program whose buffer makes batches of rows.
        program: Program,
        /// The buffer's settings.
        buffer: Buffer,
        /// The moments at which rows are offered to it.
        offer: Offer,
    },
    /// Programs that are timed from their start to their end, as a person runs them. They share one server.
    Command(Command),
}

/// A program whose buffer makes batches of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// howdah's Writer.
    Writer,
    /// Somebody else's, by its name in `bench/contenders`.
    Contender(&'static str),
}

/// The options of `howdah load` that decide how it writes.
#[derive(Debug, Clone)]
pub struct Loading {
    /// As `--write-path` spells it.
    pub write_path: &'static str,
    /// Connections.
    pub jobs: u32,
    /// Rows of a statement; None: the write path's own choice.
    pub rows_per_statement: Option<u64>,
    /// COPY FREEZE, in the transaction that empties the table.
    pub freeze: bool,
    /// Nothing is written: what the program itself takes.
    pub dry_run: bool,
    /// `parquet` or `ndjson`; None: CSV.
    pub format: Option<&'static str>,
}

impl Loading {
    /// Over one connection.
    #[must_use]
    pub fn by(write_path: &'static str) -> Self {
        Loading { write_path, jobs: 1, rows_per_statement: None, freeze: false, dry_run: false, format: None }
    }

    /// Over `jobs` connections.
    #[must_use]
    pub fn over(self, jobs: u32) -> Self {
        Loading { jobs, ..self }
    }

    /// From a file of another format than CSV.
    #[must_use]
    pub fn from(self, format: &'static str) -> Self {
        Loading { format: Some(format), ..self }
    }

    /// With `rows` rows in a statement.
    #[must_use]
    pub fn rows_per_statement(self, rows: u64) -> Self {
        Loading { rows_per_statement: Some(rows), ..self }
    }

    /// Everything but the writing.
    #[must_use]
    pub fn nothing() -> Self {
        Loading { dry_run: true, ..Loading::by("copy-binary") }
    }
}

impl Cell {
    /// A durable load into a plain table on a server with default settings; what differs is set afterwards.
    #[must_use]
    pub fn new(
        place: (&'static str, &'static str),
        series: impl Into<String>,
        data: (Dataset, u64),
        method: Method,
    ) -> Self {
        Cell {
            scenario: place.0,
            section: place.1,
            series: series.into(),
            x: None,
            dataset: data.0,
            rows: data.1,
            table: Target::default(),
            method,
            settings: Vec::new(),
            has_log_files: false,
            latency_ms: None,
            rounds: None,
        }
    }

    /// Returns what a crash of the server leaves of the rows.
    #[must_use]
    pub fn durability(&self) -> Durability {
        let off = |name: &'static str| self.settings.contains(&(name, "off"));
        if off("fsync") || off("full_page_writes") {
            Durability::LabOnly
        } else if self.table.unlogged {
            Durability::NotCrashSafe
        } else if off("synchronous_commit") {
            Durability::LosesLastCommits
        } else {
            Durability::Durable
        }
    }

    /// The table in words.
    #[must_use]
    pub fn table_in_words(&self) -> String {
        let Target { unlogged, all_text, keys, extra_is, .. } = &self.table;
        let mut words = vec![if *unlogged { "unlogged" } else { "logged" }];
        words.extend(all_text.then_some("all text"));
        words.push(match keys {
            Keys::None => "no keys",
            Keys::Before => "keys kept",
            Keys::After => "keys built afterwards",
        });
        words.extend((!extra_is.is_empty()).then_some(*extra_is));
        words.join(", ")
    }

    /// The settings, for records.
    #[must_use]
    pub fn settings_map(&self) -> BTreeMap<String, String> {
        self.settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Connections that write.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match &self.method {
            Method::Load(loading) => loading.jobs,
            Method::Writers { connections, .. } | Method::Contender { connections, .. } => *connections,
            Method::Service { buffer, .. } => buffer.connections(),
            Method::Command(command) => command.connections(),
            Method::ServerFile { .. } | Method::NestedUnnest { .. } => 1,
        }
    }

    /// Rows of one statement, where the cell says.
    #[must_use]
    pub fn rows_per_statement(&self) -> Option<u64> {
        match &self.method {
            Method::Load(loading) => loading.rows_per_statement,
            Method::Writers { rows_per_statement, .. } => Some(*rows_per_statement),
            Method::Service { buffer, .. } => buffer.max_rows,
            _ => None,
        }
    }

    /// Milliseconds that rows are to take at most, where the cell says.
    #[must_use]
    pub fn latency_target_ms(&self) -> Option<f64> {
        match &self.method {
            Method::Service { buffer, .. } => buffer.latency_target_ms,
            _ => None,
        }
    }

    /// The columns of the data set that the table has, with their types.
    #[must_use]
    pub fn columns(&self) -> &'static [(&'static str, &'static str)] {
        let all = self.dataset.columns();
        &all[..self.table.columns.unwrap_or(all.len()).min(all.len())]
    }

    /// On which line of its chart the cell lies.
    #[must_use]
    pub fn at(self, x: f64) -> Self {
        Cell { x: Some(x), ..self }
    }

    /// Returns true if the cell is a control, which writes nothing.
    #[must_use]
    pub fn is_control(&self) -> bool {
        match &self.method {
            Method::Load(loading) => loading.dry_run,
            Method::Writers { shape, .. } => !shape.writes(),
            Method::Service { buffer, .. } => buffer.discard,
            _ => false,
        }
    }

    /// Returns true if its rows are to be frozen (`COPY … FREEZE`).
    #[must_use]
    pub fn freezes(&self) -> bool {
        match &self.method {
            Method::Load(loading) => loading.freeze,
            Method::ServerFile { freeze } => *freeze,
            _ => false,
        }
    }

    /// Returns the command that is run, for people to read.
    #[must_use]
    pub fn command(&self) -> String {
        match &self.method {
            Method::Load(loading) => {
                let mut command =
                    format!("howdah load --write-path {} --jobs {}", loading.write_path, loading.jobs);
                if let Some(rows) = loading.rows_per_statement {
                    command += &format!(" --rows-per-statement {rows}");
                }
                command += if loading.freeze { " --mode truncate --freeze" } else { "" };
                command + if loading.dry_run { " --dry-run" } else { "" }
            }
            Method::ServerFile { freeze: false } => "COPY … FROM '/file' (FORMAT csv)".to_owned(),
            Method::ServerFile { freeze: true } => {
                "BEGIN; TRUNCATE …; COPY … FROM '/file' (FORMAT csv, FREEZE); COMMIT".to_owned()
            }
            Method::Writers { shape, connections, rows_per_statement } => {
                format!("{connections} writers, {shape:?} of {rows_per_statement} rows each time")
            }
            Method::Contender { name, .. } => format!("bench/contenders: {name}"),
            Method::Service { program, buffer, offer } => {
                let program = match program {
                    Program::Writer => "howdah's Writer".to_owned(),
                    Program::Contender(name) => format!("bench/contenders: {name}"),
                };
                format!("{program} [{}; {}]", buffer.in_words(), offer.in_words())
            }
            Method::Command(command) => command.in_words(),
            Method::NestedUnnest { file: false } => "INSERT … SELECT unnest(…) FROM arrays".to_owned(),
            Method::NestedUnnest { file: true } => "INSERT … SELECT unnest(…) FROM file_fdw table".to_owned(),
        }
    }

    /// The record of a run that has not begun.
    #[must_use]
    pub fn record(&self) -> Record {
        Record {
            scenario: self.scenario.to_owned(),
            section: self.section.to_owned(),
            series: self.series.clone(),
            x: self.x,
            repetition: 0,
            outcome: Outcome::Skipped,
            reason: None,
            conditions: Conditions {
                dataset: self.dataset.name().to_owned(),
                rows_asked: self.rows,
                connections: self.connections(),
                rows_per_statement: self.rows_per_statement(),
                table: self.table_in_words(),
                settings: self.settings_map(),
                durability: self.durability(),
                latency_ms: self.latency_ms.unwrap_or(0.0),
                latency_target_ms: self.latency_target_ms(),
                fresh: String::new(),
                command: self.command(),
                version: None,
                quick: false,
            },
            rows: 0,
            seconds: 0.0,
            phases: Vec::new(),
            evidence: Evidence::default(),
        }
    }
}
