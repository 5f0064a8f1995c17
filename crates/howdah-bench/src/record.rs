//! One line of `raw.jsonl`: one run of one method, whatever came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::continuous::Moment;
use crate::latency::{Counts, Latency};

/// A run, with all that is needed to believe it or to repeat it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The scenario's name.
    pub scenario: String,
    /// The name of the scenario's section: what is drawn in one chart.
    pub section: String,
    /// The method that is compared within the section: a line or a bar of its chart.
    pub series: String,
    /// The place on the section's axis, where it has one: rows, connections, rows per statement; of a waterfall, the
    /// number of the step.
    pub x: Option<f64>,
    /// Counted from 1; 0 is the warm-up, which no summary counts.
    pub repetition: u32,
    /// The outcome of the run.
    pub outcome: Outcome,
    /// The reason why the outcome is not [`Outcome::Verified`].
    pub reason: Option<String>,
    /// The method's choices, the table and the server's settings.
    pub conditions: Conditions,
    /// Rows that arrived.
    pub rows: u64,
    /// Seconds from the first byte sent to the last commit, and until keys are built that are built afterwards; 0 where
    /// nothing was measured.
    pub seconds: f64,
    /// Seconds of each phase that took place, in their order; `ingest` and `index` add up to [`Record::seconds`].
    pub phases: Vec<(String, f64)>,
    /// Further measurements: CPU, memory, waits, latencies.
    pub evidence: Evidence,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every row and every value arrived.
    Verified,
    /// A first part of the rows arrived, value by value: all of them would have taken longer than allowed.
    Prefix,
    /// The table holds something else than it should.
    Wrong,
    /// The method ended with an error.
    Failed,
    /// The method cannot run here.
    Skipped,
}

impl Outcome {
    /// Returns true if the time counts in summaries.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Outcome::Verified | Outcome::Prefix)
    }
}

/// The worth of a committed row after a crash of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Durability {
    /// The row is there after a crash.
    #[serde(rename = "durable")]
    Durable,
    /// The row is there, unless it was committed in the last moments (`synchronous_commit = off`).
    #[serde(rename = "loses the last commits on a crash")]
    LosesLastCommits,
    /// The table is empty (unlogged).
    #[serde(rename = "not crash-safe")]
    NotCrashSafe,
    /// The whole cluster may be damaged (`fsync` or `full_page_writes` off).
    #[serde(rename = "lab only")]
    LabOnly,
}

impl Durability {
    /// As reports show it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Durability::Durable => "durable",
            Durability::LosesLastCommits => "loses the last commits on a crash",
            Durability::NotCrashSafe => "not crash-safe",
            Durability::LabOnly => "lab only",
        }
    }
}

/// The conditions of a run: the method's own choices, the table, the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The data set's name.
    pub dataset: String,
    /// Rows asked for.
    pub rows_asked: u64,
    /// Connections that wrote.
    pub connections: u32,
    /// Rows of one statement or one COPY, where the method has such.
    pub rows_per_statement: Option<u64>,
    /// The table: its persistence, keys and types.
    pub table: String,
    /// Server settings other than the defaults.
    pub settings: BTreeMap<String, String>,
    /// The worth of its rows after a crash.
    pub durability: Durability,
    /// Milliseconds that were added to each round trip.
    pub latency_ms: f64,
    /// Milliseconds that rows were to take at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_target_ms: Option<f64>,
    /// The way in which the server was made fresh: `new cluster`, `truncate and checkpoint`, `truncate`.
    pub fresh: String,
    /// The command that was run, for people to read.
    pub command: String,
    /// The version of a contender.
    pub version: Option<String>,
    /// Few rows and one short run, as `--quick` asks for: no figure to compare.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
}

/// Measurements beside the clock. None where this machine or this server does not show them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// CPU seconds of the writing program during the ingest.
    pub client_cpu_s: Option<f64>,
    /// CPU seconds of the server's processes.
    pub server_cpu_s: Option<f64>,
    /// Peak resident memory of the writing program.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes of write-ahead log.
    pub wal_bytes: Option<u64>,
    /// Checkpoints that were begun.
    pub checkpoints: Option<u64>,
    /// Sums of `pg_stat_io` by `backend type/context/operation`, those that are not 0.
    pub io: BTreeMap<String, u64>,
    /// Shares (0 to 1) of samples in which a writing backend was on the CPU (`CPU`), or waited for `type:event`.
    pub waits: BTreeMap<String, f64>,
    /// Milliseconds of a batch, begun to committed, where each is a transaction of its own; of a row, offered (or due) to
    /// acknowledged, where each is acknowledged.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// The whole distribution of latencies: nanoseconds, and how many took that long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Counts,
    /// Latencies over time, where rates were set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Moment>,
    /// The mean number of rows that were written at once, where the writing program chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_rows: Option<f64>,
    /// Rows a second of which rates were shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rows_per_s: Option<f64>,
    /// Share (0 to 1) of the machine's CPU time that meanwhile went to neither the writing program nor the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<f64>,
    /// Resident memory of the writing program over time: seconds and bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<(f64, u64)>,
    /// The JSON report of a load by howdah.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<serde_json::Value>,
    /// Backends of the writing program that were connected at once, as `pg_stat_activity` shows them.
    pub connections_seen: Option<u32>,
}

impl Record {
    /// Rows a second; None where nothing was measured.
    #[must_use]
    pub fn rows_per_s(&self) -> Option<f64> {
        // Exact: row counts stay far below 2^53.
        (self.outcome.counts() && self.seconds > 0.0).then(|| self.rows as f64 / self.seconds)
    }
}
