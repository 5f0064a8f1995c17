//! States of a server, each of which has one of its own or puts back what it changed.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};
use serde_json::Value;

use super::{find, ids, looked, server, statements};

#[test]
fn a_state_of_a_server_is_found_and_its_remedy_ends_it() {
    let server = OwnServer::with(Settings::new());
    server.sql("CREATE TABLE t (a int)");
    let look = || looked(&server.conninfo(), &["--table", "t", "--rows", "1000"]);
    for (made_by, id, evidence) in [
        ("ALTER SYSTEM SET fsync = off", "wal.unsafe", "fsync = off: lab only"),
        ("ALTER SYSTEM SET full_page_writes = off", "wal.unsafe", "full_page_writes = off"),
        ("ALTER SYSTEM SET commit_delay = 1000", "commit.delay", "commit_delay = 1000"),
        ("ALTER SYSTEM SET autovacuum = off", "table.autovacuum", "autovacuum = off"),
        ("ALTER SYSTEM SET synchronous_standby_names = 'absent'", "commit.standby", "0 standbys stream"),
        (
            "SELECT pg_create_physical_replication_slot('left_over', true)",
            "repl.slots",
            "of the log are kept for it",
        ),
    ] {
        server.sql(made_by);
        server.sql("SELECT pg_reload_conf()");
        let mut report = Value::Null;
        until("the setting is read", || {
            report = look();
            find(&report, id).is_some()
        });
        let finding = find(&report, id).unwrap();
        assert!(finding["evidence"].to_string().contains(evidence), "{id}: {finding:#}");
        server.sql(&statements(finding, 0));
        until("the remedy is read", || find(&look(), id).is_none());
    }
    assert_eq!(ids(&look()), Vec::<&str>::new());
}

#[test]
fn a_small_log_is_held_against_what_is_to_come() {
    let conninfo = server().conninfo();
    let report = looked(&conninfo, &["--size", "8GB"]);
    let finding = find(&report, "wal.checkpoints").unwrap();
    assert_eq!(finding["basis"], "computed");
    assert!(finding["evidence"].to_string().contains("to come: 8.0 GB (as you said)"), "{finding:#}");
    assert!(find(&looked(&conninfo, &["--size", "2GB"]), "wal.checkpoints").is_none());
}

/// A session that stays open when its statements are done.
fn session(server: &OwnServer, statements: &str) -> Child {
    let mut child = Command::new(server.bin_dir().join("psql"))
        .args(["-X", "-q", "-d", &server.conninfo()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(statements.as_bytes()).unwrap();
    child
}

#[test]
fn whoever_holds_the_table_is_named_and_can_be_ended() {
    let server = server();
    server.sql("CREATE TABLE held (a int); INSERT INTO held VALUES (1)");
    let look = || looked(&server.conninfo(), &["--table", "held"]);
    let mut child = session(server, "BEGIN;\nLOCK TABLE held;\n");
    let mut report = Value::Null;
    until("the lock is seen", || {
        report = look();
        find(&report, "table.locked").is_some()
    });
    let finding = find(&report, "table.locked").unwrap();
    assert!(
        finding["title"].as_str().unwrap().contains("idle in transaction) holds a lock on public.held"),
        "{finding:#}"
    );
    assert!(finding["evidence"].to_string().contains("AccessExclusiveLock"), "{finding:#}");
    server.sql(&statements(finding, 0));
    until("the lock is gone", || find(&look(), "table.locked").is_none());
    drop(child.stdin.take());
    child.wait().unwrap();

    server.sql("BEGIN; LOCK TABLE held IN SHARE MODE; PREPARE TRANSACTION 'it''s held'");
    let report = look();
    let finding = find(&report, "table.locked").unwrap();
    assert_eq!(statements(finding, 0), "ROLLBACK PREPARED 'it''s held';");
    server.sql(&statements(finding, 0));
    assert!(find(&look(), "table.locked").is_none());
}

#[test]
fn looking_changes_nothing() {
    let server = OwnServer::with(Settings::new().with("autovacuum", "off"));
    server.sql(
        "CREATE TABLE t (id serial PRIMARY KEY, a text DEFAULT md5('x')); CREATE INDEX ON t (a); CREATE INDEX ON t (a, id);
         INSERT INTO t (a) SELECT g FROM generate_series(1, 100) g; ANALYZE t",
    );
    // No transaction got a number: none has written. Nobody read the table either.
    let state = || {
        server.statistics(
            "SELECT pg_snapshot_xmax(pg_current_snapshot()), pg_current_wal_insert_lsn();
             SELECT seq_scan, idx_scan, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables;
             SELECT idx_scan FROM pg_stat_user_indexes ORDER BY indexrelid; SELECT last_value, is_called FROM t_id_seq;
             SELECT count(*) FROM pg_db_role_setting; SELECT count(*) FROM pg_class",
        )
    };
    server.sql("CHECKPOINT");
    let before = state();
    let report = looked(&server.conninfo(), &["--table", "t"]);
    assert!(ids(&report).contains(&"index.duplicate"));
    let after = state();
    // The place in the log moves by what the server writes for itself.
    let without_place = |state: &str| {
        let (first, rest) = state.split_once('\n').unwrap();
        format!("{}\n{rest}", first.split('|').next().unwrap())
    };
    assert_eq!(without_place(&after), without_place(&before));
}
