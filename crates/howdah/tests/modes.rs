//! The modes that match rows of the input with rows of the table do what one statement a row would do, and say what they did.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod common;

use std::fmt::Write;

use common::{load, options, try_load};
use howdah::options::{Mode, OnError};
use howdah::{LoadOptions, Report};
use howdah_testkit::Database;

const MODES: [Mode; 4] = [Mode::Upsert, Mode::Ignore, Mode::Update, Mode::Delete];

fn matching(mode: Mode, file: &str, table: &str, jobs: usize) -> LoadOptions {
    LoadOptions { mode, jobs: Some(jobs), ..options(file, table) }
}

fn keyed(mode: Mode, file: &str, key: &[&str]) -> LoadOptions {
    LoadOptions { key: key.iter().map(|name| (*name).to_owned()).collect(), ..matching(mode, file, "t", 1) }
}

/// Inserted, updated, deleted, skipped, duplicate; with the account of all rows checked.
fn counts(report: &Report) -> [u64; 5] {
    assert_eq!(report.rows_read, report.rows + report.rows_rejected);
    [
        report.rows_inserted,
        report.rows_updated,
        report.rows_deleted,
        report.rows_skipped,
        report.rows_duplicate,
    ]
}

fn hidden_tables(database: &Database) -> String {
    database.sql("SELECT count(*) FROM pg_class WHERE relname ~ '^howdah_load_'")
}

/// Composite, mixed-case key; a default, a generated and an identity column that the input does not have.
const TABLE: &str = r#"("Id" int, region text COLLATE "C", note text, kind text DEFAULT 'new', n int GENERATED ALWAYS AS (length(note)) STORED,
     serial bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (region, "Id"))"#;

/// Rows with every kind of collision: with rows of the table, and among themselves, near and far.
fn colliding_rows(rows: u32) -> String {
    let mut csv = String::from("note,Id,region\n");
    for n in 0..rows {
        let id = n.wrapping_mul(7919) % (rows * 3 / 4);
        writeln!(
            csv,
            "note {n} of some length that fills pieces,{id},{}",
            if n % 2 == 0 { "a" } else { "B" }
        )
        .unwrap();
    }
    csv
}

#[test]
fn every_mode_does_what_its_statement_does_row_by_row() {
    let database = Database::new();
    let file = database.file("data.csv", colliding_rows(40_000));
    database.sql(&format!(
        "CREATE TABLE input (n bigint GENERATED ALWAYS AS IDENTITY, note text, \"Id\" int, region text);
         \\copy input (note, \"Id\", region) FROM '{file}' (FORMAT csv, HEADER)
         CREATE TABLE seed {TABLE};
         INSERT INTO seed SELECT i, r, 'old', 'old' FROM generate_series(0, 44999, 3) i, (VALUES ('a'), ('B'), ('c')) AS x(r)"
    ));
    let fresh = |name: &str| {
        format!(
            "DROP TABLE IF EXISTS {name}; CREATE TABLE {name} {TABLE};
             INSERT INTO {name} (\"Id\", region, note, kind) SELECT \"Id\", region, note, kind FROM seed;"
        )
    };
    for mode in MODES {
        let statement = match mode {
            Mode::Upsert => {
                "INSERT INTO expected (\"Id\", region, note) VALUES (r.\"Id\", r.region, r.note)
                 ON CONFLICT (\"Id\", region) DO UPDATE SET note = excluded.note"
            }
            Mode::Ignore => {
                "INSERT INTO expected (\"Id\", region, note) VALUES (r.\"Id\", r.region, r.note) ON CONFLICT DO NOTHING"
            }
            Mode::Update => "UPDATE expected SET note = r.note WHERE \"Id\" = r.\"Id\" AND region = r.region",
            _ => "DELETE FROM expected WHERE \"Id\" = r.\"Id\" AND region = r.region",
        };
        database.sql(&format!(
            "{} DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM input ORDER BY n LOOP {statement}; END LOOP; END $$",
            fresh("expected")
        ));
        let columns = "\"Id\", region, note, kind, n";
        let there = database.sql("SELECT count(*) FROM (SELECT DISTINCT i.\"Id\", i.region FROM input i JOIN seed USING (\"Id\", region)) x");
        let distinct = database.sql("SELECT count(*) FROM (SELECT DISTINCT \"Id\", region FROM input) x");
        let (there, distinct): (u64, u64) = (there.parse().unwrap(), distinct.parse().unwrap());
        let new = distinct - there;
        for jobs in [1, 2, 4] {
            database.sql(&fresh("t"));
            let report = load(&database, &matching(mode, &file, "t", jobs));
            let difference = database.sql(&format!(
                "WITH a AS (SELECT {columns} FROM t), b AS (SELECT {columns} FROM expected)
                 SELECT count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) x"
            ));
            assert_eq!(difference, "0", "{mode} on {jobs} connections");
            let duplicate = 40_000 - distinct;
            let expected = match mode {
                Mode::Upsert => [new, there, 0, 0, duplicate],
                Mode::Ignore => [new, 0, 0, there, duplicate],
                Mode::Update => [0, there, 0, new, duplicate],
                _ => [0, 0, there, new, duplicate],
            };
            assert_eq!(counts(&report), expected, "{mode} on {jobs} connections");
            assert_eq!((report.rows, report.jobs), (40_000, jobs));
            assert_eq!(hidden_tables(&database), "0");
        }
    }
}

#[test]
fn values_that_travel_as_text_keep_their_order_too() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, at date)");
    let file = database.file("data.csv", "id,at\n1,2020-01-01\n1,\"January 8, 1999\"\n2,2020-01-01\n");
    let text = LoadOptions {
        write_path: howdah::options::WritePath::CopyText,
        ..matching(Mode::Upsert, &file, "t", 1)
    };
    for options in [matching(Mode::Upsert, &file, "t", 1), text] {
        database.sql("TRUNCATE t");
        load(&database, &options);
        assert_eq!(database.sql("TABLE t ORDER BY id"), "1|1999-01-08\n2|2020-01-01");
    }
}

#[test]
fn partitions_triggers_and_locks_of_others_do_not_spoil_the_counts() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int, note text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE t1 (note text, gone int, id int NOT NULL);
         ALTER TABLE t1 DROP COLUMN gone;
         ALTER TABLE t ATTACH PARTITION t1 FOR VALUES FROM (0) TO (10);
         CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (100);
         CREATE TABLE child (id int REFERENCES t);
         CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.note = 'never' THEN RETURN NULL; END IF; NEW.note := NEW.note || '!'; RETURN NEW; END $$;
         CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION guard();
         INSERT INTO t VALUES (1, 'old'), (11, 'old'), (12, 'old');
         INSERT INTO child VALUES (1), (11)",
    );
    let file = database.file("data.csv", "id,note\n1,x\n2,x\n11,x\n13,never\n20,x\n12,never\n");
    let report = load(&database, &matching(Mode::Upsert, &file, "t", 1));
    assert_eq!(counts(&report), [2, 2, 0, 2, 0]);
    // The trigger of the insertion and that of the update, as in one statement a row.
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|x!!\n2|x!\n11|x!!\n12|old!\n20|x!");
    let file = database.file("gone.csv", "id\n2\n20\n21\n");
    let report = load(&database, &matching(Mode::Delete, &file, "t", 2));
    assert_eq!(counts(&report), [0, 0, 2, 1, 0]);
}

#[test]
fn a_null_in_the_key_matches_nothing_unless_the_index_says_so() {
    let database = Database::new();
    let csv = "a,b,c\n1,,new\n1,,newer\n1,2,new\n";
    let file = database.file("data.csv", csv);
    let fill = "INSERT INTO t VALUES (1, NULL, 'old'), (1, 2, 'old')";
    database.sql(&format!("CREATE TABLE t (a int, b int, c text, UNIQUE (a, b)); {fill}"));
    assert_eq!(counts(&load(&database, &matching(Mode::Upsert, &file, "t", 1))), [2, 1, 0, 0, 0]);
    assert_eq!(database.sql("SELECT * FROM t ORDER BY c, b"), "1|2|new\n1||new\n1||newer\n1||old");
    assert_eq!(counts(&load(&database, &matching(Mode::Update, &file, "t", 1))), [0, 1, 0, 2, 0]);
    assert_eq!(counts(&load(&database, &matching(Mode::Delete, &file, "t", 1))), [0, 0, 1, 2, 0]);
    database.sql(&format!(
        "DROP TABLE t; CREATE TABLE t (a int, b int, c text, UNIQUE NULLS NOT DISTINCT (a, b)); {fill}"
    ));
    assert_eq!(counts(&load(&database, &matching(Mode::Upsert, &file, "t", 1))), [0, 2, 0, 0, 1]);
    assert_eq!(database.sql("SELECT * FROM t ORDER BY c, b"), "1|2|new\n1||newer");
    // A primary key takes no NULL; where keys are only looked for, one finds nothing.
    database.sql("DROP TABLE t; CREATE TABLE t (a int, b int, c text, PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, 2, 'old')");
    let error = try_load(&database, &matching(Mode::Upsert, &file, "t", 1)).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("23502"), Some(2)));
    assert_eq!(counts(&load(&database, &matching(Mode::Update, &file, "t", 1))), [0, 1, 0, 2, 0]);
}

#[test]
fn the_key_is_found_or_the_error_says_how_to_name_or_make_one() {
    let database = Database::new();
    let file = database.file("data.csv", "a,b,\"C d\"\n1,2,3\n");
    let refused = |sql: &str, options: &LoadOptions| {
        database.sql(&format!("DROP TABLE IF EXISTS t CASCADE; {sql}"));
        let error = try_load(&database, options).unwrap_err();
        assert_eq!(error.kind(), howdah::ErrorKind::Usage, "{error:?}");
        format!("{} / {} / {}", error.message(), error.detail().unwrap_or(""), error.hint().unwrap_or(""))
    };
    let upsert = keyed(Mode::Upsert, &file, &[]);
    let plain = r#"CREATE TABLE t (a int, b int, "C d" int)"#;
    let said = refused(plain, &upsert);
    assert!(said.contains("no primary key") && said.contains("--key"), "{said}");
    let said = refused(
        &format!("{plain}; CREATE UNIQUE INDEX ON t (a) WHERE b > 0; CREATE UNIQUE INDEX ON t (abs(a))"),
        &upsert,
    );
    assert!(said.contains("no plain unique index"), "{said}");
    let said = refused(
        &format!("{plain}; CREATE UNIQUE INDEX one ON t (a); CREATE UNIQUE INDEX two ON t (b, \"C d\")"),
        &upsert,
    );
    assert!(said.contains("one (a); two (b, \"C d\")") && said.contains("--key"), "{said}");
    let said = refused(plain, &keyed(Mode::Upsert, &file, &["a", "c D"]));
    assert!(said.contains("CREATE UNIQUE INDEX ON public.t (a, \"C d\")"), "{said}");
    let said = refused(&format!("{plain}; ALTER TABLE t ADD UNIQUE (a) DEFERRABLE"), &upsert);
    assert!(said.contains("deferrable"), "{said}");
    let said = refused(plain, &keyed(Mode::Delete, &file, &["a", "zz"]));
    assert!(said.contains("--key names \"zz\""), "{said}");
    let said = refused("CREATE TABLE t (a int, b int, \"C d\" int, id int PRIMARY KEY DEFAULT 0)", &upsert);
    assert!(said.contains("the input lacks the key: id"), "{said}");
    let said = refused(plain, &keyed(Mode::Update, &file, &["a", "b", "C d"]));
    assert!(said.contains("nothing to update"), "{said}");
    let said = refused(
        "CREATE TABLE t (a int PRIMARY KEY, b int GENERATED ALWAYS AS IDENTITY, \"C d\" int)",
        &upsert,
    );
    assert!(said.contains("GENERATED ALWAYS AS IDENTITY"), "{said}");
    let said = refused(plain, &LoadOptions { table: None, ..keyed(Mode::Update, &file, &[]) });
    assert!(said.contains("does not exist"), "{said}");
    // A primary key wins over other unique indexes; columns included in an index are none of its key.
    database
        .sql("DROP TABLE t; CREATE TABLE t (a int, b int UNIQUE, \"C d\" int, PRIMARY KEY (a) INCLUDE (b))");
    assert_eq!(counts(&load(&database, &upsert)), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&load(&database, &keyed(Mode::Upsert, &file, &["b"]))), [0, 1, 0, 0, 0]);
    // Updating and deleting go by any columns, and count rows of the table.
    database.sql(&format!("DROP TABLE t; {plain}; INSERT INTO t VALUES (1, 5, 0), (1, 6, 0)"));
    assert_eq!(counts(&load(&database, &keyed(Mode::Update, &file, &["a"]))), [0, 2, 0, 0, 0]);
    assert_eq!(database.sql("SELECT DISTINCT * FROM t"), "1|2|3");
    assert_eq!(counts(&load(&database, &keyed(Mode::Delete, &file, &["a"]))), [0, 0, 2, 0, 0]);
}

#[test]
fn an_identity_key_can_be_given_as_copy_lets_it_be_given() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int); INSERT INTO t (a) VALUES (0)");
    let file = database.file("data.csv", "id,a\n1,1\n7,7\n");
    assert_eq!(counts(&load(&database, &matching(Mode::Upsert, &file, "t", 1))), [1, 1, 0, 0, 0]);
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|1\n7|7");
    let only_keys = database.file("keys.csv", "id\n1\n8\n");
    assert_eq!(counts(&load(&database, &matching(Mode::Upsert, &only_keys, "t", 1))), [1, 0, 0, 1, 0]);
}

#[test]
fn deleting_looks_at_nothing_but_the_key() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    );
    let file = database.file("data.csv", "a,id\nno number,1\n,2\n,2\n");
    assert_eq!(counts(&load(&database, &matching(Mode::Delete, &file, "t", 1))), [0, 0, 2, 0, 1]);
    assert_eq!(database.sql("TABLE t"), "3|3");
}

#[test]
fn bad_records_are_kept_apart_and_what_only_the_table_refuses_ends_the_load() {
    let database = Database::new();
    database.sql(
        "CREATE DOMAIN positive AS int CHECK (value > 0);
         CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE t (id int PRIMARY KEY, p positive, q int REFERENCES parent); INSERT INTO t VALUES (1, 1, 1)",
    );
    let file = database.file("data.csv", "id,p,q\n1,5,1\nx,5,1\n2,-1,1\n2,3,1\n,3,1\n2,4,1\n");
    let rejects = database.path("r.jsonl");
    let tolerant = |file: &str, jobs| LoadOptions {
        on_error: OnError::Ignore,
        rejects: Some(rejects.clone().into()),
        ..matching(Mode::Upsert, file, "t", jobs)
    };
    for jobs in [1, 2] {
        database.sql("TRUNCATE t; INSERT INTO t VALUES (1, 1, 1)");
        let _ = std::fs::remove_file(&rejects);
        let report = load(&database, &tolerant(&file, jobs));
        assert_eq!((counts(&report), report.rows_rejected), ([1, 1, 0, 0, 1], 3));
        assert_eq!(database.sql("TABLE t ORDER BY id"), "1|5|1\n2|4|1");
    }
    let file = database.file("orphan.csv", "id,p,q\n1,6,1\n3,6,2\n");
    let _ = std::fs::remove_file(&rejects);
    let error = try_load(&database, &tolerant(&file, 1)).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23503"), "{error:?}");
    assert_eq!(error.visible(), Some("nothing was changed"));
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|5|1\n2|4|1");
    assert_eq!(hidden_tables(&database), "0");
}

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
fn stopping_while_another_transaction_holds_a_row_changes_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (5, 'old')");
    let file = database.file("data.csv", "id,note\n4,new\n5,new\n");
    for (mode, jobs) in [(Mode::Upsert, 1), (Mode::Upsert, 2), (Mode::Update, 2), (Mode::Delete, 1)] {
        let mut holder = database.psql();
        holder.args(["-c", "BEGIN; UPDATE t SET note = note WHERE id = 5; SELECT pg_sleep(60)"]);
        let mut holder =
            holder.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        while database.sql(asleep) == "0" {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let control = howdah::Control::new();
        let outcome = std::thread::scope(|scope| {
            let loading = scope.spawn(|| {
                howdah::load(&matching(mode, &file, "t", jobs), &common::target(&database), &control)
            });
            while database.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0"
            {
                assert!(!loading.is_finished(), "the load did not wait");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            control.cancel();
            loading.join().unwrap()
        });
        let error = outcome.error.unwrap();
        assert_eq!(error.kind(), howdah::ErrorKind::Cancelled, "{error:?}");
        assert_eq!(error.visible(), Some("nothing was changed"));
        holder.kill().unwrap();
        holder.wait().unwrap();
        database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
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
        let report = load(&database, &LoadOptions { dry_run: true, ..matching(mode, &file, "t", 1) });
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
fn load_as(database: &Database, role: &str, options: &LoadOptions) -> howdah::report::Outcome {
    let conninfo = format!("{} options='-c role={role}'", database.conninfo());
    let connect = howdah::connect::ConnectOptions { conninfo: Some(conninfo), ..Default::default() };
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
        let outcome = run(Mode::Append, &mine, jobs);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!((outcome.report.rows, outcome.report.rows_inserted, outcome.report.jobs), (2, 2, 1));
        assert!(outcome.report.plan.unwrap().staging.unwrap().contains("row-level security"));
        database.sql("DELETE FROM t WHERE id > 1");
    }
    for mode in [Mode::Append, Mode::CreateAppend, Mode::Upsert] {
        let error = run(mode, &foreign, 1).error.unwrap();
        assert_eq!(error.sqlstate(), Some("42501"), "{error:?}");
        assert!(error.message().contains("violates row-level security policy"), "{error:?}");
        assert_eq!(database.sql("TABLE t"), "1|other");
    }
    // What the policy hides is not there to be updated or deleted.
    let all = database.file("all.csv", "id,owner\n1,tenant\n2,tenant\n");
    assert!(run(Mode::Upsert, &mine, 1).error.is_none());
    assert_eq!(counts(&run(Mode::Update, &all, 1).report), [0, 1, 0, 1, 0]);
    assert_eq!(counts(&run(Mode::Delete, &all, 1).report), [0, 0, 1, 1, 0]);
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|other\n3|tenant");
    let outcome = run(Mode::Truncate, &mine, 1);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(database.sql("TABLE t ORDER BY id"), "2|tenant\n3|tenant");
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
    let outcome = run(2);
    assert_eq!(counts(&outcome.report), [1, 0, 0, 0, 0], "{:?}", outcome.error);
    assert_eq!(outcome.report.jobs, 1);
    assert!(outcome.report.jobs_reason.unwrap().contains("may not create tables in schema s"));
    database.sql("DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$");
    let error = run(1).error.unwrap();
    assert!(error.message().contains("no place to stage rows") && error.hint().is_some(), "{error:?}");
    database.sql("GRANT CREATE ON SCHEMA s TO clerk");
    for jobs in [1, 2] {
        let outcome = run(jobs);
        assert_eq!(counts(&outcome.report), [0, 1, 0, 0, 0], "{:?}", outcome.error);
        assert_eq!((outcome.report.jobs, hidden_tables(&database)), (jobs, "0".into()));
    }
}
