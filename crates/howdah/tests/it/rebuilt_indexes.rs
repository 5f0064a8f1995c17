//! Indexes that are dropped and built again around the rows: the table is what it would have been, down to what a dump shows,
//! and what cannot be dropped, or fails, leaves it as it was.

use std::fmt::Write;
use std::time::Duration;

use howdah::options::{Indexes, Mode, OnError, WritePath};
use howdah::{Committed, Control, ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::everything::{BESIDE, schema, with_everything};
use crate::common::{GATE, Holder, load, options, target, try_load, until_at_the_gate};

fn rebuilding(file: &str, table: &str) -> LoadOptions {
    options(file, table).mode(Mode::Append).indexes(Indexes::Rebuild)
}

/// What was rebuilt, and what was said of what was not.
fn rebuilt(database: &Database, wanted: &LoadOptions) -> (Vec<String>, Vec<String>) {
    let (report, said) = try_load(database, wanted).unwrap_or_else(|error| panic!("{error:?}"));
    let kept =
        said.into_iter().filter(|notice| notice.contains("not rebuilt") || notice.contains("no index"));
    (report.plan.unwrap().rebuilt, kept.collect())
}

/// A table with keys of every kind, and 1,000 rows.
const KEYED: &str = "
    CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 99);
    CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES parent, boss int REFERENCES t, name text, span int4range,
        UNIQUE (name, id) DEFERRABLE INITIALLY DEFERRED, EXCLUDE USING gist (span WITH &&));
    CREATE INDEX of_name ON t (lower(name)) WHERE id % 2 = 0; CREATE UNIQUE INDEX of_both ON t (parent, id DESC) INCLUDE (name);
    INSERT INTO t SELECT n, n % 100, n, 'old ' || n, int4range(n, n + 1) FROM generate_series(1, 1000) n";

/// So many rows behind those that are there, each with the boss that `boss` names.
fn rows(count: usize, boss: impl Fn(usize) -> usize) -> String {
    let mut csv = String::from("id,parent,boss,name,span\n");
    for n in 0..count {
        let id = 2000 + n * 7919 % count;
        writeln!(csv, "{id},{},{},new {n},\"[{id},{})\"", n % 100, boss(id), id + 1).unwrap();
    }
    csv
}

#[test]
fn tables_are_what_psql_makes_of_them() {
    let database = Database::new();
    let file = database.file("t.csv", rows(20_000, |id| 2000 + (id + 5) % 20_000));
    let definitions = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
        SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1";
    for mode in [Mode::Append, Mode::Truncate] {
        database.sql(&format!("DROP TABLE IF EXISTS t, parent; {KEYED}"));
        let before = database.sql(definitions);
        if mode == Mode::Truncate {
            database.sql("TRUNCATE t");
        }
        database.sql(&format!(r"\copy t FROM '{file}' (FORMAT csv, HEADER match)"));
        let expected = database.binary_rows("t");
        database.sql(&format!("DROP TABLE t, parent; {KEYED}"));
        let (names, kept) = rebuilt(&database, &rebuilding(&file, "t").mode(mode));
        assert_eq!(
            names,
            ["of_both", "of_name", "t_name_id_key", "t_pkey", "t_span_excl", "t_boss_fkey", "t_parent_fkey"]
        );
        assert!(kept.is_empty(), "{kept:?}");
        assert_eq!(database.binary_rows("t"), expected, "{mode}");
        assert_eq!(database.sql(definitions), before, "{mode}");
        // The indexes hold the rows.
        let found = "SET enable_seqscan = off; SELECT count(*) FROM t WHERE id >= 2000 AND id < 2100";
        assert!(database.sql(found).ends_with("100"));
    }
}

#[test]
fn everything_is_as_it_was() {
    let database = with_everything();
    let csv = "id,small,serial,boss,parent,note,size,span\n91,91,91,91,1,a,1,\"[1,2)\"\n92,92,92,91,1,b,2,\"[3,4)\"\n";
    let (dump, beside) = (schema(&database), database.sql(BESIDE));
    let file = database.file("new.csv", csv);
    let (names, kept) = rebuilt(&database, &rebuilding(&file, "\"The Table\""));
    assert_eq!(
        names,
        ["The Table_pkey", "by note", "identity", "no overlap", "one of a kind", "to itself", "upwards"]
    );
    // A key that is not validated would be so afterwards, or rows would come in that it refuses.
    assert_eq!(kept, ["later is not rebuilt: it is not valid", "wished is not rebuilt: it is not valid"]);
    assert_eq!(schema(&database), dump);
    assert_eq!(database.sql(BESIDE), beside);
    assert_eq!(database.sql("SELECT count(*) FROM \"The Table\""), "7");
    let settings = "SELECT reloptions FROM pg_class WHERE relname = 'The Table_pkey'";
    assert_eq!(database.sql(settings), "{fillfactor=60}");
    // What was gathered about the values of an expression went with its index.
    assert_ne!(database.sql("SELECT count(*) FROM pg_stats WHERE tablename = 'by note'"), "0");
}

#[test]
fn what_somebody_needs_stays_and_is_said() {
    let database = Database::new();
    let csv = database.file("t.csv", "id,n\n1,1\n2,2\n");
    let with = |sql: &str| {
        database.sql(&format!(
            "DROP TABLE IF EXISTS t CASCADE; CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX of_n ON t (n); {sql}"
        ));
    };
    for (sql, why) in [
        (
            "DROP TABLE IF EXISTS child; CREATE TABLE child (id int REFERENCES t)",
            "foreign key child_id_fkey of public.child needs it",
        ),
        ("CREATE VIEW v AS SELECT id, n FROM t GROUP BY id", "view public.v needs it"),
        (
            "INSERT INTO t VALUES (7, 7), (8, 7); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_pkey'::regclass",
            "it is not valid",
        ),
    ] {
        with(sql);
        let (names, kept) = rebuilt(&database, &rebuilding(&csv, "t"));
        assert_eq!((names, kept), (vec!["of_n".into()], vec![format!("t_pkey is not rebuilt: {why}")]));
    }
    // A bad record is found by a key.
    with("");
    let twice = database.file("twice.csv", "id,n\n1,1\n1,2\n2,2\n");
    let tolerant = rebuilding(&twice, "t").on_error(OnError::Ignore);
    let (names, kept) = rebuilt(&database, &tolerant);
    let why = "t_pkey is not rebuilt: bad records are found by it";
    assert_eq!((names, kept), (vec!["of_n".into()], vec![why.into()]));
    assert_eq!(database.sql("SELECT id, n FROM t ORDER BY id"), "1|1\n2|2");

    database.sql(
        "CREATE TABLE whole (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
         CREATE TABLE slice PARTITION OF whole FOR VALUES FROM (0) TO (1000); CREATE INDEX of_slice ON slice (n);
         CREATE TABLE bare (id int, n int)",
    );
    let why = "whole_pkey is not rebuilt: it is an index of a partitioned table";
    assert_eq!(rebuilt(&database, &rebuilding(&csv, "whole")), (vec![], vec![why.into()]));
    database.sql("TRUNCATE whole");
    let why = "slice_pkey is not rebuilt: it belongs to one of a partitioned table";
    assert_eq!(rebuilt(&database, &rebuilding(&csv, "slice")), (vec!["of_slice".into()], vec![why.into()]));
    let why = "public.bare has no index that could be rebuilt";
    assert_eq!(rebuilt(&database, &rebuilding(&csv, "bare")), (vec![], vec![why.into()]));
}

#[test]
fn a_role_that_does_not_own_the_table_loads_without() {
    let database = Database::new();
    let role = format!("writer_{}", database.name());
    database.sql(&format!(
        "CREATE TABLE t (id int PRIMARY KEY); CREATE ROLE {role} LOGIN PASSWORD 'w'; GRANT INSERT, SELECT ON t TO {role}"
    ));
    let file = database.file("t.csv", "id\n1\n");
    let conninfo = format!("{} user={role} password=w", database.conninfo());
    let own = howdah::Target::new(conninfo).unwrap();
    let control = Control::new();
    let report = howdah::load(&rebuilding(&file, "t"), &own, &control).unwrap();
    assert_eq!((report.rows, report.plan.unwrap().rebuilt), (1, vec![]));
    let said: Vec<String> = control.take_notices().iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.starts_with("t_pkey is not rebuilt: only ")), "{said:?}");
}

#[test]
fn a_row_that_the_indexes_refuse_is_named_and_everything_is_as_it_was() {
    let database = Database::new();
    database.sql(KEYED);
    let definitions = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
        SELECT oid, conname FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1";
    let (before, table) = (database.sql(definitions), database.binary_rows("t"));
    let good = rows(500, |id| id);
    for (row, code, constraint) in [
        ("7,1,7,x,", "23505", "t_pkey"),
        ("2000,1,2000,x,", "23505", "t_pkey"),
        ("9999,100,9999,x,", "23503", "t_parent_fkey"),
        ("9999,1,9999,x,\"[5,6)\"", "23P01", "t_span_excl"),
    ] {
        let file = database.file("t.csv", format!("{good}{row}\n"));
        let error = try_load(&database, &rebuilding(&file, "t")).unwrap_err();
        assert_eq!((error.sqlstate(), error.constraint()), (Some(code), Some(constraint)), "{error:?}");
        assert_eq!(error.committed(), Committed::No);
        assert_eq!(error.location().and_then(|at| at.line), Some(502), "{error:?}");
        assert_eq!((database.sql(definitions), database.binary_rows("t")), (before.clone(), table.clone()));
    }
}

#[test]
fn whoever_holds_a_lock_is_named_and_not_waited_for() {
    let database = Database::new();
    database.sql(KEYED);
    let before = database.sql("SELECT oid FROM pg_class WHERE relname = 'of_name'");
    let file = database.file("t.csv", rows(100, |id| id));
    for (held, limit, said) in [
        ("SELECT count(*) FROM t", None, "within 2 s"),
        ("SELECT count(*) FROM parent", None, "within 2 s"),
        ("SELECT count(*) FROM t", Some(0.7), "within 0.7 s"),
    ] {
        let holder = Holder::new(&database, held);
        let wanted = rebuilding(&file, "t");
        let wanted = match limit {
            Some(seconds) => wanted.lock_timeout(Duration::from_secs_f64(seconds)),
            None => wanted,
        };
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!((error.sqlstate(), error.committed()), (Some("55P03"), Committed::No), "{error:?}");
        assert!(error.message().contains(said), "{error:?}");
        assert!(error.detail().unwrap().contains("holds it"), "{error:?}");
        holder.release();
        assert_eq!(database.sql("SELECT oid FROM pg_class WHERE relname = 'of_name'"), before);
    }
    // Behind the locks, waits are those of every load.
    let unlimited = "DO $$ BEGIN IF current_setting('lock_timeout') <> '0' THEN RAISE 'it is %', current_setting('lock_timeout'); END IF; END $$";
    let (report, said) = try_load(&database, &rebuilding(&file, "t").before([unlimited])).unwrap();
    assert_eq!(report.rows, 100);
    let who = "public.t, public.parent are locked until the load commits, against reading too: 5 indexes and 2 foreign keys are built again";
    assert!(said.iter().any(|notice| notice == who), "{said:?}");
}

#[test]
fn a_table_that_is_altered_in_between_is_left_alone() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY)");
    let file = database.file("t.csv", "id\n1\n");
    let mut holder = Holder::new(&database, "LOCK TABLE t IN SHARE MODE");
    let (wanted, target) = (rebuilding(&file, "t").lock_timeout(Duration::from_secs(50)), target(&database));
    let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
    database.until(
        "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted",
        "1",
    );
    holder.tell("CREATE INDEX late ON t (id)");
    holder.tell("COMMIT");
    let error = load.join().unwrap().unwrap_err();
    assert_eq!((error.sqlstate(), error.committed()), (Some("55000"), Committed::No), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass"), "2");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_load_that_dies_at_any_step_leaves_the_table_as_it_was() {
    let database = Database::new();
    database.sql(KEYED);
    let before = database.sql("SELECT oid, relname FROM pg_class WHERE relname ~ '^(t|of)_' ORDER BY 1");
    let file = database.file("t.csv", rows(100, |id| id));
    for (first, last) in [(Some(GATE), None), (None, Some(GATE))] {
        let holder = Holder::gate(&database);
        let (wanted, target) = (rebuilding(&file, "t"), target(&database));
        let wanted = wanted.before(first).after(last);
        let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
        until_at_the_gate(&database, &load);
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        );
        let error = load.join().unwrap().unwrap_err();
        assert_eq!(error.committed(), Committed::No, "{error:?}");
        holder.release();
        let indexes = "SELECT oid, relname FROM pg_class WHERE relname ~ '^(t|of)_' ORDER BY 1";
        assert_eq!(database.sql(indexes), before);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "1000");
    }
}

#[test]
fn rows_that_come_in_another_way_are_refused() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int)");
    let file = database.file("t.csv", "id,n\n1,1\n");
    for wanted in [
        rebuilding(&file, "t").mode(Mode::Upsert),
        rebuilding(&file, "t").write_path(WritePath::Landing),
        rebuilding(&file, "t").write_path(WritePath::InsertAutocommit),
        rebuilding(&file, "t").jobs(2),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        assert!(error.message().contains("indexes"), "{error:?}");
    }
    // What builds its indexes behind the rows anyway is not troubled.
    assert_eq!(load(&database, &rebuilding(&file, "t").mode(Mode::Replace)).rows, 1);
    assert_eq!(load(&database, &rebuilding(&file, "made").mode(Mode::Create)).rows, 1);
}
