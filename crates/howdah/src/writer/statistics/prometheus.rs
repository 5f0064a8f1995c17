//! Statistics as the text that Prometheus reads (exposition format 0.0.4).

use std::fmt::{Display, Write};

use super::{Distribution, Statistics};

/// Bounds of latencies in microseconds: from a lone row near by to a server that is away.
const LATENCIES_US: [u64; 17] = [
    250, 500, 1_000, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000, 35_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 5_000_000, 30_000_000,
];

/// Bounds of rows a transaction.
const ROWS: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

pub(super) fn text(statistics: &Statistics, labels: &[(&str, &str)]) -> String {
    let mut page = Page { text: String::new(), labels: labelled(labels) };
    let Statistics { rows_written, rows_refused, rows_lost, .. } = *statistics;
    page.family("rows_total", "counter", "Rows that were settled, by what became of them.");
    for (outcome, rows) in [("written", rows_written), ("refused", rows_refused), ("lost", rows_lost)] {
        page.sample("rows_total", Some(("outcome", outcome)), rows);
    }
    page.single(
        "written_bytes_total",
        "counter",
        "Bytes of rows that were written.",
        statistics.bytes_written,
    );
    page.family("flushes_total", "counter", "Transactions that were committed, by what made their rows due.");
    for (reason, flushes) in statistics.flushes.by_reason() {
        page.sample("flushes_total", Some(("reason", reason)), flushes);
    }
    page.histogram("flush_rows", "Rows of a transaction.", &statistics.batch_rows, &ROWS, 1.0);
    let about = "Time from writing a row to knowing what became of it.";
    page.histogram("latency_seconds", about, &statistics.latency_us, &LATENCIES_US, 1e6);
    page.single("unsettled_rows", "gauge", "Rows that are not settled.", statistics.queued_rows);
    page.single("unsettled_bytes", "gauge", "Bytes of rows that are not settled.", statistics.queued_bytes);
    page.single("unsettled_rows_peak", "gauge", "The most of such rows so far.", statistics.peak_queued_rows);
    page.single(
        "unsettled_bytes_peak",
        "gauge",
        "The most of such bytes so far.",
        statistics.peak_queued_bytes,
    );
    page.single("retries_total", "counter", "Transactions that were tried again.", statistics.retries);
    page.single(
        "reconnections_total",
        "counter",
        "Connections in place of lost ones.",
        statistics.reconnections,
    );
    let about = "Commits whose answer was lost, and of which it was found out whether they happened.";
    page.single("ambiguous_commits_total", "counter", about, statistics.ambiguous_commits);
    let decision = statistics.decision;
    page.single(
        "batch_limit_rows",
        "gauge",
        "The most rows of a transaction, as decided now.",
        decision.batch_rows,
    );
    page.single("connections_limit", "gauge", "The most connections, as decided now.", decision.connections);
    page.single("queue_limit_rows", "gauge", "The most unsettled rows, as decided now.", decision.queue_rows);
    page.text
}

struct Page {
    text: String,
    /// Those of every sample: `name="value",` each.
    labels: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, about: &str) {
        self.line(format_args!("# HELP howdah_writer_{name} {about}"));
        self.line(format_args!("# TYPE howdah_writer_{name} {kind}"));
    }

    fn single(&mut self, name: &str, kind: &str, about: &str, value: impl Display) {
        self.family(name, kind, about);
        self.sample(name, None, value);
    }

    /// The values of `unit` each, so many of which make one of the metric's unit.
    fn histogram(&mut self, name: &str, about: &str, values: &Distribution, bounds: &[u64], unit: f64) {
        self.family(name, "histogram", about);
        let bucket = format!("{name}_bucket");
        for bound in bounds {
            let le = (*bound as f64 / unit).to_string();
            self.sample(&bucket, Some(("le", &le)), values.up_to(*bound));
        }
        self.sample(&bucket, Some(("le", "+Inf")), values.count());
        self.sample(&format!("{name}_sum"), None, values.sum() as f64 / unit);
        self.sample(&format!("{name}_count"), None, values.count());
    }

    fn sample(&mut self, name: &str, label: Option<(&str, &str)>, value: impl Display) {
        let own = label.map(|(name, value)| format!("{name}=\"{value}\"")).unwrap_or_default();
        let labels = format!("{}{own}", self.labels);
        match labels.trim_end_matches(',') {
            "" => self.line(format_args!("howdah_writer_{name} {value}")),
            labels => self.line(format_args!("howdah_writer_{name}{{{labels}}} {value}")),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// The caller's labels, `name="value",` each. A name that is ours or occurs twice would make the page unreadable: ours get
/// the prefix that Prometheus itself uses, and of two the first counts.
fn labelled(labels: &[(&str, &str)]) -> String {
    let mut names = Vec::new();
    let mut text = String::new();
    for (name, value) in labels {
        let mut name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, '_');
        }
        if ["le", "outcome", "reason"].contains(&name.as_str()) {
            name.insert_str(0, "exported_");
        }
        if names.contains(&name) {
            continue;
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{name}=\"{value}\",");
        names.push(name);
    }
    text
}
