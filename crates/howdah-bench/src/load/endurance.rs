//! Whether a stream's memory stays what it is while rows come and come: rows as fast as they are taken, the queue always full.

use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::run::{Bench, mebibytes};
use super::section::{Section, Verdict};
use super::tell;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::table::Table;

/// Rows that are written over and over.
const ROWS: u64 = 100_000;
/// Memory is looked at so often ...
const LOOK: Duration = Duration::from_millis(250);
/// ... and the table counted and emptied, since disks are finite.
const EMPTY: Duration = Duration::from_secs(10);
/// The time is told in so many parts.
const PARTS: usize = 10;
/// More than so many MiB are growth.
const TOLERANCE: f64 = 8.0;

const TABLE: &str = "howdah_bench_endurance";

pub(super) fn measure(bench: &mut Bench) -> Result<Section, Error> {
    let length = bench.scale.endurance;
    let dataset = Dataset::Readings;
    let records = fs::read(bench.scratch.csv(dataset, ROWS)?).map_err(Error::io("could not read rows"))?;
    bench.fresh(TABLE, Some(&dataset.create_table_sql(TABLE)))?;
    let mut command = bench.programs.stream(TABLE);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut stream = command.spawn().map_err(Error::io("could not run howdah stream"))?;
    // It is there: it was asked for above.
    let Some(pipe) = stream.stdin.take() else { return Err(Error::Wrong("no pipe".to_owned())) };
    let feeder = thread::spawn(move || feed(pipe, &records, length));

    let (clock, mut emptied, mut counted) = (Instant::now(), Instant::now(), 0);
    let mut seen: Vec<(Duration, f64)> = Vec::new();
    let status = loop {
        thread::sleep(LOOK);
        if let Some(status) = stream.try_wait().map_err(Error::io("could not wait for howdah stream"))? {
            break status;
        }
        if !feeder.is_finished() {
            seen.extend(resident(&stream).map(|bytes| (clock.elapsed(), mebibytes(bytes))));
        }
        if emptied.elapsed() >= EMPTY {
            emptied = Instant::now();
            counted += empty(bench)?;
        }
    };
    let fed = feeder.join().map_err(|_| Error::Wrong("the rows' thread panicked".to_owned()))?;
    let fed = fed.map_err(Error::io(format!("howdah stream took no more rows, and ended with {status}")))?;
    counted += empty(bench)?;
    if counted != fed || !status.success() {
        return Err(Error::Wrong(format!("{fed} rows were written, {counted} arrived; {status}")));
    }
    bench.fresh(TABLE, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    tell(bench.say, &format!("endurance: {fed} rows in {seconds:.0} s, all of them there\n"))?;
    Ok(section(&seen, length, fed as f64 / seconds))
}

fn section(seen: &[(Duration, f64)], length: Duration, rows_per_s: f64) -> Section {
    let greatest = |from: usize, to: usize| {
        let part = |at: usize| length.mul_f64(at as f64 / PARTS as f64);
        let within = seen.iter().filter(|(at, _)| (part(from)..part(to)).contains(at));
        within.map(|(_, mebibytes)| *mebibytes).fold(0.0, f64::max)
    };
    let mut figures = Table::new(["until s", "greatest MiB"]);
    for part in 0..PARTS {
        let until = length.as_secs_f64() * (part + 1) as f64 / PARTS as f64;
        figures.row([format!("{until:.0}"), format!("{:.1}", greatest(part, part + 1))]);
    }
    // What it takes to begin is no growth.
    let (early, late) = (greatest(1, PARTS / 2), greatest(PARTS / 2, PARTS));
    let seconds = length.as_secs();
    Section {
        title: "Endurance".to_owned(),
        figures,
        verdicts: vec![Verdict {
            promise: format!("memory: flat while howdah stream runs for {seconds} s"),
            measured: format!("{early:.1} MiB, then {late:.1} MiB"),
            target: format!("<= {TOLERANCE:.0} MiB more"),
            holds: late <= early + TOLERANCE,
        }],
        note: format!(
            "Resident memory of howdah stream, which reads CSV from a pipe that is always full, at {rows_per_s:.0} rows/s. \
             The table is counted and emptied every {} s; every row was there.",
            EMPTY.as_secs()
        ),
    }
}

/// Writes the records over and over for so long, whole copies. How many rows that were.
fn feed(mut pipe: ChildStdin, records: &[u8], length: Duration) -> std::io::Result<u64> {
    let start = records.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (header, rows) = records.split_at(start);
    pipe.write_all(header)?;
    let (clock, mut fed) = (Instant::now(), 0);
    while clock.elapsed() < length {
        pipe.write_all(rows)?;
        fed += ROWS;
    }
    Ok(fed)
}

/// Bytes of resident memory, if the process is still there.
fn resident(process: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}

/// Empties the table. How many rows it had.
fn empty(bench: &Bench) -> Result<u64, Error> {
    bench.database.run(&format!("BEGIN; LOCK TABLE {TABLE}"))?;
    let counted = bench.database.row(&format!("SELECT count(*) FROM {TABLE}"))?.concat();
    bench.database.run(&format!("TRUNCATE {TABLE}; COMMIT"))?;
    counted.parse().map_err(|_| Error::Wrong(format!("a count is {counted:?}")))
}
