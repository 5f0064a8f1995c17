//! The writer's process is killed while its queue is full.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use howdah::ErrorKind;
use howdah::writer::OnFull;
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

use super::account::{connect, create, options};

/// Told apart from what the test harness prints around it.
const WORD: &str = "child says: ";

const QUEUE_ROWS: usize = 400;

/// Rows of which the child has not said that they are acknowledged: those of the queue, and some that it has no time to say.
const UNSAID_ROWS: usize = 2 * QUEUE_ROWS;

#[test]
#[ignore = "a process for another test, which kills it"]
fn child() {
    let mut conninfo = String::new();
    std::io::stdin().read_line(&mut conninfo).unwrap();
    let bounded = options().queue_rows(QUEUE_ROWS).on_full(OnFull::Fail);
    let writer = connect(conninfo.trim(), &bounded);
    let (acks, written) = mpsc::sync_channel(UNSAID_ROWS);
    thread::spawn(move || {
        for (number, ack) in written {
            let ack: howdah::writer::Ack = ack;
            ack.wait().unwrap();
            println!("{WORD}{number}");
        }
    });
    for number in 0_i64.. {
        let ack = until_there_is_room(|| match writer.try_write(&(1, number, "some words")) {
            Ok(ack) => Some(ack),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::QueueFull);
                None
            }
        });
        // Rows behind one that waits may be acknowledged: they are said behind it.
        let mut unsaid = Some((number, ack));
        until_there_is_room(|| match acks.try_send(unsaid.take()?) {
            Ok(()) => Some(()),
            Err(TrySendError::Full(again)) => {
                unsaid = Some(again);
                None
            }
            Err(TrySendError::Disconnected(_)) => panic!("a row was refused"),
        });
    }
}

/// Tries again and again, and says that there is no room where that goes on.
fn until_there_is_room<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut failures = 0;
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        failures += 1;
        if failures % 100 == 0 {
            println!("{WORD}full");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_process_killed_with_a_full_queue_loses_no_row_that_was_acknowledged() {
    let database = Database::new();
    database.sql(&create("t"));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "writer_faults::killed::child", "--ignored", "--nocapture"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{} application_name=child", database.conninfo()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut words = lines.by_ref().filter_map(|line| line.strip_prefix(WORD).map(str::to_owned));
    let mut acknowledged: Vec<i64> = words.by_ref().take(3000).filter_map(|word| word.parse().ok()).collect();
    // Nothing gets in from here on, so the queue is full soon.
    let mut locker = database.psql();
    let mut locker = locker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = locker.stdin.take().unwrap();
    writeln!(input, "BEGIN; LOCK TABLE t IN SHARE MODE;\n\\echo locked").unwrap();
    BufReader::new(locker.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    for word in words.by_ref() {
        match word.parse() {
            Ok(number) => acknowledged.push(number),
            Err(_) => break,
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    acknowledged.extend(words.filter_map(|word| word.parse::<i64>().ok()));
    drop(input);
    locker.wait().unwrap();
    let start = Instant::now();
    while database.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'child'") != "0" {
        assert!(start.elapsed() < PATIENCE, "backends outlive their client");
        thread::sleep(Duration::from_millis(20));
    }
    let rows = database.sql("SELECT count(*), count(DISTINCT number) FROM t");
    let (rows, distinct) = rows.split_once('|').unwrap();
    assert_eq!(rows, distinct, "rows are doubled");
    let rows: usize = rows.parse().unwrap();
    // One more is in the hand of the thread that says it, and one in that of the thread that writes.
    let most = acknowledged.len() + UNSAID_ROWS + 2;
    assert!(rows <= most, "{rows} rows, {} acknowledged", acknowledged.len());
    let list: Vec<String> = acknowledged.iter().map(i64::to_string).collect();
    let missing = format!(
        "SELECT count(*) FROM unnest('{{{}}}'::bigint[]) n WHERE n NOT IN (SELECT number FROM t)",
        list.join(",")
    );
    assert!(acknowledged.len() > 2000);
    assert_eq!(database.sql(&missing), "0");
}
