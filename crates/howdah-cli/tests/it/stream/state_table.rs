//! Streams whose place is in the database: each row once, whatever kills them.

use super::rotated::killed_and_taken_up;
use super::*;

const ALL: &str = "SELECT string_agg(n::text, ',' ORDER BY n) FROM t";

const ARGS: [&str; 5] = ["--follow", "log.csv", "--state-table", "places", "--header=false"];

#[test]
fn after_fifty_kills_with_rotation_and_no_key_every_line_is_in_once() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let args = ["--state-table", "places", "--max-rows", "40"];
    let lines = killed_and_taken_up(&database, howdah_testkit::knob("HOWDAH_KILLS", 50), &args);
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), format!("{lines}|{lines}"));
    let rows = database.sql("SELECT count(*), count(owner), min(format) FROM places");
    assert_eq!(rows, "1|1|1", "ranges are gathered");
}

#[test]
fn a_second_stream_with_the_same_place_is_refused_and_one_that_was_ousted_says_so() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "1\n");
    let first = stream(&database, &ARGS);
    until(&database, ALL, "1");
    let second = stream(&database, &ARGS).guarded_output();
    assert_eq!(second.status.code(), Some(1), "{}", said(&second));
    assert!(said(&second).contains("another stream goes on from it"), "{}", said(&second));
    // Its hold on the place is lost with a connection, and somebody else is quicker.
    database.sql("UPDATE places SET owner = 'another'");
    append(&log, "2\n");
    let ousted = first.guarded_output();
    assert_eq!(ousted.status.code(), Some(5), "{}", said(&ousted));
    assert!(said(&ousted).contains("another stream goes on from it"), "{}", said(&ousted));
    assert_eq!(database.sql(ALL), "1");
    let third = stream(&database, &ARGS);
    until(&database, ALL, "1,2");
    stop(third, Signal::TERM);
}

#[test]
fn a_record_that_ended_the_stream_is_read_again_and_those_behind_it_are_not() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int CHECK (n <> 3))");
    let log = database.file("log.csv", "1\n2\n3\n4\nx\n");
    let done = stream(&database, &ARGS).guarded_output();
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    database.sql("ALTER TABLE t DROP CONSTRAINT t_n_check");
    std::fs::write(&log, "1\n2\n3\n4\n5\n").unwrap();
    let child = stream(&database, &ARGS);
    until(&database, "SELECT count(DISTINCT n) FROM t", "5");
    stop(child, Signal::TERM);
    assert_eq!(database.sql(ALL), "1,2,3,4,5");
}

#[test]
fn refused_records_are_settled_once_they_are_in_the_reject_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int CHECK (n <> 3))");
    database.file("log.csv", "1\n3\nx\n4\n");
    let args = [&ARGS[..], &["--on-error", "ignore", "--rejects", "bad.jsonl"]].concat();
    for rows in ["1,4", "1,4,5"] {
        let child = stream(&database, &args);
        until(&database, ALL, rows);
        stop(child, Signal::TERM);
        assert_eq!(std::fs::read_to_string(database.path("bad.jsonl")).unwrap().lines().count(), 2);
        append(&database.path("log.csv"), "5\n");
    }
    assert_eq!(database.sql("SELECT count(*) FROM t WHERE n = 5"), "1");
}

#[test]
fn connections_that_break_and_a_server_that_is_away_repeat_nothing_and_lose_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "0\n");
    let child = stream(&database, &ARGS);
    until(&database, ALL, "0");
    for round in 0..10 {
        append(&log, &numbers(1 + round * 1000, 1 + (round + 1) * 1000));
        database.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE application_name = 'howdah' AND datname = current_database()",
        );
        until(&database, "SELECT count(DISTINCT n) FROM t", &(1 + (round + 1) * 1000).to_string());
    }
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "10001|10001");
}

#[test]
fn a_stream_that_was_ousted_leaves_the_ranges_of_the_one_that_goes_on() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int); CREATE FUNCTION oust() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO places (stream, settled) SELECT stream, '{[1000,2000)}' FROM places WHERE owner IS NOT NULL; \
         UPDATE places SET owner = 'another' WHERE owner IS NOT NULL; RETURN NULL; END $$; \
         CREATE TRIGGER oust AFTER INSERT ON t FOR EACH ROW WHEN (NEW.n = 2) EXECUTE FUNCTION oust()",
    );
    let log = database.file("log.csv", "1\n");
    let first = stream(&database, &ARGS);
    until(&database, ALL, "1");
    // Its rows are in, and when it wants to gather their ranges the place is another's.
    append(&log, "2\n");
    let ousted = first.guarded_output();
    assert!(said(&ousted).contains("another stream goes on from it"), "{}", said(&ousted));
    let left = "SELECT count(*) FROM places WHERE owner IS NULL AND settled = '{[1000,2000)}'";
    assert_eq!(database.sql(left), "1");
}

/// A stream is frozen, its sessions are ended, the next one goes on, and the first one wakes up; at last the next one is
/// killed.
#[test]
fn streams_that_are_frozen_ousted_and_woken_repeat_nothing_and_lose_nothing() {
    let rounds = howdah_testkit::knob("HOWDAH_OUSTED", 6);
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "0\n");
    let args = [&ARGS[..], &["--max-rows", "20"]].concat();
    let mut child = stream(&database, &args);
    until(&database, ALL, "0");
    let mut last = 1;
    for round in 0..rounds {
        append(&log, &numbers(last, last + 2_000));
        last += 2_000;
        // It is somewhere in these rows, differently far each time.
        let so_far = (round * 331) % 1_500;
        until(&database, &format!("SELECT count(*) >= {so_far} FROM t"), "t");
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        database.sql(
            "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity \
             WHERE application_name = 'howdah' AND datname = current_database()",
        );
        let mut next = stream(&database, &args);
        append(&log, &numbers(last, last + 2_000));
        last += 2_000;
        until(&database, &format!("SELECT count(DISTINCT n) > {} FROM t", last - 2_000), "t");
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        // What it says follows from what it was about to do; one that had just begun never had the place.
        until_true("the one that was ousted ends", || child.try_wait().unwrap().is_some());
        assert!(!child.guarded_output().status.success());
        next.kill().unwrap();
        next.wait().unwrap();
        child = stream(&database, &args);
        until(&database, "SELECT count(DISTINCT n) FROM t", &last.to_string());
    }
    stop(child, Signal::TERM);
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), format!("{last}|{last}"));
}
