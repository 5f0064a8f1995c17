//! `howdah load --share` as processes: one that is killed leaves its part to another, and reports say who loaded what.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;
use serde_json::Value;

fn howdah(database: &Database, files: &[String], args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(name);
    }
    command.arg("load").args(files).args(["--table", "t", "-w", "-d", &database.conninfo()]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Rows 0 to 59 in three files; the last file is the largest.
fn files(database: &Database) -> Vec<String> {
    let file = |(name, rows): (&str, std::ops::Range<u32>)| {
        let rows: String = rows.map(|id| format!("{id},row {id}\n")).collect();
        database.file(name, format!("id,name\n{rows}"))
    };
    [("a.csv", 0..10), ("b.csv", 10..30), ("c.csv", 30..60)].map(file).into()
}

/// A psql session that holds a key of `t` until it is dropped.
struct Keeper(Child);

impl Keeper {
    fn new(database: &Database, id: u32) -> Keeper {
        let mut psql = database.psql().stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        writeln!(psql.stdin.as_mut().unwrap(), "BEGIN; INSERT INTO t VALUES ({id}, 'kept');").unwrap();
        let kept = "SELECT count(*) FROM pg_locks WHERE granted AND relation = 't'::regclass
                       AND mode = 'RowExclusiveLock'";
        database.until(kept, "1");
        Keeper(psql)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_part_of_a_killed_process_goes_to_another_and_reports_say_who_loaded_what() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, name text)");
    let files = files(&database);
    let share = ["--load-id", "nightly", "--share", "--report", "json"];
    let keeper = Keeper::new(&database, 59);
    let mut killed = howdah(&database, &files, &share).args(["--jobs", "1"]).spawn().unwrap();
    let waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                   AND application_name = 'howdah' AND datname = current_database()";
    database.until(&format!("SELECT count(*) {waiting}"), "1");
    let its_session = database.sql(&format!("SELECT pid {waiting}"));
    let heir = howdah(&database, &files, &share).spawn().unwrap();
    database.until("SELECT count(*) FROM howdah_parts WHERE committed_at IS NULL", "1");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The heir may wait in its place at once.
    database.until(&format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {its_session}"), "0");
    drop(keeper);
    let output = heir.guarded_output();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["rows"], &report["commit"]), (&60.into(), &"part".into()));
    let expected = serde_json::json!({
        "load_id": "nightly", "parts": 3, "parts_here": 3, "parts_elsewhere": 0,
        "rows_elsewhere": 0, "rejected_elsewhere": 0,
    });
    assert_eq!(report["shared"], expected);
    assert_eq!(database.sql("SELECT count(*), sum(id) FROM t"), "60|1770");

    let late = howdah(&database, &files, &share[..3]).spawn().unwrap().guarded_output();
    let said = String::from_utf8_lossy(&late.stderr);
    assert_eq!((late.status.code(), &*late.stdout), (Some(0), &b"COPY 0\n"[..]), "{said}");
    assert!(said.contains("load nightly is shared: 3 of 3 parts are in already\n"), "{said}");
    assert!(!said.contains("holds rows already"), "{said}");
    assert!(said.contains("shared: 0 of 3 parts here, 3 elsewhere with 60 rows"), "{said}");
}

#[test]
fn share_and_load_id_need_each_other() {
    let database = Database::new();
    let files = files(&database);
    for args in [&["--share"][..], &["--load-id", "n"]] {
        let output = howdah(&database, &files, args).spawn().unwrap().guarded_output();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("--share") && said.contains("--load-id <ID>"), "{said}");
    }
}

#[test]
fn processes_that_are_killed_again_and_again_lose_and_repeat_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text)");
    let file = |at: u32| {
        let rows: String = (at * 5_000..(at + 1) * 5_000).map(|id| format!("{id},row {id}\n")).collect();
        database.file(&format!("f{at}.csv"), format!("id,name\n{rows}"))
    };
    let files: Vec<String> = (0..12).map(file).collect();
    let start = || {
        let mut command = howdah(&database, &files, &["--load-id", "n", "--share", "--jobs", "1", "-q"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut processes = [start(), start(), start()];
    for round in 0..9 {
        let process = &mut processes[round % 3];
        let there = "SELECT to_regclass('howdah_parts') IS NOT NULL";
        database.until(there, "t");
        database.until(&format!("SELECT count(committed_at) >= {round} FROM howdah_parts"), "t");
        process.kill().unwrap();
        process.wait().unwrap();
        *process = start();
    }
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT id) FROM t"), "60000|60000");
    assert_eq!(
        database.sql("SELECT count(*), count(committed_at), sum(rows) FROM howdah_parts"),
        "12|12|60000"
    );
}
