//! `howdah migrate` as a person and a script see it: exit codes, reports, signals, and what is left by a kill.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use howdah_testkit::{Database, Rng};

use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until_handled;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const CONFIG: &str = "version: 1\nname: shop\nsql:\n  - files: [shop.sql]\n    gen:\n      \
                      - generator: python/postgres\n        output: generated/\n";
const ONE: &str = "-- MIGRATE 1\nCREATE TABLE users (id bigint PRIMARY KEY);\n";

fn project(sql: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("howdah.yaml"), CONFIG).unwrap();
    std::fs::write(folder.path().join("shop.sql"), sql).unwrap();
    folder
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    command.arg("migrate").args(args).current_dir(folder).stdin(Stdio::null());
    for name in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(name);
    }
    command
}

fn migrate(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).guarded_output()
}

fn out(done: &Output) -> &str {
    std::str::from_utf8(&done.stdout).unwrap()
}

fn said(done: &Output) -> &str {
    std::str::from_utf8(&done.stderr).unwrap()
}

fn report(done: &Output) -> Value {
    assert_eq!(out(done).lines().count(), 1, "{}", out(done));
    serde_json::from_str(out(done)).unwrap()
}

#[test]
fn a_script_learns_how_the_steps_stand_and_what_was_applied() {
    let database = Database::new();
    let conninfo = database.conninfo();
    let folder = project(ONE);
    let here = folder.path();
    let done = migrate(here, &["status", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert_eq!(out(&done), "1  pending       shop.sql:1\n");
    assert!(said(&done).ends_with("\nshop is not up to date: 1 step to apply\n"), "{}", said(&done));

    let done = migrate(here, &["apply", "-d", &conninfo, "--dry-run", "--report", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!((&report(&done)["outcome"], &report(&done)["applied"]), (&"tried".into(), &0.into()));
    assert_eq!(database.sql("SELECT to_regclass('users') IS NULL"), "t");

    let done = migrate(here, &["apply", "-d", &conninfo]);
    assert_eq!((done.status.code(), out(&done)), (Some(0), ""), "{}", said(&done));
    assert!(said(&done).contains("\npending 1 (shop.sql:1)\napplied 1 in "), "{}", said(&done));
    let done = migrate(here, &["apply", "-d", &conninfo, "--report", "json", "-q"]);
    assert_eq!((done.status.code(), said(&done)), (Some(0), ""));
    let told = report(&done);
    assert_eq!((&told["report_format"], &told["outcome"]), (&1.into(), &"up_to_date".into()));
    let step = &told["steps"][0];
    assert_eq!((&step["standing"], &step["applied_now"]), (&"applied".into(), &false.into()));
    assert_eq!(step["checksum"].as_str().unwrap().len(), 64);
    let done = migrate(here, &["status", "-d", &conninfo]);
    assert!(
        done.status.success() && out(&done).starts_with("1  applied       shop.sql:1  20"),
        "{}",
        out(&done)
    );

    // The same steps under another name, and of a file without a configuration.
    let done = migrate(here, &["status", "-d", &conninfo, "--project", "tenant-123"]);
    assert_eq!(done.status.code(), Some(1));
    let done = migrate(here, &["status", "-d", &conninfo, "--file", "shop.sql", "--project", "shop"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    // Where the step's table is not there yet: another schema of the same database.
    let conninfo_of_tenant = format!("{conninfo} options='-c search_path=tenant,public'");
    database.sql("CREATE SCHEMA tenant");
    let tenant = ["-d", &conninfo_of_tenant, "--project", "tenant-123"];
    let done = migrate(here, &[&["apply"][..], &tenant].concat());
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let done = migrate(here, &[&["status"][..], &tenant].concat());
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let rows = "SELECT string_agg(project || ' ' || id, ', ' ORDER BY project) FROM howdah_migrations";
    assert_eq!(database.sql(rows), "shop 1, tenant-123 1");

    std::fs::write(here.join("shop.sql"), ONE.replace("bigint", "int")).unwrap();
    let done = migrate(here, &["apply", "-d", &conninfo, "--report", "json"]);
    assert_eq!(done.status.code(), Some(1));
    let told = report(&done);
    assert_eq!(
        (&told["outcome"], &told["messages"][0]["code"]),
        (&"drift".into(), &"MIGRATION_DRIFT".into())
    );
    assert!(said(&done).contains("shop.sql:1:12: error[MIGRATION_DRIFT]"), "{}", said(&done));
}

#[test]
fn a_database_is_always_named() {
    let folder = project(ONE);
    let mut alone = command(folder.path(), &["apply"]);
    for name in ["SQG_POSTGRES_URL", "HOWDAH_CODEGEN_URL", "PGDATABASE"] {
        alone.env(name, Database::new().conninfo());
    }
    let done = alone.guarded_output();
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("--dbname <CONNINFO>"), "{}", said(&done));
    for conninfo in ["host=127.0.0.1 port=1 password=canary-of-migrations", "hots=x"] {
        let done = migrate(folder.path(), &["status", "-d", conninfo, "-w", "--report", "json"]);
        assert_eq!(done.status.code(), Some(2), "{}", said(&done));
        assert_eq!(report(&done)["messages"][0]["code"], "DATABASE_ERROR");
        assert!(!format!("{}{}", out(&done), said(&done)).contains("canary"));
    }
    let empty = project("-- QUERY q\nSELECT 1;\n");
    let done = migrate(empty.path(), &["apply", "-d", "x", "--report", "json"]);
    assert_eq!((done.status.code(), &report(&done)["outcome"]), (Some(1), &"failed".into()));
    assert!(said(&done).contains("there is no MIGRATE"), "{}", said(&done));
}

#[test]
fn names_of_steps_cannot_write_on_the_terminal() {
    let database = Database::new();
    database.sql("CREATE TABLE howdah_migrations (project text, id text, position int, checksum text, state text, applied_at timestamptz, applied_by text, duration_ms bigint, format int)");
    database.sql(
        "INSERT INTO howdah_migrations VALUES ('shop', E'a\\x1b[2J', 9, '', 'done', now(), E'm\\x1be', 1, 1)",
    );
    let folder = project(ONE);
    let done = migrate(folder.path(), &["status", "-d", &database.conninfo()]);
    let all = format!("{}{}", out(&done), said(&done));
    assert!(!all.contains('\u{1b}') && all.contains("a\\u{1b}[2J"), "{all}");
}

#[test]
fn ctrl_c_ends_a_statement_and_leaves_nothing_of_its_step() {
    let database = Database::new();
    let sql = format!("{ONE}-- MIGRATE 2\nCREATE TABLE later (a int);\nSELECT pg_sleep(600);\n");
    let folder = project(&sql);
    let mut started = command(folder.path(), &["apply", "-d", &database.conninfo(), "--report", "json"]);
    let child = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_handled(&child, Signal::INT);
    database.until("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%' AND datname = current_database()", "1");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(130), "{}", said(&done));
    assert_eq!((&report(&done)["outcome"], &report(&done)["applied"]), (&"stopped".into(), &1.into()));
    assert_eq!(database.sql("SELECT to_regclass('later') IS NULL, count(*) FROM howdah_migrations"), "t|1");
}

#[test]
fn a_kill_at_any_time_leaves_a_step_and_its_row_or_neither() {
    let database = Database::new();
    let conninfo = database.conninfo();
    let steps = (0..60)
        .map(|n| format!("-- MIGRATE {n}\nCREATE TABLE t{n} (a int);\nINSERT INTO t{n} VALUES (1);\n"));
    let folder = project(&steps.collect::<String>());
    let mut random = Rng::new(7);
    for round in 0..12 {
        let mut started = command(folder.path(), &["apply", "-d", &conninfo, "-q"]);
        let mut child = started.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A moment of no meaning: whichever it is, the rows say what is there.
        std::thread::sleep(random.up_to(Duration::from_millis(120)));
        child.kill().unwrap();
        child.wait().unwrap();
        database.until("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah migrate' AND datname = current_database()", "0");
        if database.sql("SELECT to_regclass('howdah_migrations') IS NULL") == "t" {
            continue;
        }
        let tables = database.sql("SELECT string_agg(substr(tablename, 2), ',' ORDER BY tablename) FROM pg_tables WHERE tablename ~ '^t[0-9]+$'");
        let rows = database.sql("SELECT string_agg(id, ',' ORDER BY 't' || id) FROM howdah_migrations");
        assert_eq!(tables, rows, "round {round}");
    }
    let done = migrate(folder.path(), &["apply", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*) FROM howdah_migrations WHERE state = 'done'"), "60");
}

#[test]
fn a_kill_within_a_step_without_a_transaction_is_said_by_the_next_run() {
    let database = Database::new();
    let conninfo = database.conninfo();
    let folder = project(&format!("{ONE}-- MIGRATE 2 :no_transaction\nSELECT pg_sleep(600);\n"));
    let mut started = command(folder.path(), &["apply", "-d", &conninfo]);
    let mut child = started.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%' AND state = 'active' AND datname = current_database()";
    database.until(asleep, "1");
    child.kill().unwrap();
    child.wait().unwrap();
    database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%' AND datname = current_database()");
    database.until(asleep, "0");
    let done = migrate(folder.path(), &["apply", "-d", &conninfo]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done).contains("shop.sql:3:12: error[MIGRATION_DRIFT]: it was begun "), "{}", said(&done));
    assert!(out(&done).contains("2  interrupted"), "{}", out(&done));
    let done = migrate(folder.path(), &["apply", "-d", &conninfo, "--accept", "2"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).contains("\naccepted 2 (shop.sql:3, without a transaction)\n"), "{}", said(&done));
}
