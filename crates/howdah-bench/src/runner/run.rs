//! One run of one cell: a fresh server, the table, the clock, what the server showed, and the truth of what arrived.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah::Control;
use howdah_server::Template;
use rustix::process::{Pid, Signal, kill_process_group};

use super::applied;
use super::prepare;
use super::site::{Site, TABLE};
use super::watch::Watch;
use crate::cell::{Cell, Keys, Method, Program};
use crate::contender::{self, Contender, Service, Task};
use crate::dataset::Checksum;
use crate::delay_proxy::{DelayProxy, Target};
use crate::error::Error;
use crate::latency::Recorder;
use crate::process::{End, Process, Run, without_variables};
use crate::record::{Conditions, Evidence, Outcome, Record};
use crate::worker::{Order, Told, VARIABLE};

/// How long a program may take to be ready: a JVM, or rows that are made in memory.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often somebody may have asked to stop.
const POLL: Duration = Duration::from_millis(20);
/// Rows a batch of contenders that have batches.
const BATCH: u64 = 1_000;

/// What a run needs besides its cell.
pub(super) struct Context<'a> {
    /// The words that run this program as a worker.
    pub(super) worker: &'a [OsString],
    /// Other people's programs.
    pub(super) contenders: Result<&'a [Contender], &'a str>,
    /// The server to use, if it is not to be our own.
    pub(super) given: Option<&'a str>,
    /// After so long the program is killed.
    pub(super) limit: Duration,
    /// Asked to stop, it is killed too.
    pub(super) control: &'a Control,
}

/// The rows of a run.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// How many, from the data set's first.
    pub(super) count: u64,
    /// They stand in this file, which may have more where somebody is told how many are wanted, and be none where nobody
    /// reads it.
    pub(super) csv: &'a Path,
    /// And have this checksum.
    pub(super) checksum: Checksum,
}

/// Why there is no figure: the method failed, or cannot run here.
enum Hitch {
    Failed(String),
    Skipped(String),
}

impl From<Error> for Hitch {
    fn from(error: Error) -> Self {
        match error {
            // Where our own program lies says nothing.
            Error::Program { status, stderr, .. } => {
                Hitch::Failed([status, stderr].join(": ").trim_end_matches([':', ' ']).to_owned())
            }
            other => Hitch::Failed(other.to_string()),
        }
    }
}

/// Measures one phase after the other.
struct Laps {
    clock: Instant,
}

impl Laps {
    fn end(&mut self, name: &str, record: &mut Record) -> f64 {
        let seconds = self.clock.elapsed().as_secs_f64();
        record.phases.push((name.to_owned(), seconds));
        self.clock = Instant::now();
        seconds
    }
}

/// Runs the cell once.
///
/// # Errors
/// There is no server; a method that fails is a record.
pub(super) fn once(
    context: &Context,
    template: &mut Option<Template>,
    cell: &Cell,
    rows: Rows,
) -> Result<Record, Error> {
    let mut record = blank(cell);
    let mut laps = Laps { clock: Instant::now() };
    let measured = match Site::obstacle(context.given, cell) {
        Some(obstacle) => Err(Hitch::Skipped(obstacle)),
        None => {
            match Site::open(context.given, template, cell) {
                Ok(site) => {
                    record.conditions.fresh = site.fresh.to_owned();
                    laps.end("server", &mut record);
                    measure(context, cell, rows, &site, &mut laps, &mut record)
                }
                // A machine may be too small for a setting.
                Err(error) if !cell.settings.is_empty() => Err(error.into()),
                Err(error) => return Err(error),
            }
        }
    };
    if context.control.is_cancelled() {
        return Err(Error::Stopped);
    }
    match measured {
        Ok(()) => {}
        Err(Hitch::Failed(reason)) => (record.outcome, record.reason) = (Outcome::Failed, Some(reason)),
        Err(Hitch::Skipped(reason)) => (record.outcome, record.reason) = (Outcome::Skipped, Some(reason)),
    }
    Ok(record)
}

fn measure(
    context: &Context,
    cell: &Cell,
    rows: Rows,
    site: &Site,
    laps: &mut Laps,
    record: &mut Record,
) -> Result<(), Hitch> {
    prepare::table(site, cell, rows.count)?;
    laps.end("schema", record);
    let proxy = match cell.latency_ms {
        None => None,
        Some(ms) => Some(DelayProxy::start(Target::of(&site.conninfo)?, Duration::from_secs_f64(ms / 1e3))?),
    };
    let conninfo = match &proxy {
        Some(proxy) => proxy.conninfo(&site.conninfo)?,
        None => site.conninfo.clone(),
    };
    if let (Some(ms), Some(_)) = (cell.latency_ms, &proxy) {
        applied::latency(site, &conninfo, ms)?;
    }
    let others = site.backends()?;
    let process = start(context, cell, rows, site, conninfo, record)?;
    site.database.checkpoint()?;
    laps.end("start", record);

    if let Some(missing) = applied::missing(site, cell)? {
        return Err(Hitch::Failed(missing));
    }
    let open = site.backends()?.iter().filter(|pid| !others.contains(pid)).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    if matches!(cell.method, Method::Writers { .. }) && open != cell.connections() {
        let wanted = cell.connections();
        return Err(Hitch::Failed(format!("{wanted} connections were to be open, and {open} are")));
    }
    let watch = Watch::start(site, &others)?;
    let run = go(process, context);
    let told = Told::find(&run.said).unwrap_or_else(|| Told { seconds: run.wall_s, ..Told::default() });
    // Contenders only count.
    let counted = || (!told.counts.is_empty()).then(|| Recorder::of(&told.counts).latency());
    let latency = told.latency.or_else(counted);
    record.phases.extend(told.phases);
    record.phases.push(("ingest".to_owned(), told.seconds));
    record.seconds = told.seconds;
    laps.clock = Instant::now();
    // What is built afterwards is part of the method: its log and CPU count too.
    let is_done = matches!(run.end, End::Done { .. });
    if is_done && cell.table.keys == Keys::After {
        cell.dataset.keys_sql(TABLE).iter().try_for_each(|sql| site.database.run(sql))?;
        record.seconds += laps.end("index", record);
    }
    let seen = watch.finish(&site.database)?;
    record.evidence = Evidence {
        client_cpu_s: run.cpu_s,
        peak_rss_bytes: run.peak_rss_bytes,
        latency,
        counts: told.counts,
        course: told.course,
        batch_rows: told.batch_rows,
        // Short runs are over before the first sample.
        connections_seen: seen.connections_seen.max(Some(open)),
        ..seen
    };
    record.rows = match run.end {
        End::Done { rows } => rows,
        End::Failed(reason) => return Err(Hitch::Failed(reason)),
        End::TimedOut => {
            let limit = context.limit.as_secs_f64();
            return Err(Hitch::Failed(format!("took longer than {limit:.0} s")));
        }
    };
    laps.clock = Instant::now();
    if cell.freezes() && !applied::is_frozen(site)? {
        return Err(Hitch::Failed("the rows are not frozen".to_owned()));
    }
    verify(site, cell, rows, record)?;
    laps.end("verify", record);
    Ok(())
}

/// Says GO; kills the program when somebody asks to stop.
fn go(process: Process, context: &Context) -> Run {
    let (group, over) = (Pid::from_raw(process.id().cast_signed()), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if context.control.is_cancelled() {
                    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                    return;
                }
                thread::sleep(POLL);
            }
        });
        let run = process.go(context.limit);
        over.store(true, Ordering::Relaxed);
        run
    })
}

/// Starts who writes, up to READY.
fn start(
    context: &Context,
    cell: &Cell,
    rows: Rows,
    site: &Site,
    conninfo: String,
    record: &mut Record,
) -> Result<Process, Hitch> {
    let (name, connections, parquet, service) = match &cell.method {
        Method::Contender { name, connections, parquet } => (*name, *connections, *parquet, None),
        Method::Service { program: Program::Contender(name), buffer, offer } => {
            (*name, buffer.connections(), false, Some(Service { buffer, offer, rows: rows.count }))
        }
        _ => return start_worker(context, cell, rows, site, conninfo),
    };
    let all = context.contenders.map_err(|reason| Hitch::Skipped(reason.to_owned()))?;
    let contender = all.iter().find(|contender| contender.name == name);
    let Some(contender) = contender else {
        return Err(Hitch::Skipped(format!("make contenders has not made {name}")));
    };
    let url = contender::url(&conninfo)?;
    let dataset = cell.dataset;
    let input = if parquet { prepare::input(cell, rows, Some("parquet"))? } else { rows.csv.to_owned() };
    let batch = cell.rows_per_statement().unwrap_or(BATCH);
    let task = Task { url: &url, table: TABLE, dataset, input: &input, batch, connections, service };
    if let Some(obstacle) = contender.obstacle(task.input) {
        return Err(Hitch::Skipped(obstacle));
    }
    record.conditions.version = Some(contender.version.clone());
    record.conditions.connections = contender.uses(connections);
    record.conditions.command += &contender.terms();
    Ok(contender.start(&task, PATIENCE)?)
}

/// Starts this program as a worker.
fn start_worker(
    context: &Context,
    cell: &Cell,
    rows: Rows,
    site: &Site,
    conninfo: String,
) -> Result<Process, Hitch> {
    let work = prepare::work(site, cell, rows)?;
    let order = serde_json::to_string(&Order { conninfo, work });
    let mut command = Command::new(&context.worker[0]);
    command.args(&context.worker[1..]);
    if context.given.is_none() {
        without_variables(&mut command);
    }
    command.env(VARIABLE, order.map_err(|error| Hitch::Failed(error.to_string()))?);
    Ok(Process::start(command, PATIENCE)?)
}

/// Compares what is in the table with what should be.
fn verify(site: &Site, cell: &Cell, rows: Rows, record: &mut Record) -> Result<(), Error> {
    let expected = rows.checksum.to_string();
    let arrived = if cell.is_control() { expected.clone() } else { checksum(site, cell)? };
    if arrived != expected || record.rows != rows.count {
        record.outcome = Outcome::Wrong;
        record.reason = Some(format!(
            "counted {} of {} rows; the table's checksum is {arrived} and should be {expected}",
            record.rows, rows.count
        ));
    } else if rows.count < cell.rows {
        record.outcome = Outcome::Prefix;
        record.reason = Some(format!("only the first {} rows", rows.count));
    } else {
        record.outcome = Outcome::Verified;
    }
    Ok(())
}

/// The checksum of the table, whose columns are cast first where they are text.
fn checksum(site: &Site, cell: &Cell) -> Result<String, Error> {
    let table = if cell.table.all_text {
        let typed = cell.columns().iter().map(|(name, r#type)| {
            let r#type = r#type.split(" NOT NULL").next().and_then(|left| left.split(" DEFAULT").next());
            format!("{name}::{} AS {name}", r#type.unwrap_or_default())
        });
        format!("(SELECT {} FROM {TABLE}) typed", typed.collect::<Vec<_>>().join(", "))
    } else {
        TABLE.to_owned()
    };
    let sql = cell.dataset.narrow_checksum_sql(&table, cell.columns().len());
    Ok(site.database.row(&sql)?.concat())
}

/// The record of a run that has not begun.
fn blank(cell: &Cell) -> Record {
    Record {
        scenario: cell.scenario.to_owned(),
        section: cell.section.to_owned(),
        series: cell.series.clone(),
        x: cell.x,
        repetition: 0,
        outcome: Outcome::Skipped,
        reason: None,
        conditions: Conditions {
            dataset: cell.dataset.name().to_owned(),
            rows_asked: cell.rows,
            connections: cell.connections(),
            rows_per_statement: cell.rows_per_statement(),
            table: cell.table_in_words(),
            settings: cell.settings_map(),
            durability: cell.durability(),
            latency_ms: cell.latency_ms.unwrap_or(0.0),
            latency_target_ms: cell.latency_target_ms(),
            fresh: String::new(),
            command: cell.command(),
            version: None,
        },
        rows: 0,
        seconds: 0.0,
        phases: Vec::new(),
        evidence: Evidence::default(),
    }
}
