//! `howdah promote` as a script sees it: exit codes, standard output, the JSON report.

use std::process::{Command, Output, Stdio};

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;
use serde_json::Value;

fn promote(database: &Database, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS"] {
        command.env_remove(name);
    }
    command.arg("promote").args(args).args(["-w", "-d", &database.conninfo()]).stdin(Stdio::null());
    command.guarded_output()
}

#[test]
fn a_script_learns_what_became_of_the_rows() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int CHECK (n > 0)); CREATE TABLE raw (n text); INSERT INTO raw VALUES ('1'), ('x');
         CREATE TABLE low (n text); INSERT INTO low VALUES ('0'), ('7')",
    );
    let done = promote(&database, &["raw", "--into", "t", "--rejects-table", "bad"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b"PROMOTE 1\n"[..]));
    assert!(String::from_utf8_lossy(&done.stderr).contains("rejects: 1 row does not fit: kept in bad"));
    assert_eq!(database.sql("SELECT n, reject_column FROM bad"), "x|n");

    let report = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).expect("a report");
    let done = promote(&database, &["low", "--into", "t", "--report", "json", "--quiet"]);
    assert_eq!(done.status.code(), Some(1));
    let failed = report(&done);
    assert_eq!((&failed["outcome"], &failed["error"]["sqlstate"]), (&"failed".into(), &"23514".into()));
    assert_eq!(failed["error"]["visible"], "nothing was changed");

    let wanted = ["low", "--into", "t", "--report", "json", "--reject-violations", "--drop-landing"];
    let done = promote(&database, &wanted);
    assert_eq!(done.status.code(), Some(3));
    let promoted = report(&done);
    assert_eq!((promoted["rows"].as_u64(), promoted["rows_rejected"].as_u64()), (Some(1), Some(1)));
    for key in ["landing", "table", "rejects_table", "elapsed_s", "rows_per_s", "server_version"] {
        assert!(!promoted[key].is_null(), "{key}");
    }
    assert!(promoted["phases"]["promote_s"].as_f64() > Some(0.0));
    assert_eq!(database.sql("SELECT to_regclass('low') IS NULL, count(*) FROM t"), "t|2");

    assert_eq!(promote(&database, &["none", "--into", "t"]).status.code(), Some(2));
}
