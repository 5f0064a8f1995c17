//! What became of every row, and how long it took: counted on the thread on which acknowledgements arrive.

use parking_lot::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::pace::RowSchedule;
use crate::error::Error;
use crate::latency::{Counts, Latency, Recorder};

/// Over how long percentiles over time are taken.
const SLICE: Duration = Duration::from_millis(250);

/// Rows written, seconds and latencies of a whole run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Rows that were acknowledged.
    pub rows: u64,
    /// Seconds from the first row offered to the last acknowledgement.
    pub seconds: f64,
    /// Milliseconds of a row, from when it was offered (or due) to its acknowledgement; None where it was not asked for.
    pub latency: Option<Latency>,
    /// The whole distribution of latencies.
    pub counts: Counts,
    /// Latencies over time, where rates were set.
    pub course: Vec<Moment>,
}

/// The rows that were due within a quarter of a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The end of the moment, in seconds from the start.
    pub at_s: f64,
    /// Rows a second that were due.
    pub offered_rows_per_s: f64,
    /// Rows that were.
    pub rows: u64,
    /// From due to acknowledged.
    pub latency: Latency,
}

/// Where acknowledgements are entered.
#[derive(Debug)]
pub(super) struct Ledger {
    start: Instant,
    paced: bool,
    entries: Mutex<Entries>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Entries {
    times: Recorder,
    slices: Vec<Recorder>,
    failed: Option<String>,
    last: Option<Instant>,
    /// The number of rows that is waited for.
    wanted: Option<u64>,
}

impl Ledger {
    /// Begins now.
    pub(super) fn new(paced: bool) -> Ledger {
        Ledger { start: Instant::now(), paced, entries: Mutex::default(), grown: Condvar::new() }
    }

    pub(super) fn start(&self) -> Instant {
        self.start
    }

    /// Enters that the row that began then is settled now.
    pub(super) fn enter(&self, begin: Instant, settled: Result<(), String>) {
        let now = Instant::now();
        let mut entries = self.entries.lock();
        let took = now.saturating_duration_since(begin);
        entries.times.record(took);
        if self.paced {
            let since = begin.saturating_duration_since(self.start).as_nanos() / SLICE.as_nanos();
            let slice = usize::try_from(since).unwrap_or(usize::MAX);
            if entries.slices.len() <= slice {
                entries.slices.resize_with(slice + 1, Recorder::default);
            }
            entries.slices[slice].record(took);
        }
        entries.last = entries.last.max(Some(now));
        if let Err(reason) = settled {
            entries.failed.get_or_insert(reason);
        }
        // A call of the system for each row would take a third of a microsecond of the writer's thread.
        let is_awaited =
            entries.wanted.is_some_and(|wanted| entries.times.len() >= wanted || entries.failed.is_some());
        drop(entries);
        if is_awaited {
            self.grown.notify_all();
        }
    }

    /// Waits until `rows` rows are settled.
    ///
    /// # Errors
    /// One of them was refused, or none was settled for too long.
    pub(super) fn wait_for(&self, rows: u64, patience: Duration) -> Result<(), Error> {
        let mut entries = self.entries.lock();
        entries.wanted = Some(rows);
        loop {
            let settled = entries.times.len();
            if let Some(reason) = &entries.failed {
                return Err(Error::Wrong(format!("a row was refused: {reason}")));
            }
            if settled >= rows {
                return Ok(());
            }
            let waited = self.grown.wait_for(&mut entries, patience);
            if waited.timed_out() && entries.times.len() == settled {
                let left = rows - settled;
                let text = format!("{left} of {rows} rows were never acknowledged");
                return Err(Error::Wrong(text));
            }
        }
    }

    /// Everything that was entered.
    pub(super) fn close(&self, pace: Option<&RowSchedule>) -> Observed {
        let entries = self.entries.lock();
        let width = SLICE.as_secs_f64();
        let moment = |(index, slice): (u32, &Recorder)| Moment {
            at_s: width * (f64::from(index) + 1.0),
            offered_rows_per_s: pace.map_or(0.0, |pace| pace.rate_at(SLICE * index)),
            rows: slice.len(),
            latency: slice.latency(),
        };
        let end = entries.last.unwrap_or(self.start);
        Observed {
            rows: entries.times.len(),
            seconds: (end - self.start).as_secs_f64(),
            latency: Some(entries.times.latency()),
            counts: entries.times.counts(),
            course: (0..).zip(&entries.slices).map(moment).filter(|moment| moment.rows > 0).collect(),
        }
    }
}
