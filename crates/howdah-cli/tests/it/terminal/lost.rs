//! Servers that fail in the middle of a load: a backend that is ended, a server that stops, a disk that is full.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use howdah_server::Settings;
use howdah_testkit::require::missing;
use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use howdah_testkit::{Database, OwnServer, TinyDisk};

/// The connections that send rows.
const COPIES: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah' \
                      AND datname = current_database() AND query LIKE 'COPY %'";

/// `howdah load - --table t`, fed without an end.
fn endless_load(conninfo: &str, jobs: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args(["load", "-", "--table", "t", "-w", "--jobs", jobs, "-d", conninfo])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::spawn(move || {
        let rows = "17,some words\n".repeat(50_000);
        while stdin.write_all(rows.as_bytes()).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    child
}

/// What a person must read when a server went away: no word of bad records, what is visible, what to do.
fn check(output: &Output, situation: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{situation}: {said}");
    assert!(output.stdout.is_empty(), "{situation}");
    assert!(said.contains("\nnow: nothing was changed"), "{situation}: {said}");
    assert!(!said.contains("--on-error"), "{situation}: {said}");
    let next = said.contains("try again when it answers")
        || said.contains("the next load into the schema removes it");
    assert!(next, "{situation}: {said}");
}

#[test]
fn a_session_that_an_administrator_ended_is_not_blamed_on_the_data() {
    for jobs in ["1", "2"] {
        let database = Database::new();
        let load = endless_load(&database.conninfo(), jobs);
        let end = COPIES.replace("count(*)", "count(pg_terminate_backend(pid))");
        until("a COPY is ended", || database.sql(&end) != "0");
        check(&load.guarded_output(), &format!("{jobs} jobs"));
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
}

#[test]
fn a_server_that_stops_is_not_blamed_on_the_data() {
    for jobs in ["1", "2"] {
        let server = OwnServer::with(Settings::fast_and_unsafe());
        let load = endless_load(&server.conninfo(), jobs);
        until("rows are sent", || server.sql(COPIES) != "0");
        drop(server);
        check(&load.guarded_output(), &format!("{jobs} jobs"));
    }
}

#[test]
fn a_full_disk_of_the_server_leaves_nothing_and_says_what_to_free() {
    let database = Database::new();
    let Some(disk) = TinyDisk::mount(&database.path("tiny"), 8, &database.sql("SHOW data_directory")) else {
        return missing("mounts", "no file system can be mounted here");
    };
    database.sql(&format!("CREATE TABLESPACE tiny LOCATION '{}'", disk.path()));
    let rows: String = (0..800_000).map(|n| format!("{n},some words that take room\n")).collect();
    let file = database.file("big.csv", rows);
    for jobs in ["1", "2"] {
        let load = Command::new(env!("CARGO_BIN_EXE_howdah"))
            .args(["load", &file, "--table", "t", "-w", "--jobs", jobs, "-d", &database.conninfo()])
            .env("PGOPTIONS", "-c default_tablespace=tiny")
            .guarded_output();
        let said = String::from_utf8_lossy(&load.stderr);
        assert_eq!(load.status.code(), Some(1), "{said}");
        assert!(said.contains("No space left on device (SQLSTATE 53100)"), "{said}");
        assert!(said.contains("hint: free some space on the server's disk"), "{said}");
        assert!(said.contains("\nnow: nothing was changed"), "{said}");
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
    database.sql("DROP TABLESPACE tiny");
}
