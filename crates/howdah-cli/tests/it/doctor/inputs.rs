//! `howdah doctor INPUT`: how many rows it has, and how long their load will take.

use std::fmt::Write;

use super::measuring::{measured, measured_with};
use super::{doctor, looked, server};

/// A file of so many rows of two columns below a header.
fn file(folder: &tempfile::TempDir, rows: u64) -> String {
    let mut text = "id,name\n".to_owned();
    for row in 0..rows {
        writeln!(text, "{row},\"row {row:09}, all of it\"").unwrap();
    }
    let path = folder.path().join(format!("{rows}.csv"));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn rows_of_a_file_are_counted_or_told_from_its_size() {
    let server = server();
    server.sql("CREATE SCHEMA coming; CREATE TABLE coming.t (id int, name text)");
    let folder = tempfile::tempdir().unwrap();
    for (rows, is_counted) in [(0, true), (999, true), (120_000, true), (3_000_000, false)] {
        let path = file(&folder, rows);
        let report = looked(&server.conninfo(), &[&path, "--table", "coming.t"]);
        let input = &report["ask"]["input"];
        assert_eq!(input["is_counted"], is_counted, "{rows}: {input}");
        let ratio = input["rows"].as_f64().unwrap() / (rows as f64).max(1.0);
        assert!(
            if is_counted { input["rows"] == rows } else { (0.95..1.05).contains(&ratio) },
            "{rows}: {input}"
        );
    }
    assert_eq!(server.sql("SELECT count(*) FROM coming.t"), "0");
    // A number that was typed counts more.
    let path = file(&folder, 999);
    let report = looked(&server.conninfo(), &[&path, "--table", "coming.t", "--rows", "5"]);
    assert_eq!((&report["ask"]["rows"], &report["ask"]["input"]["rows"]), (&5.into(), &999.into()));
    assert_eq!(doctor(&["-w", "-d", &server.conninfo(), &path]).status.code(), Some(2));
}

#[test]
fn an_input_that_would_be_refused_is_no_reason_not_to_look() {
    let server = server();
    server.sql("CREATE SCHEMA refusing; CREATE TABLE refusing.t (id int, name int)");
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, 10);
    let absent = doctor(&["-w", "-q", "-d", &server.conninfo(), "no.csv", "--table", "refusing.t"]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("no.csv"));
    let done = doctor(&["-w", "-d", &server.conninfo(), &path, "--table", "refusing.t", "--report", "json"]);
    assert_eq!(done.status.code(), Some(0));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("10.csv has is not known: a dry run of the load failed: "), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(report["ask"].get("input").is_none(), "{}", report["ask"]);
}

#[test]
fn how_long_a_load_will_take_is_said() {
    let server = server();
    server.sql(
        "CREATE SCHEMA timed; CREATE TABLE timed.t (id int PRIMARY KEY, name text);
         INSERT INTO timed.t SELECT n, 'row ' || n FROM generate_series(1, 20000) n; ANALYZE timed.t",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, 5000);
    // Without rows to come, nobody knows how long they take.
    assert!(measured(&server.conninfo(), "timed.t").get("prediction").is_none());
    let report = measured_with(&server.conninfo(), &["--table", "timed.t", &path]);
    let prediction = &report["prediction"];
    assert_eq!((&prediction["rows"], &prediction["is_counted"]), (&5000.into(), &true.into()));
    let [low, median, high] = ["low", "median", "high"].map(|end| prediction["now"][end].as_f64().unwrap());
    assert!(0.0 < low && low <= median && median <= high && high < 60.0, "{prediction}");
    let path = folder.path().join("measured.json");
    std::fs::write(&path, report.to_string()).unwrap();
    let text = doctor(&["--facts", path.to_str().unwrap()]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\nto come: 5,000 rows in ") && text.contains(", 1 connection"), "{text}");
}
