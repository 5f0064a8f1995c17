//! One run of one cell: a fresh server, the table, the clock, what the server showed, and the truth of what arrived.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::applied;
use super::command;
use super::context::{Context, Laps, NoFigure, RunRows};
use super::prepare;
use super::server::{BenchServer, Servers, TABLE};
use super::verify::verify;
use super::watch::Watch;
use crate::cell::{Cell, Keys, Method, Program};
use crate::contender::{self, Service, Task};
use crate::delay_proxy::{DelayProxy, ProxyTarget};
use crate::error::Error;
use crate::latency::Recorder;
use crate::process::{End, Process, Run, without_variables};
use crate::record::{Evidence, Outcome, Record};
use crate::worker::{Order, VARIABLE, WorkerReport};

/// How long a program may take to be ready: a JVM, or rows that are made in memory.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at whether a stop was asked for.
const POLL: Duration = Duration::from_millis(20);
/// Rows a batch of contenders that have batches.
const BATCH: u64 = 1_000;

/// Runs the cell once.
///
/// # Errors
/// There is no server; a method that fails is a record.
pub(super) fn once(
    context: &Context,
    servers: &mut Servers,
    cell: &Cell,
    rows: RunRows,
) -> Result<Record, Error> {
    let mut record = cell.record();
    let mut laps = Laps { clock: Instant::now() };
    let measured = match servers.obstacle(cell) {
        Some(obstacle) => Err(NoFigure::Skipped(obstacle)),
        None => {
            match servers.open(cell) {
                Ok(server) => {
                    record.conditions.fresh = server.fresh.to_owned();
                    laps.end("server", &mut record);
                    match &cell.method {
                        Method::Command(command) => {
                            let run = command::CommandRun { context, cell, command, rows, server: &server };
                            run.measure(&mut laps, &mut record)
                        }
                        _ => measure(context, cell, rows, &server, &mut laps, &mut record),
                    }
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
        Err(NoFigure::Failed(reason)) => (record.outcome, record.reason) = (Outcome::Failed, Some(reason)),
        Err(NoFigure::Skipped(reason)) => (record.outcome, record.reason) = (Outcome::Skipped, Some(reason)),
    }
    Ok(record)
}

fn measure(
    context: &Context,
    cell: &Cell,
    rows: RunRows,
    server: &BenchServer,
    laps: &mut Laps,
    record: &mut Record,
) -> Result<(), NoFigure> {
    prepare::table(server, cell, rows.count)?;
    laps.end("schema", record);
    let proxy = match cell.latency_ms {
        None => None,
        Some(ms) => {
            Some(DelayProxy::start(ProxyTarget::of(&server.conninfo)?, Duration::from_secs_f64(ms / 1e3))?)
        }
    };
    let conninfo = match &proxy {
        Some(proxy) => proxy.conninfo(&server.conninfo)?,
        None => server.conninfo.clone(),
    };
    if let (Some(ms), Some(_)) = (cell.latency_ms, &proxy) {
        applied::latency(server, &conninfo, ms)?;
    }
    let others = server.backends()?;
    let process = start(context, cell, rows, server, conninfo, record)?;
    server.database.checkpoint()?;
    laps.end("start", record);

    if let Some(missing) = applied::missing(server, cell)? {
        return Err(NoFigure::Failed(missing));
    }
    let open = server.backends()?.iter().filter(|pid| !others.contains(pid)).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    if matches!(cell.method, Method::Writers { .. }) && open != cell.connections() {
        let wanted = cell.connections();
        return Err(NoFigure::Failed(format!("{wanted} connections were to be open, and {open} are")));
    }
    let watch = Watch::start(server, &others)?;
    let run = go(process, context);
    let told = WorkerReport::find(&run.said)?
        .unwrap_or_else(|| WorkerReport { seconds: run.wall_s, ..WorkerReport::default() });
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
        cell.dataset.keys_sql(TABLE).iter().try_for_each(|sql| server.database.run(sql))?;
        record.seconds += laps.end("index", record);
    }
    let seen = watch.finish(&server.database)?;
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
        End::Failed(reason) => return Err(NoFigure::Failed(reason)),
        End::TimedOut => {
            let limit = context.limit.as_secs_f64();
            return Err(NoFigure::Failed(format!("took longer than {limit:.0} s")));
        }
    };
    laps.clock = Instant::now();
    if cell.freezes() && !applied::is_frozen(server)? {
        return Err(NoFigure::Failed("the rows are not frozen".to_owned()));
    }
    verify(server, cell, rows, record)?;
    laps.end("verify", record);
    Ok(())
}

/// Says GO; kills the program when a stop is asked for.
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
    rows: RunRows,
    server: &BenchServer,
    conninfo: String,
    record: &mut Record,
) -> Result<Process, NoFigure> {
    let (name, connections, parquet, service) = match &cell.method {
        Method::Contender { name, connections, parquet } => (*name, *connections, *parquet, None),
        Method::Service { program: Program::Contender(name), buffer, offer } => {
            (*name, buffer.connections(), false, Some(Service { buffer, offer, rows: rows.count }))
        }
        _ => return start_worker(context, cell, rows, server, conninfo),
    };
    let all = context.contenders.map_err(|reason| NoFigure::Skipped(reason.to_owned()))?;
    let contender = all.iter().find(|contender| contender.name == name);
    let Some(contender) = contender else {
        return Err(NoFigure::Skipped(format!("make contenders has not made {name}")));
    };
    let url = contender::url(&conninfo)?;
    let dataset = cell.dataset;
    let input = if parquet { prepare::input(cell, rows, Some("parquet"))? } else { rows.csv.to_owned() };
    let batch = cell.rows_per_statement().unwrap_or(BATCH);
    let task = Task { url: &url, table: TABLE, dataset, input: &input, batch, connections, service };
    if let Some(obstacle) = contender.obstacle(dataset, task.input) {
        return Err(NoFigure::Skipped(obstacle));
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
    rows: RunRows,
    server: &BenchServer,
    conninfo: String,
) -> Result<Process, NoFigure> {
    let work = prepare::work(server, cell, rows)?;
    let order = serde_json::to_string(&Order { conninfo, work });
    let Some((program, arguments)) = context.programs.worker.split_first() else {
        return Err(NoFigure::Failed("there is no program to run as a worker".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if !server.is_given() {
        without_variables(&mut command);
    }
    command.env(VARIABLE, order.map_err(|error| NoFigure::Failed(error.to_string()))?);
    Ok(Process::start(command, PATIENCE)?)
}
