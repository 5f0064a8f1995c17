//! `howdah doctor --app --measure`: statements of several sizes lead rows into a table that goes, and the sizes that pay are said.

use std::collections::BTreeSet;

use howdah_testkit::OwnServer;

use super::measuring::{end_in_the_middle, traces};
use super::{doctor, find, looked, server};

#[test]
fn how_many_rows_a_statement_should_have_is_measured_and_nothing_stays() {
    let server = server();
    server.sql(
        "CREATE SCHEMA sizes; SET search_path = sizes; CREATE TYPE mood AS ENUM ('well', 'ill');
         CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a varchar(40) NOT NULL, m mood DEFAULT 'ill', b numeric,
             j jsonb, twice bigint GENERATED ALWAYS AS (id * 2) STORED, CHECK (id > 0));
         INSERT INTO t (a, b, j) SELECT E'it''s\\t\\\\row ' || n, CASE WHEN n % 3 > 0 THEN n / 3.0 END, jsonb_build_object('n', n)
           FROM generate_series(1, 20000) n;
         CREATE TABLE lists AS SELECT n, ARRAY[n, n] AS both FROM generate_series(1, 5000) n; ANALYZE t, lists",
    );
    let before = traces(server, "sizes");
    // Statements get a quarter of the time.
    let room = ["--measure", "--allow-busy", "--seconds", "16", "--bytes", "1GiB", "--app", "--watch=1"];
    let measured = |table: &str| looked(&server.conninfo(), &[&room[..], &["--table", table]].concat());
    let report = measured("sizes.t");
    assert_eq!(traces(server, "sizes"), before);
    let runs = report["trials"]["batches"]["runs"].as_array();
    let runs = runs.unwrap_or_else(|| panic!("{:#}", report["trials"]["not_measured"]));
    let turns = |runs: &[serde_json::Value]| -> BTreeSet<(String, u64, u64)> {
        let of = |run: &serde_json::Value| {
            let [connections, rows] = ["connections", "rows"].map(|key| run[key].as_u64().unwrap());
            (run["path"].as_str().unwrap().to_owned(), connections, rows)
        };
        runs.iter().map(of).collect()
    };
    let found = turns(runs);
    for path in ["insert", "prepared", "unnest", "copy"] {
        for (connections, rows) in [(1, 1), (1, 10), (1, 100), (1, 1000), (4, 1), (4, 1000)] {
            assert!(
                found.contains(&(path.to_owned(), connections, rows)),
                "{path} {connections} {rows}: {found:?}"
            );
        }
    }
    // On a machine that is busy with other tests, times may lie on no line at all: that is no finding.
    if let Some(finding) = find(&report, "app.batch-size") {
        assert_eq!(finding["basis"], "measured");
        let said = finding["evidence"].to_string();
        assert!(
            said.contains("COPY, one connection: ") && said.contains("each with a commit of "),
            "{finding:#}"
        );
    }
    // A saved report gives the same.
    let saved = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(saved.path(), report.to_string()).unwrap();
    let again = doctor(&["--facts", saved.path().to_str().unwrap(), "--report", "json"]);
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["findings"], &again["trials"]), (&report["findings"], &report["trials"]));
    // Arrays of arrays would come apart.
    let report = measured("sizes.lists");
    let found = turns(report["trials"]["batches"]["runs"].as_array().unwrap());
    assert!(
        found.contains(&("prepared".to_owned(), 1, 100)) && !found.iter().any(|(path, ..)| path == "unnest"),
        "{found:?}"
    );
    // Who does not watch programs does not ask.
    let report = super::measuring::measured(&server.conninfo(), "sizes.t");
    assert!(report["trials"].get("batches").is_none());
    assert_eq!(traces(server, "sizes"), before);
}

#[test]
fn however_it_is_ended_nothing_of_the_statements_stays() {
    let server = OwnServer::start();
    server.sql(
        "CREATE TABLE t (id bigserial PRIMARY KEY, a text);
         INSERT INTO t (a) SELECT repeat('x', 100) FROM generate_series(1, 20000) n; ANALYZE",
    );
    let writing = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query ILIKE 'INSERT INTO %howdah%'";
    end_in_the_middle(&server, &["--app", "--watch=1", "--seconds", "16"], writing);
}
