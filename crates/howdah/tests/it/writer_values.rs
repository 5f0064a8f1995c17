//! What a writer acknowledges is what it was given: under tables that are altered, triggers that drop rows, rows of one key
//! over several connections, and rows that the server cannot get past.

use std::time::Duration;

use howdah::writer::{Ack, OnConflict, WriterPath};
use howdah::{ErrorKind, Writer, WriterOptions};
use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;

use crate::common::{Holder, target};
use crate::writer_faults::account;

fn writer(database: &Database, options: WriterOptions) -> Writer {
    Writer::connect_blocking(&target(database), "t", options).unwrap()
}

/// The numbers of the rows that failed, each with its SQLSTATE.
fn failed(acks: Vec<Ack>) -> Vec<(usize, String)> {
    let patience = Duration::from_secs(60);
    let settled = acks.into_iter().map(|ack| ack.wait_for(patience).expect("an acknowledgement hangs"));
    let error = |(row, settled): (usize, Result<_, howdah::Error>)| {
        settled.err().map(|error| (row, error.sqlstate().unwrap_or_default().to_owned()))
    };
    settled.enumerate().filter_map(error).collect()
}

#[test]
fn a_column_that_is_altered_under_a_writer_never_holds_what_nobody_wrote() {
    let changes = [
        ("bigint", "double precision"),
        ("bigint", "timestamp"),
        ("integer", "real"),
        ("integer", "date"),
        ("integer", "bigint"),
        ("text", "jsonb"),
    ];
    for path in [WriterPath::Copy, WriterPath::Insert, WriterPath::Auto] {
        for (before, after) in changes {
            let database = Database::new();
            database.sql(&format!("CREATE TABLE t (n {before}, note text)"));
            let writer = writer(&database, WriterOptions::default().path(path).connections(1));
            let value = howdah::Literal("42");
            writer.write_blocking(&(value, "before")).unwrap().wait().unwrap();
            database.sql(&format!("TRUNCATE t; ALTER TABLE t ALTER n TYPE {after} USING NULL"));
            for _ in 0..2 {
                let acks: Vec<Ack> = (0..30)
                    .map(|_| writer.write_blocking(&(howdah::Literal("42"), "after")).unwrap())
                    .collect();
                for ack in acks {
                    let error = ack.wait_for(PATIENCE).expect("a row hangs").unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Usage, "{path:?} {before} {after}: {error:?}");
                    assert!(error.visible().is_some_and(|visible| visible.contains("not in")), "{error:?}");
                }
            }
            assert_eq!(database.sql("SELECT count(*) FROM t"), "0", "{path:?} {before} {after}");
            // As it was: the writer goes on.
            database.sql(&format!("ALTER TABLE t ALTER n TYPE {before} USING NULL"));
            writer.write_blocking(&(howdah::Literal("42"), "again")).unwrap().wait().unwrap();
            assert_eq!(database.sql("SELECT n, note FROM t"), "42|again");
        }
    }
}

#[test]
fn a_role_that_may_only_insert_can_write() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n bigint, note text, tags int[], at timestamptz[]); DROP ROLE IF EXISTS only_inserts; \
         CREATE ROLE only_inserts LOGIN PASSWORD 'x'; GRANT INSERT ON t TO only_inserts; \
         GRANT CREATE ON SCHEMA public TO only_inserts",
    );
    let conninfo = format!("{} user=only_inserts password=x", database.conninfo());
    let writer = account::connect(&conninfo, &WriterOptions::default());
    for rows in [1, 5, 50] {
        let acks = (0..rows).map(|n| {
            let (tags, at) = (howdah::Literal("{1,2}"), howdah::Literal("{2026-01-01}"));
            writer.write_blocking(&(n, "x", tags, at)).unwrap()
        });
        assert_eq!(failed(acks.collect()), []);
    }
}

const DROPS_SOME: &str = "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF NEW.n % 4 = 3 THEN RETURN NULL; END IF; RETURN NEW; END $$; \
    CREATE TRIGGER drops BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION drops();";

#[test]
fn values_come_back_to_their_own_rows_although_a_trigger_drops_some() {
    for (is_early, path) in [(true, WriterPath::Auto), (true, WriterPath::Insert), (false, WriterPath::Auto)]
    {
        let database = Database::new();
        database.sql("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, n bigint)");
        if is_early {
            database.sql(DROPS_SOME);
        }
        let options = WriterOptions::default().returning(["id", "n"]).path(path).connections(1);
        let writer = writer(&database, options);
        let warns = writer.notices().iter().any(|notice| notice.contains("may drop rows"));
        assert_eq!(warns, is_early, "{:?}", writer.notices());
        if !is_early {
            writer.write_blocking(&(0_i64,)).unwrap().wait().unwrap();
            database.sql(DROPS_SOME);
        }
        for round in 0..2 {
            let acks: Vec<Ack> = (0..40_i64).map(|n| writer.write_blocking(&(n,)).unwrap()).collect();
            for (n, ack) in (0..).zip(acks) {
                let written = ack.wait().unwrap();
                let back = written.returned().map(|row| row.get::<i64>("n"));
                if n % 4 == 3 {
                    assert_eq!(back, None);
                } else if is_early || round == 1 {
                    assert_eq!(back, Some(n), "{path:?}");
                } else {
                    assert!(back.is_none_or(|back| back == n), "row {n} got the values of {back:?}");
                }
            }
        }
    }
}

/// Answers that come in many pieces, while the COMMIT behind them is on its way.
#[test]
fn values_that_are_larger_than_a_read_come_back_too() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, n bigint, pad text)");
    database.sql(DROPS_SOME);
    let options = WriterOptions::default().returning(["n", "pad"]).connections(1);
    let writer = writer(&database, options);
    let pad = "x".repeat(100_000);
    let acks: Vec<Ack> = (0..40_i64).map(|n| writer.write_blocking(&(n, &*pad)).unwrap()).collect();
    for (n, ack) in (0..).zip(acks) {
        let written = ack.wait_for(PATIENCE).unwrap().unwrap();
        let back = written.returned().map(|row| (row.get::<i64>("n"), row.get::<&str>("pad").len()));
        assert_eq!(back, (n % 4 != 3).then_some((n, pad.len())));
    }
}

#[test]
fn of_the_rows_of_a_key_the_last_one_counts_over_any_number_of_connections() {
    for (key, connections) in
        [("n bigint", 1), ("n bigint", 2), ("n bigint", 8), ("n text", 4), ("n numeric", 4)]
    {
        let database = Database::new();
        database.sql(&format!("CREATE TABLE t ({key} PRIMARY KEY, v bigint)"));
        let options = WriterOptions::default()
            .on_conflict(OnConflict::Update)
            .connections(connections)
            .max_rows(20)
            .max_age(Duration::from_millis(1));
        let writer = writer(&database, options);
        for v in 0..20_000_i64 {
            writer.send_blocking(&(howdah::Literal(v % 35), v)).unwrap();
        }
        writer.flush_blocking().unwrap();
        let stale = "SELECT count(*), count(*) FILTER (WHERE v < 20000 - 35) FROM t";
        assert_eq!(database.sql(stale), "35|0", "{key}, {connections} connections");
    }
}

#[test]
fn a_key_that_only_the_server_can_read_does_not_overtake_an_equal_one() {
    let database = Database::new();
    database.sql("CREATE TABLE t (day date PRIMARY KEY, v bigint)");
    let options = WriterOptions::default().on_conflict(OnConflict::Update).connections(4).max_rows(5);
    let writer = writer(&database, options);
    for v in 0..2_000_i64 {
        let day =
            if v > 1_000 && v % 7 == 0 { "epoch" } else { ["1970-01-01", "1970-01-02"][(v % 2) as usize] };
        writer.send_blocking(&(howdah::Literal(day), v)).unwrap();
    }
    writer.flush_blocking().unwrap();
    // 1999 is odd; the last of the epoch's are 1998 and, named otherwise, 1995.
    assert_eq!(database.sql("SELECT string_agg(v::text, ' ' ORDER BY day) FROM t"), "1998 1999");
}

#[test]
fn a_row_that_the_server_cannot_get_past_fails_alone_whatever_it_does() {
    let harms = [
        ("PERFORM pg_sleep(30)", "57014"),
        ("RAISE 'no' USING ERRCODE = '53200'", "53200"),
        ("RAISE 'no' USING ERRCODE = 'XX000'", "XX000"),
        ("RAISE 'no' USING ERRCODE = '40001'", "40001"),
        ("PERFORM FROM held FOR UPDATE", "55P03"),
        ("RAISE 'no' USING ERRCODE = '25006'", "25006"),
        ("EXECUTE 'EXECUTE nobody_prepared'", "26000"),
        ("RAISE 'no' USING ERRCODE = '28000'", "28000"),
        ("RAISE 'no' USING ERRCODE = '23505', SCHEMA = 'public', TABLE = 'howdah_ledger'", "23505"),
        ("PERFORM pg_terminate_backend(pg_backend_pid())", ""),
    ];
    for (harm, sqlstate) in harms {
        for path in [WriterPath::Copy, WriterPath::Insert] {
            let database = Database::new();
            database.sql(&format!(
                "CREATE TABLE held AS SELECT 1 AS n; CREATE TABLE t (n bigint); CREATE FUNCTION harm() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 IF NEW.n IN (7, 8) THEN {harm}; END IF; RETURN NEW; END $$; \
                 CREATE TRIGGER harm BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION harm();"
            ));
            let _held = Holder::new(&database, "SELECT FROM held FOR UPDATE");
            // Time that other rows may need on a busy machine, where time is what ends the statement.
            let (timeout, patience) = if sqlstate == "57014" { (700, 4_000) } else { (0, 1_500) };
            let options = format!("-c statement_timeout={timeout}ms -c lock_timeout=60ms");
            let conninfo = format!("{} options='{options}'", database.conninfo());
            let options =
                WriterOptions::default().path(path).connections(1).retry_for(Duration::from_millis(patience));
            let writer = account::connect(&conninfo, &options);
            let acks: Vec<Ack> = (0..20_i64).map(|n| writer.write_blocking(&(n,)).unwrap()).collect();
            let failed = failed(acks);
            let rows: Vec<usize> = failed.iter().map(|(row, _)| *row).collect();
            assert_eq!(rows, [7, 8], "{path:?} {harm}: {failed:?}");
            let named = |(_, code): &(usize, String)| sqlstate.is_empty() || code == sqlstate;
            assert!(failed.iter().all(named), "{path:?} {harm}: {failed:?}");
            assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "18|18", "{path:?} {harm}");
        }
    }
}

#[test]
fn a_batch_that_is_too_slow_as_a_whole_is_written_in_parts() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n bigint); CREATE SEQUENCE tries; \
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         PERFORM pg_sleep(0.01), nextval('tries'); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow();",
    );
    let conninfo = format!("{} options='-c statement_timeout=700ms'", database.conninfo());
    // Far longer than this test waits: the batch is not narrowed because patience is exhausted.
    let options = WriterOptions::default().connections(1).retry_for(Duration::from_secs(3_600));
    let writer = account::connect(&conninfo, &options);
    // While the first row waits for the table, the others gather to one batch.
    let holder = Holder::new(&database, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
    let mut acks = vec![writer.write_blocking(&(0_i64,)).unwrap()];
    database.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()", "t");
    acks.extend((1..100_i64).map(|n| writer.write_blocking(&(n,)).unwrap()));
    holder.release();
    assert_eq!(failed(acks), []);
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "100|100");
    // What a sequence has given out stays given out when a batch is rolled back.
    assert_eq!(database.sql("SELECT last_value > 100 FROM tries"), "t", "no batch was too slow");
}

#[test]
fn tables_and_sessions_that_promise_less_are_named() {
    let database = Database::new();
    database.sql("CREATE UNLOGGED TABLE t (n int)");
    let notices = |setting: &str| {
        let conninfo = format!("{} options='-c synchronous_commit={setting}'", database.conninfo());
        account::connect(&conninfo, &WriterOptions::default()).notices().join("; ")
    };
    assert!(notices("on").contains("UNLOGGED") && !notices("on").contains("synchronous_commit"));
    database.sql("ALTER TABLE t SET LOGGED");
    assert_eq!(notices("on"), "");
    assert!(notices("off").contains("synchronous_commit is off"), "{}", notices("off"));
}

#[test]
fn a_ledger_that_cannot_be_relied_upon_is_refused() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let refused = || {
        let writer = Writer::connect_blocking(&target(&database), "t", WriterOptions::default());
        writer.err().map(|error| error.message().to_owned()).unwrap_or_default()
    };
    assert_eq!(refused(), "");
    assert_eq!(database.sql("SELECT obj_description('howdah_ledger'::regclass)"), "howdah ledger, format 1");
    database.sql("COMMENT ON TABLE howdah_ledger IS NULL");
    assert_eq!(refused(), "", "the first format had no number");
    database.sql("COMMENT ON TABLE howdah_ledger IS 'howdah ledger, format 99'");
    assert!(refused().contains("format 99"));
    database.sql("COMMENT ON TABLE howdah_ledger IS NULL; ALTER TABLE howdah_ledger DROP CONSTRAINT howdah_ledger_pkey");
    assert!(refused().contains("no unique index"), "{}", refused());
    database.sql(
        "ALTER TABLE howdah_ledger ADD PRIMARY KEY (load_id, part); ALTER TABLE howdah_ledger SET UNLOGGED",
    );
    assert!(refused().contains("UNLOGGED"), "{}", refused());
}

#[test]
fn rows_are_not_tried_again_for_longer_than_the_ledger_remembers_them() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let options = WriterOptions::default().retry_for(Duration::from_secs(7 * 86_400));
    let error = Writer::connect_blocking(&target(&database), "t", options).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.message().contains("retry_for"), "{error:?}");
}
