//! Streams that are taken up again: after kill -9, after a rotation, from the place that a state file keeps.

use super::*;
use howdah_testkit::secrets::Guarded;

#[test]
fn after_kill_9_nothing_is_missing_and_what_comes_twice_was_not_in_the_state() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let (log, state) = (database.file("log.csv", numbers(0, 60_000)), database.path("state"));
    let args = ["--follow", &log, "--state", &state, "--header=false"];
    let mut child = stream(&database, &args);
    until(&database, "SELECT count(*) > 5000 FROM t", "t");
    child.kill().unwrap();
    child.wait().unwrap();
    // What the server was still doing.
    until(
        &database,
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah' AND datname = current_database()",
        "0",
    );
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    let saved: Value = serde_json::from_slice(&std::fs::read(&state).unwrap()).unwrap();
    let offset = usize::try_from(saved["offset"].as_u64().unwrap()).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let settled = text[..offset].lines().count();
    assert_eq!(database.sql(&format!("SELECT count(*) FROM t WHERE n < {settled}")), settled.to_string());

    append(&log, &numbers(60_000, 60_100));
    let child = stream(&database, &args);
    until(&database, "SELECT count(DISTINCT n) FROM t", "60100");
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
    let early = "SELECT count(*) FROM (SELECT n FROM t GROUP BY n HAVING count(*) > 1) twice";
    assert_eq!(database.sql(&format!("{early} WHERE n < {settled}")), "0");

    let child = stream(&database, &args);
    append(&log, "70000\n");
    until(&database, "SELECT count(*) FROM t WHERE n = 70000", "1");
    stop(child, Signal::TERM);
    assert_eq!(database.sql("SELECT count(*) FROM t WHERE n >= 60000 AND n < 60100"), "100");
}

#[test]
fn a_file_that_was_rotated_meanwhile_is_read_to_its_end_first() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "n\n1\n2\n");
    let args = ["--follow", &log, "--state", "state"];
    let child = stream(&database, &args);
    until(&database, "SELECT count(*) FROM t", "2");
    stop(child, Signal::TERM);
    append(&log, "3\n");
    std::fs::rename(&log, database.path("log.csv.1")).unwrap();
    append(&log, "n\n4\n");
    let child = stream(&database, &args);
    until(&database, "SELECT string_agg(n::text, ',' ORDER BY n) FROM t", "1,2,3,4");
    stop(child, Signal::TERM);

    std::fs::write(&log, "n\n5\n").unwrap();
    let child = stream(&database, &args);
    until(&database, "SELECT string_agg(n::text, ',' ORDER BY n) FROM t", "1,2,3,4,5");
    let done = stop(child, Signal::TERM);
    assert!(said(&done).contains("is not the file that the state knows"), "{}", said(&done));
}

#[test]
fn a_state_belongs_to_a_file_and_a_redirected_file_is_one() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let done = streamed(&database, &["--state", "state"], "n\n1\n");
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    assert!(said(&done).contains("hint: --follow FILE"), "{}", said(&done));
    let log = database.file("log.csv", "n\n1\n2\n");
    for rows in ["2", "3"] {
        let mut command = howdah(&database, &["stream", "--table", "t", "--state", "state"]);
        let done = command.stdin(std::fs::File::open(&log).unwrap()).guarded_output();
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        assert_eq!(database.sql("SELECT count(*) FROM t"), rows);
        append(&log, "3\n");
    }
}

#[test]
fn two_streams_cannot_have_one_state() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let (log, state) = (database.file("log.csv", "n\n1\n"), database.path("state"));
    let args = ["--follow", &*log, "--state", &*state];
    let first = stream(&database, &args);
    until(&database, "SELECT count(*) FROM t", "1");
    let second = stream(&database, &args).guarded_output();
    assert_eq!(second.status.code(), Some(1), "{}", said(&second));
    assert!(said(&second).contains("another stream goes on from it"), "{}", said(&second));
    stop(first, Signal::KILL);
    // The lock ended with its process, although its file is there.
    append(&log, "2\n");
    let third = stream(&database, &args);
    until(&database, "SELECT count(*) FILTER (WHERE n = 2) FROM t", "1");
    stop(third, Signal::TERM);
}

#[test]
fn with_a_key_and_ignored_conflicts_nothing_comes_twice() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY)");
    let log = database.file("log.csv", numbers(0, 30_000));
    let args = ["--follow", &log, "--state", "state", "--header=false", "--on-conflict", "ignore"];
    for most in ["2000", "15000"] {
        let mut child = stream(&database, &args);
        until(&database, &format!("SELECT count(*) > {most} FROM t"), "t");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let child = stream(&database, &args);
    until(&database, "SELECT count(*) FROM t", "30000");
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
}
