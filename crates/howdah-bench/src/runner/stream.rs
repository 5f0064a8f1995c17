//! One run of `howdah stream`: rows as fast as it takes them, its memory watched, every row counted.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use howdah::Control;

use super::context::NoFigure;
use super::server::{BenchServer, TABLE};
use super::verify::count_of;
use crate::database::Database;
use crate::error::Error;
use crate::record::{Evidence, Outcome, Record};

/// Between two looks at the memory.
const LOOK: Duration = Duration::from_millis(250);
/// How often the table is counted and emptied: disks are finite.
const EMPTY: Duration = Duration::from_secs(10);

/// What a stream is fed.
pub(super) struct Fed<'a> {
    /// These rows, over and over.
    pub(super) csv: &'a Path,
    /// For how long.
    pub(super) length: Duration,
}

/// Feeds the stream and waits for its end.
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
pub(super) fn measure(
    processes: Vec<Command>,
    Fed { csv, length }: &Fed,
    server: &BenchServer,
    control: &Control,
    record: &mut Record,
) -> Result<(), NoFigure> {
    let length = *length;
    let records = fs::read(csv).map_err(Error::io(format!("could not read {}", csv.display())))?;
    let Some(mut command) = processes.into_iter().next() else {
        return Err(NoFigure::Failed("there is no stream to run".to_owned()));
    };
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let clock = Instant::now();
    let mut stream = Stream(command.spawn().map_err(Error::io("could not run howdah stream"))?);
    let Some(pipe) = stream.0.stdin.take() else {
        return Err(NoFigure::Failed("howdah stream has no standard input".to_owned()));
    };
    let feeder = thread::spawn(move || feed(pipe, &records, length));

    let mut emptied = Instant::now();
    let mut counted = 0;
    let mut memory = Vec::new();
    let status = loop {
        thread::sleep(LOOK);
        if let Some(status) = stream.0.try_wait().map_err(Error::io("could not wait for howdah stream"))? {
            break status;
        }
        if control.is_cancelled() {
            return Err(NoFigure::Failed("stopped".to_owned()));
        }
        if !feeder.is_finished() {
            memory.extend(resident(&stream.0).map(|bytes| (clock.elapsed().as_secs_f64(), bytes)));
        }
        if emptied.elapsed() >= EMPTY {
            emptied = Instant::now();
            counted += empty(&server.database)?;
        }
    };
    record.seconds = clock.elapsed().as_secs_f64();
    record.phases.push(("ingest".to_owned(), record.seconds));
    record.evidence = Evidence {
        peak_rss_bytes: memory.iter().map(|(_, bytes)| *bytes).max(),
        memory,
        ..Evidence::default()
    };
    let fed =
        feeder.join().map_err(|_| NoFigure::Failed("the thread that feeds rows panicked".to_owned()))?;
    let fed =
        fed.map_err(|error| NoFigure::Failed(format!("howdah stream ended early with {status}: {error}")))?;
    counted += empty(&server.database)?;
    record.rows = counted;
    if counted == fed && status.success() {
        record.outcome = Outcome::Verified;
    } else {
        record.outcome = Outcome::Wrong;
        record.reason = Some(format!("{fed} rows were written, {counted} arrived; {status}"));
    }
    Ok(())
}

/// A stream that is killed when it is given up.
struct Stream(Child);

impl Drop for Stream {
    fn drop(&mut self) {
        // After its end there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes the records over and over until `length` has passed, whole copies of them. Returns the number of rows.
fn feed(mut pipe: ChildStdin, records: &[u8], length: Duration) -> io::Result<u64> {
    let start = records.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (header, rows) = records.split_at(start);
    // No value of the data set holds a line end.
    let count = memchr::memchr_iter(b'\n', rows).count() as u64;
    pipe.write_all(header)?;
    let (clock, mut fed) = (Instant::now(), 0);
    while clock.elapsed() < length {
        pipe.write_all(rows)?;
        fed += count;
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

/// Empties the table. Returns the number of rows that it held.
fn empty(database: &Database) -> Result<u64, Error> {
    database.run(&format!("BEGIN; LOCK TABLE {TABLE}"))?;
    let counted = database.row(&format!("SELECT count(*) FROM {TABLE}"))?.concat();
    database.run(&format!("TRUNCATE {TABLE}; COMMIT"))?;
    count_of(&counted)
}
