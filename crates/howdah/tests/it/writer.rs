//! The writer: rows of a running program, acknowledged when they are durable, against a server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah::connect::{ConnectOptions, Environment};
use howdah::writer::{Delivery, OnConflict, OnFull, WriterPath};
use howdah::{ErrorKind, Literal, Writer, WriterOptions};
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

use crate::common::target;

fn writer(database: &Database, table: &str, options: WriterOptions) -> Writer {
    Writer::connect_blocking(&target(database), table, options).unwrap()
}

/// Another session that keeps a table locked until it is dropped.
struct Lock(Child);

impl Lock {
    fn on(database: &Database, table: &str) -> Lock {
        let mut psql = database.psql().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = psql.stdin.as_mut().unwrap();
        writeln!(input, "BEGIN; LOCK {table}; SELECT 'locked';").unwrap();
        let mut said = String::new();
        BufReader::new(psql.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "locked\n");
        Lock(psql)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn rows_are_there_when_they_are_acknowledged_on_every_path_and_batch_size() {
    let database = Database::new();
    for path in [WriterPath::Auto, WriterPath::Copy, WriterPath::Insert] {
        for rows in [1, 2, 15, 16, 700] {
            database.sql(
                "DROP TABLE IF EXISTS t; CREATE TABLE t (id int, name text, tags text[], at timestamptz DEFAULT now(), made int GENERATED ALWAYS AS (id * 2) STORED)",
            );
            let options = WriterOptions::default().path(path).max_rows(300).connections(3);
            let writer = writer(&database, "t", options);
            let names: Vec<&str> =
                writer.shape().columns().iter().map(|column| column.name.as_str()).collect();
            assert_eq!(names, ["id", "name", "tags"]);
            let acks: Vec<_> = (0..rows)
                .map(|id| writer.write_blocking(&(id, format!("n{id}"), Literal("{a,\"b c\"}"))).unwrap())
                .collect();
            for ack in acks {
                ack.wait().unwrap();
            }
            let found = database
                .sql("SELECT count(*), count(DISTINCT id), sum(made), max(tags[2]), count(at) FROM t");
            let sum: i32 = (0..rows).map(|id| 2 * id).sum();
            assert_eq!(found, format!("{rows}|{rows}|{sum}|b c|{rows}"), "{path:?}");
            let statistics = writer.close_blocking(PATIENCE).unwrap();
            assert_eq!(statistics.rows_written, u64::try_from(rows).unwrap());
            assert_eq!(database.sql("SELECT count(*) FROM howdah_ledger"), "0");
        }
    }
}

#[test]
fn a_bad_row_fails_alone_with_the_servers_words() {
    let database = Database::new();
    for path in [WriterPath::Copy, WriterPath::Insert, WriterPath::Auto] {
        for connections in [1, 2] {
            database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, n int CONSTRAINT small CHECK (n < 100), j jsonb)");
            let options = WriterOptions::default().path(path).connections(connections);
            let writer = writer(&database, "t", options);
            let acks: Vec<_> = (0..500)
                .map(|id| {
                    let n = if id % 50 == 7 { 100 + id } else { 1 };
                    let json = if id == 300 { "{bad" } else { "{}" };
                    writer.write_blocking(&(if id == 401 { 400 } else { id }, n, Literal(json))).unwrap()
                })
                .collect();
            let mut failed = Vec::new();
            for (id, ack) in acks.into_iter().enumerate() {
                if let Err(error) = ack.wait() {
                    failed.push((
                        id,
                        error.sqlstate().unwrap_or_default().to_owned(),
                        error.constraint().map(str::to_owned),
                    ));
                }
            }
            let checks: Vec<_> = failed.iter().filter(|(_, code, _)| code == "23514").collect();
            assert_eq!(
                checks.iter().map(|(id, ..)| *id).collect::<Vec<_>>(),
                (0..10).map(|k| 50 * k + 7).collect::<Vec<_>>()
            );
            assert!(checks.iter().all(|(.., constraint)| constraint.as_deref() == Some("small")));
            let others: Vec<_> = failed
                .iter()
                .filter(|(_, code, _)| code != "23514")
                .map(|(id, code, _)| (*id, code.as_str()))
                .collect();
            // Over two connections either of the two rows with one key may come first.
            assert!(
                others == [(300, "22P02"), (401, "23505")] || others == [(300, "22P02"), (400, "23505")],
                "{others:?}"
            );
            assert_eq!(database.sql("SELECT count(*) FROM t"), "488");
            writer.close_blocking(PATIENCE).unwrap();
        }
    }
}

#[test]
fn refusals_of_which_nobody_heard_are_an_error_of_close() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int CONSTRAINT small CHECK (n < 100))");
    let writer = writer(&database, "t", WriterOptions::default().connections(1));
    let write = |id: i32, n: i32| writer.write_blocking(&(id, n)).unwrap();
    write(1, 1).wait().unwrap();
    writer.send_blocking(&(1, 2)).unwrap();
    drop(write(1, 3));
    drop(write(2, 2));
    let late = write(4, 400);
    assert!(write(5, 500).wait().is_err(), "told here, and not again");
    assert!(late.wait_for(PATIENCE).unwrap().is_err());
    let (told, hears) = std::sync::mpsc::channel();
    write(6, 600).on_resolved(move |result| told.send(result.is_err()).unwrap());
    let forgotten = write(7, 700);
    let held = write(8, 800);
    assert!(hears.recv_timeout(PATIENCE).unwrap());
    howdah_testkit::waiting::until("the row is refused", || forgotten.is_resolved());
    drop(forgotten);
    let error = writer.close_blocking(PATIENCE).unwrap_err();
    assert_eq!((error.sqlstate(), error.constraint()), (Some("23505"), Some("t_pkey")));
    let said = "3 rows are not in the table, and nobody took their acknowledgements: duplicate key value";
    assert!(error.message().starts_with(said), "{error}");
    let reasons = error.detail().unwrap();
    assert!(reasons.contains("Key (id)=(1) already exists") && reasons.contains("\"small\""), "{reasons}");
    assert_eq!(error.visible(), Some("2 rows of this writer are in the table"));
    assert_eq!(writer.close_blocking(PATIENCE).unwrap().rows_refused, 7);
    assert_eq!(held.wait().unwrap_err().sqlstate(), Some("23514"), "whoever holds it may still ask");
}

#[test]
fn a_flush_tells_of_what_nobody_heard_and_close_does_not_tell_it_again() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY)");
    let writer = writer(&database, "t", WriterOptions::default());
    writer.send_blocking(&(1,)).unwrap();
    writer.flush_blocking().unwrap();
    drop(writer.write_blocking(&(1,)).unwrap());
    let error = writer.flush_blocking().unwrap_err();
    assert_eq!(error.sqlstate(), Some("23505"));
    assert!(error.message().starts_with("1 row is not in the table, and nobody took its acknowledgement: "));
    writer.close_blocking(PATIENCE).unwrap();
}

/// The word of a refusal comes while rows are still on their way, and before the end of the answer.
#[test]
fn refusals_of_large_batches_cost_no_connection_and_double_nothing() {
    let body = "x".repeat(3_000);
    for delivery in [Delivery::ExactlyOnce, Delivery::AtLeastOnce] {
        let database = Database::new();
        database.sql("CREATE TABLE t (n int CHECK (n % 500 <> 1), body text)");
        let options = WriterOptions::default()
            .path(WriterPath::Copy)
            .connections(1)
            .max_bytes(16 << 20)
            .delivery(delivery);
        let writer = writer(&database, "t", options);
        let write = |n: i32| writer.write_blocking(&(n, body.as_str())).unwrap();
        let acks: Vec<_> = (0..6_000).map(write).collect();
        let refused: Vec<i32> =
            (0..).zip(acks).filter_map(|(n, ack)| ack.wait_for(PATIENCE).unwrap().err().map(|_| n)).collect();
        assert_eq!(refused, (0..12).map(|bad| 500 * bad + 1).collect::<Vec<i32>>());
        assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "5988|5988");
        let statistics = writer.close_blocking(PATIENCE).unwrap();
        assert_eq!((statistics.retries, statistics.reconnections), (0, 0), "{delivery:?}");
    }
}

#[test]
fn conflicts_are_ignored_or_update_and_the_last_row_of_a_key_counts() {
    let database = Database::new();
    for (action, expected) in [(OnConflict::Ignore, "1:old,2:c,3:z"), (OnConflict::Update, "1:b,2:c,3:z")] {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, v text, tags int[]); INSERT INTO t VALUES (1, 'old')");
        let options = WriterOptions::default().on_conflict(action);
        let writer = writer(&database, "t", options);
        // The first batch goes alone; what follows waits for it and goes together.
        for (id, v) in [(3, "y"), (1, "a"), (1, "b"), (2, "a"), (2, "c"), (3, "z")] {
            drop(writer.write_blocking(&(id, v, Literal("{1,2}"))).unwrap());
        }
        writer.flush_blocking().unwrap();
        let found = database.sql("SELECT string_agg(id || ':' || v, ',' ORDER BY id) FROM t");
        let alone = expected.replace("3:z", "3:y");
        assert!(found == expected || action == OnConflict::Ignore && found == alone, "{action:?}: {found}");
        writer.close_blocking(PATIENCE).unwrap();
    }
}

#[test]
fn a_flush_tells_of_sent_rows_that_were_refused_before_it_and_acknowledgements_of_the_others() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int CHECK (id > 0))");
    let writer = writer(&database, "t", WriterOptions::default());
    for refused in 1..=2 {
        writer.send_blocking(&(-1,)).unwrap();
        while writer.statistics().rows_refused < refused {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(writer.flush_blocking().unwrap_err().sqlstate(), Some("23514"));
        writer.flush_blocking().unwrap();
    }
    assert!(writer.write_blocking(&(-1,)).unwrap().wait().is_err());
    writer.flush_blocking().unwrap();
    writer.close_blocking(PATIENCE).unwrap();
}

#[test]
fn values_come_back_to_the_rows_they_belong_to() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, name text UNIQUE, loud text GENERATED ALWAYS AS (upper(name)) STORED)");
    for on_conflict in [None, Some(OnConflict::Update)] {
        let mut options = WriterOptions::default().returning(["loud", "id"]);
        options.on_conflict = on_conflict;
        let writer = writer(&database, "t", options);
        let name = |n: usize| format!("{}n{}", if on_conflict.is_some() { "c" } else { "" }, n % 150);
        // Keys come again together with their first rows, and when those are in the table.
        let rounds = if on_conflict.is_some() { [0..200, 100..150] } else { [0..150, 0..0] };
        for round in rounds {
            let acks: Vec<_> = round.map(|n| (n, writer.write_blocking(&(name(n),)).unwrap())).collect();
            for (n, ack) in acks {
                let written = ack.wait().unwrap();
                let row = written.returned().unwrap();
                assert_eq!(row.get::<String>("loud"), name(n).to_uppercase());
                assert!(row.get::<i64>("id") > 0);
            }
        }
        writer.close_blocking(PATIENCE).unwrap();
    }
}

#[test]
fn a_lone_row_does_not_wait_and_the_writer_sleeps_when_it_is_idle() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let options = WriterOptions::default().max_age(Duration::from_secs(3_600));
    let writer = writer(&database, "t", options);
    for n in 0..20 {
        let start = Instant::now();
        writer.write_blocking(&(n,)).unwrap().wait().unwrap();
        assert!(start.elapsed() < PATIENCE);
    }
    assert_eq!(writer.statistics().flushes.idle, 20);
    writer.close_blocking(PATIENCE).unwrap();
}

#[test]
fn a_full_queue_waits_times_out_or_fails_as_chosen() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    for (on_full, least) in [(OnFull::Fail, 0), (OnFull::WaitFor(Duration::from_millis(300)), 300)] {
        let lock = Lock::on(&database, "t");
        let options = WriterOptions::default().queue_rows(10).on_full(on_full);
        let writer = writer(&database, "t", options);
        let start = Instant::now();
        let error = (0..11).map(|n| writer.write_blocking(&(n,)).map(drop)).find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::QueueFull);
        assert!(start.elapsed() >= Duration::from_millis(least));
        assert_eq!(writer.statistics().queued_rows, 10);
        // What did find room is written when the table is free.
        drop(lock);
        writer.close_blocking(PATIENCE).unwrap();
    }
    assert_eq!(database.sql("SELECT count(*) FROM t"), "20");
}

#[test]
fn a_deadline_leaves_nobody_waiting() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let lock = Lock::on(&database, "t");
    let writer = writer(&database, "t", WriterOptions::default().connections(1).max_rows(4));
    let acks: Vec<_> = (0..10).map(|n| writer.write_blocking(&(n,)).unwrap()).collect();
    let error = writer.close_blocking(Duration::from_millis(300)).unwrap_err();
    assert!(error.message().contains("10 rows"), "{error}");
    for ack in acks {
        assert!(ack.wait_for(PATIENCE).expect("an acknowledgement hangs").is_err());
    }
    assert_eq!(writer.write_blocking(&(1,)).map(drop).unwrap_err().kind(), ErrorKind::Closed);
    drop(lock);
}

#[test]
fn many_tasks_share_a_writer_on_their_own_runtime() {
    let database = Database::new();
    database.sql("CREATE TABLE t (who int, n int)");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = WriterOptions::default().queue_rows(50);
        let writer = Arc::new(Writer::connect(&target(&database), "t", options).await.unwrap());
        let tasks: Vec<_> = (0..20)
            .map(|who| {
                let writer = writer.clone();
                tokio::spawn(async move {
                    for n in 0..100 {
                        writer.write(&(who, n)).await.unwrap().await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let statistics = writer.close(PATIENCE).await.unwrap();
        assert_eq!(statistics.rows_written, 2000);
        assert!(statistics.flushes.total() < 2000, "tasks that wait at the same time share transactions");
    });
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT (who, n)) FROM t"), "2000|2000");
}

#[test]
fn literals_that_only_the_server_reads_are_read_by_it_and_refuse_their_own_row() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, at timestamptz)");
    let writer = writer(&database, "t", WriterOptions::default());
    let acks: Vec<_> = ["2001-02-03 04:05:06 Europe/Berlin", "not a time", "January 8, 1999", "yesterday"]
        .into_iter()
        .zip(0..)
        .map(|(text, n)| writer.write_blocking(&(n, Literal(text))).unwrap())
        .collect();
    let results: Vec<bool> = acks.into_iter().map(|ack| ack.wait().is_ok()).collect();
    assert_eq!(results, [true, false, true, true]);
    writer.close_blocking(PATIENCE).unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM t"), "3");
}

#[test]
fn a_dropped_writer_still_writes_what_it_holds() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let writer = writer(&database, "t", WriterOptions::default());
    let acks: Vec<_> = (0..1000).map(|n| writer.write_blocking(&(n,)).unwrap()).collect();
    drop(writer);
    for ack in acks {
        ack.wait().unwrap();
    }
}

#[test]
fn a_table_that_is_gone_fails_its_rows_and_nobody_hangs() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let writer = writer(&database, "t", WriterOptions::default());
    writer.write_blocking(&(1,)).unwrap().wait().unwrap();
    database.sql("DROP TABLE t");
    for _ in 0..3 {
        assert_eq!(writer.write_blocking(&(2,)).unwrap().wait().unwrap_err().sqlstate(), Some("42P01"));
    }
    writer.close_blocking(PATIENCE).unwrap();
}

#[test]
fn rows_do_not_wait_for_connections_that_the_server_does_not_give() {
    let database = Database::new();
    let name = database.name().to_owned();
    database.sql(&format!(
        "CREATE TABLE t (id int); CREATE ROLE single_{name} LOGIN PASSWORD 'one' CONNECTION LIMIT 1;
         GRANT CREATE ON SCHEMA public TO single_{name}; GRANT INSERT, SELECT ON t TO single_{name}"
    ));
    let conninfo = format!("{} user=single_{name} password=one", database.conninfo());
    let connect = ConnectOptions::default().conninfo(conninfo);
    let target = connect.resolve(&Environment::from_pairs([])).unwrap();
    let options = WriterOptions::default().connections(4).max_rows(10);
    let writer = Writer::connect_blocking(&target, "t", options).unwrap();
    let acks: Vec<_> = (0..2_000).map(|id| writer.write_blocking(&(id,)).unwrap()).collect();
    for ack in acks {
        ack.wait_for(PATIENCE).unwrap().unwrap();
    }
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT id) FROM t"), "2000|2000");
    let statistics = writer.close_blocking(PATIENCE).unwrap();
    assert_eq!((statistics.rows_written, statistics.retries), (2_000, 0));
}
