//! `howdah doctor` against servers and tables into which a state was built: it is found with its evidence and its remedy, and the
//! remedy, run as it is printed, makes it go away.

mod applying;
mod batches;
mod connections;
mod growth;
mod inputs;
mod measuring;
mod offline;
mod programs;
mod roles;
mod scripts;
mod secrets;
mod servers;
mod tables;
mod tries;
mod watching;

use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;
use howdah_testkit::{OwnServer, Settings};
use serde_json::Value;

/// A server with PostgreSQL's own defaults, for tests that leave its settings alone.
fn server() -> &'static OwnServer {
    static SERVER: OnceLock<OwnServer> = OnceLock::new();
    // Tests that measure write much of its log: with less room for it, that alone would be a finding of the others.
    let settings = || Settings::new().with("max_prepared_transactions", "5").with("max_wal_size", "2GB");
    SERVER.get_or_init(|| OwnServer::with(settings()))
}

fn doctor(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(name);
    }
    command.arg("doctor").args(args).stdin(Stdio::null()).guarded_output()
}

/// The report, as a program gets it.
fn looked(conninfo: &str, args: &[&str]) -> Value {
    let done = doctor(&[&["-w", "-q", "-d", conninfo, "--report", "json"], args].concat());
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The findings' names.
fn ids(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

/// The first finding of that name, if there is one.
fn find<'r>(report: &'r Value, id: &str) -> Option<&'r Value> {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id)
}

/// The statements of a finding's remedy.
fn statements(finding: &Value, at: usize) -> String {
    let action = &finding["remedies"][at]["action"];
    assert_eq!(action["kind"], "sql", "{finding:#}");
    let statements = action["text"].as_array().unwrap().iter();
    statements.map(|statement| statement.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_table_is_as_large_as_it_is_and_not_as_it_was_when_somebody_counted() {
    let server = server();
    server.sql("CREATE TABLE filled (a int) WITH (autovacuum_enabled = off); INSERT INTO filled SELECT generate_series(1, 100000)");
    let done = doctor(&["-w", "-d", &server.conninfo(), "--table", "filled"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("; table public.filled: rows never counted, 3.7 MB, 0 indexes\n"), "{text}");
}

#[test]
fn nothing_is_found_on_an_empty_table_of_a_server_that_is_well() {
    let server = server();
    server.sql("CREATE TABLE well (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int, at timestamptz)");
    let report = looked(&server.conninfo(), &["--table", "well", "--rows", "1000"]);
    assert_eq!(ids(&report), Vec::<&str>::new(), "{:#}", report["findings"]);
    assert_eq!(report["not_seen"], Value::Array(Vec::new()));
    assert_eq!(
        (&report["report_format"], &report["report"], &report["measured"]),
        (&1.into(), &"doctor".into(), &false.into())
    );
    let text = doctor(&["-w", "-d", &server.conninfo(), "--table", "well", "--rows", "1000", "-v"]);
    let text = String::from_utf8(text.stdout).unwrap();
    for line in [
        "; table public.well: rows never counted, ",
        "nothing that was seen here",
        "index.duplicate,",
        "Nothing was measured.",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_table_that_is_not_there_and_a_server_that_does_not_answer_are_usage() {
    let conninfo = server().conninfo();
    let done = doctor(&["-w", "-d", &conninfo, "--table", "nowhere.none", "--report", "json"]);
    assert_eq!(done.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["outcome"], &report["error"]["sqlstate"]), (&"failed".into(), &"42P01".into()));
    server().sql("CREATE MATERIALIZED VIEW kept AS SELECT 1 AS a; CREATE INDEX kept_a ON kept (a); CREATE SEQUENCE counter");
    for no_table in ["kept", "kept_a", "counter"] {
        assert_eq!(
            doctor(&["-w", "-d", &conninfo, "--table", no_table]).status.code(),
            Some(2),
            "{no_table}"
        );
    }
    assert_eq!(doctor(&["-w", "-h", "/nowhere", "-d", "x"]).status.code(), Some(2));
    assert_eq!(doctor(&["--rows", "no", "-w", "-d", &conninfo]).status.code(), Some(2));
    for alone in [["--seconds", "5"], ["--bytes", "1MiB"]] {
        assert_eq!(
            doctor(&[&["-w", "-d", &conninfo][..], &alone].concat()).status.code(),
            Some(2),
            "{alone:?}"
        );
    }
}

/// The tests of this program that are about states, against the oldest server that is looked at.
#[test]
fn postgresql_15_is_looked_at_like_later_ones() {
    let programs = "/usr/lib/postgresql/15/bin";
    if !std::path::Path::new(programs).join("initdb").exists() {
        return missing("postgres15", "there is no PostgreSQL 15 in /usr/lib/postgresql");
    }
    let tests = [
        "doctor::tables::",
        "doctor::roles::",
        "doctor::scripts::",
        "doctor::servers::",
        "doctor::secrets::",
        "doctor::nothing_is_found",
        "doctor::measuring::what_costs_time",
        "doctor::measuring::a_role_measures",
        "doctor::measuring::wide_values",
        "doctor::programs::",
    ];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(tests).args(["--test-threads", "2"]).env("HOWDAH_PG_BIN", programs).stdin(Stdio::null());
    let run = command.guarded_output();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    for test in tests {
        assert!(said.contains(&format!("test {test}")), "{test} did not run: {said}");
    }
}

#[test]
fn every_name_is_listed_explained_and_in_the_guide() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let list = String::from_utf8(doctor(&["--list"]).stdout).unwrap();
    assert!(list.lines().count() >= 25);
    for line in list.lines() {
        let (id, title) = line.split_once(' ').unwrap();
        assert!(guide.contains(&format!("| `{id}` | {} |", title.trim())), "{line}");
        let explained = String::from_utf8(doctor(&["--explain", id]).stdout).unwrap();
        assert!(
            explained.starts_with(&format!("{id}: ")) && explained.contains("what to do:"),
            "{explained}"
        );
        assert!(explained.lines().all(|line| line.chars().count() <= 100), "{explained}");
    }
    assert_eq!(doctor(&["--explain", "nothing"]).status.code(), Some(2));
}
