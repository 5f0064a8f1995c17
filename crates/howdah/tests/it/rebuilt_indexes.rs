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
            ["t_pkey", "t_name_id_key", "t_span_excl", "of_name", "of_both", "t_parent_fkey", "t_boss_fkey"]
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
    // What runs code for the rows keeps its keys.
    database.sql("DROP TRIGGER on_replicas ON \"The Table\"");
    let csv = "id,small,serial,boss,parent,note,size,span\n91,91,91,91,1,a,1,\"[1,2)\"\n92,92,92,91,1,b,2,\"[3,4)\"\n";
    let (dump, beside) = (schema(&database), database.sql(BESIDE));
    let file = database.file("new.csv", csv);
    let (names, kept) = rebuilt(&database, &rebuilding(&file, "\"The Table\""));
    assert_eq!(
        names,
        ["The Table_pkey", "no overlap", "one of a kind", "by note", "identity", "to itself", "upwards"]
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
    // What it computes by is none of the index's any more.
    with(
        "CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql RETURN $1 * 2; CREATE INDEX of_twice ON t (twice(n));
         ALTER FUNCTION twice STABLE",
    );
    let (names, kept) = rebuilt(&database, &rebuilding(&csv, "t"));
    let why =
        "of_twice is not rebuilt: public.twice(integer), which it computes by, is not immutable any more";
    assert_eq!((names, kept), (vec!["t_pkey".into(), "of_n".into()], vec![why.into()]));
    // Without the key its columns would not be those of the parent alone any more.
    database.sql(
        "CREATE TABLE above (id int NOT NULL, n int); CREATE TABLE below (PRIMARY KEY (id)) INHERITS (above)",
    );
    let why = "below_pkey is not rebuilt: the table inherits from another";
    assert_eq!(rebuilt(&database, &rebuilding(&csv, "below")), (vec![], vec![why.into()]));

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
fn what_finds_bad_records_stays() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, n int, v text); CREATE INDEX of_n ON t (n); CREATE INDEX of_v ON t (v);
         CREATE INDEX of_quotient ON t ((100 / n)); CREATE INDEX of_some ON t (id) WHERE 100 / n > 1",
    );
    // Incompressible.
    let long = database.sql("SELECT string_agg(md5(n::text), '') FROM generate_series(1, 300) n");
    let file = database.file("t.csv", format!("id,n,v\n1,1,a\n1,2,b\n2,2,c\n3,0,d\n4,1,{long}\n"));
    let (names, kept) = rebuilt(&database, &rebuilding(&file, "t").on_error(OnError::Ignore));
    let stay = ["t_pkey", "of_v", "of_quotient", "of_some"]
        .map(|name| format!("{name} is not rebuilt: bad records are found by it"));
    assert_eq!((names, kept), (vec!["of_n".to_owned()], stay.to_vec()));
    assert_eq!(database.sql("SELECT id, n, v FROM t ORDER BY id"), "1|1|a\n2|2|c");
}

/// What psql and a load that rebuilds leave in tables `t` and `parent`, after the same SQL in front.
fn both(database: &Database, setup: &str, before: Option<&str>, csv: &str) -> [(String, String); 2] {
    let file = database.file("t.csv", csv);
    let (rows, parents) = ("SELECT * FROM t ORDER BY 1", "SELECT * FROM parent ORDER BY 1");
    let empty = format!("DROP TABLE IF EXISTS t, parent; {setup}");
    database.sql(&empty);
    database.sql(before.unwrap_or("SELECT"));
    database.sql(&format!(r"\copy t FROM '{file}' (FORMAT csv, HEADER match)"));
    let expected = (database.sql(rows), database.sql(parents));
    database.sql(&empty);
    load(database, &rebuilding(&file, "t").before(before));
    [(database.sql(rows), database.sql(parents)), expected]
}

#[test]
fn foreign_keys_act_on_what_triggers_and_sql_do() {
    let database = Database::new();
    let tables = "
        CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(1, 9);
        CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, other int REFERENCES parent ON DELETE SET NULL);
        CREATE INDEX of_parent ON t (parent); INSERT INTO t SELECT n, n, 10 - n FROM generate_series(1, 4) n;";
    let csv = "id,parent,other\n11,5,5\n12,6,6\n";
    let deletes = Some("DELETE FROM parent WHERE id IN (2, 9)");
    let [found, expected] = both(&database, tables, deletes, csv);
    assert_eq!(found, expected);
    assert!(found.0.starts_with("1|1|\n3|3|7\n"), "{found:?}");
    // Which they do by a key of the table, too.
    let trigger = "CREATE OR REPLACE FUNCTION passes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM parent WHERE id = NEW.id - 10;
            INSERT INTO t VALUES (3, 9, 9) ON CONFLICT (id) DO NOTHING;
            RETURN NULL; END $$;
        CREATE TRIGGER passes AFTER INSERT ON t FOR EACH ROW WHEN (NEW.id > 9) EXECUTE FUNCTION passes();";
    let [found, expected] = both(&database, &format!("{tables} {trigger}"), None, csv);
    assert_eq!(found, expected);
    let file = database.file("t.csv", "id,parent,other\n13,5,5\n");
    let (names, kept) = rebuilt(&database, &rebuilding(&file, "t"));
    assert_eq!(names, ["of_parent"]);
    assert_eq!(kept[0], "t_pkey is not rebuilt: the table has a row trigger, which may need it");
    assert_eq!(kept.len(), 3, "{kept:?}");
}

#[test]
fn definitions_mean_the_same_whatever_the_session_calls_what() {
    let database = Database::new();
    let role = format!("owner_{}", database.name());
    let place = format!("place_{}", database.name());
    database.sql(
        "SET allow_in_place_tablespaces = on; CREATE TABLESPACE \"$place\" LOCATION ''"
            .replace("$place", &place)
            .as_str(),
    );
    database.sql(&format!(
        "CREATE SCHEMA own; CREATE FUNCTION own.lower(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN $1 || $1;
         CREATE FUNCTION own.eq(int, int) RETURNS bool IMMUTABLE LANGUAGE sql RETURN false;
         CREATE OPERATOR own.= (FUNCTION = own.eq, LEFTARG = int, RIGHTARG = int);
         CREATE TABLE t (id int PRIMARY KEY, v text, EXCLUDE USING btree (id WITH =));
         CREATE INDEX of_lower ON t (lower(v)) WHERE id = 3; CREATE INDEX of_own ON t (own.lower(v)) TABLESPACE \"{place}\";
         CREATE ROLE {role}"
    ));
    let file = database.file("t.csv", "id,v\n3,A\n");
    let definitions = "SELECT indexdef, tablespace FROM pg_indexes WHERE tablename = 't' ORDER BY 1";
    let before = database.sql(definitions);
    let path = "SET search_path = own, pg_catalog, public; SET default_tablespace = '$place'"
        .replace("$place", &place);
    let same = format!(
        "DO $$ BEGIN IF current_setting('search_path') <> 'own, pg_catalog, public' OR current_setting('default_tablespace') <> '{place}'
            THEN RAISE 'another session'; END IF; END $$"
    );
    load(&database, &rebuilding(&file, "public.t").before([path]).after([same]));
    assert_eq!(database.sql(definitions), before);
    assert_eq!(
        database.sql("SET enable_seqscan = off; SELECT id FROM t WHERE lower(v) = 'a' AND id = 3"),
        "3"
    );
    database.sql(&format!("DROP TABLE t; DROP TABLESPACE \"{place}\""));
}

#[test]
fn sql_in_front_may_neither_end_the_transaction_nor_alter_the_indexes() {
    let database = Database::new();
    database.sql(KEYED);
    let definitions = "SELECT oid, indexrelid FROM pg_class JOIN pg_index ON indexrelid = oid WHERE indrelid = 't'::regclass ORDER BY 1;
        SELECT oid, conname FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1";
    let before = database.sql(definitions);
    let file = database.file("t.csv", rows(100, |id| id));
    for (sql, code) in [
        ("COMMIT", None),
        ("ROLLBACK", None),
        ("CREATE INDEX late ON t (span)", Some("55000")),
        ("DROP INDEX of_name", Some("55000")),
        ("ALTER TABLE t DROP CONSTRAINT t_parent_fkey", Some("55000")),
    ] {
        let error = try_load(&database, &rebuilding(&file, "t").before([sql])).unwrap_err();
        assert_eq!(error.sqlstate(), code, "{error:?}");
        let is_of_before = error.message().starts_with("before: ");
        assert!(
            is_of_before || error.hint().unwrap().ends_with("without indexes=rebuild they stay"),
            "{error:?}"
        );
        assert_eq!(database.sql(definitions), before, "{sql}");
    }
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
fn of_rows_that_break_several_constraints_the_first_is_named_in_whichever_order_they_are_built() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES parent, n int UNIQUE);
         INSERT INTO t SELECT 1000 + n, 1, 1000 + n FROM generate_series(1, 10) n",
    );
    let before = database.binary_rows("t");
    let (orphan, duplicate, held, other) = ("2,99,2", "1,1,4", "1001,1,5", "5,1,1");
    for (bad, code, constraint) in [
        ([orphan, duplicate], "23503", "t_parent_fkey"),
        ([orphan, held], "23503", "t_parent_fkey"),
        ([duplicate, orphan], "23505", "t_pkey"),
        ([other, duplicate], "23505", "t_n_key"),
        ([duplicate, other], "23505", "t_pkey"),
    ] {
        let file = database.file("t.csv", format!("id,parent,n\n1,1,1\n{}\n", bad.join("\n")));
        let error = try_load(&database, &rebuilding(&file, "t")).unwrap_err();
        assert_eq!(
            (error.sqlstate(), error.constraint()),
            (Some(code), Some(constraint)),
            "{bad:?}: {error:?}"
        );
        assert_eq!(error.location().and_then(|at| at.line), Some(3), "{bad:?}: {error:?}");
        assert_eq!(database.binary_rows("t"), before);
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

/// What was rebuilt, and the notice that says why indexes are built again or kept.
fn decided(database: &Database, wanted: &LoadOptions) -> (Vec<String>, String) {
    let (report, said) = try_load(database, wanted).unwrap_or_else(|error| panic!("{error:?}"));
    let why = said.into_iter().find(|notice| notice.starts_with("indexes are ")).unwrap_or_default();
    (report.plan.unwrap().rebuilt, why)
}

#[test]
fn auto_builds_again_where_that_pays_and_disturbs_nobody() {
    let database = Database::new();
    let many: String = (0..200_000).fold("id,n,name\n".to_owned(), |mut csv, n| {
        writeln!(csv, "{},{},name {n}", 1000 + n, n * 7919 % 200_000).unwrap();
        csv
    });
    let many = database.file("many.csv", &many);
    let few = database.file("few.csv", "id,n,name\n1000,1,few\n");
    database.sql(
        "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE t (id int PRIMARY KEY, n int, name text, parent int DEFAULT 1 REFERENCES parent)
             WITH (autovacuum_enabled = off);
         CREATE INDEX of_n ON t (n); CREATE INDEX of_name ON t (name); CREATE INDEX of_all ON t (name, n, id);
         INSERT INTO t SELECT n, n, 'old ' || n FROM generate_series(1, 100) n; VACUUM ANALYZE t",
    );
    let auto = |file: &str| rebuilding(file, "t").indexes(Indexes::Auto);
    let kept = |wanted: &LoadOptions, because: &str| {
        let (names, why) = decided(&database, &wanted.clone().dry_run(true));
        assert_eq!(names, Vec::<String>::new());
        assert!(why.starts_with("indexes are kept: ") && why.contains(because), "{why}");
    };

    kept(&auto(&few), "the input is small");
    kept(&auto(&many).jobs(2), "more connections than the one");
    kept(&auto(&many).mode(Mode::Upsert), "finds rows by them");
    let (names, why) = decided(&database, &auto(&few).write_path(WritePath::InsertAutocommit));
    assert_eq!(
        (names.len(), database.sql("DELETE FROM t WHERE id = 1000 RETURNING name")),
        (0, "few".into()),
        "{why}"
    );

    kept(&auto(&many).write_path(WritePath::Unnest), "write_path=unnest");
    kept(&auto(&many).limit(1000), "was estimated to take ");
    let alter = |how: &str| format!("SELECT format('ALTER DATABASE %I {how}', current_database()) \\gexec");
    database.sql(&alter("SET temp_file_limit = 1000000"));
    kept(&auto(&many), "temp_file_limit");
    database.sql(&alter("RESET temp_file_limit"));
    for held in ["SELECT count(*) FROM t", "SELECT count(*) FROM parent", "COMMENT ON INDEX of_n IS 'n'"] {
        let reader = Holder::new(&database, held);
        kept(&auto(&many), "somebody else uses public.t");
        reader.release();
    }

    let (names, why) = decided(&database, &auto(&many));
    assert_eq!(names, ["t_pkey", "of_n", "of_name", "of_all", "t_parent_fkey"]);
    assert!(why.starts_with("indexes are built again: estimated to be "), "{why}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "200100");

    // The same rows again, beside so many that they are few.
    database.sql(
        "INSERT INTO t SELECT n, n, 'more' FROM generate_series(1000000, 1400000) n;
         DELETE FROM t WHERE id < 201000; VACUUM ANALYZE t",
    );
    let some: String = (0..60_000).fold("id,n,name\n".to_owned(), |mut csv, n| {
        writeln!(csv, "{},{n},a longer name of the row {n}", 3000 + n).unwrap();
        csv
    });
    kept(&auto(&database.file("some.csv", &some)), "to build them again was estimated to ");
}

#[test]
fn whoever_did_not_ask_is_told_of_a_large_gain() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int, name text); CREATE INDEX ON t (n); CREATE INDEX ON t (name, n)");
    let rows = |count: usize| {
        (0..count).fold("id,n,name\n".to_owned(), |mut csv, n| {
            writeln!(csv, "{n},{},a name of some length {n}", n * 7919 % count).unwrap();
            csv
        })
    };
    let (much, little) =
        (database.file("much.csv", rows(500_000)), database.file("little.csv", rows(100_000)));
    let told = |wanted: LoadOptions| {
        let (report, said) = try_load(&database, &wanted.dry_run(true)).unwrap();
        assert_eq!(report.plan.unwrap().rebuilt, Vec::<String>::new());
        said.iter().any(|notice| {
            notice.starts_with("indexes=rebuild was estimated to be ")
                && notice.ends_with("could read public.t")
        })
    };
    let keeping = |file: &str| rebuilding(file, "t").indexes(Indexes::Keep);
    assert!(told(keeping(&much)));
    assert!(!told(keeping(&little)));
    assert!(!told(keeping(&much).jobs(2)), "they would be too many");
    assert!(!told(keeping(&much).mode(Mode::Upsert)), "they are needed");
}

#[test]
fn auto_keeps_the_indexes_where_somebody_comes_while_it_plans() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, n int, name text);
         CREATE INDEX of_n ON t (n); CREATE INDEX of_name ON t (name); CREATE INDEX of_all ON t (name, n, id);
         VACUUM ANALYZE t",
    );
    let csv: String = (0..200_000).fold("id,n,name\n".to_owned(), |mut csv, n| {
        writeln!(csv, "{n},{},name {n}", n * 7919 % 200_000).unwrap();
        csv
    });
    let file = database.file("t.csv", &csv);
    let before = database.sql("SELECT oid FROM pg_class WHERE relname = 'of_name'");
    for mode in [Mode::Append, Mode::Truncate] {
        // What a dead load left behind is removed when all is decided, and here somebody looks at it.
        let hidden = "howdah_load_0000000000000007";
        database.sql(&format!("CREATE TABLE {hidden} (n int)"));
        let looks = Holder::new(&database, &format!("SELECT * FROM {hidden}"));
        let waits = |relation: &str| {
            let locks = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation =";
            database.until(&format!("{locks} '{relation}'::regclass"), "1");
        };
        let wanted = rebuilding(&file, "t").mode(mode).indexes(Indexes::Auto);
        let (report, said) = std::thread::scope(|scope| {
            let load = scope.spawn(|| try_load(&database, &wanted));
            waits(hidden);
            let reader = Holder::new(&database, "SELECT count(*) FROM t");
            looks.release();
            if mode == Mode::Truncate {
                // As without indexes.
                waits("t");
                reader.release();
            }
            load.join().unwrap().unwrap()
        });
        let why = "indexes are kept: somebody else uses public.t by now";
        assert!(said.iter().any(|notice| notice == why), "{said:?}");
        assert_eq!((report.rows, report.plan.unwrap().rebuilt), (200_000, Vec::<String>::new()));
        assert_eq!(database.sql("SELECT count(*) FROM t"), "200000");
    }
    assert_eq!(database.sql("SELECT oid FROM pg_class WHERE relname = 'of_name'"), before);
}
