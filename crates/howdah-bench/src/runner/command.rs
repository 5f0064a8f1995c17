//! One run of a command: a fresh table, the clock around its processes, the CPU of both sides, the truth of what arrived.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::context::{Context, Laps, NoFigure, RunRows};
use super::prepare;
use super::server::{BenchServer, TABLE};
use super::stream;
use super::verify::{count_of, verify};
use crate::cell::Cell;
use crate::clocked;
use crate::command::{Command, CommandTask, Input};
use crate::error::Error;
use crate::input_files::InputFiles;
use crate::process::without_variables;
use crate::record::{Outcome, Record};

/// A command that is about to run.
pub(super) struct CommandRun<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) cell: &'a Cell,
    pub(super) command: &'a Command,
    pub(super) rows: RunRows<'a>,
    pub(super) server: &'a BenchServer,
}

impl CommandRun<'_> {
    /// Runs it and fills the record.
    pub(super) fn measure(&self, laps: &mut Laps, record: &mut Record) -> Result<(), NoFigure> {
        let psql = self.psql()?;
        self.make_table()?;
        let files = self.files()?;
        // What the last run left dirty is not for this one to write. A server may keep this to its superusers.
        self.server.database.checkpoint()?;
        laps.end("schema", record);

        let rejects = self.context.scratch.waste();
        let conninfo = &self.server.conninfo;
        let task = CommandTask { conninfo, table: TABLE, psql: &psql, files: &files, rejects: &rejects };
        let mut processes = self.command.processes(self.context.programs, &task)?;
        if !self.server.is_given() {
            processes.iter_mut().for_each(without_variables);
        }
        if let Command::Stream { seconds } = self.command {
            let length = Duration::from_secs(*seconds);
            let fed = stream::Fed { csv: self.rows.csv, length };
            return stream::measure(processes, &fed, self.server, self.context.control, record);
        }
        let (also_fine, control) = (self.command.also_fine(), self.context.control);
        let outputs = clocked::run(processes, also_fine, self.server.pid, control, record)?;
        laps.clock = Instant::now();
        record.rows = match self.command.reports() {
            true => clocked::take_report(&outputs, record)?,
            false => self.arrived()?,
        };
        match self.long_field() {
            Some(bytes) => self.verify_long_field(bytes, record)?,
            None => verify(self.server, self.cell, self.rows, record)?,
        }
        laps.end("verify", record);
        Ok(())
    }

    fn psql(&self) -> Result<PathBuf, NoFigure> {
        let directory = self.context.programs.bin_dir.as_ref().or(self.server.bin_dir.as_ref());
        let Some(directory) = directory else { return Ok(PathBuf::from("psql")) };
        let psql = directory.join("psql");
        if self.command.needs_psql() && !psql.is_file() {
            return Err(NoFigure::Skipped(format!("there is no psql in {}", directory.display())));
        }
        Ok(psql)
    }

    fn make_table(&self) -> Result<(), Error> {
        if self.command.makes_table() {
            return Ok(());
        }
        match self.long_field() {
            Some(_) => self.server.database.run(&format!("CREATE TABLE {TABLE} (id bigint, body text)")),
            None => prepare::table(self.server, self.cell, self.rows.count),
        }
    }

    /// The files that it reads, made when they are missing.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let (scratch, dataset, count) = (self.context.scratch, self.cell.dataset, self.rows.count);
        Ok(match self.command {
            Command::PsqlBinary { connections } | Command::MinimalClient { connections } => {
                scratch.binary_parts(dataset, count, *connections)?
            }
            Command::Psql | Command::Stream { .. } => vec![self.rows.csv.to_owned()],
            Command::Howdah { input, .. } => vec![match input {
                Input::Csv => self.rows.csv.to_owned(),
                Input::GzippedCsv => scratch.csv_gz(dataset, count)?,
                Input::SpoiltCsv { every } => scratch.spoilt_csv(dataset, count, *every)?,
                Input::Parquet => scratch.parquet(dataset, count)?,
                Input::Ndjson => scratch.ndjson(dataset, count)?,
                Input::LongField { bytes } => scratch.one_long_field(*bytes)?,
            }],
        })
    }

    fn arrived(&self) -> Result<u64, Error> {
        count_of(&self.server.database.row(&format!("SELECT count(*) FROM {TABLE}"))?.concat())
    }

    fn long_field(&self) -> Option<u64> {
        match self.command {
            Command::Howdah { input: Input::LongField { bytes }, .. } => Some(*bytes),
            _ => None,
        }
    }

    fn verify_long_field(&self, bytes: u64, record: &mut Record) -> Result<(), Error> {
        let query = format!("SELECT count(*), max(octet_length(body)) FROM {TABLE}");
        let found = self.server.database.row(&query)?.join(" rows, the longest field of ");
        let wanted = format!("3 rows, the longest field of {}", InputFiles::length_of_long_field(bytes));
        if found == wanted && record.rows == 3 {
            record.outcome = Outcome::Verified;
        } else {
            record.outcome = Outcome::Wrong;
            record.reason =
                Some(format!("counted {}; arrived: {found} bytes instead of {wanted}", record.rows));
        }
        Ok(())
    }
}

/// Every how many rows of the data set one is spoilt and does not arrive.
pub(super) fn spoilt_every(command: &Command) -> Option<u64> {
    match command {
        Command::Howdah { input: Input::SpoiltCsv { every }, .. } => Some(*every),
        _ => None,
    }
}

/// Whether the command needs the CSV file of the data set.
pub(super) fn reads_csv(command: &Command) -> bool {
    match command {
        Command::Psql | Command::Stream { .. } => true,
        Command::Howdah { input, .. } => *input == Input::Csv,
        Command::PsqlBinary { .. } | Command::MinimalClient { .. } => false,
    }
}
