//! Staging: loads that meet, stop, or have few rights leave the table and its schema as they should be.

use std::fmt::Write;

use howdah::LoadOptions;
use howdah::options::{Mode, OnError};
use howdah_testkit::Database;
use howdah_testkit::waiting::until;

use crate::common::staged::{counts, hidden_tables, matching};
use crate::common::{load, target};

#[test]
fn loads_that_meet_on_the_same_keys_in_reverse_order_do_not_deadlock() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, note text)");
    let rows = |ids: &mut dyn Iterator<Item = u32>| {
        let mut csv = String::from("id,note\n");
        ids.for_each(|id| writeln!(csv, "{id},x").unwrap());
        csv
    };
    let up = database.file("up.csv", rows(&mut (0..30_000)));
    let down = database.file("down.csv", rows(&mut (0..30_000).rev()));
    for (one, other) in
        [(Mode::Upsert, Mode::Upsert), (Mode::Upsert, Mode::Update), (Mode::Update, Mode::Delete)]
    {
        database
            .sql("INSERT INTO t SELECT i, 'old' FROM generate_series(0, 29999, 2) i ON CONFLICT DO NOTHING");
        std::thread::scope(|scope| {
            for (mode, file) in [(one, &up), (other, &down), (one, &down), (other, &up)] {
                let database = &database;
                scope.spawn(move || load(database, &matching(mode, file, "t", 1)));
            }
        });
    }
}

#[test]
fn an_update_that_scans_the_table_and_one_that_looks_rows_up_do_not_deadlock() {
    let database = Database::new();
    // On disk the rows lie in another order than that of the key, the last key first. The first load is slow, so that the
    // second comes in between when some rows were touched.
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, note text);
         INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 3000) i ORDER BY i = 1, i <> 3000, md5(i::text);
         ANALYZE t;
         CREATE SEQUENCE touched;
         CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(0.005), nextval('touched'); RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END $$;
         CREATE TRIGGER slowly BEFORE UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION slowly()",
    );
    let rows = |step| {
        let rows: String = (1..=3000).step_by(step).map(|id| format!("{id},y\n")).collect();
        format!("id,note\n{rows}3000,y\n")
    };
    let many = database.file("many.csv", rows(20));
    let few = database.file("few.csv", rows(300));
    for mode in [Mode::Update, Mode::Delete] {
        std::thread::scope(|scope| {
            let before: u32 = database.sql("SELECT last_value FROM touched").parse().unwrap();
            let scanning = scope.spawn(|| load(&database, &matching(Mode::Update, &many, "t", 1)));
            let touched = || database.sql("SELECT last_value FROM touched").parse::<u32>().unwrap();
            until("rows are touched", || touched() > before + 20 || scanning.is_finished());
            load(&database, &matching(mode, &few, "t", 1));
        });
    }
    assert_eq!(database.sql("SELECT count(*) FROM t WHERE note = 'y'"), "140");
}

#[test]
fn stopping_while_another_transaction_holds_a_row_changes_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (5, 'old')");
    let file = database.file("data.csv", "id,note\n4,new\n5,new\n");
    for (mode, jobs) in [(Mode::Upsert, 1), (Mode::Upsert, 2), (Mode::Update, 2), (Mode::Delete, 1)] {
        let mut holder = database.psql();
        holder.args(["-c", "BEGIN; UPDATE t SET note = note WHERE id = 5; SELECT pg_sleep(60)"]);
        let mut holder =
            holder.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let asleep = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
        database.until(asleep, "1");
        let control = howdah::Control::new();
        let loaded = std::thread::scope(|scope| {
            let loading =
                scope.spawn(|| howdah::load(&matching(mode, &file, "t", jobs), &target(&database), &control));
            let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            until("the load waits for the lock", || {
                assert!(!loading.is_finished(), "the load did not wait");
                database.sql(waits) == "t"
            });
            control.cancel();
            loading.join().unwrap()
        });
        let error = loaded.unwrap_err();
        assert_eq!(error.kind(), howdah::ErrorKind::Cancelled, "{error:?}");
        assert_eq!(error.visible(), Some("nothing was changed"));
        holder.kill().unwrap();
        holder.wait().unwrap();
        database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'");
        assert_eq!(hidden_tables(&database), "0", "{mode} on {jobs} connections");
        assert_eq!(database.sql("TABLE t"), "5|old");
    }
}

#[test]
fn the_dry_run_shows_the_statement_and_changes_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, note text)");
    let file = database.file("data.csv", "id,note\n4,new\n");
    for (mode, says) in [
        (Mode::Upsert, "ON CONFLICT (\"id\") DO UPDATE SET \"note\" = excluded.\"note\""),
        (Mode::Ignore, "ON CONFLICT (\"id\") DO NOTHING"),
        (Mode::Update, "UPDATE \"public\".\"t\" AS t SET \"note\" = s.\"note\""),
        (Mode::Delete, "DELETE FROM \"public\".\"t\" AS t USING"),
    ] {
        let report = load(&database, &matching(mode, &file, "t", 1).dry_run(true));
        let plan = report.plan.unwrap();
        assert!(plan.statements.iter().any(|sql| sql.contains(says)), "{:?}", plan.statements);
        assert!(plan.staging.unwrap().contains("matched by id"));
        assert_eq!(
            (database.sql("SELECT count(*) FROM t"), hidden_tables(&database)),
            ("0".into(), "0".into())
        );
    }
}

/// Loads as a role of few rights.
fn load_as(database: &Database, role: &str, options: &LoadOptions) -> Result<howdah::Report, howdah::Error> {
    let conninfo = format!("{} options='-c role={role}'", database.conninfo());
    let connect = howdah::connect::ConnectOptions::default().conninfo(conninfo);
    let target = connect.resolve(&howdah::connect::Environment::from_pairs([])).unwrap();
    howdah::load(options, &target, &howdah::Control::new())
}

#[test]
fn a_role_under_row_level_security_loads_and_its_policy_holds() {
    let database = Database::new();
    database.sql(
        "DROP ROLE IF EXISTS tenant; CREATE ROLE tenant;
         CREATE TABLE t (id int PRIMARY KEY, owner text);
         INSERT INTO t VALUES (1, 'other');
         ALTER TABLE t ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON t TO tenant USING (owner = 'tenant');
         GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON t TO tenant",
    );
    let mine = database.file("mine.csv", "id,owner\n2,tenant\n3,tenant\n");
    let foreign = database.file("foreign.csv", "id,owner\n4,tenant\n5,other\n");
    let run = |mode, file: &str, jobs| load_as(&database, "tenant", &matching(mode, file, "t", jobs));
    for jobs in [1, 2] {
        let report = run(Mode::Append, &mine, jobs).unwrap();
        assert_eq!((report.rows, report.rows_inserted, report.jobs), (2, 2, 1));
        assert!(report.plan.unwrap().staging.unwrap().contains("row-level security"));
        database.sql("DELETE FROM t WHERE id > 1");
    }
    for mode in [Mode::Append, Mode::CreateAppend, Mode::Upsert] {
        let error = run(mode, &foreign, 1).unwrap_err();
        assert_eq!(error.sqlstate(), Some("42501"), "{error:?}");
        assert!(error.message().contains("violates row-level security policy"), "{error:?}");
        assert_eq!(database.sql("TABLE t"), "1|other");
    }
    // Kept apart it is one record; what the role may not do at all is no record's fault.
    let rejects = database.path("rejects.jsonl");
    let tolerant = |mode| matching(mode, &foreign, "t", 1).on_error(OnError::Ignore).rejects(rejects.clone());
    for mode in [Mode::Append, Mode::Upsert, Mode::Ignore] {
        let report = load_as(&database, "tenant", &tolerant(mode)).unwrap();
        assert_eq!((report.rows, report.rows_rejected), (1, 1));
        let rejected = std::fs::read_to_string(&rejects).unwrap();
        assert!(rejected.contains("42501") && rejected.contains("\"raw\":\"5,other\""), "{rejected}");
        database.sql("DELETE FROM t WHERE id > 1");
    }
    database.sql("REVOKE INSERT ON t FROM tenant");
    let error = load_as(&database, "tenant", &tolerant(Mode::Ignore)).unwrap_err();
    assert_eq!(error.sqlstate(), Some("42501"));
    assert_eq!(error.load_report().unwrap().rows_rejected, 0);
    database.sql("GRANT INSERT ON t TO tenant");
    // What the policy hides is not there to be updated or deleted.
    let all = database.file("all.csv", "id,owner\n1,tenant\n2,tenant\n");
    run(Mode::Upsert, &mine, 1).unwrap();
    assert_eq!(counts(&run(Mode::Update, &all, 1).unwrap()), [0, 1, 0, 1, 0]);
    assert_eq!(counts(&run(Mode::Delete, &all, 1).unwrap()), [0, 0, 1, 1, 0]);
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|other\n3|tenant");
    run(Mode::Truncate, &mine, 1).unwrap();
    assert_eq!(database.sql("TABLE t ORDER BY id"), "2|tenant\n3|tenant");
}

#[test]
fn a_stream_whose_rows_the_table_refuses_ends_the_load_with_a_way_out() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 10))");
    let pipe = database.path("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (csv, is_good) in [("id,n\n1,5\nx,5\n", true), ("id,n\n2,5\n3,10\n", false)] {
        let wanted = matching(Mode::Upsert, &pipe, "t", 1)
            .on_error(OnError::Ignore)
            .rejects(database.path("rejects.jsonl"));
        let loaded = std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&pipe, csv).unwrap());
            howdah::load(&wanted, &target(&database), &howdah::Control::new())
        });
        assert_eq!(loaded.is_ok(), is_good, "{loaded:?}");
        if let Err(error) = loaded {
            assert_eq!(error.sqlstate(), Some("23514"), "{error:?}");
            assert!(error.hint().unwrap().contains("save it to a file"), "{error:?}");
        }
        assert_eq!(database.sql("TABLE t"), "1|5");
    }
}

#[test]
fn rows_are_staged_wherever_the_role_may_make_a_table() {
    let database = Database::new();
    database.sql(
        "DROP ROLE IF EXISTS clerk; CREATE ROLE clerk;
         CREATE SCHEMA s; CREATE TABLE s.t (id int PRIMARY KEY, note text);
         GRANT USAGE ON SCHEMA s TO clerk; GRANT SELECT, INSERT, UPDATE ON s.t TO clerk",
    );
    let file = database.file("data.csv", "id,note\n1,a\n");
    let run = |jobs| load_as(&database, "clerk", &matching(Mode::Upsert, &file, "s.t", jobs));
    let report = run(2).unwrap();
    assert_eq!(counts(&report), [1, 0, 0, 0, 0]);
    assert_eq!(report.jobs, 1);
    assert!(report.jobs_reason.unwrap().contains("may not create tables in schema s"));
    database.sql("DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$");
    let error = run(1).unwrap_err();
    assert!(error.message().contains("no place to stage rows") && error.hint().is_some(), "{error:?}");
    database.sql("GRANT CREATE ON SCHEMA s TO clerk");
    for jobs in [1, 2] {
        let report = run(jobs).unwrap();
        assert_eq!(counts(&report), [0, 1, 0, 0, 0]);
        assert_eq!((report.jobs, hidden_tables(&database)), (jobs, "0".into()));
    }
}
