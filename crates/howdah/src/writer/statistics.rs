//! What a [`Writer`](super::Writer) has done so far: counts, sizes of batches, times until rows were acknowledged.

mod prometheus;
#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::adaptive::Decision;

/// What a writer has done since it was made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Rows known to be committed.
    pub rows_written: u64,
    /// Rows refused, each by itself: its value is wrong, or the table would not have it.
    pub rows_refused: u64,
    /// Rows given up for other reasons: the server was away for too long, or the writer was closed or dropped before.
    pub rows_lost: u64,
    /// Bytes of the rows that were written, as they travelled.
    pub bytes_written: u64,
    /// Transactions that were committed, by what made their rows due.
    pub flushes: Flushes,
    /// Rows of a transaction that was committed.
    pub batch_rows: Distribution,
    /// Microseconds from writing a row to knowing what became of it, of all rows that were sent. [`Self::latency`] has
    /// them as durations.
    pub latency_us: Distribution,
    /// Rows that are not settled yet, those under way included.
    pub queued_rows: usize,
    /// Their bytes.
    pub queued_bytes: usize,
    /// The most of them at one time, looked at whenever a transaction began or ended.
    pub peak_queued_rows: usize,
    /// The most of their bytes.
    pub peak_queued_bytes: usize,
    /// Times that a batch was tried again: it was rolled back, its answer did not come, or no server was there.
    pub retries: u64,
    /// Connections that were opened in the place of lost ones.
    pub reconnections: u64,
    /// Commits whose answer was lost, and of which it was found out whether they happened.
    pub ambiguous_commits: u64,
    /// What holds for batches, connections and queue now: chosen by measuring if the writer is adaptive, else as its
    /// options say.
    pub decision: Decision,
}

/// Transactions by what made their rows due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// No transaction was under way: nothing to wait for.
    pub idle: u64,
    /// As many rows were there as a batch takes.
    pub rows: u64,
    /// As many bytes.
    pub bytes: u64,
    /// The oldest row had waited for as long as it may.
    pub age: u64,
    /// `flush` was called.
    pub flush: u64,
    /// `close` was called.
    pub close: u64,
}

impl Flushes {
    /// The flushes of every cause together.
    pub fn total(&self) -> u64 {
        self.by_reason().into_iter().map(|(_, flushes)| flushes).sum()
    }

    fn by_reason(&self) -> [(&'static str, u64); 6] {
        let Flushes { idle, rows, bytes, age, flush, close } = *self;
        [("idle", idle), ("rows", rows), ("bytes", bytes), ("age", age), ("flush", flush), ("close", close)]
    }

    fn of(&mut self, reason: Reason) -> &mut u64 {
        match reason {
            Reason::Idle => &mut self.idle,
            Reason::Rows => &mut self.rows,
            Reason::Bytes => &mut self.bytes,
            Reason::Age => &mut self.age,
            Reason::Flush => &mut self.flush,
            Reason::Close => &mut self.close,
        }
    }
}

/// What made the rows of a transaction due; [`Flushes`] explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Idle,
    Rows,
    Bytes,
    Age,
    Flush,
    Close,
}

/// How often which value occurred. Values are kept to a hundredth of themselves, in a few kilobytes however many there are.
#[derive(Clone, Debug)]
pub struct Distribution {
    counts: Histogram<u64>,
    sum: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        // It grows with the values; two digits are among those that it can keep.
        Distribution { counts: Histogram::new(2).expect("a histogram of two digits"), sum: 0 }
    }
}

impl Distribution {
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The exact sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean of the values; 0 where there are none.
    pub fn mean(&self) -> f64 {
        if self.counts.is_empty() { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// The value that `share` of all do not exceed: 0.99 for the 99th percentile. 0 where there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        self.counts.value_at_quantile(share.clamp(0.0, 1.0))
    }

    /// The largest; 0 where there are none.
    pub fn max(&self) -> u64 {
        self.counts.max()
    }

    /// How many are at most `value`, which is taken to a hundredth too.
    fn up_to(&self, value: u64) -> u64 {
        self.counts.count_between(0, value)
    }

    fn record(&mut self, value: u64, times: u64) {
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        // Two digits of what can be counted in 63 bits always find a place; beyond, they do not happen.
        self.counts.record_n(value.min(u64::MAX >> 2), times).expect("a histogram that grows");
    }
}

/// Times from writing a row to knowing what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The mean.
    pub mean: Duration,
    /// Half of all rows took at most this long.
    pub p50: Duration,
    /// Nine in ten.
    pub p90: Duration,
    /// Nineteen in twenty.
    pub p95: Duration,
    /// Ninety-nine in a hundred.
    pub p99: Duration,
    /// 999 in a thousand.
    pub p999: Duration,
    /// The longest.
    pub max: Duration,
}

impl Statistics {
    /// The times from write to acknowledgement.
    pub fn latency(&self) -> Latency {
        let at = |share| Duration::from_micros(self.latency_us.quantile(share));
        Latency {
            mean: Duration::from_secs_f64(self.latency_us.mean() / 1e6),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: Duration::from_micros(self.latency_us.max()),
        }
    }

    /// Writes the statistics as text that Prometheus reads. `labels` are added to every sample, for instance
    /// `[("table", "public.events")]`; characters that names of labels cannot have become `_`.
    pub fn prometheus(&self, labels: &[(&str, &str)]) -> String {
        prometheus::text(self, labels)
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics { rows_written, rows_refused, rows_lost, bytes_written, .. } = self;
        writeln!(
            f,
            "{rows_written} rows written ({bytes_written} bytes), {rows_refused} refused, {rows_lost} lost"
        )?;
        write!(f, "{} flushes", self.flushes.total())?;
        let mut before = " (";
        for (reason, flushes) in self.flushes.by_reason().into_iter().filter(|(_, flushes)| *flushes > 0) {
            write!(f, "{before}{reason} {flushes}")?;
            before = ", ";
        }
        let end = if before == ", " { ")" } else { "" };
        let batch = &self.batch_rows;
        writeln!(f, "{end} of {:.1} rows on average, {} at most", batch.mean(), batch.max())?;
        let Latency { mean, p50, p90, p95, p99, p999, max } = self.latency();
        write!(f, "write to acknowledgement:")?;
        for (name, time) in [
            ("mean", mean),
            ("p50", p50),
            ("p90", p90),
            ("p95", p95),
            ("p99", p99),
            ("p99.9", p999),
            ("max", max),
        ] {
            write!(f, " {name} {:.2} ms", time.as_secs_f64() * 1e3)?;
        }
        writeln!(f)?;
        let Statistics { queued_rows, queued_bytes, peak_queued_rows, peak_queued_bytes, .. } = self;
        writeln!(
            f,
            "{queued_rows} rows ({queued_bytes} bytes) unsettled, at most {peak_queued_rows} ({peak_queued_bytes})"
        )?;
        let Statistics { retries, reconnections, ambiguous_commits, .. } = self;
        writeln!(
            f,
            "{retries} retries, {reconnections} reconnections, {ambiguous_commits} lost answers found out"
        )?;
        let Decision { batch_rows, connections, queue_rows } = self.decision;
        write!(
            f,
            "now at most {batch_rows} rows a flush, {connections} connections, {queue_rows} rows unsettled"
        )
    }
}

/// Rows of a transaction that were written one after the other: `oldest` is how long ago the first was written, `youngest`
/// the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ages {
    pub(super) rows: usize,
    pub(super) oldest: Duration,
    pub(super) youngest: Duration,
}

/// A transaction that was committed.
#[derive(Debug)]
pub(super) struct Flushed<'a> {
    pub(super) reason: Reason,
    /// Rows that were committed.
    pub(super) rows: usize,
    /// Rows that were refused on the way.
    pub(super) refused: usize,
    /// Bytes of the rows that were committed.
    pub(super) bytes: usize,
    pub(super) ages: &'a [Ages],
}

/// Ages of so many rows of a run are kept, spread evenly between its first and its last: their clock is read once a row
/// anyway, but to keep every time would cost more than it tells. A run has 64 rows, so that the error is below an eighth of
/// the time in which 64 rows were written.
const KEPT: usize = 8;

/// Gathers statistics: locked once a flush, never for a row that goes well.
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Statistics>);

impl Recorder {
    /// A transaction was committed.
    pub(super) fn flushed(&self, flush: &Flushed<'_>) {
        let mut statistics = self.0.lock();
        *statistics.flushes.of(flush.reason) += 1;
        statistics.rows_written += count(flush.rows);
        statistics.rows_refused += count(flush.refused);
        statistics.bytes_written += count(flush.bytes);
        statistics.batch_rows.record(count(flush.rows), 1);
        for ages in flush.ages {
            statistics.latency_us.record_ages(ages);
        }
    }

    /// Rows were refused before they were queued, or all of a transaction's.
    pub(super) fn refused(&self, rows: usize) {
        self.0.lock().rows_refused += count(rows);
    }

    /// Rows were given up.
    pub(super) fn lost(&self, rows: usize) {
        self.0.lock().rows_lost += count(rows);
    }

    /// A transaction is tried again.
    pub(super) fn retried(&self) {
        self.0.lock().retries += 1;
    }

    /// A connection was opened in the place of a lost one.
    pub(super) fn reconnected(&self) {
        self.0.lock().reconnections += 1;
    }

    /// It was found out whether a commit happened whose answer was lost.
    pub(super) fn found_out(&self) {
        self.0.lock().ambiguous_commits += 1;
    }

    /// What holds for batches from now on.
    pub(super) fn decided(&self, decision: Decision) {
        self.0.lock().decision = decision;
    }

    /// So many rows and bytes are not settled.
    pub(super) fn queued(&self, rows: usize, bytes: usize) {
        let mut statistics = self.0.lock();
        statistics.queued_rows = rows;
        statistics.queued_bytes = bytes;
        statistics.peak_queued_rows = statistics.peak_queued_rows.max(rows);
        statistics.peak_queued_bytes = statistics.peak_queued_bytes.max(bytes);
    }

    /// All of it, with what is not settled now.
    pub(super) fn snapshot(&self, queued_rows: usize, queued_bytes: usize) -> Statistics {
        self.queued(queued_rows, queued_bytes);
        self.0.lock().clone()
    }
}

impl Distribution {
    /// As many values as there are rows, evenly from the youngest to the oldest, in [`KEPT`] places at the most.
    fn record_ages(&mut self, ages: &Ages) {
        let youngest = micros(ages.youngest);
        let range = micros(ages.oldest).saturating_sub(youngest);
        let places = ages.rows.min(KEPT);
        for place in 0..places {
            // The rows are dealt out to the places, and the first and last place are at the ends.
            let rows = (place + 1) * ages.rows / places - place * ages.rows / places;
            let at = if places == 1 { range } else { share(range, count(place), count(places - 1)) };
            self.record(youngest.saturating_add(at), count(rows));
        }
    }
}

/// `part` of `parts` of a number.
fn share(whole: u64, part: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(parts)).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}
