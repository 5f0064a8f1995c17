//! Rows that only the server can refuse, in an input so large that every connection sends some of it: what is loaded, what
//! is rejected and what was read add up, row by row.

use std::collections::BTreeSet;

use howdah::options::OnError;
use howdah_testkit::Database;
use serde_json::Value;

use crate::common::{load, options};

/// Pieces are of 512 KiB: these rows of 4.5 KB are a dozen of them, and still few to be refused one by one.
const ROWS: u64 = 1_400;
const WIDTH: usize = 4_500;

/// A table whose rows say which connection brought them; what makes a row bad; and what the server says of it.
struct Case {
    columns: &'static str,
    bad: fn(u64) -> (i64, i64),
    sqlstate: &'static str,
    /// Rows of keyed tables may have to go over one connection.
    keyed: bool,
}

const CASES: [Case; 3] = [
    Case {
        columns: "id bigint, v int CHECK (v < 10)",
        bad: |n| (n.cast_signed(), 10),
        sqlstate: "23514",
        keyed: false,
    },
    Case {
        columns: "id bigint, v int REFERENCES parent",
        bad: |n| (n.cast_signed(), 10),
        sqlstate: "23503",
        keyed: false,
    },
    Case { columns: "id bigint PRIMARY KEY, v int", bad: |_| (-1, 3), sqlstate: "23505", keyed: true },
];

/// Which rows of the input are bad: none, one in a hundred, every other one, all.
const SHARES: [fn(u64) -> bool; 4] = [|_| false, |n| n % 100 == 50, |n| n % 2 == 1, |_| true];

#[test]
fn every_connection_narrows_its_own_refused_rows_down_and_loses_no_good_one() {
    let database = Database::new();
    database.sql("CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 9)");
    let pad = "x".repeat(WIDTH);
    for case in CASES {
        for is_bad in SHARES {
            let mut csv = "id,v,pad\n".to_owned();
            for n in 0..ROWS {
                let (id, v) = if is_bad(n) { (case.bad)(n) } else { (n.cast_signed(), 3) };
                csv.push_str(&format!("{id},{v},{pad}\n"));
            }
            let file = database.file("input.csv", csv);
            for jobs in [1, 2, 4] {
                check(&database, &case, is_bad, &file, jobs);
            }
        }
    }
}

fn check(database: &Database, case: &Case, is_bad: fn(u64) -> bool, file: &str, jobs: usize) {
    // The key that bad rows meet is there before, so that it is always they that are refused.
    database.sql(&format!(
        "DROP TABLE IF EXISTS t; CREATE TABLE t ({}, pad text, pid int DEFAULT pg_backend_pid());
         INSERT INTO t (id, v) VALUES (-1, 3)",
        case.columns
    ));
    let rejects = database.path("rejects.jsonl");
    let _ = std::fs::remove_file(&rejects);
    let wanted = options(file, "t").on_error(OnError::Ignore).rejects(rejects.clone()).jobs(jobs);
    let report = load(database, &wanted);
    let bad: BTreeSet<u64> = (0..ROWS).filter(|n| is_bad(*n)).collect();
    let what = format!("{}, {} bad, {jobs} connections", case.columns, bad.len());
    let refused: Vec<Value> = std::fs::read_to_string(&rejects)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines: BTreeSet<u64> = refused.iter().map(|reject| reject["line"].as_u64().unwrap() - 2).collect();
    assert!(lines == bad, "{what}: {} were refused", lines.len());
    assert_eq!(refused.len(), bad.len(), "{what}: a row is rejected twice");
    assert!(refused.iter().all(|reject| reject["sqlstate"] == case.sqlstate), "{what}");
    assert_eq!((report.rows_read, report.rows_rejected), (ROWS, bad.len() as u64), "{what}");
    assert_eq!(report.rows, ROWS - report.rows_rejected, "{what}");
    let good: u64 = (0..ROWS).filter(|n| !bad.contains(n)).sum();
    let there = format!(
        "SELECT count(*), count(DISTINCT id), coalesce(sum(id), 0), coalesce(min(length(pad)), {WIDTH}) FROM t WHERE id >= 0"
    );
    assert_eq!(database.sql(&there), format!("{0}|{0}|{good}|{WIDTH}", report.rows), "{what}");
    if !case.keyed && report.rows > 0 {
        // A thread that the system starts late may find nothing left to send.
        let connections: usize =
            database.sql("SELECT count(DISTINCT pid) FROM t WHERE id >= 0").parse().unwrap();
        assert_eq!(report.jobs, jobs, "{what}");
        assert!((jobs.min(2)..=jobs).contains(&connections), "{what}: rows came over {connections}");
    }
}
