//! Records of a stream that are no rows: kept in the reject file, counted, or the end of the stream.

use super::*;
use howdah_testkit::secrets::Guarded;

#[test]
fn bad_records_are_kept_as_load_keeps_them_and_the_others_are_in() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, day date, n int CHECK (n > 0))");
    let csv = "id,day,n\n1,2024-01-01,1\nx,2024-01-01,1\n2,2024-13-01,1\n1,2024-01-02,1\n3,,0\n4,2024-01-04\n5,,5\n";
    let args = ["--on-error", "ignore", "--rejects", "bad.jsonl", "--report", "json"];
    let done = streamed(&database, &args, csv);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    let told = report(&done);
    assert_eq!(
        (&told["rows"], &told["rows_rejected"], &told["rows_read"]),
        (&2.into(), &5.into(), &7.into())
    );
    assert_eq!(database.sql("SELECT string_agg(id::text, ',' ORDER BY id) FROM t"), "1,5");
    let path = database.path("bad.jsonl");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Vec<Value> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<(u64, &str, &str)> = kept
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default();
            (line["line"].as_u64().unwrap(), text("sqlstate"), text("raw"))
        })
        .collect();
    assert_eq!(
        told,
        [
            (3, "22P02", "x,2024-01-01,1"),
            (4, "22008", "2,2024-13-01,1"),
            (5, "23505", "1,2024-01-02,1"),
            (6, "23514", "3,,0"),
            (7, "22P04", "4,2024-01-04"),
        ]
    );
    // Another stream adds to the file.
    streamed(&database, &args, "id,day,n\ny,,1\n");
    let corrected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(corrected.lines().count(), 6);
    let corrected = corrected
        .replace("x,2024", "10,2024")
        .replace("2024-13-01", "2024-12-01")
        .replace("1,2024-01-02", "11,2024-01-02")
        .replace("3,,0", "3,,3")
        .replace("4,2024-01-04", "4,2024-01-04,4")
        .replace("y,,1", "12,,1");
    std::fs::write(&path, corrected).unwrap();
    let done = howdah(&database, &["load", "bad.jsonl", "--format", "rejects"]).guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "8");
}

#[test]
fn a_reject_file_belongs_to_one_stream_or_load_at_a_time_and_no_record_is_lost() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let path = database.path("bad.jsonl");
    let args = ["--header=false", "--on-error", "ignore", "--rejects", "bad.jsonl"];
    let mut first = stream(&database, &args);
    first.stdin.as_mut().unwrap().write_all(b"1\nx\n").unwrap();
    until(&database, "SELECT count(*) FROM t", "1");
    for _ in 0..2 {
        let second = streamed(&database, &args, "y\n2\n");
        assert_eq!(second.status.code(), Some(2), "{}", said(&second));
        let expected = "rejects cannot go to bad.jsonl: another load or stream is writing there";
        assert!(said(&second).contains(expected), "{}", said(&second));
    }
    let file = database.file("other.csv", "y\n");
    let load = [&["load", &file, "--table", "t", "--mode", "append", "--overwrite-rejects"], &args[..]];
    let load = howdah(&database, &load.concat()).guarded_output();
    assert_eq!(load.status.code(), Some(2), "{}", said(&load));
    first.stdin.as_mut().unwrap().write_all(b"z\n").unwrap();
    drop(first.stdin.take());
    assert_eq!(first.guarded_output().status.code(), Some(3));
    let raw = || -> Vec<String> {
        let text = std::fs::read_to_string(&path).unwrap();
        let kept = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        kept.map(|line| line["raw"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(raw(), ["x", "z"]);
    assert_eq!(database.sql("SELECT count(*) FROM t"), "1");

    // A killed one holds nothing.
    let mut killed = stream(&database, &args);
    killed.stdin.as_mut().unwrap().write_all(b"3\n").unwrap();
    until(&database, "SELECT count(*) FROM t", "2");
    stop(killed, Signal::KILL);
    // An editor may have left the last line without its end.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.trim_end()).unwrap();
    assert_eq!(streamed(&database, &args, "w\n").status.code(), Some(3));
    assert_eq!(raw(), ["x", "z", "w"]);
}

#[test]
fn what_a_stream_reads_is_no_place_for_its_rejects() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let file = database.file("log.csv", "x\n1\n");
    let args = ["--header=false", "--on-error", "ignore", "--rejects", &file];
    let followed = streamed(&database, &[&args[..], &["--follow", &file]].concat(), "");
    let mut piped = howdah(&database, &[&["stream", "--table", "t"], &args[..]].concat());
    let piped = piped.stdin(std::fs::File::open(&file).unwrap()).guarded_output();
    for (done, words) in [
        (followed, "--rejects and --follow name the same file"),
        (piped, "is an input: rejects cannot go there"),
    ] {
        assert_eq!(done.status.code(), Some(2), "{}", said(&done));
        assert!(said(&done).contains(words), "{}", said(&done));
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n1\n");
}

#[test]
fn a_limit_on_bad_records_ends_the_stream() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let args = ["--on-error", "ignore", "--reject-limit", "1", "--header=false"];
    let done = streamed(&database, &args, "1\nx\ny\nz\n2\n");
    assert_eq!(done.status.code(), Some(4), "{}", said(&done));
    assert!(said(&done).contains("more than --reject-limit 1 allows"), "{}", said(&done));
}

#[test]
fn a_bad_record_ends_the_stream_at_its_place_with_the_rows_before_it_in() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.file("log.csv", "n\n1\n2\nthree\n4\n");
    let args = ["--follow", &log, "--state", "state"];
    let done = stream(&database, &args).guarded_output();
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    let words = said(&done);
    assert!(words.contains("invalid input syntax for type integer: \"three\" (SQLSTATE 22P02)"), "{words}");
    assert!(words.contains("log.csv, line 4 (byte 6), column n"), "{words}");
    assert!(words.contains("now: 2 rows committed; all records before byte 6 are settled"), "{words}");
    assert_eq!(database.sql("SELECT string_agg(n::text, ',' ORDER BY n) FROM t"), "1,2");
    std::fs::write(&log, "n\n1\n2\n333\n4\n").unwrap();
    let child = stream(&database, &args);
    until(&database, "SELECT string_agg(n::text, ',' ORDER BY n) FROM t", "1,2,4,333");
    stop(child, Signal::TERM);
}
