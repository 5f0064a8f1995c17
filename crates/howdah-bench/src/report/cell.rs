//! One method at one place of a section: what its runs amount to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::continuous::Moment;
use crate::latency::{Latency, Recorder};
use crate::number;
use crate::record::{Conditions, Outcome, Record};
use howdah_doctor::statistics::{Interval, Spread};

/// The series that runs through the harness and writes nothing.
const CONTROL: &str = "no-op";

/// Whether the series is such a control; where several programs are compared, its name says whose it is.
fn is_control(series: &str) -> bool {
    series.strip_prefix(CONTROL).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

/// The runs of one method at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportCell {
    /// The line or bar.
    pub series: String,
    /// The place on the axis, where there is one.
    pub x: Option<f64>,
    /// Runs that count.
    pub runs: usize,
    /// True if some of them loaded only a first part of the rows.
    pub prefix: bool,
    /// Runs that do not count, those of the warm-up among them.
    pub troubles: Vec<Trouble>,
    /// Rows of a run (the median one's where they differ).
    pub rows: Option<f64>,
    /// Seconds of the ingest.
    pub seconds: Option<Spread>,
    /// Rows a second.
    pub rate: Option<Spread>,
    /// The step to which its rows a second are rounded: what their spread allows.
    pub rounded_to: f64,
    /// Rows a second of each run, in their order.
    pub values: Vec<f64>,
    /// The interval in which the median of [`ReportCell::rate`] lies.
    pub interval: Option<Interval>,
    /// Rows a second as a multiple of the slowest method's; None for the slowest itself and where nothing compares.
    pub to_slowest: Option<f64>,
    /// The share of the fastest method's rows a second, 1 for the fastest.
    pub of_best: Option<f64>,
    /// In a waterfall, how many times the step before.
    pub step: Option<f64>,
    /// In a waterfall, whether the runs of this step and of the step before overlap: the step may be chance.
    pub step_in_doubt: bool,
    /// In a waterfall, what differs from the step before.
    pub changes: Vec<String>,
    /// Within 20 % of what the harness can do at all: the figure may be the harness's, not the method's.
    pub near_ceiling: bool,
    /// Of a service near its ceiling: how many times its rows a second the control reached.
    pub control_times: Option<f64>,
    /// True for the control, which writes nothing.
    pub control: bool,
    /// The conditions of its runs.
    pub conditions: Conditions,
    /// True if all its runs had the same conditions.
    pub same_conditions: bool,
    /// Median seconds of each phase, the harness's own among them.
    pub phases: Vec<(String, f64)>,
    /// Seconds of the method's own phases, none within another.
    pub time: Vec<(String, f64)>,
    /// Median CPU seconds of the writing program.
    pub client_cpu_s: Option<f64>,
    /// Median CPU seconds of the server.
    pub server_cpu_s: Option<f64>,
    /// The highest peak memory of the writing program.
    pub peak_rss_bytes: Option<f64>,
    /// Median bytes of write-ahead log.
    pub wal_bytes: Option<f64>,
    /// Median checkpoints begun.
    pub checkpoints: Option<f64>,
    /// Milliseconds that batches took, or rows: of each percentile the median over the runs.
    pub latency: Option<Latency>,
    /// Shares of the rows of all runs, and the milliseconds that they took at most.
    pub quantiles: Vec<(f64, f64)>,
    /// Latencies over the time of the run whose 99th percentile is the middle one.
    pub course: Vec<Moment>,
    /// The mean number of rows that were written at once, where the program chose it.
    pub batch_rows: Option<f64>,
    /// Mean shares of samples by what backends did or waited for, the largest first.
    pub waits: Vec<(String, f64)>,
}

/// Runs that came to nothing, for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trouble {
    /// The outcome of the runs.
    pub outcome: Outcome,
    /// The reason.
    pub reason: String,
    /// The number of runs.
    pub runs: usize,
}

impl ReportCell {
    /// What `records`, which are all of one method at one place, amount to. None if there are none.
    pub(super) fn of(records: &[&Record]) -> Option<Self> {
        let first = *records.first()?;
        let counting: Vec<&Record> = records
            .iter()
            .copied()
            .filter(|record| record.repetition > 0 && record.outcome.counts())
            .collect();
        let rates = || counting.iter().filter_map(|record| record.rows_per_s());
        let median = |of: &dyn Fn(&Record) -> Option<f64>| {
            Spread::of(counting.iter().filter_map(|record| of(record))).map(|spread| spread.median)
        };
        // Counters stay far below 2^53.
        let count = |value: Option<u64>| value.map(|value| value as f64);
        let shown = counting.first().copied().unwrap_or(first);
        let phases = phases(&counting);
        let memory = counting.iter().filter_map(|record| count(record.evidence.peak_rss_bytes));
        Some(ReportCell {
            series: first.series.clone(),
            x: first.x,
            runs: counting.len(),
            prefix: counting.iter().any(|record| record.outcome == Outcome::Prefix),
            troubles: troubles(records),
            rows: median(&|record| Some(record.rows as f64)),
            seconds: Spread::of(counting.iter().map(|record| record.seconds)),
            rate: Spread::of(rates()),
            rounded_to: Spread::of(rates())
                .map_or(1.0, |rate| number::step_of(rate.median, rate.min, rate.max)),
            values: rates().collect(),
            interval: Interval::of_median(rates()),
            to_slowest: None,
            of_best: None,
            step: None,
            step_in_doubt: false,
            changes: Vec::new(),
            near_ceiling: false,
            control_times: None,
            control: is_control(&first.series),
            conditions: shown.conditions.clone(),
            same_conditions: counting.iter().all(|record| record.conditions == shown.conditions),
            time: own_time(&phases),
            phases,
            client_cpu_s: median(&|record| record.evidence.client_cpu_s),
            server_cpu_s: median(&|record| record.evidence.server_cpu_s),
            peak_rss_bytes: Spread::of(memory).map(|spread| spread.max),
            wal_bytes: median(&|record| count(record.evidence.wal_bytes)),
            checkpoints: median(&|record| count(record.evidence.checkpoints)),
            latency: latency(&counting),
            quantiles: quantiles(&counting),
            course: course(&counting),
            batch_rows: median(&|record| record.evidence.batch_rows),
            waits: waits(&counting),
        })
    }

    /// The median of rows a second.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.rate.map(|rate| rate.median)
    }

    /// Rows a second with the digits that their spread allows.
    pub(super) fn shown(&self, rate: f64) -> String {
        number::stepped(rate, self.rounded_to)
    }

    /// Returns true if as many rows were loaded as its place on the axis says. A first part of them is a figure of
    /// another place.
    #[must_use]
    pub fn in_place(&self) -> bool {
        !(self.prefix && self.x == Some(self.conditions.rows_asked as f64))
    }

    /// The share of the rows asked for that were loaded, in per cent, where it was a first part of them.
    pub(super) fn first_part(&self) -> Option<f64> {
        let asked = self.conditions.rows_asked as f64;
        self.rows.filter(|_| self.prefix && asked > 0.0).map(|rows| rows / asked * 100.0)
    }

    /// Returns notes for readers of its runs, in a few words each; empty where all is well.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        if self.prefix {
            marks.push(match self.first_part() {
                Some(share) => format!("first {} % of the rows", number::thousands(share)),
                None => "a first part of the rows".to_owned(),
            });
        }
        for trouble in &self.troubles {
            let word = match trouble.outcome {
                Outcome::Wrong => "WRONG",
                Outcome::Failed => "failed",
                _ => "skipped",
            };
            let times = if trouble.runs > 1 { format!(" {} times", trouble.runs) } else { String::new() };
            marks.push(format!("{word}{times}: {}", trouble.reason));
        }
        if self.runs == 0 && self.troubles.is_empty() {
            marks.push("only the warm-up ran".to_owned());
        }
        if self.near_ceiling {
            marks.push(match self.control_times {
                Some(times) => {
                    format!("the control, which writes nothing, reaches only {}", number::times(times))
                }
                None => "within 20 % of the harness's own ceiling".to_owned(),
            });
        }
        if !self.same_conditions {
            marks.push("its runs were not done alike".to_owned());
        }
        marks
    }
}

fn latency(records: &[&Record]) -> Option<Latency> {
    let some = |figure: &dyn Fn(Latency) -> Option<f64>| {
        let figures = records.iter().filter_map(|record| record.evidence.latency).filter_map(figure);
        Spread::of(figures).map(|spread| spread.median)
    };
    let of = |figure: &dyn Fn(Latency) -> f64| some(&|latency| Some(figure(latency)));
    Some(Latency {
        mean_ms: of(&|latency| latency.mean_ms)?,
        p50_ms: of(&|latency| latency.p50_ms)?,
        p90_ms: of(&|latency| latency.p90_ms)?,
        p95_ms: some(&|latency| latency.p95_ms),
        p99_ms: of(&|latency| latency.p99_ms)?,
        p99_9_ms: some(&|latency| latency.p99_9_ms),
        max_ms: of(&|latency| latency.max_ms)?,
    })
}

fn quantiles(records: &[&Record]) -> Vec<(f64, f64)> {
    let mut all = Recorder::default();
    records.iter().for_each(|record| all.add(&Recorder::of(&record.evidence.counts)));
    all.quantiles()
}

fn course(records: &[&Record]) -> Vec<Moment> {
    let mut runs: Vec<_> = records.iter().filter(|record| !record.evidence.course.is_empty()).collect();
    let p99 = |record: &Record| record.evidence.latency.map_or(0.0, |latency| latency.p99_ms);
    runs.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
    runs.get(runs.len().saturating_sub(1) / 2).map_or_else(Vec::new, |run| run.evidence.course.clone())
}

fn troubles(records: &[&Record]) -> Vec<Trouble> {
    let mut troubles: Vec<Trouble> = Vec::new();
    for record in records.iter().filter(|record| !record.outcome.counts()) {
        let reason = record.reason.as_deref().unwrap_or("no reason was recorded");
        match troubles.iter_mut().find(|it| it.outcome == record.outcome && it.reason == reason) {
            Some(same) => same.runs += 1,
            None => troubles.push(Trouble { outcome: record.outcome, reason: reason.to_owned(), runs: 1 }),
        }
    }
    troubles
}

fn phases(records: &[&Record]) -> Vec<(String, f64)> {
    let mut phases: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, seconds) in records.iter().flat_map(|record| &record.phases) {
        match phases.iter_mut().find(|(known, _)| known == name) {
            Some((_, all)) => all.push(*seconds),
            None => phases.push((name.clone(), vec![*seconds])),
        }
    }
    let median = |all: Vec<f64>| Spread::of(all).map_or(0.0, |spread| spread.median);
    phases.into_iter().map(|(name, all)| (name, median(all))).collect()
}

/// Phases that are the harness's: a new server, an empty table, the program up to READY, the checksum.
const HARNESS: [&str; 4] = ["server", "schema", "start", "verify"];
/// The phase that others are parts of.
const WHOLE: &str = "ingest";
/// Its parts, where a method tells them.
const PARTS: [&str; 4] = ["read", "encode", "wait for the server", "commit"];

/// What of the ingest no part accounts for is shown as a part of its own.
fn own_time(phases: &[(String, f64)]) -> Vec<(String, f64)> {
    let is_part = |name: &str| PARTS.contains(&name);
    let parts: f64 = phases.iter().filter(|(name, _)| is_part(name)).map(|(_, seconds)| seconds).sum();
    let own = phases.iter().filter(|(name, _)| !HARNESS.contains(&name.as_str()));
    let apart = own.map(|(name, seconds)| match name.as_str() {
        WHOLE if parts > 0.0 => ("other".to_owned(), (seconds - parts).max(0.0)),
        _ => (name.clone(), *seconds),
    });
    apart.collect()
}

/// A wait that a run never saw was 0 in it.
fn waits(records: &[&Record]) -> Vec<(String, f64)> {
    let sampled: Vec<_> = records.iter().filter(|record| !record.evidence.waits.is_empty()).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, share) in sampled.iter().flat_map(|record| &record.evidence.waits) {
        *sums.entry(name).or_default() += share;
    }
    let runs = sampled.len() as f64;
    let mut waits: Vec<_> = sums.into_iter().map(|(name, sum)| (name.to_owned(), sum / runs)).collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits
}
