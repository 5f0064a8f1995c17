//! The program that does what a cell says, under the contract of `bench/contenders`: READY, GO, DONE.

use std::io::{self, BufRead, Write};

use howdah::connect::{ConnectOptions, Environment};
use howdah::name::TableName;
use howdah::options::{LoadOptions, Mode, WritePath};
use howdah::{Control, load};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio_postgres::SimpleQueryMessage;

use crate::continuous::{Buffer, Lane, Literals, Moment, Observed, Offer};
use crate::database::open;
use crate::dataset::Dataset;
use crate::latency::Counts;
use crate::writers::{self, Latency, Pace, Rows, Shape, Writers};

/// The variable in which a worker finds its [`Order`], as JSON: nobody else can read a process's environment.
pub const VARIABLE: &str = "HOWDAH_BENCH_WORK";

/// What a worker is to do, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The server.
    pub conninfo: String,
    /// What to do.
    pub work: Work,
}

/// What a worker can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Work {
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
        /// How many of them.
        rows: u64,
        /// From which seed.
        seed: u64,
        /// The table.
        table: String,
        /// What a batch is sent as.
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
        /// How many of them.
        rows: u64,
        /// From which seed.
        seed: u64,
        /// The table.
        table: String,
        /// The writer's options.
        buffer: Buffer,
        /// When rows are offered.
        offer: Offer,
    },
    /// Statements that the server carries out by itself, in one transaction.
    Statements(String),
}

/// What a worker says besides DONE.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Seconds from the first byte read to the commit; connecting, catalog and plan are left out, as they are for
    /// contenders, which do them before GO.
    pub seconds: f64,
    /// Seconds of phases within the load and before it.
    pub phases: Vec<(String, f64)>,
    /// Of batches, where each is a transaction of its own, or of rows, where each is acknowledged.
    pub latency: Option<Latency>,
    /// The same, whole.
    pub counts: Counts,
    /// The same over time.
    pub course: Vec<Moment>,
    /// The mean number of rows that were written at once, where the writing program chooses it.
    pub batch_rows: Option<f64>,
}

/// The line that begins what a worker tells.
const TOLD: &str = "TOLD ";

impl Told {
    /// Finds it among the lines that a worker wrote.
    #[must_use]
    pub fn find(said: &str) -> Option<Told> {
        serde_json::from_str(said.lines().find_map(|line| line.strip_prefix(TOLD))?).ok()
    }
}

/// Carries out the order; returns the exit code.
#[must_use]
pub fn main(order: &str) -> u8 {
    let mut out = io::stdout().lock();
    let done = serde_json::from_str(order)
        .map_err(|error| format!("no order: {error}"))
        .and_then(|order| carry_out(order, &mut out));
    let (line, code) = match done {
        Ok((rows, told)) => {
            let told = serde_json::to_string(&told).unwrap_or_default();
            (format!("{TOLD}{told}\nDONE {rows}\n"), 0)
        }
        Err(reason) => (format!("FAILED {}\n", reason.replace('\n', " ")), 1),
    };
    // Whoever has gone does not need to hear it.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    code
}

fn carry_out(order: Order, out: &mut impl Write) -> Result<(u64, Told), String> {
    let said = |error: howdah::Error| format!("{error}");
    match order.work {
        Work::Load { input, table, write_path, jobs, rows_per_statement, freeze, skip_columns, dry_run } => {
            let options = LoadOptions {
                inputs: vec![input],
                table: Some(TableName::parse(&table).map_err(said)?),
                mode: if freeze { Mode::Truncate } else { Mode::Append },
                jobs: Some(jobs as usize),
                write_path: WritePath::from_name(&write_path)
                    .ok_or_else(|| format!("there is no write path {write_path}"))?,
                rows_per_statement: rows_per_statement
                    .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)),
                freeze,
                skip_columns,
                dry_run,
                ..LoadOptions::default()
            };
            let connect = ConnectOptions { conninfo: Some(order.conninfo), ..ConnectOptions::default() };
            let target = connect.resolve(&Environment::from_process()).map_err(|error| said(error.into()))?;
            await_go(out)?;
            let outcome = load(&options, &target, &Control::new());
            if let Some(error) = outcome.error {
                return Err(match error.location() {
                    Some(at) => format!("{error} ({at})"),
                    None => error.to_string(),
                });
            }
            let phases = outcome.report.phases;
            let rows = if dry_run { outcome.report.rows_read } else { outcome.report.rows };
            let told = Told {
                seconds: phases.load_s + phases.commit_s,
                phases: vec![
                    ("connect and plan".to_owned(), phases.plan_s),
                    ("read".to_owned(), phases.read_s),
                    ("encode".to_owned(), phases.encode_s),
                    ("wait for the server".to_owned(), phases.wait_s),
                    ("commit".to_owned(), phases.commit_s),
                ],
                ..Told::default()
            };
            Ok((rows, told))
        }
        Work::Write { dataset, rows, seed, table, shape, rows_per_statement, connections } => {
            let said = |error: crate::error::Error| error.to_string();
            let dataset =
                Dataset::from_name(&dataset).ok_or_else(|| format!("there is no data set {dataset}"))?;
            let rows = Rows::new(dataset.recipe(rows, seed), shape).map_err(said)?;
            let rows_per_statement = usize::try_from(rows_per_statement).unwrap_or(usize::MAX);
            let connections = connections as usize;
            let work = writers::Work { dataset, table, shape, rows_per_statement, connections };
            let mut writers = Writers::connect(&order.conninfo, work).map_err(said)?;
            await_go(out)?;
            let outcome = writers.run(&rows, Pace::Closed, None).map_err(said)?;
            let latency = Some(outcome.latency);
            Ok((outcome.rows, Told { seconds: outcome.seconds, latency, ..Told::default() }))
        }
        Work::Continuous { dataset, rows, seed, table, buffer, offer } => {
            let said = |error: crate::error::Error| error.to_string();
            let dataset = Dataset::from_name(&dataset).ok_or_else(|| format!("there is no {dataset}"))?;
            let made = Literals::of(dataset.recipe(rows, seed)).map_err(said)?;
            let lane =
                Lane::connect(&order.conninfo, &table, dataset, (&buffer, &offer), made).map_err(said)?;
            await_go(out)?;
            let Observed { rows, seconds, latency, counts, course } = lane.serve(&offer).map_err(said)?;
            let batch_rows = lane.close().map_err(said)?;
            Ok((rows, Told { seconds, latency, counts, course, batch_rows, ..Told::default() }))
        }
        Work::Statements(sql) => statements(&order.conninfo, &sql, out),
    }
}

/// Rows are those of the last statement that says a number.
fn statements(conninfo: &str, sql: &str, out: &mut impl Write) -> Result<(u64, Told), String> {
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
        let told = Told { seconds: clock.elapsed().as_secs_f64(), ..Told::default() };
        Ok((rows.max().unwrap_or(0), told))
    })
}

fn await_go(out: &mut impl Write) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    out.write_all(b"READY\n").and_then(|()| out.flush()).map_err(failed)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    if line.trim() == "GO" { Ok(()) } else { Err("nobody said GO".to_owned()) }
}
