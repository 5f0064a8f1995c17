//! What a writer has done so far, as Python reads it.

use howdah::writer;
use pyo3::prelude::*;
use serde_json::json;

/// A moment's statistics.
#[pyclass(frozen, module = "howdah._native")]
pub(crate) struct Statistics(pub(super) writer::Statistics);

#[pymethods]
impl Statistics {
    /// The fields of `howdah.WriterStatistics`, as JSON; times in seconds.
    fn figures(&self) -> String {
        let all = &self.0;
        let (flushes, latency) = (&all.flushes, all.latency());
        json!({
            "rows_written": all.rows_written,
            "rows_refused": all.rows_refused,
            "rows_lost": all.rows_lost,
            "bytes_written": all.bytes_written,
            "flushes": {
                "idle": flushes.idle,
                "rows": flushes.rows,
                "bytes": flushes.bytes,
                "age": flushes.age,
                "flush": flushes.flush,
                "close": flushes.close,
            },
            "batch_rows_mean": all.batch_rows.mean(),
            "batch_rows_max": all.batch_rows.max(),
            "latency_mean": latency.mean.as_secs_f64(),
            "latency_p50": latency.p50.as_secs_f64(),
            "latency_p90": latency.p90.as_secs_f64(),
            "latency_p95": latency.p95.as_secs_f64(),
            "latency_p99": latency.p99.as_secs_f64(),
            "latency_p999": latency.p999.as_secs_f64(),
            "latency_max": latency.max.as_secs_f64(),
            "queued_rows": all.queued_rows,
            "queued_bytes": all.queued_bytes,
            "peak_queued_rows": all.peak_queued_rows,
            "peak_queued_bytes": all.peak_queued_bytes,
            "retries": all.retries,
            "reconnections": all.reconnections,
            "ambiguous_commits": all.ambiguous_commits,
            "batch_rows_now": all.decision.batch_rows,
            "connections_now": all.decision.connections,
            "queue_rows_now": all.decision.queue_rows,
        })
        .to_string()
    }

    /// Prometheus' text exposition of it.
    fn prometheus(&self, labels: Vec<(String, String)>) -> String {
        let labels: Vec<(&str, &str)> =
            labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.0.prometheus(&labels)
    }

    /// The few lines that a person reads.
    fn __str__(&self) -> String {
        self.0.to_string()
    }
}
