//! Triggers of the table that do not fire for a load's rows: not then, not later, not elsewhere; foreign keys judge, others wait,
//! and in the end every trigger is as it was.

use std::time::Duration;

use howdah::options::{Indexes, Mode, OnError, WritePath};
use howdah::{Committed, Control, ErrorKind, LoadOptions, Target};
use howdah_testkit::Database;

use crate::common::{GATE, Holder, load, options, target, try_load, until_at_the_gate};

/// What every trigger of the database is.
const STATES: &str =
    "SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2";

/// A trigger function that writes down that it ran, and drops the row.
const NOTES: &str = "
    CREATE TABLE ran (what text);
    CREATE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ran VALUES (TG_NAME || ' ' || TG_OP); RETURN NULL; END $$;";

/// A table with a trigger of every kind, and foreign keys of both.
const FULL: &str = "
    CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(1, 9);
    CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES parent, later int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO t VALUES (1, 1, 1), (2, 2, 2);
    CREATE TRIGGER \"Before\" BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION notes();
    CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION notes();
    CREATE TRIGGER statement BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON t EXECUTE FUNCTION notes();
    CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION notes();
    CREATE TRIGGER always AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION notes(); ALTER TABLE t ENABLE ALWAYS TRIGGER always;
    CREATE TRIGGER replica AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION notes(); ALTER TABLE t ENABLE REPLICA TRIGGER replica;
    CREATE TRIGGER off BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION notes(); ALTER TABLE t DISABLE TRIGGER off;";

fn full() -> Database {
    let database = Database::new();
    database.sql(&format!("{NOTES} {FULL}"));
    database
}

fn quiet(file: &str, table: &str) -> LoadOptions {
    options(file, table).mode(Mode::Append).disable_triggers(true)
}

fn ran(database: &Database) -> String {
    database.sql("SELECT string_agg(what, ', ' ORDER BY what) FROM ran")
}

#[test]
fn no_trigger_fires_for_the_rows_of_any_mode() {
    for (mode, csv, names, rows) in [
        (Mode::Append, "id,parent,later\n3,3,3\n", "Before after_row always deferred statement", "1 2 3"),
        (Mode::Truncate, "id,parent,later\n3,3,3\n", "Before after_row always deferred statement", "3"),
        (
            Mode::Upsert,
            "id,parent,later\n2,3,3\n4,4,4\n",
            "Before after_row always deferred statement",
            "1 2 4",
        ),
        (
            Mode::Ignore,
            "id,parent,later\n2,3,3\n4,4,4\n",
            "Before after_row always deferred statement",
            "1 2 4",
        ),
        (Mode::Update, "id,parent,later\n2,3,3\n", "Before after_row always deferred statement", "1 2"),
        (Mode::Delete, "id\n2\n", "Before after_row always deferred statement", "1"),
    ] {
        let database = full();
        let states = database.sql(STATES);
        let file = database.file("t.csv", csv);
        let (report, said) = try_load(&database, &quiet(&file, "t").mode(mode)).unwrap();
        assert_eq!(report.plan.unwrap().disabled_triggers.join(" ").replace('"', ""), names, "{mode}");
        assert_eq!((report.rows_read, report.rows_dropped), (report.rows, 0), "{mode}");
        assert_eq!(database.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t"), rows, "{mode}");
        assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states), "{mode}");
        let who = "triggers \"Before\", after_row, always, deferred, statement do not fire for these rows; \
                   until the load commits, others read public.t and wait to write to it";
        assert!(said.iter().any(|notice| notice == who), "{said:?}");
        // Whoever comes next meets them all.
        database.sql("INSERT INTO t VALUES (7, 7, 7)");
        assert!(ran(&database).starts_with("Before INSERT"), "{mode}");
    }
}

#[test]
fn only_what_could_fire_is_disabled() {
    let database = Database::new();
    database.sql(&format!(
        "{NOTES} CREATE TABLE t (id int);
         CREATE TRIGGER changes AFTER UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION notes();
         CREATE TRIGGER off BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION notes(); ALTER TABLE t DISABLE TRIGGER off"
    ));
    let file = database.file("t.csv", "id\n1\n");
    // Nothing is, so that several connections may write and nobody waits.
    let writer = Holder::new(&database, "INSERT INTO t VALUES (5)");
    let (report, said) = try_load(&database, &quiet(&file, "t").jobs(2)).unwrap();
    assert_eq!((report.rows, report.plan.unwrap().disabled_triggers), (1, vec![]));
    assert!(said.contains(&"public.t has no trigger that would fire for these rows".to_owned()), "{said:?}");
    writer.release();
    let (report, said) = try_load(&database, &quiet(&file, "made").mode(Mode::CreateAppend)).unwrap();
    assert_eq!(report.rows, 1);
    assert!(said.contains(&"a new table has no triggers to disable".to_owned()), "{said:?}");
}

#[test]
fn a_session_that_replays_disables_what_fires_there() {
    let database = full();
    let states = database.sql(STATES);
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    let replays =
        Target::new(format!("{} options='-c session_replication_role=replica'", database.conninfo()));
    let report = howdah::load(&quiet(&file, "t"), &replays.unwrap(), &Control::new()).unwrap();
    assert_eq!(report.plan.unwrap().disabled_triggers, ["always", "replica"]);
    assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states));
}

#[test]
fn foreign_keys_judge_rows_and_name_the_record() {
    let database = full();
    let states = database.sql(STATES);
    for (csv, constraint, line) in [
        ("id,parent,later\n3,3,3\n4,99,4\n", "t_parent_fkey", Some(3)),
        ("id,parent,later\n3,3,3\n4,4,99\n", "t_later_fkey", Some(3)),
        ("id,parent,later\n3,3,3\n2,4,4\n", "t_pkey", Some(3)),
    ] {
        for mode in [Mode::Append, Mode::Upsert].into_iter().take(1 + usize::from(constraint != "t_pkey")) {
            let file = database.file("t.csv", csv);
            let error = try_load(&database, &quiet(&file, "t").mode(mode)).unwrap_err();
            assert_eq!(
                (error.constraint(), error.committed()),
                (Some(constraint), Committed::No),
                "{error:?}"
            );
            assert_eq!(error.location().and_then(|at| at.line), line, "{mode}: {error:?}");
            assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states.clone()), "{mode}");
        }
        let (report, _) =
            try_load(&database, &quiet(&database.file("t.csv", csv), "t").on_error(OnError::Ignore)).unwrap();
        assert_eq!((report.rows, report.rows_rejected, report.rows_dropped), (1, 1, 0));
        assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states.clone()));
        database.sql("SET session_replication_role = replica; DELETE FROM t WHERE id = 3");
    }
}

#[test]
fn the_load_is_otherwise_that_of_a_table_without_triggers() {
    let database = full();
    // Without the trigger nobody fills it in.
    database.sql("ALTER TABLE t ADD needed int NOT NULL DEFAULT 1; ALTER TABLE t ALTER needed DROP DEFAULT");
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    let error = try_load(&database, &quiet(&file, "t")).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.message().contains("needed"), "{error:?}");
    database.sql("ALTER TABLE t DROP needed");
    // And no code of theirs needs a key.
    let report = load(&database, &quiet(&file, "t").indexes(Indexes::Rebuild));
    let plan = report.plan.unwrap();
    assert_eq!((plan.rebuilt.len(), plan.disabled_triggers.len()), (3, 5));
    assert_eq!(ran(&database), "");
}

#[test]
fn partitions_keep_what_they_have_of_their_own() {
    let database = Database::new();
    database.sql(&format!(
        "{NOTES}
         CREATE TABLE whole (id int, v text) PARTITION BY RANGE (id);
         CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10);
         CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (100) PARTITION BY RANGE (id);
         CREATE TABLE \"High low\" PARTITION OF high FOR VALUES FROM (10) TO (50);
         CREATE TRIGGER all_rows BEFORE INSERT ON whole FOR EACH ROW EXECUTE FUNCTION notes();
         CREATE TRIGGER own AFTER INSERT ON \"High low\" FOR EACH ROW EXECUTE FUNCTION notes();
         ALTER TABLE low DISABLE TRIGGER all_rows; ALTER TABLE \"High low\" ENABLE ALWAYS TRIGGER all_rows"
    ));
    let states = database.sql(STATES);
    let file = database.file("whole.csv", "id,v\n1,a\n11,b\n12,c\n");
    for mode in [Mode::Append, Mode::Truncate] {
        let report = load(&database, &quiet(&file, "whole").mode(mode));
        assert_eq!(report.plan.unwrap().disabled_triggers, ["all_rows", "own of public.\"High low\""]);
        assert_eq!(database.sql("SELECT count(*) FROM whole"), "3");
        assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states.clone()));
    }
    // Of a table that others inherit from it is the load's mode that says whose rows it meets.
    database.sql(
        "CREATE TABLE above (id int, v text); CREATE TABLE below () INHERITS (above); INSERT INTO below VALUES (1, 'old');
         CREATE TRIGGER heir BEFORE INSERT OR UPDATE ON below FOR EACH ROW EXECUTE FUNCTION notes()",
    );
    let states = database.sql(STATES);
    let report = load(&database, &quiet(&file, "above").mode(Mode::Update).key(["id"]));
    assert_eq!(report.plan.unwrap().disabled_triggers, ["heir of public.below"]);
    assert_eq!(database.sql("SELECT v FROM below"), "a");
    assert_eq!((ran(&database).as_str(), database.sql(STATES)), ("", states));
    assert!(load(&database, &quiet(&file, "above")).plan.unwrap().disabled_triggers.is_empty());
}

#[test]
fn sql_around_the_rows_meets_the_triggers() {
    let database = full();
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    let own = |id: u32| format!("INSERT INTO t VALUES ({id}, 1, 1); SET CONSTRAINTS ALL IMMEDIATE");
    load(&database, &quiet(&file, "t").before([own(5)]).after([own(6)]));
    assert_eq!(ran(&database), "Before INSERT, Before INSERT, statement INSERT, statement INSERT");
    assert_eq!(database.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t"), "1 2 3");
    // What it leaves for later would have to be judged while they are off.
    let leaves = "ALTER TABLE t DISABLE TRIGGER \"Before\"; INSERT INTO t VALUES (5, 1, 1)";
    let error = try_load(&database, &quiet(&file, "t").before([leaves])).unwrap_err();
    assert_eq!((error.sqlstate(), error.committed()), (Some("55006"), Committed::No), "{error:?}");
    assert!(error.message().starts_with("before: "), "{error:?}");
    assert!(error.hint().unwrap().contains("SET CONSTRAINTS ALL IMMEDIATE"), "{error:?}");
}

#[test]
fn others_read_and_wait_to_write_and_then_meet_the_triggers() {
    let database = full();
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    let gate = Holder::gate(&database);
    let (wanted, own) = (quiet(&file, "t").after([GATE]), target(&database));
    let loading = std::thread::spawn(move || howdah::load(&wanted, &own, &Control::new()));
    until_at_the_gate(&database, &loading);
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
    let mut writer = Holder::new(&database, "SELECT");
    writer.tell("INSERT INTO t VALUES (7, 7, 7); COMMIT");
    database.until("SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND NOT granted", "1");
    gate.release();
    assert_eq!(loading.join().unwrap().unwrap().rows, 1);
    writer.release();
    assert_eq!(ran(&database), "Before INSERT, statement INSERT");
    assert_eq!(database.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t"), "1 2 3");
}

#[test]
fn whoever_writes_is_named_and_not_waited_for() {
    let database = full();
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    for (mode, limit, said) in [
        (Mode::Append, None, "within 2 s"),
        (Mode::Upsert, None, "within 2 s"),
        (Mode::Append, Some(0.7), "within 0.7 s"),
    ] {
        let holder = Holder::new(&database, "UPDATE t SET parent = 3 WHERE id = 77");
        let mut wanted = quiet(&file, "t").mode(mode);
        wanted.writing.lock_timeout = limit.map(Duration::from_secs_f64);
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!((error.sqlstate(), error.committed()), (Some("55P03"), Committed::No), "{error:?}");
        assert!(error.message().contains(said), "{error:?}");
        assert!(error.detail().unwrap().contains("holds it"), "{error:?}");
        holder.release();
    }
}

#[test]
fn a_load_that_dies_among_its_rows_leaves_every_trigger_as_it_was() {
    let database = full();
    database.sql(&format!(
        "CREATE FUNCTION waits() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM ({GATE}); RETURN 1; END $$;
         ALTER TABLE t ADD made int; ALTER TABLE t ALTER made SET DEFAULT waits()"
    ));
    let states = database.sql(STATES);
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    for mode in [Mode::Append, Mode::Upsert] {
        let holder = Holder::gate(&database);
        let (wanted, own) = (quiet(&file, "t").mode(mode), target(&database));
        let loading = std::thread::spawn(move || howdah::load(&wanted, &own, &Control::new()));
        until_at_the_gate(&database, &loading);
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        );
        let error = loading.join().unwrap().unwrap_err();
        assert_eq!(error.committed(), Committed::No, "{error:?}");
        holder.release();
        assert_eq!(database.sql(STATES), states);
        assert_eq!((ran(&database).as_str(), database.sql("SELECT count(*) FROM t").as_str()), ("", "2"));
    }
}

#[test]
fn where_it_cannot_be_it_is_refused_by_name() {
    let database = full();
    database.sql(
        "CREATE VIEW v AS SELECT id, parent, later FROM t;
         CREATE TRIGGER into_t INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION notes()",
    );
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    for wanted in [
        quiet(&file, "new").mode(Mode::Create),
        quiet(&file, "t").mode(Mode::Replace),
        quiet(&file, "t").write_path(WritePath::Landing),
        quiet(&file, "t").write_path(WritePath::InsertAutocommit),
        quiet(&file, "t").jobs(2),
        quiet(&file, "v"),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error:?}");
        assert!(error.message().contains("triggers") && error.hint().is_some(), "{error:?}");
    }
    let role = format!("writer_{}", database.name());
    database.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'w'; GRANT ALL ON t, ran TO {role}"));
    let own = Target::new(format!("{} user={role} password=w", database.conninfo())).unwrap();
    let error = howdah::load(&quiet(&file, "t"), &own, &Control::new()).unwrap_err();
    assert_eq!((error.sqlstate(), error.committed()), (Some("42501"), Committed::No), "{error:?}");
    assert!(
        error.message().starts_with("the triggers of public.t cannot be disabled: it belongs to "),
        "{error:?}"
    );
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_dry_run_shows_what_it_would_do() {
    let database = full();
    let file = database.file("t.csv", "id,parent,later\n3,3,3\n");
    let plan = load(&database, &quiet(&file, "t").dry_run(true)).plan.unwrap();
    assert_eq!(plan.disabled_triggers, ["\"Before\"", "after_row", "always", "deferred", "statement"]);
    let of = |word: &str| plan.statements.iter().position(|statement| statement.contains(word)).unwrap();
    assert_eq!(plan.statements[0], r#"LOCK TABLE ONLY "public"."t" IN SHARE ROW EXCLUSIVE MODE"#);
    assert!(of("DISABLE TRIGGER \"Before\"") < of("COPY") && of("COPY") < of("ENABLE TRIGGER \"Before\""));
    assert!(plan.statements[of("ENABLE TRIGGER")].contains("ENABLE ALWAYS TRIGGER \"always\""));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
}
