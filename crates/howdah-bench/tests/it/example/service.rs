//! Made-up records of a service: latencies in every form in which reports show them.

use howdah_bench::continuous::Moment;
use howdah_bench::latency::Latency;
use howdah_bench::record::Record;
use howdah_bench::scenario::{Chart, Published, Scenario, Section};

use super::{repeated, run};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "continuous",
    title: "Rows of a service",
    question: "What does a row wait for?",
    study: Some(5),
    cells: |_| Vec::new(),
    sections: &[
        Section {
            name: "study",
            title: "Sizes and intervals",
            chart: Chart::Tradeoff,
            note: "One producer keeps the queue full.",
            criteria: &[],
            published: &[Published {
                series: "100 rows, 10 ms",
                x: None,
                rows_per_s: 98_278.0,
                but: "near the generator's own ceiling",
            }],
        },
        Section {
            name: "offered",
            title: "Latency by load",
            chart: Chart::Latencies { axis: "% of the peak" },
            note: "",
            criteria: &[],
            published: &[],
        },
        Section {
            name: "steps",
            title: "Steps of load",
            chart: Chart::Course,
            note: "",
            criteria: &[],
            published: &[],
        },
    ],
    caveats: &[],
};

/// What rows took whose median is `ms`.
fn latency(ms: f64) -> Latency {
    let at = |times: f64| ms * times;
    Latency {
        mean_ms: at(1.2),
        p50_ms: ms,
        p90_ms: at(1.8),
        p95_ms: Some(at(2.1)),
        p99_ms: at(3.5),
        p99_9_ms: Some(at(6.0)),
        max_ms: at(9.0),
    }
}

fn timed(record: Record, ms: f64, command: &str) -> Record {
    let mut record = Record { scenario: SCENARIO.name.to_owned(), ..record };
    record.conditions.command = command.to_owned();
    record.evidence.latency = Some(latency(ms));
    record.evidence.batch_rows = Some(68.0);
    let nanoseconds = |step: u32| f64::from(step).powi(3) / 1e6 * ms * 1e6 + ms * 5e5;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up times")]
    let counts = (1..=200).map(|step| (nanoseconds(step) as u64, 50)).collect();
    record.evidence.counts = counts;
    record
}

pub(super) fn records(records: &mut Vec<Record>) {
    let mut add = |section, series: &str, x, rate, ms, command: &str| {
        let of = run(SCENARIO.name, section, series, x, 200_000, rate);
        repeated(records, &timed(of, ms, command));
    };
    for (series, rate, ms) in [
        ("5 rows, 0.5 ms", 21_000.0, 4.1),
        ("25 rows, 2.5 ms", 33_000.0, 9.3),
        ("100 rows, 10 ms", 41_000.0, 48.0),
        ("200 rows, 20 ms", 42_500.0, 95.0),
        ("adaptive", 42_100.0, 12.0),
    ] {
        add("study", series, None, rate, ms, "howdah's Writer [COPY]");
    }
    add("study", "no-op", None, 160_000.0, 1.0, "howdah's Writer [nothing is written]");
    let programs = [("own settings", 1.1), ("pgx", 4.0), ("asyncpg", 6.0), ("psycopg", 7.0), ("plain", 2.0)];
    for (series, ms) in programs {
        for percent in [10_u32, 50, 90, 110] {
            let (x, rate) = (f64::from(percent), f64::from(percent) * 410.0);
            let full = if percent > 100 { 40.0 } else { 1.0 };
            add("offered", series, Some(x), rate, ms * full, "howdah's Writer [path by size]");
        }
    }
    for target in [5.0, 10.0, 20.0, 50.0, 100.0] {
        let series = format!("target {target} ms");
        let of = run(SCENARIO.name, "steps", &series, None, 200_000, 25_000.0);
        let mut of = timed(of, target / 4.0, "howdah's Writer [adaptive]");
        of.conditions.latency_target_ms = Some(target);
        let moment = |slice: u32| Moment {
            at_s: f64::from(slice + 1) * 0.25,
            offered_rows_per_s: if slice < 20 { 8_200.0 } else { 37_000.0 },
            rows: 2_000,
            latency: latency(target / 8.0 * (1.0 + f64::from(slice) / 40.0)),
        };
        of.evidence.course = (0..40).map(moment).collect();
        repeated(records, &of);
    }
}
