//! COPY in one round trip: all or nothing, and whatever else is asked of the connection, its answers stay in step.

use std::time::{Duration, Instant};

use bytes::Bytes;
use howdah_connect::{ConnectOptions, Connection, Environment, Error, ErrorKind, PipelinedCopy};
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

/// Runs a test on a connection to a database with `t (n int PRIMARY KEY)` and `ledger (part bigint)`.
fn on_connection(test: impl AsyncFnOnce(&Database, &mut Connection)) {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY); CREATE TABLE ledger (part bigint)");
    let options = ConnectOptions::default().conninfo(database.conninfo());
    let target = options.resolve(&Environment::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = target.connect().await.unwrap();
        test(&database, &mut connection).await;
    });
}

/// A COPY of these numbers as text, with its statement.
fn numbers(numbers: impl IntoIterator<Item = i32>) -> PipelinedCopy {
    let rows = numbers.into_iter().map(|n| Bytes::from(format!("{n}\n")));
    let mut copy = PipelinedCopy::new("copy_t", rows);
    copy.prepare("copy_t", "COPY t FROM STDIN").unwrap();
    copy
}

/// Whether an answer is that to the question that was asked last.
async fn is_in_step(connection: &Connection, n: i32) -> bool {
    let row = connection.client().query_one("SELECT $1::int", &[&n]).await.unwrap();
    row.get::<_, i32>(0) == n
}

/// Sends what the future sends when it is polled first, and does not wait for more.
async fn begin_and_drop<F: Future>(future: F) {
    tokio::select! {
        biased;
        _ = future => panic!("it was answered at once"),
        () = std::future::ready(()) => {}
    }
}

#[test]
fn what_goes_before_a_copy_is_committed_with_it_or_not_at_all() {
    on_connection(async |database, connection| {
        let noted = |part: i64, rows: std::ops::Range<i32>| {
            let mut copy = numbers(rows);
            copy.prepare("note", "INSERT INTO ledger VALUES ($1)").unwrap();
            copy.run("SET LOCAL lock_timeout = '2s'").unwrap();
            copy.execute("note", &[part]).unwrap();
            copy
        };
        assert_eq!(connection.copy(noted(1, 0..1_000)).await.unwrap(), 1_000);
        let error = connection.copy(noted(2, 999..2_000)).await.unwrap_err();
        assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Server, Some("23505")), "{error:?}");
        assert!(!error.is_retryable() && error.as_db_error().unwrap().where_().is_some());
        assert_eq!(connection.copy(noted(3, 1_000..50_000)).await.unwrap(), 49_000);
        assert_eq!(database.sql("SELECT count(*), sum(n) FROM t"), "50000|1249975000");
        assert_eq!(database.sql("SELECT string_agg(part::text, ' ') FROM ledger"), "1 3");
        assert!(is_in_step(connection, 7).await);
    });
}

#[test]
fn a_statement_that_fails_before_the_copy_keeps_its_rows_out() {
    on_connection(async |database, connection| {
        let mut copy = numbers(0..100_000);
        copy.run("INSERT INTO no_such_table VALUES (1)").unwrap();
        let error = connection.copy(copy).await.unwrap_err();
        assert_eq!(error.sqlstate(), Some("42P01"), "{error:?}");
        assert!(is_in_step(connection, 1).await);
        assert_eq!(connection.copy(numbers(0..0)).await.unwrap(), 0);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn in_an_open_transaction_a_copy_is_refused_and_the_transaction_goes_on() {
    on_connection(async |database, connection| {
        connection.client().batch_execute("BEGIN; INSERT INTO t VALUES (-1)").await.unwrap();
        let error = connection.copy(numbers(0..10)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error:?}");
        connection.client().batch_execute("INSERT INTO t VALUES (-2); COMMIT").await.unwrap();
        assert_eq!(database.sql("SELECT string_agg(n::text, ' ' ORDER BY n) FROM t"), "-2 -1");
        assert_eq!(connection.copy(numbers(0..10)).await.unwrap(), 10);
        assert!(is_in_step(connection, 1).await);
    });
}

/// Each of these leaves answers under way that nobody waits for.
#[test]
fn a_copy_among_requests_that_nobody_waits_for_gets_its_own_answer() {
    on_connection(async |database, connection| {
        for n in 0..40 {
            let client = connection.client();
            match n % 4 {
                0 => begin_and_drop(client.batch_execute("SELECT pg_sleep(0.01)")).await,
                1 => begin_and_drop(client.query_one("SELECT 1", &[])).await,
                2 => drop(client.prepare("SELECT 1").await.unwrap()),
                _ => {
                    client.batch_execute("SELECT 1/0").await.unwrap_err();
                }
            }
            let twice = if n % 5 == 0 { vec![n, n] } else { vec![n] };
            match connection.copy(numbers(twice)).await {
                Ok(rows) => assert_eq!((rows, n % 5 > 0), (1, true), "{n}"),
                Err(error) => assert_eq!((error.sqlstate(), n % 5), (Some("23505"), 0), "{n}: {error:?}"),
            }
            assert!(is_in_step(connection, n).await, "{n}");
        }
        assert_eq!(database.sql("SELECT count(*) FROM t"), "32");
    });
}

#[test]
fn a_request_that_opens_a_transaction_meanwhile_keeps_the_copy_out() {
    on_connection(async |database, connection| {
        begin_and_drop(connection.client().batch_execute("BEGIN")).await;
        let error = connection.copy(numbers(0..10)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error:?}");
        connection.client().batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(connection.copy(numbers(0..10)).await.unwrap(), 10);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "10");
    });
}

#[test]
fn a_copy_that_is_dropped_is_in_or_not_and_the_next_one_is_another() {
    on_connection(async |database, connection| {
        for n in 0..20 {
            // At first it is not sent at all, then in part, at last as a whole.
            let time = async {
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                rows = connection.copy(numbers(n * 100_000..n * 100_000 + 15_000)) => drop(rows.unwrap()),
                () = time => {}
            }
            let rows = connection.copy(numbers([-1 - n])).await.unwrap();
            assert_eq!(rows, 1, "{n}");
            assert!(is_in_step(connection, n).await, "{n}");
        }
        let parts = "SELECT DISTINCT count(*) FROM t WHERE n >= 0 GROUP BY n / 100000";
        assert!(["", "15000"].contains(&database.sql(parts).as_str()), "{}", database.sql(parts));
        assert_eq!(database.sql("SELECT count(*) FROM t WHERE n < 0"), "20");
    });
}

#[test]
fn after_a_copy_of_the_drivers_own_a_pipelined_one_is_in_step() {
    on_connection(async |database, connection| {
        for n in 0..3 {
            let mut sink =
                Box::pin(connection.client().copy_in::<_, Bytes>("COPY t FROM STDIN").await.unwrap());
            if n == 1 {
                // The driver ends it with CopyFail.
                drop(sink);
            } else {
                sink.as_mut().finish().await.unwrap();
            }
            assert_eq!(connection.copy(numbers([n])).await.unwrap(), 1);
            assert!(is_in_step(connection, n).await);
        }
        assert_eq!(database.sql("SELECT count(*) FROM t"), "3");
    });
}

#[test]
fn what_is_no_copy_from_stdin_is_an_error_and_closes_the_connection() {
    for (statement, before) in [
        ("COPY t TO STDOUT", None),
        ("SELECT 1", None),
        ("INSERT INTO ledger VALUES (1)", None),
        ("COPY t FROM STDIN", Some("SELECT 1")),
    ] {
        on_connection(async |database, connection| {
            let mut copy = PipelinedCopy::new("odd", [Bytes::from_static(b"1\n")]);
            copy.prepare("odd", statement).unwrap();
            if let Some(sql) = before {
                copy.run(sql).unwrap();
            }
            let error = connection.copy(copy).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{statement}: {error:?}");
            let start = Instant::now();
            while !connection.client().is_closed() {
                assert!(start.elapsed() < PATIENCE, "{statement}: still open");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let error: Error = connection.copy(numbers([2])).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Lost);
            assert_eq!(database.sql("SELECT count(*) FROM t WHERE n = 2"), "0");
        });
    }
}
