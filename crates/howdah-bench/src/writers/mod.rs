//! Many connections that write at once, each its next few rows in a transaction of its own: study 5's load, without what
//! made its figures void. Connections are open and statements prepared, and rows encoded, before the clock starts.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::{join_all, try_join_all};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use crate::error::Error;
pub use crate::latency::Latency;
use crate::latency::Recorder;
use crate::precise_timer::PreciseTimer;

mod parameter;
mod rows;
mod session;
mod shape;
mod work;

pub use rows::ShapedRows;
pub use shape::Shape;
pub use work::Work;

use session::Session;

/// The moment at which a statement begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As soon as a connection is free. A slow answer delays the next request, and so hides what others would have
    /// waited: latencies are those of statements alone.
    Closed,
    /// At moments that the rate sets, or as soon after as a connection is free; latencies count from those moments.
    Open {
        /// Rows a second over all connections.
        rows_per_s: f64,
    },
}

/// Rows, statements, seconds and latencies of what was written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WriteOutcome {
    /// Rows that the server acknowledged: the first ones of those given, all of them unless time was up.
    pub rows: u64,
    /// Statements, each a transaction.
    pub statements: u64,
    /// Seconds from the first statement's beginning to the last one's end.
    pub seconds: f64,
    /// Milliseconds of a statement, from its beginning to its commit.
    pub latency: Latency,
}

/// Connections that are open and wait.
pub struct Writers {
    work: Work,
    groups: Vec<SessionGroup>,
}

/// A thread's share of the connections.
struct SessionGroup {
    runtime: Runtime,
    sessions: Vec<Session>,
}

/// What the connections of one run share.
struct WriterRun<'a> {
    rows: &'a ShapedRows,
    work: &'a Work,
    next: AtomicUsize,
    failed: AtomicBool,
    start: Instant,
    limit: Option<Duration>,
    /// The time between the beginnings of two statements, and what wakes at it.
    interval: Option<(f64, PreciseTimer)>,
}

impl Writers {
    /// Opens all connections, each a backend of its own, and prepares what they will run.
    ///
    /// # Errors
    /// The shape cannot hold the data set's rows, or the server did not let all of them in.
    pub fn connect(conninfo: &str, work: Work) -> Result<Writers, Error> {
        work.shape.check(work.dataset, work.rows_per_statement)?;
        if work.connections == 0 || work.rows_per_statement == 0 {
            return Err(Error::Usage(
                "writing takes at least one connection, and a row at a time".to_owned(),
            ));
        }
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        // A thread of this program keeps two cores of backends busy.
        let threads = (cores / 2).clamp(1, work.connections);
        let group = |index: usize| {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(Error::io("could not start a runtime"))?;
            let share = (index..work.connections).step_by(threads);
            // One after the other: a Unix socket refuses those for whom its queue has no room.
            let sessions = share.map(|_| runtime.block_on(Session::connect(conninfo, &work)));
            let sessions = sessions.collect::<Result<_, Error>>()?;
            Ok(SessionGroup { runtime, sessions })
        };
        let groups = (0..threads).map(group).collect::<Result<_, Error>>()?;
        let writers = Writers { work, groups };
        let mut pids = writers.backend_pids();
        pids.sort_unstable();
        pids.dedup();
        if pids.len() != writers.work.connections {
            let asked = writers.work.connections;
            let text = format!("{asked} connections are {} backends: is there a pooler between?", pids.len());
            return Err(Error::Wrong(text));
        }
        Ok(writers)
    }

    /// The process ids of the backends, as `pg_stat_activity` shows them.
    #[must_use]
    pub fn backend_pids(&self) -> Vec<i32> {
        self.groups.iter().flat_map(|group| &group.sessions).map(Session::backend_pid).collect()
    }

    /// Writes `rows` in their order, until all are written or `limit` has passed: then no statement is begun any more,
    /// and those under way end, so that a first part of the rows is in the table and nothing else.
    ///
    /// # Errors
    /// A statement failed, or `rows` were made for another shape.
    pub fn run(
        &mut self,
        rows: &ShapedRows,
        pace: Pace,
        limit: Option<Duration>,
    ) -> Result<WriteOutcome, Error> {
        rows.check(self.work.dataset, self.work.shape)?;
        let interval = match pace {
            Pace::Closed => None,
            Pace::Open { rows_per_s } if rows_per_s > 0.0 && rows_per_s.is_finite() => {
                let timer = PreciseTimer::start()
                    .map_err(Error::io("could not start the thread that keeps the pace"))?;
                // Exact: row counts stay far below 2^53.
                Some((self.work.rows_per_statement as f64 / rows_per_s, timer))
            }
            Pace::Open { rows_per_s } => {
                return Err(Error::Usage(format!("no pace can be kept at {rows_per_s} rows a second")));
            }
        };
        let last = rows.len() % self.work.rows_per_statement;
        for group in &mut self.groups {
            let prepared = group.sessions.iter_mut().map(|session| session.prepare_last(&self.work, last));
            group.runtime.block_on(try_join_all(prepared))?;
        }
        let run = WriterRun {
            rows,
            work: &self.work,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            start: Instant::now(),
            limit,
            interval,
        };
        let ended: Vec<Result<Written, Error>> = thread::scope(|scope| {
            let (first, others) = self.groups.split_at(1);
            let others: Vec<_> = others.iter().map(|group| scope.spawn(|| group.write(&run))).collect();
            let mut ended: Vec<_> = first.iter().map(|group| group.write(&run)).collect();
            for group in others {
                ended.push(group.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            ended
        });
        let seconds = run.start.elapsed().as_secs_f64();
        let mut total = Written::default();
        for written in ended {
            total.add(&written?);
        }
        let begun = run.next.into_inner().saturating_mul(self.work.rows_per_statement).min(rows.len());
        if total.rows != begun as u64 {
            let text = format!("{begun} rows were written, {} acknowledged", total.rows);
            return Err(Error::Wrong(text));
        }
        let statements = total.times.len();
        Ok(WriteOutcome { rows: total.rows, statements, seconds, latency: total.times.latency() })
    }
}

/// What some connections wrote, and how long each statement took.
#[derive(Default)]
struct Written {
    rows: u64,
    times: Recorder,
}

impl Written {
    fn add(&mut self, other: &Written) {
        self.rows += other.rows;
        self.times.add(&other.times);
    }
}

impl SessionGroup {
    fn write(&self, run: &WriterRun<'_>) -> Result<Written, Error> {
        let written = self.runtime.block_on(join_all(self.sessions.iter().map(|session| run.write(session))));
        let mut total = Written::default();
        for written in written {
            total.add(&written?);
        }
        Ok(total)
    }
}

impl WriterRun<'_> {
    /// Takes batch after batch until there are none.
    async fn write(&self, session: &Session) -> Result<Written, Error> {
        let mut written = Written::default();
        let begun = Arc::new(Notify::new());
        while let Some(index) = self.take() {
            let begin = match &self.interval {
                None => Instant::now(),
                Some((seconds, timer)) => {
                    let begin = self.start + Duration::from_secs_f64(seconds * index as f64);
                    if begin > Instant::now() {
                        timer.notify_at(begin, &begun);
                        begun.notified().await;
                    }
                    begin
                }
            };
            let first = index * self.work.rows_per_statement;
            let batch = first..self.rows.len().min(first + self.work.rows_per_statement);
            match session.write(self.work, self.rows, batch).await {
                Ok(rows) => {
                    written.rows += rows;
                    written.times.record(begin.elapsed());
                }
                Err(error) => {
                    self.failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(written)
    }

    /// The next batch, which is then written whatever happens: so those that were taken are the first ones, all of them.
    fn take(&self) -> Option<usize> {
        let late = self.limit.is_some_and(|limit| self.start.elapsed() >= limit);
        if late || self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let batches = self.rows.len().div_ceil(self.work.rows_per_statement);
        let next = |index: usize| (index < batches).then_some(index + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }
}
