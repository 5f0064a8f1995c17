//! What the server shows of itself beside a run: sampled waits, and counters before and after.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::server::BenchServer;
use crate::cpu_time::ServerCpu;
use crate::database::Database;
use crate::error::Error;
use crate::record::Evidence;

/// Between two looks at `pg_stat_activity`: one takes about 0.3 ms of server CPU, half a per cent at this rate.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait for backends of the writer to end: their last milliseconds belong to the run.
const BACKENDS_END: Duration = Duration::from_millis(500);

/// What backends do that were not there before the writer.
const SAMPLE: &str = "SELECT CASE WHEN state IN ('active', 'fastpath function call')
           THEN coalesce(wait_event_type || ':' || wait_event, 'CPU') ELSE '' END
      FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND datname = current_database()
       AND pid <> pg_backend_pid()";

/// Looks at the server while a method writes.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Samples>,
    before: Counters,
    cpu: Option<(u32, ServerCpu)>,
}

#[derive(Default)]
struct Samples {
    waits: BTreeMap<String, u64>,
    most_backends: u32,
}

/// Sums since the server's start.
#[derive(Default)]
struct Counters {
    lsn: String,
    checkpoints: Option<u64>,
    io: BTreeMap<String, u64>,
}

impl Watch {
    /// Begins to watch; `others` are backends that do not count.
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(super) fn start(server: &BenchServer, others: &[String]) -> Result<Watch, Error> {
        let before = Counters::read(&server.database)?;
        let sample = match others {
            [] => SAMPLE.to_owned(),
            others => format!("{SAMPLE} AND pid NOT IN ({})", others.join(", ")),
        };
        let stop = Arc::new(AtomicBool::new(false));
        // Connected before the clock starts: logging in takes CPU of the server.
        let (database, stopped) = (server.connect()?, stop.clone());
        let thread = thread::spawn(move || samples(&database, &sample, &stopped));
        let cpu = server.pid.and_then(|pid| Some((pid, ServerCpu::of(pid)?)));
        Ok(Watch { stop, thread, before, cpu })
    }

    /// Ends the watch; what was seen.
    pub(super) fn finish(self, database: &Database) -> Result<Evidence, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let samples = self.thread.join();
        let samples =
            samples.map_err(|_| Error::Wrong("the thread that samples waits panicked".to_owned()))?;
        let server_cpu_s = self.cpu.and_then(|(pid, before)| before.spent(pid, BACKENDS_END));
        let after = Counters::read(database)?;
        let wal = format!("SELECT pg_wal_lsn_diff('{}', '{}')::bigint", after.lsn, self.before.lsn);
        let total: u64 = samples.waits.values().sum();
        // Exact: there are few samples.
        let share = |(wait, count): (String, u64)| (wait, count as f64 / total as f64);
        let grown = |(key, now): (String, u64)| {
            let grown = now.saturating_sub(self.before.io.get(&key).copied().unwrap_or(0));
            (grown > 0).then_some((key, grown))
        };
        Ok(Evidence {
            server_cpu_s,
            wal_bytes: database.row(&wal)?.concat().parse().ok(),
            checkpoints: after.checkpoints.zip(self.before.checkpoints).map(|(now, then)| now - then),
            io: after.io.into_iter().filter_map(grown).collect(),
            waits: samples.waits.into_iter().map(share).collect(),
            connections_seen: Some(samples.most_backends),
            ..Evidence::default()
        })
    }
}

fn samples(database: &Database, sample: &str, stop: &AtomicBool) -> Samples {
    let mut samples = Samples::default();
    while !stop.load(Ordering::Relaxed) {
        if let Ok(rows) = database.rows(sample) {
            samples.most_backends = samples.most_backends.max(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            for wait in rows.into_iter().map(|row| row.concat()).filter(|wait| !wait.is_empty()) {
                *samples.waits.entry(wait).or_default() += 1;
            }
        }
        thread::sleep(INTERVAL);
    }
    samples
}

impl Counters {
    fn read(database: &Database) -> Result<Counters, Error> {
        let version = database.row("SHOW server_version_num")?.concat();
        let version: u32 = version.parse().map_err(|_| Error::Wrong(format!("a version is {version:?}")))?;
        let checkpoints = match version {
            170_000.. => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
            _ => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
        };
        let mut io = BTreeMap::new();
        if version >= 160_000 {
            let sums = "SELECT backend_type || '/' || object || '/' || context, sum(reads)::bigint, sum(writes)::bigint,
                               sum(extends)::bigint, sum(fsyncs)::bigint FROM pg_stat_io GROUP BY 1";
            for row in database.rows(sums)? {
                for (name, value) in ["reads", "writes", "extends", "fsyncs"].iter().zip(&row[1..]) {
                    if let Ok(value) = value.parse() {
                        io.insert(format!("{}/{name}", row[0]), value);
                    }
                }
            }
        }
        Ok(Counters {
            lsn: database.row("SELECT pg_current_wal_insert_lsn()")?.concat(),
            checkpoints: database.row(checkpoints)?.concat().parse().ok(),
            io,
        })
    }
}
