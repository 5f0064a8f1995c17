//! `howdah doctor --try`: what findings come to together is measured, and nothing stays of it.

use serde_json::{Value, json};

use super::measuring::{is_too_loud, measured_with, traces};
use super::{doctor, server};

/// Measures what the findings come to, for a few rounds of small tables.
fn tried(conninfo: &str, table: &str, ids: &str) -> Value {
    measured_with(conninfo, &["--table", table, "--try", ids])
}

#[test]
fn what_is_tried_is_left_out_together_and_what_that_saves_is_said() {
    let server = server();
    server.sql(
        "CREATE SCHEMA tried; SET search_path = tried; CREATE TABLE t (id int, other int, body int[]);
         INSERT INTO t SELECT n, n, array(SELECT (n * 7919 + m * 104729) % 1000003 FROM generate_series(1, 60) m)
           FROM generate_series(1, 20000) n;
         CREATE INDEX slow ON t USING gin (body) WITH (fastupdate = off);
         CREATE INDEX short ON t (id); CREATE INDEX longer ON t (id, other); ANALYZE t",
    );
    let conninfo = server.conninfo();
    let before = traces(server, "tried");
    let report = tried(&conninfo, "tried.t", "index.duplicate,index.gin");
    assert_eq!(traces(server, "tried"), before);
    let result = &report["tried"];
    assert_eq!(result["ids"], json!(["index.duplicate", "index.gin"]), "{report:#}");
    let mut without: Vec<&str> =
        result["without"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    without.sort_unstable();
    assert_eq!(without, ["index short", "index slow"]);
    // Each of its rounds has the whole table twice, too.
    let runs = report["trials"]["table"]["runs"].as_array().unwrap();
    let rounds: Vec<&Value> =
        runs.iter().filter(|run| run["variant"] == "prescribed").map(|run| &run["round"]).collect();
    assert!(rounds.len() >= 3, "{rounds:?}");
    let whole = |round: &Value| {
        runs.iter()
            .filter(|run| run["round"] == *round && run["variant"].to_string().contains("whole"))
            .count()
    };
    assert!(rounds.iter().all(|round| whole(round) == 2), "{runs:?}");
    assert!(report.get("prescription").is_none());
    if !is_too_loud(&report) {
        assert!(result["saved"]["low"].as_f64().unwrap() > 0.0, "{result:#}");
        assert!(result["saved"]["median"].as_f64().unwrap() > 0.2, "{result:#}");
        assert_eq!(result["is_clear"], true);
        assert!(result["then"]["median"].as_f64() > result["now"]["median"].as_f64(), "{result:#}");
    }
    // Saved and judged again it says the same, to people too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tried.json");
    std::fs::write(&path, report.to_string()).unwrap();
    let again = doctor(&["-q", "--facts", path.to_str().unwrap(), "--report", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), report);
    for form in [&["-q"][..], &["--report", "text"][..]] {
        let told = doctor(&[&["--facts", path.to_str().unwrap()], form].concat());
        let told = String::from_utf8(told.stdout).unwrap();
        let line = told.lines().find(|line| line.starts_with("tried: ")).unwrap();
        assert!(line.contains(" of the time goes with index.duplicate, index.gin"), "{line}");
    }
}

#[test]
fn the_log_can_be_tried_and_what_cannot_is_an_error() {
    let server = server();
    server.sql(
        "CREATE SCHEMA untried; SET search_path = untried; CREATE TABLE t (id int);
         INSERT INTO t SELECT generate_series(1, 20000); ANALYZE t",
    );
    let conninfo = server.conninfo();
    let report = tried(&conninfo, "untried.t", "wal.unlogged");
    assert_eq!(
        (&report["tried"]["ids"], &report["tried"]["without"]),
        (&json!(["wal.unlogged"]), &json!(["the log"]))
    );
    let runs = report["trials"]["table"]["runs"].as_array().unwrap();
    // A row of it is in no log: what else is written there is little.
    let log = |variant: &str| {
        let of: Vec<f64> = runs
            .iter()
            .filter(|run| run["variant"] == variant)
            .map(|run| run["log"].as_f64().unwrap())
            .collect();
        of.iter().copied().fold(f64::INFINITY, f64::min)
    };
    assert!(log("prescribed") < log("whole") / 2.0, "{runs:?}");
    for (args, said) in [
        (&["--table", "untried.t", "--try", "fk.cost"][..], "hint: what can be tried: wal.unlogged"),
        (
            &["--table", "untried.t", "--try", "wal.unlogged,nonsense"][..],
            "\"nonsense\" cannot be tried on untried.t: ",
        ),
        (&["--try", "wal.unlogged"][..], "--table <TABLE>"),
    ] {
        let done = doctor(&[&["-w", "-d", &conninfo][..], args].concat());
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
        assert!(done.stdout.is_empty());
    }
    let stranger = doctor(&["--facts", "any.json", "--try", "wal.unlogged"]);
    assert_eq!(stranger.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("cannot be used with"));
}
