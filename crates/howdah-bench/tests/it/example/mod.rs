//! Made-up records of every kind, hostile names among them, for tests of the report and for looking at it.

mod service;

use std::collections::BTreeMap;

use howdah_bench::record::{Conditions, Durability, Evidence, Outcome, Record};
use howdah_bench::scenario::{Chart, Published, Scenario, Section};

/// What [`records`] belong to.
pub(crate) const SCENARIOS: [Scenario; 3] = [
    Scenario {
        name: "nine-ways",
        title: "Nine ways from a program",
        question: "Which way of writing suits how many rows, and where do the ways cross?",
        study: Some(2),
        cells: |_| Vec::new(),
        sections: &[
            Section {
                name: "rows",
                title: "Throughput against rows",
                chart: Chart::Curves { axis: "rows" },
                note: "Small loads are round trips, large ones are bytes. Look at where the lines cross, not at single points.",
                criteria: &[],
                published: &[
                    Published {
                        series: "copy-binary",
                        x: Some(1_000_000.0),
                        rows_per_s: 1_350_000.0,
                        but: "measured on eight cores with a warm file cache",
                    },
                    Published {
                        series: "insert-values",
                        x: Some(1_000_000.0),
                        rows_per_s: 201_000.0,
                        but: "",
                    },
                ],
            },
            Section {
                name: "at-1m",
                title: "A million rows, one connection",
                chart: Chart::Bars,
                note: "The same table, the same bytes, a fresh server for each run.",
                criteria: &[],
                published: &[Published {
                    series: "copy-text",
                    x: None,
                    rows_per_s: 640_000.0,
                    but: "the whole CSV was built in memory first",
                }],
            },
        ],
        caveats: &[
            "Two cores: client and server share them, and a way that keeps both busy gains less here than on a larger machine.",
            "The table has no secondary index; keys are the subject of another scenario.",
        ],
    },
    Scenario {
        name: "five-paths",
        title: "Five write paths, one factor at a time",
        question: "What makes a raw landing table so much faster than naive inserts?",
        study: Some(1),
        cells: |_| Vec::new(),
        sections: &[Section {
            name: "ladder",
            title: "The ladder",
            chart: Chart::Waterfall,
            note: "Each step changes one thing and keeps all that was changed before it.",
            criteria: &[],
            published: &[Published {
                series: "FREEZE",
                x: None,
                rows_per_s: 775_000.0,
                but: "five factors changed at once",
            }],
        }],
        caveats: &["Steps that are not durable are for understanding, not for use."],
    },
    service::SCENARIO,
];

/// A name that breaks out of careless HTML and Markdown.
pub(crate) const HOSTILE: &str = "</script><b>insert|{{data}}";

/// Like noise, but the same every time.
fn wobble(seed: u32) -> f64 {
    let mixed = seed.wrapping_mul(2_654_435_761) >> 16;
    1.0 + (f64::from(mixed & 0xff) / 255.0 - 0.5) * 0.08
}

/// A verified run of `rows` rows at `rate` rows a second.
pub(crate) fn run(
    scenario: &str,
    section: &str,
    series: &str,
    x: Option<f64>,
    rows: u32,
    rate: f64,
) -> Record {
    let seconds = f64::from(rows) / rate;
    Record {
        scenario: scenario.to_owned(),
        section: section.to_owned(),
        series: series.to_owned(),
        x,
        repetition: 1,
        outcome: Outcome::Verified,
        reason: None,
        conditions: Conditions {
            dataset: "sensor-readings".to_owned(),
            rows_asked: u64::from(rows),
            connections: 1,
            rows_per_statement: None,
            table: "logged, bigint key, typed columns".to_owned(),
            settings: BTreeMap::new(),
            durability: Durability::Durable,
            latency_ms: 0.0,
            latency_target_ms: None,
            fresh: "new cluster".to_owned(),
            command: "howdah load --write-path copy-text --jobs 1".to_owned(),
            version: None,
            quick: false,
        },
        rows: u64::from(rows),
        seconds,
        phases: [
            ("server", 1.4),
            ("schema", 0.011),
            ("connect and plan", 0.016),
            ("encode", seconds * 0.2),
            ("wait for the server", seconds * 0.7),
            ("commit", seconds * 0.05),
            ("ingest", seconds),
            ("verify", 0.3),
        ]
        .map(|(name, seconds)| (name.to_owned(), seconds))
        .to_vec(),
        evidence: Evidence {
            client_cpu_s: Some(seconds * 0.35),
            server_cpu_s: Some(seconds * 0.6),
            peak_rss_bytes: Some(18 * 1024 * 1024),
            wal_bytes: Some(u64::from(rows) * 140),
            checkpoints: Some(u64::from(rows / 400_000)),
            waits: BTreeMap::from([
                ("CPU".to_owned(), 0.61),
                ("Client:ClientRead".to_owned(), 0.24),
                ("IO:WALWrite".to_owned(), 0.1),
                ("LWLock:WALInsert".to_owned(), 0.05),
            ]),
            connections_seen: Some(1),
            ..Evidence::default()
        },
    }
}

/// Adds five repetitions and a warm-up that is far off.
fn repeated(records: &mut Vec<Record>, of: &Record) {
    for repetition in 0..=5_u32 {
        let seed = repetition + u32::try_from(records.len()).unwrap_or(0);
        let factor = if repetition == 0 { 0.2 } else { wobble(seed) };
        records.push(Record { repetition, seconds: of.seconds / factor, ..of.clone() });
    }
}

/// All outcomes, missing evidence, steps that lose, an odd name.
pub(crate) fn records() -> Vec<Record> {
    let mut records = Vec::new();
    // Seconds that a load takes whatever its size, and rows a second from then on.
    let ways: [(&str, f64, f64); 7] = [
        ("insert", 0.0002, 4_100.0),
        ("insert-transaction", 0.0004, 21_000.0),
        ("insert-values", 0.0011, 246_000.0),
        ("insert-unnest", 0.0014, 402_000.0),
        ("copy-text", 0.0024, 655_000.0),
        ("copy-binary", 0.0031, 792_000.0),
        ("no-op", 0.0001, 4_900_000.0),
    ];
    for (series, start, rate) in ways {
        for rows in [100_u32, 1_000, 10_000, 100_000, 1_000_000] {
            let seconds = start + f64::from(rows) / rate;
            let x = Some(f64::from(rows));
            let mut of = run("nine-ways", "rows", series, x, rows, f64::from(rows) / seconds);
            if series == "insert" && rows > 100_000 {
                of.outcome = Outcome::Prefix;
                of.reason = Some("60 s had passed".to_owned());
                of.rows = 246_000;
                of.seconds = 60.0;
            }
            repeated(&mut records, &of);
        }
        if series != "no-op" {
            repeated(&mut records, &run("nine-ways", "at-1m", series, None, 1_000_000, rate));
        }
    }
    repeated(&mut records, &run("nine-ways", "at-1m", "no-op", None, 1_000_000, 980_000.0));
    let mut unlogged = run("nine-ways", "at-1m", "copy-binary, unlogged table", None, 1_000_000, 935_000.0);
    unlogged.conditions.durability = Durability::NotCrashSafe;
    unlogged.evidence = Evidence::default();
    unlogged.phases = Vec::new();
    repeated(&mut records, &unlogged);
    for (series, outcome, reason) in [
        ("pgloader", Outcome::Skipped, "pgloader is not installed; apt-get install pgloader"),
        ("odd-tool", Outcome::Wrong, "3 rows differ: empty strings became NULL"),
        (HOSTILE, Outcome::Failed, "ERROR: relation \"<img src=x onerror=alert(1)>\" does not | exist"),
    ] {
        let mut failed = run("nine-ways", "at-1m", series, None, 1_000_000, 300_000.0);
        failed.outcome = outcome;
        failed.reason = Some(reason.to_owned());
        failed.seconds = 0.0;
        repeated(&mut records, &failed);
    }
    ladder(&mut records);
    service::records(&mut records);
    records
}

fn ladder(records: &mut Vec<Record>) {
    use Durability::{Durable, LabOnly, NotCrashSafe};
    let off = |names: &[&str]| -> BTreeMap<String, String> {
        names.iter().map(|&name| (name.to_owned(), "off".to_owned())).collect()
    };
    let steps = [
        ("one insert a row", 1_900.0, Durable, off(&[])),
        ("one transaction", 14_800.0, Durable, off(&[])),
        ("rows of 1,000 a statement", 171_000.0, Durable, off(&[])),
        ("COPY text", 520_000.0, Durable, off(&[])),
        ("COPY binary", 701_000.0, Durable, off(&[])),
        ("unlogged table", 866_000.0, NotCrashSafe, off(&[])),
        ("FREEZE", 812_000.0, NotCrashSafe, off(&[])),
        ("synchronous_commit off", 829_000.0, NotCrashSafe, off(&["synchronous_commit"])),
        ("fsync off", 871_000.0, LabOnly, off(&["synchronous_commit", "fsync"])),
    ];
    for (number, (series, rate, durability, settings)) in (1_u32..).zip(steps) {
        let mut of = run("five-paths", "ladder", series, Some(f64::from(number)), 1_000_000, rate);
        of.conditions.durability = durability;
        of.conditions.settings = settings;
        of.conditions.rows_per_statement = (number == 3).then_some(1_000);
        if number > 4 {
            of.conditions.command = "howdah load --write-path copy-binary --jobs 1".to_owned();
        }
        if number > 5 {
            of.conditions.table = "unlogged, no key, typed columns".to_owned();
        }
        repeated(records, &of);
    }
}

/// What the engine would write about the machine.
pub(crate) const ENVIRONMENT: &str = "# Environment\n\n\
    | what | found |\n| ---- | ----- |\n| CPU | 2 × somebody's processor |\n| memory | 23.5 GiB |\n\
    | fsync | 412 a second |\n\n## Server settings\n\nPostgreSQL 18.6, default settings:\n\n\
    - `shared_buffers` = 128MB\n- `max_wal_size` = 1GB\n";
