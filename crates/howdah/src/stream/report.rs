//! What came of a stream, as data: a load's keys where they apply, and what the writer did.

use howdah_message::{Respell, Spelling};
use serde::Serialize;

use crate::error::Error;
use crate::error::ReportedError;
use crate::report::{DialectSummary, PlannedColumn};
use crate::report::{Durability, Outcome};
use crate::words::or_empty;
use crate::writer::{Distribution, Statistics};

/// The figures of one stream. Serialises to the JSON report.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct StreamReport {
    /// How it ended: [`Outcome::Loaded`] is at the input's end.
    pub outcome: Outcome,
    /// Schema-qualified, quoted where needed.
    pub table: String,
    /// Rows that are committed.
    pub rows: u64,
    /// Records read.
    pub rows_read: u64,
    /// Records refused and kept apart.
    pub rows_rejected: u64,
    /// The file that holds them.
    pub rejects_path: Option<String>,
    /// Bytes of input read.
    pub bytes_read: u64,
    /// Wall-clock seconds, waiting for the input included.
    pub elapsed_s: f64,
    /// `rows / elapsed_s`.
    pub rows_per_s: f64,
    /// What a crash of the server right after a commit costs. `None`: it did not come to the table.
    #[serde(serialize_with = "or_empty")]
    pub durability: Option<Durability>,
    /// User and system CPU seconds of this process.
    pub client_cpu_s: f64,
    /// Peak resident memory of this process.
    pub peak_rss_bytes: u64,
    /// As the server names it.
    pub server_version: String,
    /// Sixteen hexadecimal digits, new for every stream.
    pub load_id: String,
    /// Where in the input the stream began: what an earlier one had settled.
    pub start_offset: u64,
    /// All records before this offset of the input are committed or rejected.
    pub offset: u64,
    /// How records were read, once the first had come.
    pub plan: Option<StreamPlan>,
    /// What the writer did.
    pub writer: Option<WriterFigures>,
    /// Why it failed.
    pub error: Option<ReportedError>,
}

impl StreamReport {
    /// The report of a stream that failed with `error`: the one that the error carries, or that of one that did not begin.
    pub fn of_failure(error: &Error) -> StreamReport {
        error.stream_report().cloned().unwrap_or_else(|| StreamReport {
            error: Some(ReportedError::from(&error.clone().or_nothing_changed())),
            ..StreamReport::default()
        })
    }
}

impl Error {
    /// What a stream did until it failed. `None`: it did not begin, or another call failed.
    pub fn stream_report(&self) -> Option<&StreamReport> {
        self.report_of()
    }
}

/// What a stream decided: how records are read, and which column each field fills.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct StreamPlan {
    /// How records are written.
    pub dialect: DialectSummary,
    /// Whether record 1 was taken as a header, and why.
    pub header: String,
    /// One entry a column, in the order of the input.
    pub columns: Vec<PlannedColumn>,
}

/// What the writer did.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct WriterFigures {
    /// Transactions committed.
    pub flushes: u64,
    /// Their rows, on average.
    pub batch_rows_mean: f64,
    /// The most rows of one.
    pub batch_rows_max: u64,
    /// Bytes sent as rows.
    pub bytes_written: u64,
    /// Rows that were read and are not in the table: the server was away for too long.
    pub rows_lost: u64,
    /// From a record's being read to its commit.
    pub latency_ms: LatencyFigures,
    /// The most rows that waited at one time.
    pub peak_queued_rows: usize,
    /// Transactions that were tried again.
    pub retries: u64,
    /// Connections opened in the place of lost ones.
    pub reconnections: u64,
    /// Commits whose answer was lost, and of which it was found out whether they happened.
    pub ambiguous_commits: u64,
    /// The most connections in use at the end.
    pub connections: usize,
}

/// Milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[non_exhaustive]
pub struct LatencyFigures {
    /// The mean.
    pub mean: f64,
    /// Half of all records took at most this long.
    pub p50: f64,
    /// Nine in ten.
    pub p90: f64,
    /// Ninety-nine in a hundred.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl From<&Statistics> for WriterFigures {
    fn from(statistics: &Statistics) -> Self {
        let at = |times: &Distribution, share| times.quantile(share) as f64 / 1e3;
        let times = &statistics.latency_us;
        WriterFigures {
            flushes: statistics.flushes.total(),
            batch_rows_mean: statistics.batch_rows.mean(),
            batch_rows_max: statistics.batch_rows.max(),
            bytes_written: statistics.bytes_written,
            rows_lost: statistics.rows_lost,
            latency_ms: LatencyFigures {
                mean: times.mean() / 1e3,
                p50: at(times, 0.5),
                p90: at(times, 0.9),
                p99: at(times, 0.99),
                max: times.max() as f64 / 1e3,
            },
            peak_queued_rows: statistics.peak_queued_rows,
            retries: statistics.retries,
            reconnections: statistics.reconnections,
            ambiguous_commits: statistics.ambiguous_commits,
            connections: statistics.decision.connections,
        }
    }
}

impl Respell for StreamReport {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.error.respell(spelling);
    }
}
