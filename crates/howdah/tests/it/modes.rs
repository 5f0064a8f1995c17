//! The modes that match rows of the input with rows of the table do what one statement a row would do, and say what they did.

use std::fmt::Write;

use howdah::LoadOptions;
use howdah::options::{Mode, OnError};
use howdah_testkit::Database;

use crate::common::staged::{MODES, counts, hidden_tables, matching};
use crate::common::{load, options, try_load};

fn keyed(mode: Mode, file: &str, key: &[&str]) -> LoadOptions {
    matching(mode, file, "t", 1).key(key.iter().copied())
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
        // The last row of a key is what the input says of it, whether that is new or not.
        let direction = if mode == Mode::Ignore { "DESC" } else { "ASC" };
        database.sql(&format!(
            "{} DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM input ORDER BY n {direction} LOOP {statement}; END LOOP; END $$",
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
    let text = matching(Mode::Upsert, &file, "t", 1).write_path(howdah::options::WritePath::CopyText);
    for options in [matching(Mode::Upsert, &file, "t", 1), text] {
        database.sql("TRUNCATE t");
        load(&database, &options);
        assert_eq!(database.sql("TABLE t ORDER BY id"), "1|1999-01-08\n2|2020-01-01");
    }
}

#[test]
fn of_new_rows_with_one_key_the_last_is_inserted_and_rows_that_are_there_stay() {
    let database = Database::new();
    let csv = "id,note\n1,first\n2,first\n1,second\n3,only\n2,second\n2,last\n";
    for (mode, rows, expected) in [
        (Mode::Ignore, "1|second\n2|old\n3|only", [2, 0, 0, 1, 3]),
        (Mode::Upsert, "1|second\n2|last\n3|only", [2, 1, 0, 0, 3]),
    ] {
        for jobs in [1, 2] {
            database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (2, 'old')");
            let file = database.file("data.csv", csv);
            assert_eq!(counts(&load(&database, &matching(mode, &file, "t", jobs))), expected, "{mode}");
            assert_eq!(database.sql("TABLE t ORDER BY id"), rows, "{mode}");
        }
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
    assert!(said.contains("no primary key") && said.contains("key=["), "{said}");
    let said = refused(
        &format!("{plain}; CREATE UNIQUE INDEX ON t (a) WHERE b > 0; CREATE UNIQUE INDEX ON t (abs(a))"),
        &upsert,
    );
    assert!(said.contains("no plain unique index"), "{said}");
    let said = refused(
        &format!("{plain}; CREATE UNIQUE INDEX one ON t (a); CREATE UNIQUE INDEX two ON t (b, \"C d\")"),
        &upsert,
    );
    assert!(said.contains("one (a); two (b, \"C d\")") && said.contains("key=["), "{said}");
    let said = refused(plain, &keyed(Mode::Upsert, &file, &["a", "c D"]));
    assert!(said.contains("CREATE UNIQUE INDEX ON public.t (a, \"C d\")"), "{said}");
    let said = refused(&format!("{plain}; ALTER TABLE t ADD UNIQUE (a) DEFERRABLE"), &upsert);
    assert!(said.contains("deferrable"), "{said}");
    let said = refused(plain, &keyed(Mode::Delete, &file, &["a", "zz"]));
    assert!(said.contains("key names \"zz\""), "{said}");
    let said = refused("CREATE TABLE t (a int, b int, \"C d\" int, id int PRIMARY KEY DEFAULT 0)", &upsert);
    assert!(said.contains("the input lacks the key: id"), "{said}");
    let said = refused(plain, &keyed(Mode::Update, &file, &["a", "b", "C d"]));
    assert!(said.contains("nothing to update"), "{said}");
    let said = refused(
        "CREATE TABLE t (a int PRIMARY KEY, b int GENERATED ALWAYS AS IDENTITY, \"C d\" int)",
        &upsert,
    );
    assert!(said.contains("GENERATED ALWAYS AS IDENTITY"), "{said}");
    let said = refused(plain, &LoadOptions::new(&file).mode(Mode::Update).jobs(1));
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
fn bad_records_are_kept_apart() {
    let database = Database::new();
    database.sql(
        "CREATE DOMAIN positive AS int CHECK (value > 0);
         CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE t (id int PRIMARY KEY, p positive, q int REFERENCES parent); INSERT INTO t VALUES (1, 1, 1)",
    );
    let file = database.file("data.csv", "id,p,q\n1,5,1\nx,5,1\n2,-1,1\n2,3,1\n,3,1\n2,4,1\n");
    let rejects = database.path("r.jsonl");
    let tolerant = |file: &str, jobs| {
        matching(Mode::Upsert, file, "t", jobs).on_error(OnError::Ignore).rejects(rejects.clone())
    };
    for jobs in [1, 2] {
        database.sql("TRUNCATE t; INSERT INTO t VALUES (1, 1, 1)");
        let _ = std::fs::remove_file(&rejects);
        let report = load(&database, &tolerant(&file, jobs));
        assert_eq!((counts(&report), report.rows_rejected), ([1, 1, 0, 0, 1], 3));
        assert_eq!(database.sql("TABLE t ORDER BY id"), "1|5|1\n2|4|1");
    }
    let file = database.file("orphan.csv", "id,p,q\n1,6,1\n3,6,2\n");
    let stopping = matching(Mode::Upsert, &file, "t", 1);
    let error = try_load(&database, &stopping).unwrap_err();
    assert_eq!(error.sqlstate(), Some("23503"), "{error:?}");
    assert_eq!(error.visible(), Some("nothing was changed"));
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|5|1\n2|4|1");
    assert_eq!(hidden_tables(&database), "0");
}

#[test]
fn the_last_row_is_that_of_the_last_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, note text)");
    for n in 1..=8 {
        // Pieces of several files are under way at once.
        let rows: String = (0..20_000).map(|id| format!("{id},file {n} and some words more\n")).collect();
        database.file(&format!("part{n}.csv"), format!("id,note\n{rows}"));
    }
    let report = load(&database, &matching(Mode::Upsert, &database.path("part*.csv"), "t", 4));
    assert_eq!(counts(&report), [20_000, 0, 0, 0, 140_000]);
    assert_eq!(database.sql("SELECT DISTINCT note FROM t"), "file 8 and some words more");
}

#[test]
fn a_corrected_file_of_rejects_is_matched_as_the_load_it_comes_from() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, note text); INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    let file = database.file("data.csv", "note,id\nx,1x\ny,3\n");
    let rejects = database.path("t.rejects.jsonl");
    let wanted = keyed(Mode::Delete, &file, &["id"]).on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((counts(&report), report.rows_rejected), ([0, 0, 0, 1, 0], 1));
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("x,1x", "x,1");
    database.file("t.rejects.jsonl", corrected);
    let report = load(&database, &LoadOptions::new(rejects));
    assert_eq!(counts(&report), [0, 0, 1, 0, 0]);
    assert_eq!(database.sql("TABLE t"), "2|b");
}

#[test]
fn views_update_and_delete_by_their_triggers() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE base (id int PRIMARY KEY, note text); INSERT INTO base VALUES (1, 'a'), (2, 'b');
         CREATE VIEW t AS SELECT id, note FROM base WHERE id > 0;
         CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'DELETE' THEN DELETE FROM base WHERE id = OLD.id; RETURN OLD; END IF;
            UPDATE base SET note = 'through ' || NEW.note WHERE id = OLD.id; RETURN NEW; END $$;
         CREATE TRIGGER through INSTEAD OF INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION through();",
    );
    let file = database.file("data.csv", "id,note\n1,new\n3,new\n");
    assert_eq!(counts(&load(&database, &keyed(Mode::Update, &file, &["id"]))), [0, 1, 0, 1, 0]);
    assert_eq!(database.sql("TABLE base ORDER BY id"), "1|through new\n2|b");
    assert_eq!(counts(&load(&database, &keyed(Mode::Delete, &file, &["id"]))), [0, 0, 1, 1, 0]);
    let error = try_load(&database, &keyed(Mode::Upsert, &file, &["id"])).unwrap_err();
    assert!(error.message().contains("is not a table"), "{error:?}");
}

#[test]
fn a_column_that_one_of_several_files_lacks_is_null_in_its_rows() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, a int, b int, came_from text); INSERT INTO t VALUES (1, 0, 0), (2, 0, 0)");
    database.file("x1.csv", "id,a\n1,1\n3,1\n");
    database.file("x2.csv", "b,id\n2,2\n2,3\n");
    for jobs in [1, 2] {
        let wanted = matching(Mode::Upsert, &database.path("x*.csv"), "t", jobs).file_column("came_from");
        let report = load(&database, &wanted);
        assert_eq!((report.rows, report.rows_duplicate), (4, 1));
        let rows = "SELECT id, a, b, right(came_from, 6) FROM t ORDER BY id";
        assert_eq!(database.sql(rows), "1|1||x1.csv\n2||2|x2.csv\n3||2|x2.csv");
    }
}

#[test]
fn a_table_that_others_inherit_from_is_emptied_alone() {
    for row_security in [false, true] {
        let database = Database::new();
        database.sql(
            "CREATE TABLE t (id int); CREATE TABLE child () INHERITS (t);
             INSERT INTO t VALUES (1); INSERT INTO child VALUES (2)",
        );
        if row_security {
            database.sql("ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (true)");
        }
        let file = database.file("t.csv", "id\n3\n");
        load(&database, &options(&file, "t").mode(Mode::Truncate));
        assert_eq!(database.sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t"), "2 3");
    }
}
