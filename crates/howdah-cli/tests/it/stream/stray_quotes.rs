//! A quote of CSV that is never closed costs a stream its own line with `--on-error ignore`, wherever the stream is taken up again.

use super::*;

const IDS: &str = "SELECT string_agg(id::text, ',' ORDER BY id) FROM t";
const IGNORE: [&str; 4] = ["--on-error", "ignore", "--rejects", "bad.jsonl"];

fn database() -> Database {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, note text)");
    database
}

/// The records that were rejected.
fn rejected(database: &Database) -> Vec<String> {
    let kept = std::fs::read_to_string(database.path("bad.jsonl")).unwrap_or_default();
    let raw = |line: &str| serde_json::from_str::<Value>(line).unwrap()["raw"].as_str().unwrap().to_owned();
    kept.lines().map(raw).collect()
}

#[test]
fn from_a_pipe() {
    let database = database();
    let csv = "id,note\n1,\"x\n2,y\n3,\"z\nu\"\n4,6\"\n5,v\n6,\"w\n7,x\n";
    let done = streamed(&database, &IGNORE, csv);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert_eq!(database.sql(IDS), "2,3,5,7");
    assert_eq!(database.sql("SELECT note = E'z\\nu' FROM t WHERE id = 3"), "t");
    assert_eq!(rejected(&database), ["1,\"x", "4,6\"", "6,\"w"]);
}

#[test]
fn of_a_file_that_grows_and_a_stream_that_is_taken_up_again() {
    let database = database();
    let log = database.file("log.csv", "id,note\n1,x\n2,\"y\n3,z\n");
    let args = [&["--follow", &*log, "--state", "state"], &IGNORE[..]].concat();
    for signal in [Signal::TERM, Signal::KILL] {
        let child = stream(&database, &args);
        until(&database, IDS, "1");
        stop(child, signal);
    }
    // What stands behind it is not read before it is known that the quote is a stray.
    append(&log, "4,\"u\"\n5,v\n");
    let child = stream(&database, &args);
    until(&database, IDS, "1,3,4,5");
    append(&log, "6,\"w\n7");
    std::fs::rename(&log, database.path("log.csv.1")).unwrap();
    append(&log, "id,note\n8,x\n");
    until(&database, IDS, "1,3,4,5,8");
    // Whole but for the end of its line: it is one record, and none of its lines is a row.
    append(&log, "9,\"\n5,6\n\"");
    std::fs::rename(&log, database.path("log.csv.2")).unwrap();
    append(&log, "id,note\n10,x\n");
    until(&database, IDS, "1,3,4,5,8,10");
    stop(child, Signal::TERM);
    assert_eq!(rejected(&database), ["2,\"y", "6,\"w", "7", "9,\"\n5,6\n\""]);
}

#[test]
fn of_a_file_that_is_rotated_while_nobody_reads() {
    let database = database();
    let log = database.file("log.csv", "1,a\n2,\"op\n3,x\n4,y\n");
    let args = [&["--follow", &*log, "--state", "state", "--columns", "id,note"], &IGNORE[..]].concat();
    let child = stream(&database, &args);
    until(&database, IDS, "1");
    stop(child, Signal::TERM);
    std::fs::rename(&log, database.path("log.csv.1")).unwrap();
    append(&log, "5,q\n6,z\n");
    let child = stream(&database, &args);
    until(&database, IDS, "1,3,4,5,6");
    stop(child, Signal::TERM);
    assert_eq!(rejected(&database), ["2,\"op"]);
}

#[test]
fn of_a_file_that_is_replaced_before_its_first_record_is_whole() {
    let database = database();
    let log = database.file("log.csv", "1,\"x\n2,y\n");
    let child = stream(&database, &[&["--follow", &*log, "--columns", "id,note"], &IGNORE[..]].concat());
    // Whether it was read by then or not, no more than its rows can be lost, and nothing of the next file.
    until_true("it is open", || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().filter_map(Result::ok);
        open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|to| to.ends_with("log.csv"))
    });
    std::fs::rename(&log, database.path("log.csv.1")).unwrap();
    append(&log, "3,z\n4,u\n");
    until(&database, IDS, "3,4");
    stop(child, Signal::TERM);
}

#[test]
fn no_more_than_so_much_waits_for_a_quote_that_never_comes() {
    let database = database();
    let mut text = "id,note\n1,\"x\n".to_owned();
    let long = "y".repeat(2000);
    for id in 2..10_000 {
        text.push_str(&format!("{id},{long}\n"));
    }
    let log = database.file("log.csv", text);
    let child = stream(&database, &[&["--follow", &*log], &IGNORE[..]].concat());
    until(&database, "SELECT count(*), min(id), max(id) FROM t", "9998|2|9999");
    stop(child, Signal::TERM);
    assert_eq!(rejected(&database), ["1,\"x"]);
}
