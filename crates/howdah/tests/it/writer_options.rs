//! Every two options of a Writer go together, or are refused when it connects: none takes another's rows or values away.

use std::time::Duration;

use howdah::writer::{Ack, Delivery, OnConflict, OnFull, WriterPath};
use howdah::{ErrorKind, Writer, WriterOptions};
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

use crate::common::target;

/// An option with a value other than its default.
type Choice = (&'static str, fn(WriterOptions) -> WriterOptions);

/// The choices of each option.
fn choices() -> Vec<Vec<Choice>> {
    vec![
        vec![("columns", |options| options.columns(["v", "k"]))],
        vec![("max_rows=1", |options| options.max_rows(1)), ("max_rows=7", |options| options.max_rows(7))],
        vec![("max_bytes=50", |options| options.max_bytes(50))],
        vec![("max_age=0", |options| options.max_age(Duration::ZERO))],
        vec![
            ("connections=1", |options| options.connections(1)),
            ("connections=4", |options| options.connections(4)),
        ],
        vec![("queue_rows=3", |options| options.queue_rows(3))],
        vec![("on_full=wait", |options| options.on_full(OnFull::WaitFor(PATIENCE)))],
        vec![
            ("path=copy", |options| options.path(WriterPath::Copy)),
            ("path=insert", |options| options.path(WriterPath::Insert)),
        ],
        vec![("copy_from_rows=1", |options| options.copy_from_rows(1))],
        vec![
            ("on_conflict=ignore", |options| options.on_conflict(OnConflict::Ignore)),
            ("on_conflict=update", |options| options.on_conflict(OnConflict::Update)),
        ],
        vec![
            ("returning=v", |options| options.returning(["v"])),
            ("returning=n,k,v", |options| options.returning(["n", "k", "v"])),
        ],
        vec![("latency_target", |options| options.latency_target(Duration::from_millis(50)))],
        vec![("adaptive", |options| options.adaptive(true))],
        vec![("at_least_once", |options| options.delivery(Delivery::AtLeastOnce))],
        vec![("retry_for=0", |options| options.retry_for(Duration::ZERO))],
    ]
}

#[test]
fn any_two_options_of_a_writer_go_together() {
    let database = Database::new();
    let choices = choices();
    for (at, first) in choices.iter().enumerate() {
        for second in &choices[at + 1..] {
            for (one, with_one) in first {
                for (other, with_other) in second {
                    check(
                        &database,
                        &format!("{one}, {other}"),
                        with_other(with_one(WriterOptions::default())),
                    );
                }
            }
        }
    }
}

/// Writes rows one by one and many at once, new ones and, where they may meet, those of keys that are there.
fn check(database: &Database, named: &str, options: WriterOptions) {
    database.sql(
        "DROP TABLE IF EXISTS t; CREATE TABLE t (k int PRIMARY KEY, v text NOT NULL, n int DEFAULT 7); \
         INSERT INTO t VALUES (1, 'old', 8)",
    );
    let is_impossible =
        options.path == WriterPath::Copy && (options.on_conflict.is_some() || !options.returning.is_empty());
    let writer = match Writer::connect_blocking(&target(database), "t", options.clone()) {
        Err(error) if is_impossible => {
            return assert_eq!(error.kind(), ErrorKind::Usage, "{named}: {error:?}");
        }
        writer => writer.unwrap_or_else(|error| panic!("{named}: {error:?}")),
    };
    assert!(!is_impossible, "{named}");
    let is_turned = options.columns.is_some();
    let write = |k: i32, v: &str| {
        let ack = if is_turned { writer.write_blocking(&(v, k)) } else { writer.write_blocking(&(k, v)) };
        ack.unwrap_or_else(|error| panic!("{named}: {error:?}"))
    };
    let mut written: Vec<(i32, String)> = (0..30).map(|at| (at + 10, format!("new {at}"))).collect();
    if options.on_conflict.is_some() {
        written.insert(0, (1, "met".into()));
    }
    let mut acks: Vec<Ack> = Vec::new();
    for (at, (k, v)) in written.iter().enumerate() {
        let ack = write(*k, v);
        if at < 2 {
            // Alone: a row's statement is another one than a batch's.
            settle(named, &options, ack, *k, v);
        } else {
            acks.push(ack);
        }
    }
    for (ack, (k, v)) in acks.into_iter().zip(&written[2..]) {
        settle(named, &options, ack, *k, v);
    }
    writer.close_blocking(PATIENCE).unwrap_or_else(|error| panic!("{named}: {error:?}"));
    let met = if options.on_conflict == Some(OnConflict::Update) { "met" } else { "old" };
    let stored = database.sql("SELECT string_agg(concat_ws(',', k, v, n), ';' ORDER BY k) FROM t");
    let expected: Vec<String> = std::iter::once(format!("1,{met},8"))
        .chain(written.iter().filter(|(k, _)| *k != 1).map(|(k, v)| format!("{k},{v},7")))
        .collect();
    assert_eq!(stored, expected.join(";"), "{named}");
}

/// The row is in, and what comes back of it is what was asked for and its own.
fn settle(named: &str, options: &WriterOptions, ack: Ack, k: i32, v: &str) {
    let settled = ack.wait_for(PATIENCE).unwrap_or_else(|| panic!("{named}: it hangs"));
    let written = settled.unwrap_or_else(|error| panic!("{named}: {error:?}"));
    let gave_way = k == 1 && options.on_conflict == Some(OnConflict::Ignore);
    let Some(row) = written.returned() else {
        return assert!(options.returning.is_empty() || gave_way, "{named}: nothing came back of {k}");
    };
    assert!(!gave_way, "{named}");
    let names: Vec<&str> = row.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, options.returning, "{named}");
    assert_eq!(row.get::<String>("v"), v, "{named}");
    assert_eq!(row.at::<i32>(names.len()), None, "{named}: a column too many");
    if let [_, _, _] = names[..] {
        assert_eq!((row.at(0), row.at(1)), (Some(if k == 1 { 8 } else { 7 }), Some(k)), "{named}");
    }
}
