//! Files that were rotated, once and more often, while the stream was down, held up, or killed: every line is read, in order, or it is
//! said that this cannot be known.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

const ALL: &str = "SELECT string_agg(n::text, ',' ORDER BY n) FROM t";

/// A database with `t`, and a log that was read up to its end by a stream that has ended.
fn read_once(lines: &str, args: &[&str]) -> (Database, String) {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", lines);
    let child = stream(&database, &[&["--follow", &*log], args].concat());
    until(&database, "SELECT count(*) FROM t", &lines.lines().count().to_string());
    stop(child, Signal::TERM);
    (database, log)
}

fn rename(database: &Database, from: &str, to: &str) {
    std::fs::rename(database.path(from), database.path(to)).unwrap();
}

const ARGS: [&str; 3] = ["--state", "state", "--header=false"];

fn follow(database: &Database, log: &str) -> Child {
    stream(database, &[&["--follow", log][..], &ARGS].concat())
}

#[test]
fn files_that_came_and_went_while_it_was_down_are_read_by_every_way_to_name_them() {
    // Oldest first; the first two are those that it did not know when it was ended.
    let schemes = [
        ["log.csv.3", "log.csv.2", "log.csv.1"],
        ["log.csv-20260101", "log.csv-20260102", "log.csv-20260103"],
        ["log-2026-01-01.csv", "log-2026-01-02.csv", "log-2026-01-03.csv"],
        ["log.csv.2026-01-01T10:00", "log.csv.2026-01-01T11:00", "log.csv.2026-01-02T09:00"],
    ];
    for names in schemes {
        let (database, log) = read_once("10\n11\n", &ARGS);
        append(&log, "20\n21\n");
        rename(&database, "log.csv", names[0]);
        std::fs::write(database.path(names[1]), "30\n").unwrap();
        std::fs::write(database.path(names[2]), "40\n").unwrap();
        append(&log, "50\n");
        // Others' files.
        std::fs::write(database.path("log.csv.state"), "98\n").unwrap();
        std::fs::write(database.path("log-other.csv"), "99\n").unwrap();
        let child = follow(&database, &log);
        until(&database, ALL, "10,11,20,21,30,40,50");
        let done = stop(child, Signal::TERM);
        assert!(!said(&done).contains("cannot be known"), "{names:?}: {}", said(&done));
        assert_eq!(database.sql(ALL), "10,11,20,21,30,40,50");
    }
}

#[test]
fn a_stream_that_runs_reads_files_that_had_the_name_for_a_moment_only() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "1\n");
    let child = follow(&database, &log);
    until(&database, ALL, "1");
    rename(&database, "log.csv", "log.csv.1");
    append(&log, "2\n");
    rename(&database, "log.csv.1", "log.csv.2");
    rename(&database, "log.csv", "log.csv.1");
    append(&log, "3\n");
    until(&database, ALL, "1,2,3");
    stop(child, Signal::TERM);
    assert_eq!(database.sql(ALL), "1,2,3");
}

#[test]
fn a_stream_that_the_server_holds_up_keeps_files_that_are_removed_meanwhile() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "0\n");
    let child = stream(&database, &[&["--follow", &*log, "--queue-rows", "10"][..], &ARGS].concat());
    until(&database, ALL, "0");
    let mut holder = database.psql().stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut orders = holder.stdin.take().unwrap();
    writeln!(orders, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE;").unwrap();
    let locked = "SELECT count(*) > 0 FROM pg_locks WHERE granted AND relation = 't'::regclass \
                  AND mode = 'AccessExclusiveLock'";
    until(&database, locked, "t");
    append(&log, &numbers(1, 1000));
    let held = "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 't'::regclass";
    until(&database, held, "t");
    for file in 1..4 {
        rename(&database, "log.csv", &format!("log.csv.{file}"));
        append(&log, &numbers(file * 1000, (file + 1) * 1000));
        let inode = || std::fs::metadata(&log).unwrap();
        until_open(&child, &inode());
        // It had its name, and its time is over.
        let _ = std::fs::remove_file(database.path(&format!("log.csv.{}", file - 1)));
    }
    writeln!(orders, "COMMIT;").unwrap();
    drop(orders);
    assert!(holder.wait().unwrap().success());
    until(&database, "SELECT count(*), count(DISTINCT n) FROM t", "4000|4000");
    stop(child, Signal::TERM);
}

/// Waits until `child` has the file open.
fn until_open(child: &Child, file: &std::fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    let open = format!("/proc/{}/fd", child.id());
    until_true("the stream has the file", || {
        let entries = std::fs::read_dir(&open).unwrap().flatten();
        let mut known = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
        known.any(|known| (known.dev(), known.ino()) == (file.dev(), file.ino()))
    });
}

#[test]
fn compressed_files_are_read_on_from_where_the_plain_one_was_left() {
    let (database, log) = read_once("10\n11\n", &ARGS);
    append(&log, "20\n");
    rename(&database, "log.csv", "log.csv.2");
    std::fs::write(database.path("log.csv.1"), "30\n").unwrap();
    append(&log, "40\n");
    for file in ["log.csv.2", "log.csv.1"] {
        let done = Command::new("gzip").arg(database.path(file)).status().unwrap();
        assert!(done.success());
    }
    let child = follow(&database, &log);
    until(&database, ALL, "10,11,20,30,40");
    let done = stop(child, Signal::TERM);
    assert!(!said(&done).contains("cannot be known"), "{}", said(&done));
    assert_eq!(database.sql(ALL), "10,11,20,30,40");
}

#[test]
fn what_copytruncate_copied_is_read_from_the_copies() {
    let (database, log) = read_once("10\n11\n", &ARGS);
    let cut = |rows: &str, copy: &str| {
        append(&log, rows);
        std::fs::copy(&log, database.path(copy)).unwrap();
        OpenOptions::new().write(true).truncate(true).open(&log).unwrap();
    };
    cut("20\n", "log.csv.2");
    cut("30\n", "log.csv.1");
    // It is longer than what was read of it, so that its length says nothing.
    append(&log, &numbers(40, 60));
    let child = follow(&database, &log);
    let mut expected = "10,11,20,30,".to_owned() + &numbers(40, 60).replace('\n', ",");
    expected.pop();
    until(&database, ALL, &expected);
    // And while it runs, in one go.
    rename(&database, "log.csv.2", "log.csv.3");
    rename(&database, "log.csv.1", "log.csv.2");
    cut("70\n", "log.csv.1");
    append(&log, &numbers(100, 200));
    expected.push_str(",70,");
    expected.push_str(&numbers(100, 200).replace('\n', ","));
    expected.pop();
    until(&database, ALL, &expected);
    stop(child, Signal::TERM);
}

#[test]
fn a_file_that_cannot_be_found_any_more_is_said_and_newer_ones_are_read() {
    let (database, log) = read_once("10\n11\n", &ARGS);
    append(&log, "20\n");
    std::fs::remove_file(&log).unwrap();
    std::fs::write(database.path("log.csv.1"), "30\n").unwrap();
    append(&log, "40\n");
    let child = follow(&database, &log);
    until(&database, ALL, "10,11,30,40");
    let done = stop(child, Signal::TERM);
    assert!(said(&done).contains("what stood behind byte 6 of it is not read"), "{}", said(&done));
    assert!(said(&done).contains("cannot be known"), "{}", said(&done));
}

#[test]
fn a_torn_last_record_of_a_rotated_file_is_no_row() {
    for (args, code) in [(&[][..], 143), (&["--on-error", "ignore", "--rejects", "bad.jsonl"], 143)] {
        let database = Database::new();
        database.sql("CREATE TABLE t (n int)");
        let log = database.file("log.csv", "1\n2");
        let child = stream(&database, &[&["--follow", &*log, "--header=false"], args].concat());
        until(&database, ALL, "1");
        rename(&database, "log.csv", "log.csv.1");
        append(&log, "3\n");
        until(&database, ALL, "1,3");
        let done = stop(child, Signal::TERM);
        assert_eq!(done.status.code(), Some(code), "{}", said(&done));
        assert!(said(&done).contains("ends within a record"), "{}", said(&done));
        assert_eq!(database.sql(ALL), "1,3");
        if !args.is_empty() {
            let mut kept = String::new();
            std::fs::File::open(database.path("bad.jsonl")).unwrap().read_to_string(&mut kept).unwrap();
            assert!(kept.contains("\"raw\":\"2\""), "{kept}");
        }
    }
}

/// Writes lines and rotates the file, and so on, until it is told to stop; how many lines.
fn writing(
    database: &Database,
    stop: &Arc<AtomicBool>,
    written: &Arc<AtomicUsize>,
) -> thread::JoinHandle<()> {
    let (directory, stop, written) = (database.path(""), stop.clone(), written.clone());
    thread::spawn(move || {
        let at = |name: String| format!("{directory}/{name}");
        let (mut line, mut files) = (0, 0);
        while !stop.load(Ordering::SeqCst) {
            let mut log = OpenOptions::new().append(true).create(true).open(at("log.csv".into())).unwrap();
            for _ in 0..20 {
                let lines: String = (line..line + 50).map(|n| format!("{n}\n")).collect();
                log.write_all(lines.as_bytes()).unwrap();
                line += 50;
                thread::sleep(Duration::from_millis(2));
            }
            written.store(line, Ordering::SeqCst);
            for file in (1..=files).rev() {
                let name = |n| at(format!("log.csv.{n}"));
                std::fs::rename(name(file), name(file + 1)).unwrap();
            }
            std::fs::rename(at("log.csv".into()), at("log.csv.1".into())).unwrap();
            files += 1;
        }
        std::fs::write(at("log.csv".into()), "").unwrap();
    })
}

/// Kills a stream again and again while its file is rotated; then lets it come to the end.
pub(super) fn killed_and_taken_up(database: &Database, times: usize, args: &[&str]) -> usize {
    let args = [&["--follow", "log.csv", "--header=false"], args].concat();
    // A place is known before the first rotation: a stream that is new begins with the file that has the name then.
    database.file("log.csv", "-1\n");
    let first = stream(database, &args);
    until(database, "SELECT count(*) FROM t", "1");
    stop(first, Signal::TERM);
    let (end, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = writing(database, &end, &written);
    for _ in 0..times {
        let before = database.sql("SELECT count(*) FROM t");
        let mut child = stream(database, &args);
        until(database, &format!("SELECT count(*) > {before} FROM t"), "t");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    end.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    let lines = 1 + written.load(Ordering::SeqCst);
    let child = stream(database, &args);
    until(database, "SELECT count(DISTINCT n) FROM t", &lines.to_string());
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
    assert!(!said(&done).contains("cannot be known"), "{}", said(&done));
    lines
}

#[test]
fn after_kill_9_with_rotation_no_line_is_missing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    killed_and_taken_up(&database, 10, &["--state", "state"]);
}
