//! Giants: values, records, and numbers of columns and of records at the limits and beyond. Refused cleanly or stored
//! whole, within memory that follows from the largest record.

use std::io::Write;
use std::process::Stdio;

use howdah_testkit::Database;

use super::command::{Outcome, Run, howdah_on};
use super::everything;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Loads what `pieces` put together, each so many times, from standard input.
fn load(database: &Database, pieces: &[(&str, u64)], more: &[&str]) -> Outcome {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let total = pieces.iter().map(|(piece, times)| piece.len() as u64 * times).sum();
    let pieces: Vec<(Vec<u8>, u64)> = pieces
        .iter()
        .filter(|(piece, _)| !piece.is_empty())
        .map(|(piece, times)| (piece.as_bytes().to_vec(), *times))
        .collect();
    let feeder = std::thread::spawn(move || {
        for (piece, times) in pieces {
            let at_once = (MIB / piece.len() as u64).clamp(1, times.max(1));
            let block = piece.repeat(usize::try_from(at_once).unwrap());
            let rest = piece.repeat(usize::try_from(times % at_once).unwrap());
            let blocks = (0..times / at_once).map(|_| &block).chain([&rest]);
            for block in blocks {
                // A command that refused the input does not read the rest of it.
                if writer.write_all(block).is_err() {
                    return;
                }
            }
        }
    });
    let args: Vec<String> = ["load", "-", "--table", "t", "--header=false"]
        .iter()
        .chain(more)
        .map(|arg| (*arg).to_owned())
        .collect();
    let outcome = howdah_on(database, &args, Stdio::from(reader), total);
    feeder.join().unwrap();
    outcome
}

fn check(outcome: Outcome, largest_record: u64, case: &str) -> Run {
    // Nothing above 1 GiB is a record to us.
    let run = outcome.check_memory(largest_record.min(GIB)).unwrap_or_else(|what| panic!("{case}: {what}"));
    println!(
        "{case}: exit code {}, {} MiB",
        run.code,
        run.report["peak_rss_bytes"].as_u64().unwrap_or(0) / MIB
    );
    run
}

fn expect_refused(run: &Run, line: u64, case: &str) {
    let error = &run.report["error"];
    assert_eq!((run.code, error["sqlstate"].as_str()), (1, Some("54000")), "{case}: {}", run.said());
    assert_eq!(error["location"]["line"].as_u64(), Some(line), "{case}: {}", run.said());
}

#[test]
fn a_large_value_is_stored_whole_and_one_beyond_the_limit_is_refused() {
    let database = Database::new();
    let sizes = if everything() { vec![256 * MIB, GIB - 1, GIB, 4 * GIB + 5] } else { vec![MIB, 20 * MIB] };
    for size in sizes {
        for (quote, escaped) in [("", false), ("\"", false), ("\"", true)] {
            let case = format!("{} MiB in {quote:?}, with escapes: {escaped}", size / MIB);
            database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int, v text)");
            let open = format!("1,a\n2,{quote}");
            let close = format!("{quote}\n3,c\n");
            let value = if escaped { ("\"\"xyz\"\"\n", size / 8) } else { ("0123456é", size / 9) };
            let rest = "z".repeat(usize::try_from(if escaped { size % 8 } else { size % 9 }).unwrap());
            let outcome = load(&database, &[(&open, 1), value, (&rest, 1), (&close, 1)], &["--jobs", "1"]);
            let run = check(outcome, size, &case);
            if size >= GIB - 1 {
                expect_refused(&run, 2, &case);
                assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
                continue;
            }
            assert_eq!(run.code, 0, "{case}: {}", run.said());
            let unit = if escaped { "\"xyz\"\n" } else { "0123456é" };
            let found = database.sql(&format!(
                "SELECT octet_length(v), v = repeat(E'{unit}', {}) || '{rest}' FROM t WHERE n = 2",
                value.1
            ));
            assert_eq!(found, format!("{}|t", unit.len() as u64 * value.1 + rest.len() as u64), "{case}");
            assert_eq!(database.sql("SELECT count(*) FROM t"), "3");
        }
    }
}

#[test]
fn a_record_without_an_end_is_refused_before_memory_is_gone() {
    if !everything() {
        return;
    }
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, v text)");
    for (start, filler, case) in
        [("1,a\n2,", "no end ", "a line"), ("1,a\n2,\"", "no end\n", "an open quote")]
    {
        let run = check(load(&database, &[(start, 1), (filler, 3 * GIB / 7)], &["--jobs", "2"]), GIB, case);
        expect_refused(&run, 2, case);
    }
    // No field alone is too long.
    database.sql("DROP TABLE t; CREATE TABLE t (a text, b text, c text)");
    let third = 400 * MIB / 8;
    let fields =
        [("12345678", third), (",", 1), ("12345678", third), (",", 1), ("12345678", third), ("\n", 1)];
    expect_refused(&check(load(&database, &fields, &[]), GIB, "a record of three fields"), 1, "three fields");
}

#[test]
fn a_record_of_nothing_but_delimiters_does_not_take_its_number_of_them() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, v text)");
    let count = if everything() { 500 * MIB } else { 60 * MIB };
    for on_error in ["stop", "ignore"] {
        let path = database.path("rejects");
        let mut more = vec!["--on-error", on_error, "--jobs", "1"];
        if on_error == "ignore" {
            more.extend(["--rejects", &path]);
        }
        let case = format!("{} Mi delimiters, {on_error}", count / MIB);
        let run = check(load(&database, &[("1,a\n", 1), (",", count), ("\n2,b\n", 1)], &more), count, &case);
        if on_error == "ignore" {
            assert_eq!((run.code, run.report["rows"].as_u64()), (3, Some(2)), "{}", run.said());
        } else {
            assert_eq!(run.report["error"]["sqlstate"], "22P04", "{}", run.said());
        }
    }
}

#[test]
fn as_many_columns_as_a_table_can_have_and_one_more() {
    let database = Database::new();
    for (count, of_type) in [(1_600, "smallint"), (1_601, "smallint")] {
        database.sql("DROP TABLE IF EXISTS t");
        let names: Vec<String> = (1..=count).map(|n| format!("c{n}")).collect();
        let values: Vec<String> = (1..=count).map(|n| (n % 10).to_string()).collect();
        if count == 1_600 {
            let columns: Vec<String> = names.iter().map(|name| format!("{name} {of_type}")).collect();
            database.sql(&format!("CREATE TABLE t ({})", columns.join(", ")));
        }
        let record = format!("{}\n", values.join(","));
        let run = check(load(&database, &[(&record, 100)], &["--jobs", "2"]), 1, &format!("{count} columns"));
        if count == 1_600 {
            assert_eq!(run.code, 0, "{}", run.said());
            assert_eq!(database.sql("SELECT count(*), sum(c1600) FROM t"), "100|0");
        } else {
            assert!(matches!(run.code, 1 | 2), "{}", run.said());
            assert_eq!(run.report["error"]["sqlstate"], "54011", "{}", run.said());
            assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
        }
    }
}

#[test]
fn empty_lines_are_records_however_many_there_are() {
    let database = Database::new();
    database.sql("CREATE TABLE t (v text)");
    let count: u64 = if everything() { 100_000_000 } else { 300_000 };
    let run = check(load(&database, &[("\n", count)], &["--dry-run"]), 1, "empty lines, counted");
    assert_eq!((run.code, run.report["rows_read"].as_u64()), (0, Some(count)), "{}", run.said());
    let loaded = count / 20;
    let run = check(load(&database, &[("\n", loaded)], &["--jobs", "2"]), 1, "empty lines, loaded");
    assert_eq!((run.code, run.report["rows"].as_u64()), (0, Some(loaded)), "{}", run.said());
    assert_eq!(database.sql("SELECT count(*) FROM t WHERE v IS NULL"), loaded.to_string());
    // Before a row none of them is a row of two columns, and a piece of the input holds half a million.
    database.sql("DROP TABLE t; CREATE TABLE t (n int, v text)");
    let path = database.path("rejects");
    let all = ["--on-error", "ignore", "--jobs", "4", "--rejects", &path];
    let run =
        check(load(&database, &[("\n", 1_200_000), ("1,x\n", 1)], &all), 1, "empty lines, all kept apart");
    assert_eq!((run.code, run.report["rows_rejected"].as_u64()), (3, Some(1_200_000)), "{}", run.said());
    let limited =
        ["--on-error", "ignore", "--reject-limit", "1000", "--rejects", &path, "--overwrite-rejects"];
    let run = check(load(&database, &[("\n", count), ("1,x\n", 1)], &limited), 1, "empty lines, refused");
    assert_eq!(run.code, 4, "{}", run.said());
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1_001);
}
