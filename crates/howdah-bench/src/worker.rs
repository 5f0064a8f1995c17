//! The program that does what a cell says, under the contract of `bench/contenders`: READY, GO, DONE.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use howdah::connect::{ConnectOptions, Environment};
use howdah::name::TableName;
use howdah::options::{LoadOptions, Mode, WritePath};
use howdah::{Control, load};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio_postgres::SimpleQueryMessage;

use crate::continuous::{Buffer, Literals, MeasuredWriter, Moment, Observed, Offer};
use crate::database::open;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::floor;
use crate::latency::Counts;
use crate::writers::{self, Latency, Pace, Shape, ShapedRows, Writers};

/// The variable in which a worker finds its [`Order`], as JSON: other users cannot read a process's environment.
pub const VARIABLE: &str = "HOWDAH_BENCH_WORK";

/// An order for a worker: its work and where to do it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The server.
    pub conninfo: String,
    /// The work to do.
    pub work: WorkKind,
}

/// The kinds of work that a worker can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum WorkKind {
    /// `howdah load` into a table that is there.
    Load {
        /// A CSV file with a header.
        input: String,
        /// The table.
        table: String,
        /// As `--write-path` spells it.
        write_path: String,
        /// Connections.
        jobs: u32,
        /// Rows of a statement.
        rows_per_statement: Option<u64>,
        /// COPY FREEZE, in the transaction that empties the table.
        freeze: bool,
        /// Columns of the file that the table does not have.
        skip_columns: Vec<String>,
        /// Nothing is written.
        dry_run: bool,
    },
    /// Batches over many connections, each batch a transaction.
    Write {
        /// The data set's name; its rows are made before GO.
        dataset: String,
        /// The number of rows.
        rows: u64,
        /// From which seed.
        seed: u64,
        /// The table.
        table: String,
        /// The statements that a batch is sent as.
        shape: Shape,
        /// Rows of a batch.
        rows_per_statement: u64,
        /// Connections.
        connections: u32,
    },
    /// Rows one by one through howdah's Writer.
    Continuous {
        /// The data set's name; its rows are made before GO.
        dataset: String,
        /// The number of rows.
        rows: u64,
        /// From which seed.
        seed: u64,
        /// The table.
        table: String,
        /// The writer's options.
        buffer: Buffer,
        /// The moments at which rows are offered.
        offer: Offer,
    },
    /// Statements that the server carries out by itself, in one transaction.
    Statements(String),
    /// Binary COPY files as they are, over a connection each, at once and without waiting for GO.
    Binary {
        /// The table.
        table: String,
        /// The files.
        files: Vec<PathBuf>,
    },
}

/// Figures that a worker reports besides the DONE line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerReport {
    /// Seconds from the first byte read to the commit; connecting, catalog and plan are left out, as they are for
    /// contenders, which do them before GO.
    pub seconds: f64,
    /// Seconds of phases within the load and before it.
    pub phases: Vec<(String, f64)>,
    /// Of batches, where each is a transaction of its own, or of rows, where each is acknowledged.
    pub latency: Option<Latency>,
    /// The whole distribution of latencies.
    pub counts: Counts,
    /// Latencies over time.
    pub course: Vec<Moment>,
    /// The mean number of rows that were written at once, where the writing program chooses it.
    pub batch_rows: Option<f64>,
}

/// The line that begins what a worker tells.
const TOLD: &str = "TOLD ";

impl WorkerReport {
    /// Finds it among the lines that a worker wrote; None where there is no such line.
    ///
    /// # Errors
    /// The line is not what a worker writes.
    pub fn find(said: &str) -> Result<Option<WorkerReport>, Error> {
        let line = said.lines().find_map(|line| line.strip_prefix(TOLD));
        let told = line.map(serde_json::from_str).transpose();
        told.map_err(|error| Error::Wrong(format!("what the program told cannot be read: {error}")))
    }
}

/// Carries out the order; returns the exit code.
#[must_use]
pub fn main(order: &str) -> u8 {
    let mut out = io::stdout().lock();
    let done = serde_json::from_str(order)
        .map_err(|error| format!("no order: {error}"))
        .and_then(|order| carry_out(order, &mut out));
    let done = done.and_then(|(rows, told)| {
        let told = serde_json::to_string(&told).map_err(|error| format!("no figures: {error}"))?;
        Ok(format!("{TOLD}{told}\nDONE {rows}\n"))
    });
    let (line, code) = match done {
        Ok(line) => (line, 0),
        Err(reason) => (format!("FAILED {}\n", reason.replace('\n', " ")), 1),
    };
    // The runner may have gone.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    code
}

fn carry_out(order: Order, out: &mut impl Write) -> Result<(u64, WorkerReport), String> {
    let said = |error: howdah::Error| format!("{error}");
    match order.work {
        WorkKind::Load {
            input,
            table,
            write_path,
            jobs,
            rows_per_statement,
            freeze,
            skip_columns,
            dry_run,
        } => {
            let path = WritePath::from_name(&write_path)
                .ok_or_else(|| format!("there is no write path {write_path}"))?;
            let mut options = LoadOptions::new(input)
                .table(TableName::parse(&table).map_err(said)?)
                .mode(if freeze { Mode::Truncate } else { Mode::Append })
                .jobs(jobs as usize)
                .write_path(path)
                .freeze(freeze)
                .skip_columns(skip_columns)
                .dry_run(dry_run);
            options.writing.rows_per_statement = rows_per_statement.map(in_memory).transpose()?;
            let connect = ConnectOptions::default().conninfo(order.conninfo);
            let target = connect.resolve(&Environment::from_process()).map_err(|error| said(error.into()))?;
            await_go(out)?;
            let report =
                load(&options, &target, &Control::new()).map_err(|error| match error.location() {
                    Some(at) => format!("{error} ({at})"),
                    None => error.to_string(),
                })?;
            let phases = report.phases;
            let rows = if dry_run { report.rows_read } else { report.rows };
            let told = WorkerReport {
                seconds: phases.load_s + phases.commit_s,
                phases: vec![
                    ("connect and plan".to_owned(), phases.plan_s),
                    ("read".to_owned(), phases.read_s),
                    ("encode".to_owned(), phases.encode_s),
                    ("wait for the server".to_owned(), phases.wait_s),
                    ("commit".to_owned(), phases.commit_s),
                ],
                ..WorkerReport::default()
            };
            Ok((rows, told))
        }
        WorkKind::Write { dataset, rows, seed, table, shape, rows_per_statement, connections } => {
            let said = |error: Error| error.to_string();
            let dataset =
                Dataset::from_name(&dataset).ok_or_else(|| format!("there is no data set {dataset}"))?;
            let rows = ShapedRows::new(dataset.generator(rows, seed), shape).map_err(said)?;
            let rows_per_statement = in_memory(rows_per_statement)?;
            let connections = connections as usize;
            let work = writers::Work { dataset, table, shape, rows_per_statement, connections };
            let mut writers = Writers::connect(&order.conninfo, work).map_err(said)?;
            await_go(out)?;
            let outcome = writers.run(&rows, Pace::Closed, None).map_err(said)?;
            let latency = Some(outcome.latency);
            Ok((outcome.rows, WorkerReport { seconds: outcome.seconds, latency, ..WorkerReport::default() }))
        }
        WorkKind::Continuous { dataset, rows, seed, table, buffer, offer } => {
            let said = |error: Error| error.to_string();
            let dataset = Dataset::from_name(&dataset).ok_or_else(|| format!("there is no {dataset}"))?;
            let made = Literals::of(dataset.generator(rows, seed)).map_err(said)?;
            let writer = MeasuredWriter::connect(&order.conninfo, &table, dataset, (&buffer, &offer), made)
                .map_err(said)?;
            await_go(out)?;
            let Observed { rows, seconds, latency, counts, course } = writer.serve(&offer).map_err(said)?;
            let batch_rows = writer.close().map_err(said)?;
            Ok((
                rows,
                WorkerReport { seconds, latency, counts, course, batch_rows, ..WorkerReport::default() },
            ))
        }
        WorkKind::Statements(sql) => statements(&order.conninfo, &sql, out),
        WorkKind::Binary { table, files } => {
            let rows = floor::stream(&order.conninfo, &table, &files).map_err(|error| error.to_string())?;
            Ok((rows, WorkerReport::default()))
        }
    }
}

/// A number of rows that are held in memory.
fn in_memory(rows: u64) -> Result<usize, String> {
    usize::try_from(rows).map_err(|_| format!("{rows} rows do not fit into memory"))
}

/// Rows are those of the last statement that says a number.
fn statements(conninfo: &str, sql: &str, out: &mut impl Write) -> Result<(u64, WorkerReport), String> {
    let said = |error: tokio_postgres::Error| match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => error.to_string(),
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let connection = open(conninfo).await.map_err(|error| error.to_string())?;
        await_go(out)?;
        let clock = std::time::Instant::now();
        let answers = connection.client().simple_query(sql).await.map_err(said)?;
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
            _ => None,
        });
        let told = WorkerReport { seconds: clock.elapsed().as_secs_f64(), ..WorkerReport::default() };
        Ok((rows.max().unwrap_or(0), told))
    })
}

fn await_go(out: &mut impl Write) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    out.write_all(b"READY\n").and_then(|()| out.flush()).map_err(failed)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    if line.trim() == "GO" { Ok(()) } else { Err("GO was not said".to_owned()) }
}
