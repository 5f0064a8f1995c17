//! All that the doctor may prescribe for one load, in all combinations: how much longer than the best of them takes the one that is
//! prescribed.

use std::num::NonZero;
use std::thread;

use serde_json::Value;

use super::amount::Weight;
use super::columns::Columns;
use super::course::{Course, DOCTOR, OneRun};
use super::parts::GRID;
use super::slowdown::{Around, Look};
use super::stand::Stand;
use crate::error::Error;
use crate::rounds::orders;

const SAYS: &str =
    "a primary key of random uuids, two indexes, and a log of 128 MB; the rows can be loaded again";
const BUILT: [&str; 3] = [
    "ALTER TABLE events ADD PRIMARY KEY (id)",
    "CREATE INDEX by_device ON events (device)",
    "CREATE INDEX by_note ON events (note)",
];

/// More rounds than these are not run.
const MOST_ROUNDS: u32 = 5;

/// Connections, and whether indexes are dropped and built again, which one connection does.
const WRITERS: [(&str, &str); 4] = [("1", "keep"), ("2", "keep"), ("4", "keep"), ("1", "rebuild")];

/// MB that the log may have between checkpoints; first what it has.
const LOGS: [u64; 3] = [128, 512, 8192];

/// What is chosen for a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Configuration {
    /// Connections.
    jobs: &'static str,
    /// What is done with indexes.
    indexes: &'static str,
    /// If true, the table is unlogged.
    is_unlogged: bool,
    /// The log's MB.
    log: u64,
}

impl Configuration {
    /// All 24.
    fn all() -> Vec<Configuration> {
        let mut all = Vec::new();
        for (jobs, indexes) in WRITERS {
            for is_unlogged in [false, true] {
                all.extend(LOGS.map(|log| Configuration { jobs, indexes, is_unlogged, log }));
            }
        }
        all
    }

    /// As records and readers know it.
    pub(super) fn in_words(self) -> String {
        let table = if self.is_unlogged { ", unlogged" } else { "" };
        format!("--jobs {} --indexes {}{table}, max_wal_size {}MB", self.jobs, self.indexes, self.log)
    }

    /// What a report prescribes, if all its remedies for this load are followed. `by_itself` is how many connections a load opens
    /// that is not told.
    pub(super) fn prescribed(report: &Value, by_itself: usize) -> Configuration {
        let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let find = |id: &str| findings.iter().find(|finding| finding["id"] == id);
        let rebuilds = findings.iter().any(|finding| {
            finding["severity"] == "costs"
                && actions(finding).any(|action| action.contains("--indexes rebuild"))
        });
        let (jobs, indexes) = if rebuilds {
            WRITERS[3]
        } else {
            let kept = WRITERS.into_iter().take(3).rev();
            let named = find("load.connections").and_then(|finding| {
                let says =
                    |jobs: &str| actions(finding).any(|action| action.contains(&format!("--jobs {jobs}")));
                kept.clone().find(|(jobs, _)| says(jobs))
            });
            let fits = |jobs: &str| jobs.parse().is_ok_and(|jobs: usize| jobs <= by_itself);
            named.or_else(|| kept.clone().find(|(jobs, _)| fits(jobs))).unwrap_or(WRITERS[0])
        };
        let log =
            find("wal.checkpoints").and_then(|finding| actions(finding).find_map(|action| size(&action)));
        let fitting = |wanted: u64| LOGS.into_iter().find(|log| *log >= wanted).unwrap_or(LOGS[2]);
        Configuration {
            jobs,
            indexes,
            is_unlogged: find("wal.unlogged").is_some(),
            log: log.map_or(LOGS[0], fitting),
        }
    }

    /// What a load opens by itself: as many as there are cores, at most four.
    pub(super) fn by_itself() -> usize {
        thread::available_parallelism().map_or(1, NonZero::get).min(4)
    }
}

/// What a finding says to do: statements, or what a load is told.
fn actions(finding: &Value) -> impl Iterator<Item = String> {
    let texts = finding["remedies"].as_array().into_iter().flatten().map(|remedy| &remedy["action"]["text"]);
    texts.flat_map(|text| match text {
        Value::Array(statements) => {
            statements.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        }
        other => other.as_str().map(ToOwned::to_owned).into_iter().collect::<Vec<_>>(),
    })
}

/// The MB that a statement gives to max_wal_size.
fn size(statement: &str) -> Option<u64> {
    statement.split_once("max_wal_size = '")?.1.split_once("MB'")?.0.parse().ok()
}

fn rounds_of(rounds: u32) -> u32 {
    rounds.min(MOST_ROUNDS)
}

/// How many runs there are.
pub(super) fn runs(rounds: u32) -> usize {
    1 + Configuration::all().len() * rounds_of(rounds) as usize
}

pub(super) fn measure(course: &mut Course) -> Result<(), Error> {
    let all = Configuration::all();
    let names: Vec<String> = all.iter().map(|one| one.in_words()).collect();
    let rounds = rounds_of(course.rounds);
    let doctor = OneRun { part: GRID, series: DOCTOR, round: 1, says: SAYS };
    let loads = || {
        (1..=rounds).flat_map(|round| names.iter().map(move |name| OneRun { series: name, round, ..doctor }))
    };
    if !course.is_missing(doctor) && !loads().any(|load| course.is_missing(load)) {
        (0..runs(rounds)).for_each(|_| course.skip());
        return Ok(());
    }
    let columns = Columns::Uuids;
    let (held, brought) =
        (course.amount.held(columns, Weight::Usual), course.amount.brought(columns, Weight::Usual));
    let rows = course.files.rows_to_come(columns, held, brought)?;
    let settings = [("max_wal_size", "128MB"), ("min_wal_size", "64MB")];
    let mut stand = Stand::start(&course.clusters, &settings, Some(rows), &BUILT, "")?;
    if course.is_missing(doctor) {
        stand.copy()?;
        course.look(doctor, &stand, Around::Nothing, Look::Measure)?;
    } else {
        course.skip();
    }
    for (round, order) in (1..=rounds).zip(orders(all.len(), rounds as usize, course.seed)) {
        for at in order {
            let run = OneRun { series: &names[at], round, ..doctor };
            if course.is_missing(run) {
                one(course, run, &mut stand, all[at])?;
            } else {
                course.skip();
            }
        }
    }
    Ok(())
}

fn one(course: &mut Course, run: OneRun, stand: &mut Stand, chosen: Configuration) -> Result<(), Error> {
    stand.copy()?;
    if chosen.is_unlogged {
        stand.change(&["ALTER TABLE events SET UNLOGGED"], false)?;
    }
    let log = format!("ALTER SYSTEM SET max_wal_size = '{}MB'", chosen.log);
    stand.change(&[&log, "SELECT pg_reload_conf()"], false)?;
    course.load(run, stand, &["--jobs", chosen.jobs, "--indexes", chosen.indexes])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn there_are_24_and_each_has_a_name() {
        let names: BTreeSet<String> = Configuration::all().into_iter().map(Configuration::in_words).collect();
        assert_eq!(names.len(), 24);
    }

    #[test]
    fn what_a_report_says_about_a_load_is_followed() {
        let load = |text: &str| json!([{"action": {"kind": "load", "text": text}}]);
        let sql = json!([{"action": {"kind": "sql", "text": ["ALTER SYSTEM SET max_wal_size = '571MB';", "SELECT pg_reload_conf();"]}}]);
        let jobs = json!({"id": "load.connections", "severity": "notice", "remedies": load("--jobs 4")});
        let small_log = json!({"id": "wal.checkpoints", "severity": "costs", "remedies": sql});
        let prescribed =
            |findings: Value| Configuration::prescribed(&json!({"findings": findings}), 3).in_words();
        assert_eq!(
            prescribed(json!([small_log, jobs, {"id": "wal.unlogged", "severity": "costs"}])),
            "--jobs 4 --indexes keep, unlogged, max_wal_size 8192MB"
        );
        // One connection builds again, however many others are worth.
        let index = json!({"id": "index.cost", "severity": "costs", "remedies": load("--indexes rebuild")});
        assert_eq!(prescribed(json!([index, jobs])), "--jobs 1 --indexes rebuild, max_wal_size 128MB");
        assert_eq!(prescribed(json!([])), "--jobs 2 --indexes keep, max_wal_size 128MB");
    }
}
