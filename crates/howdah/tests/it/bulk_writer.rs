//! Rows of programs in bulk: what arrives, what is refused, and that nothing is left of a bulk that is not finished.

mod batches;
mod derived;
mod values;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::{BulkWriter, Error, ErrorKind, Fields, Row};
use howdah_testkit::Database;

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn target(database: &Database) -> Target {
    let options = ConnectOptions::default().conninfo(database.conninfo());
    options.resolve(&Environment::from_pairs([])).unwrap()
}

pub(crate) async fn start(database: &Database, columns: Option<&[&str]>) -> Result<BulkWriter, Error> {
    BulkWriter::start(&target(database), "t", columns).await
}

/// Writes all rows; how many the server counted.
pub(crate) fn write_all<R: Row>(database: &Database, rows: &[R]) -> Result<u64, Error> {
    run(async {
        let mut bulk = start(database, None).await?;
        for row in rows {
            bulk.write(row).await?;
        }
        bulk.finish().await
    })
}

fn row_of(error: &Error) -> Option<u64> {
    error.location().and_then(|location| location.row)
}

#[test]
fn columns_that_fill_themselves_are_left_out_and_may_be_named() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, a int, at date DEFAULT '2000-01-01',
                         b text, twice int GENERATED ALWAYS AS (a * 2) STORED, n serial)",
    );
    assert_eq!(write_all(&database, &[(1, "x"), (2, "y")]).unwrap(), 2);
    assert_eq!(database.sql("TABLE t"), "1|1|2000-01-01|x|2|1\n2|2|2000-01-01|y|4|2");
    let named = run(async {
        let mut bulk = start(&database, Some(&["b", "n", "a"])).await?;
        assert_eq!(bulk.shape().columns()[1].type_name, "integer");
        bulk.write(&("z", 70, 3)).await?;
        bulk.finish().await
    });
    assert_eq!(named.unwrap(), 1);
    assert_eq!(database.sql("SELECT a, b, n FROM t WHERE n > 2"), "3|z|70");
    let refused = |columns: &[&str]| run(start(&database, Some(columns))).err().unwrap();
    assert_eq!(refused(&["a", "c"]).sqlstate(), Some("42703"));
    assert_eq!(refused(&["a", "b", "a"]).sqlstate(), Some("42701"));
    assert_eq!(refused(&["twice"]).sqlstate(), Some("42P10"));
    assert_eq!(refused(&[]).kind(), ErrorKind::Usage);
    database.sql("CREATE TABLE full_of_defaults (a int DEFAULT 1)");
    let none = run(BulkWriter::start(&target(&database), "full_of_defaults", None)).err().unwrap();
    assert!(none.message().contains("needs a value"), "{none}");
    let none = run(BulkWriter::start(&target(&database), "nowhere", None)).err().unwrap();
    assert_eq!(none.sqlstate(), Some("42P01"));
}

#[test]
fn a_row_with_too_few_or_too_many_fields_is_refused_alone() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let counted = run(async {
        let mut bulk = start(&database, None).await?;
        bulk.write(&(1, "x")).await?;
        let few = bulk.write(&(2,)).await.unwrap_err();
        let many = bulk.write(&(2, "y", true)).await.unwrap_err();
        assert_eq!((few.sqlstate(), many.sqlstate()), (Some("42601"), Some("42601")));
        assert_eq!((few.kind(), few.detail()), (ErrorKind::Usage, Some("columns: a, b")));
        bulk.write(&(3, "z")).await?;
        bulk.write(&vec!["4", "w"]).await?;
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 3);
    assert_eq!(database.sql("TABLE t"), "1|x\n3|z\n4|w");
}

#[test]
fn null_is_refused_where_the_server_would_and_only_there() {
    let database = Database::new();
    database.sql(
        "CREATE DOMAIN sure AS int NOT NULL; CREATE TABLE t (a int, b text NOT NULL, c sure DEFAULT 1);
         CREATE TABLE filled (a int NOT NULL);
         CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN new.a := 7; RETURN new; END $$;
         CREATE TRIGGER fill BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION fill()",
    );
    let none = None::<i32>;
    let counted = run(async {
        let mut bulk = start(&database, Some(&["a", "b", "c"])).await?;
        bulk.write(&(none, "x", 1)).await?;
        let error = bulk.write(&(1, None::<&str>, 1)).await.unwrap_err();
        assert_eq!((error.sqlstate(), error.column(), row_of(&error)), (Some("23502"), Some("b"), Some(1)));
        let server = database.try_sql("INSERT INTO t VALUES (1, NULL, 1)").unwrap_err();
        assert!(server.contains(error.message()), "{server}: {error}");
        let error = bulk.write(&(1, "y", none)).await.unwrap_err();
        assert_eq!((error.sqlstate(), error.column()), (Some("23502"), Some("c")));
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 1);
    let filled = run(async {
        let mut bulk = BulkWriter::start(&target(&database), "filled", None).await?;
        bulk.write(&(none,)).await?;
        bulk.finish().await
    });
    assert_eq!((filled.unwrap(), database.sql("TABLE filled").as_str()), (1, "7"));
}

#[test]
fn a_row_that_the_server_refuses_is_named_and_nothing_is_left() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, doc jsonb, CHECK (id < 90000))");
    // Of several COPYs: the refused row stands in the second.
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(1000));
    let ids = |wrong: i32| (0..20_000).map(move |id| if id == 18_000 { wrong } else { id });
    let rows: Vec<_> = ids(90_001).map(|id| (id, body.as_str())).collect();
    let error = write_all(&database, &rows).unwrap_err();
    assert_eq!((error.sqlstate(), row_of(&error)), (Some("23514"), Some(18_000)), "{error:?}");
    assert_eq!((error.constraint(), error.kind()), (Some("t_id_check"), ErrorKind::Data));
    assert_eq!(error.visible(), Some("nothing was changed"));
    let rows: Vec<_> = ids(17).map(|id| (id, body.as_str())).collect();
    let error = write_all(&database, &rows).unwrap_err();
    assert_eq!((error.sqlstate(), row_of(&error)), (Some("23505"), Some(18_000)), "{error:?}");
    let error = write_all(&database, &[(1, "{}"), (2, "{\"a\":")]).unwrap_err();
    assert_eq!((error.sqlstate(), error.column(), row_of(&error)), (Some("22P02"), Some("doc"), Some(1)));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    let rows: Vec<_> = ids(18_000).map(|id| (id, body.as_str())).collect();
    assert_eq!(write_all(&database, &rows).unwrap(), 20_000);
    assert_eq!(database.sql("SELECT count(*), sum(id), count(DISTINCT doc) FROM t"), "20000|199990000|1");
}

#[test]
fn success_is_not_said_before_deferred_constraints_were_judged() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    let error = write_all(&database, &[(1,), (2,), (1,)]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23505"));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn rows_that_triggers_drop_are_not_counted() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (a int);
         CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN IF new.a % 2 = 0 THEN RETURN NULL; END IF; RETURN new; END $$;
         CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()",
    );
    let rows: Vec<_> = (0..10).map(|a| (a,)).collect();
    assert_eq!(write_all(&database, &rows).unwrap(), 5);
    assert_eq!(write_all::<(i32,)>(&database, &[]).unwrap(), 0);
}

/// Waits until no other session of the database is left, and counts rows.
async fn left_behind(database: &Database) -> String {
    for _ in 0..200 {
        let others = database.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        if others == "0" {
            return database.sql("SELECT count(*) FROM t");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the session is still there");
}

#[test]
fn a_bulk_that_is_dropped_leaves_nothing_and_no_session() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let long = "x".repeat(1000);
    run(async {
        for rows in [0, 10, 2000] {
            let mut bulk = start(&database, None).await.unwrap();
            for a in 0..rows {
                bulk.write(&(a, &long)).await.unwrap();
            }
            drop(bulk);
            assert_eq!(left_behind(&database).await, "0");
        }
    });
    // With its runtime: an error that ends the program's own loop.
    let failed: Result<u64, Error> = run(async {
        let mut bulk = start(&database, None).await?;
        for a in 0..2000 {
            bulk.write(&(a, &long)).await?;
        }
        Err(Error::usage("something else went wrong"))
    });
    assert_eq!(failed.unwrap_err().message(), "something else went wrong");
    assert_eq!(run(left_behind(&database)), "0");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        run(async {
            let mut bulk = start(&database, None).await.unwrap();
            bulk.write(&(1, &long)).await.unwrap();
            panic!("in the middle");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(run(left_behind(&database)), "0");
}

#[test]
fn a_call_that_is_abandoned_while_it_waits_loses_no_row_silently() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a date, b text)");
    run(async {
        let mut bulk = start(&database, None).await.unwrap();
        let long = "x".repeat(600_000);
        // The server is asked about the date, for which one poll is too short.
        let abandoned = tokio::time::timeout(Duration::ZERO, bulk.write(&("tomorrow", &long))).await;
        assert!(abandoned.is_err());
        let error = bulk.write(&("2026-01-01", "x")).await.unwrap_err();
        assert!(error.message().contains("abandoned"), "{error}");
        assert!(bulk.finish().await.unwrap_err().message().contains("abandoned"));
        assert_eq!(left_behind(&database).await, "0");
    });
}

struct Panics;

impl Row for Panics {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        fields.put(&1)?;
        panic!("in the middle of a row")
    }
}

#[test]
fn half_a_row_is_never_sent() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b date)");
    let counted = run(async {
        let mut bulk = start(&database, None).await?;
        bulk.write(&(1, "yesterday")).await?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut write = std::pin::pin!(bulk.write(&Panics));
            let waker = std::task::Waker::noop();
            write.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready()
        }));
        assert!(panicked.is_err());
        // An open literal, and then an error.
        assert!(bulk.write(&("3", "today", 3)).await.is_err());
        bulk.write(&(2, "2026-01-01")).await?;
        bulk.finish().await
    });
    assert_eq!(counted.unwrap(), 2);
    assert_eq!(database.sql("SELECT a FROM t ORDER BY a"), "1\n2");
}

#[test]
fn literals_that_only_the_server_reads_stand_in_their_rows() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, day date, at timestamptz, words tsvector, lexemes text)");
    let rows: Vec<_> = (0..3000)
        .map(|n| match n % 3 {
            0 => (n, "epoch", "1999-07-01 12:00 Europe/Berlin", "the fat cat", "x"),
            1 => (n, "2026-01-02", "2026-01-02 00:00+01", "'a':1A 'b'", "y"),
            _ => (n, "January 8, 1999", "2026-07-01 12:00 America/New_York", "", "z"),
        })
        .collect();
    assert_eq!(write_all(&database, &rows).unwrap(), 3000);
    database.sql("CREATE TABLE w (LIKE t)");
    let inserts: Vec<String> = rows
        .iter()
        .map(|(n, day, at, words, lexemes)| {
            format!("({n}, '{day}', '{at}', '{}', '{lexemes}')", words.replace('\'', "''"))
        })
        .collect();
    database.sql(&format!("INSERT INTO w VALUES {}", inserts.join(", ")));
    assert_eq!(database.binary_rows("t"), database.binary_rows("w"));
    // In the order in which they were written.
    assert_eq!(
        database.sql(
            "SELECT count(*) FROM (SELECT n, row_number() OVER (ORDER BY ctid) - 1 AS at FROM t) WHERE n = at"
        ),
        "3000"
    );
    database.sql("TRUNCATE t");
    let error = write_all(&database, &[rows[0], rows[1], (7, "32 May 1999", "now", "", "")]).unwrap_err();
    assert_eq!((error.column(), row_of(&error)), (Some("day"), Some(2)), "{error:?}");
    assert!(error.sqlstate().is_some_and(|sqlstate| sqlstate.starts_with("22")), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}
