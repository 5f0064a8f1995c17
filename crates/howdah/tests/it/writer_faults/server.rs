//! The server fails: backends are ended, it stops and comes back, it stays away, its disk is full.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah::ErrorKind;
use howdah::writer::{OnFull, Writer, WriterPath};
use howdah_testkit::require::missing;
use howdah_testkit::waiting::{PATIENCE, until};
use howdah_testkit::{Database, OwnServer, Shutdown, TinyDisk, knob};

use super::account::{Account, connect, create, options};

const MS: Duration = Duration::from_millis(1);

/// The backends of the tests' writers.
const BACKENDS: &str =
    "FROM pg_stat_activity WHERE application_name = 'writer' AND datname = current_database()";

fn named(conninfo: &str) -> String {
    format!("{conninfo} application_name=writer")
}

/// Writes rows from two threads until `trouble` is over, and a few more then.
fn write_during(writer: &Writer, trouble: impl FnOnce()) -> Account {
    let over = AtomicBool::new(false);
    let mut account = Account::default();
    thread::scope(|scope| {
        let produce = |producer| {
            let mut account = Account::default();
            let mut more = 100;
            for number in 0.. {
                more -= i32::from(over.load(Ordering::Relaxed));
                if more == 0 {
                    break;
                }
                account.write(writer, (producer, number));
                if number % 20 == 0 {
                    thread::sleep(MS);
                }
            }
            account
        };
        let producers = [1, 2].map(|producer| scope.spawn(move || produce(producer)));
        let begun = writer.statistics().rows_written;
        until("rows are written", || writer.statistics().rows_written > begun);
        let outcome = catch_unwind(AssertUnwindSafe(trouble));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            // Producers may wait for a server that is away: what went wrong is to be seen now.
            let _ = writer.close_blocking(Duration::ZERO);
            resume_unwind(panic);
        }
        producers.into_iter().for_each(|producer| account.add(producer.join().unwrap()));
    });
    account
}

#[test]
fn backends_ended_in_the_middle_of_batches_lose_and_double_nothing() {
    for path in [WriterPath::Copy, WriterPath::Insert] {
        let database = Database::new();
        database.sql(&create("t"));
        let writer = connect(&named(&database.conninfo()), &options().path(path));
        let mut account = write_during(&writer, || {
            let start = Instant::now();
            while writer.statistics().reconnections < 5 {
                assert!(start.elapsed() < PATIENCE, "{:?}", writer.statistics());
                database.sql(&format!("SELECT count(pg_terminate_backend(pid)) {BACKENDS}"));
                thread::sleep(20 * MS);
            }
        });
        account.check_all(|sql| database.sql(sql));
    }
}

#[test]
fn a_server_that_is_restarted_loses_and_doubles_nothing() {
    let mut server = OwnServer::start();
    for how in [Shutdown::Immediate, Shutdown::Fast] {
        server.sql(&format!("DROP TABLE IF EXISTS t; {}", create("t")));
        let writer = connect(&server.conninfo(), &options());
        let mut account = write_during(&writer, || {
            for _ in 0..2 {
                let retries = writer.statistics().retries;
                server.stop(how);
                until("rows are sent to no server", || writer.statistics().retries > retries);
                server.start_again();
                let written = writer.statistics().rows_written;
                until("rows are written again", || writer.statistics().rows_written > written);
            }
        });
        account.check_all(|sql| server.sql(sql));
        assert!(account.acknowledged() > 500, "{how:?}: {}", account.acknowledged());
    }
}

#[test]
fn attempts_to_reach_a_server_that_went_away_between_batches_are_counted() {
    let mut server = OwnServer::start();
    server.sql(&create("t"));
    let writer = connect(&server.conninfo(), &options());
    writer.write_blocking(&(1, 1_i64, "before")).unwrap().wait().unwrap();
    server.stop(Shutdown::Immediate);
    let ack = writer.write_blocking(&(1, 2_i64, "after")).unwrap();
    // The first attempt may be one over the connection that is gone.
    until("the batch is tried again and again", || writer.statistics().retries > 1);
    server.start_again();
    ack.wait().unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_crash_of_the_server_loses_and_doubles_nothing() {
    let server = OwnServer::start();
    server.sql(&create("t"));
    let writer = connect(&named(&server.conninfo()), &options());
    let mut account = write_during(&writer, || {
        let pid = server.sql(&format!("SELECT min(pid) {BACKENDS}"));
        server.kill_backend(&pid);
        server.await_recovery();
    });
    account.check_all(|sql| server.sql(sql));
}

#[test]
fn while_the_server_is_away_the_queue_stays_bounded_and_afterwards_all_of_it_is_written() {
    let seconds = u64::try_from(knob("HOWDAH_AWAY_SECONDS", 1)).unwrap();
    let mut server = OwnServer::start();
    server.sql(&create("t"));
    let bounded = options().queue_rows(300).on_full(OnFull::WaitFor(20 * MS));
    let writer = connect(&server.conninfo(), &bounded);
    server.stop(Shutdown::Fast);
    let mut account = Account::default();
    let mut accepted = 0;
    for number in 0..310 {
        match account.try_write(&writer, (1, number), "some words") {
            Ok(()) => accepted += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::QueueFull, "{error:?}"),
        }
    }
    assert_eq!(accepted, 300);
    assert_eq!(writer.try_write(&(1, 400_i64, "no room")).err().unwrap().kind(), ErrorKind::QueueFull);
    thread::sleep(Duration::from_secs(seconds));
    server.start_again();
    account.check_all(|sql| server.sql(sql));
    let statistics = writer.statistics();
    assert_eq!((statistics.rows_written, statistics.peak_queued_rows), (300, 300), "{statistics:?}");
}

#[test]
fn a_server_that_stays_away_fails_rows_with_its_reason_and_the_writer_goes_on_when_it_is_back() {
    let mut server = OwnServer::start();
    server.sql(&create("t"));
    let impatient = options().retry_for(200 * MS);
    let writer = connect(&server.conninfo(), &impatient);
    server.stop(Shutdown::Fast);
    let mut account = Account::default();
    (0..20).for_each(|number| account.write(&writer, (1, number)));
    account.settle();
    assert_eq!(account.failed().len(), 20);
    assert!(writer.flush_blocking().is_ok(), "what failed was told, and nothing is left to be flushed");
    server.start_again();
    (20..40).for_each(|number| account.write(&writer, (1, number)));
    account.check(|sql| server.sql(sql));
    assert_eq!(account.acknowledged(), 20, "{:?}", account.failed().last());
}

#[test]
fn a_full_disk_is_waited_for_and_then_nothing_is_missing() {
    let database = Database::new();
    let Some(disk) = TinyDisk::mount(&database.path("tiny"), 8, &database.sql("SHOW data_directory")) else {
        return missing("mounts", "no file system can be mounted here");
    };
    // Half of the disk is somebody else's; when that is freed there is room again.
    database.sql(&format!("CREATE TABLESPACE tiny LOCATION '{}'", disk.path()));
    database.sql(&format!(
        "{} TABLESPACE tiny; CREATE TABLE ballast TABLESPACE tiny AS SELECT repeat('x', 900) FROM generate_series(1, 5000)",
        create("t")
    ));
    let writer = connect(&database.conninfo(), &options().queue_rows(200));
    let payload = "x".repeat(900);
    let mut account = Account::default();
    thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let mut account = Account::default();
            (0..4000).for_each(|number| account.try_write(&writer, (1, number), &payload).unwrap());
            account
        });
        while writer.statistics().retries < 3 {
            assert!(!producing.is_finished(), "the disk was never full");
            thread::sleep(5 * MS);
        }
        database.sql("DROP TABLE ballast; CHECKPOINT");
        account.add(producing.join().unwrap());
    });
    account.check_all(|sql| database.sql(sql));
    assert!(writer.statistics().peak_queued_rows <= 200);
    writer.close_blocking(PATIENCE).unwrap();
    database.sql("DROP TABLE t; DROP TABLESPACE tiny");
}
