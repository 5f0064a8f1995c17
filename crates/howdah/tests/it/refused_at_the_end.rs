//! Rows that the server refuses without saying which: at the end of a statement, of all rows, or of an index. The load that
//! failed names the record all the same, in every mode.

use std::fmt::Write;

use howdah::message::{Library, Respell};
use howdah::options::{Indexes, Mode, OnError};
use howdah::source::Input;
use howdah::{Control, Error, LoadOptions, Target, load_inputs};
use howdah_testkit::Database;

use crate::common::{options, target, try_load};

/// A way in which a table refuses a row only at the end.
struct Kind {
    name: &'static str,
    /// What makes the table, whose columns are id, q and n.
    table: &'static str,
    /// The bad record.
    bad: &'static str,
    sqlstate: &'static str,
    column: Option<&'static str>,
    /// Its like stands in an earlier record.
    has_a_like: bool,
    /// In `replace`, triggers do not see the rows.
    is_a_trigger: bool,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "foreign key",
        table: "CREATE TABLE t (id int, q int REFERENCES parent, n int)",
        bad: "777,77,1",
        sqlstate: "23503",
        column: Some("q"),
        has_a_like: false,
        is_a_trigger: false,
    },
    Kind {
        name: "deferred foreign key of two columns",
        table: "CREATE TABLE t (id int, q int, n int, CONSTRAINT two FOREIGN KEY (q, n) REFERENCES pairs
                DEFERRABLE INITIALLY DEFERRED)",
        bad: "777,1,77",
        sqlstate: "23503",
        column: None,
        has_a_like: false,
        is_a_trigger: false,
    },
    Kind {
        name: "foreign key to the table itself",
        table: "CREATE TABLE t (id int PRIMARY KEY, q int, n int REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
        bad: "777,1,99999",
        sqlstate: "23503",
        column: Some("n"),
        has_a_like: false,
        is_a_trigger: false,
    },
    Kind {
        name: "deferred key",
        table: "CREATE TABLE t (id int CONSTRAINT one PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, q int, n int)",
        bad: "70,1,1",
        sqlstate: "23505",
        column: Some("id"),
        has_a_like: true,
        is_a_trigger: false,
    },
    Kind {
        name: "deferred exclusion",
        table: "CREATE TABLE t (id int, q int, n int,
                CONSTRAINT apart EXCLUDE USING btree (id WITH =, q WITH =) DEFERRABLE INITIALLY DEFERRED)",
        bad: "70,1,5",
        sqlstate: "23P01",
        column: None,
        has_a_like: true,
        is_a_trigger: false,
    },
    Kind {
        name: "constraint trigger",
        table: "CREATE TABLE t (id int, q int, n int);
                CREATE CONSTRAINT TRIGGER judge AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION judge()",
        bad: "777,1,-1",
        sqlstate: "P0001",
        column: None,
        has_a_like: false,
        is_a_trigger: true,
    },
    Kind {
        name: "trigger after rows",
        table: "CREATE TABLE t (id int, q int, n int);
                CREATE TRIGGER judge AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION judge()",
        bad: "777,1,-1",
        sqlstate: "P0001",
        column: None,
        has_a_like: false,
        is_a_trigger: true,
    },
];

/// Twenty thousand rows from line 2 on; `bad` is in line 778.
fn rows(bad: &str) -> String {
    let mut csv = String::from("id,q,n\n");
    for id in 1..20_000 {
        let good = format!("{id},1,1");
        writeln!(csv, "{}", if id == 777 { bad } else { &good }).unwrap();
    }
    csv
}

fn parents(database: &Database) {
    database.sql(
        "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
         CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b)); INSERT INTO pairs VALUES (1, 1);
         CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN IF NEW.n < 0 THEN RAISE 'row % is negative', NEW.id; END IF; RETURN NULL; END $$",
    );
}

fn refused(database: &Database, options: &LoadOptions, what: &str) -> Error {
    let error = try_load(database, options).map(|_| ()).unwrap_err();
    assert!(error.visible().unwrap().starts_with("nothing was changed"), "{what}: {error:?}");
    let mut shown = error.clone();
    shown.respell(&Library);
    let said = format!("{shown:?} {:?}", error.constraint());
    assert!(!said.contains("howdah_"), "{what}: {said}");
    error
}

#[test]
fn a_row_that_is_refused_at_the_end_is_named_in_every_mode() {
    let database = Database::new();
    parents(&database);
    for kind in KINDS {
        let file = database.file("data.csv", rows(kind.bad));
        for mode in [Mode::Append, Mode::Truncate, Mode::Replace] {
            if kind.is_a_trigger && mode == Mode::Replace {
                continue;
            }
            for jobs in if mode == Mode::Truncate { vec![1] } else { vec![1, 2] } {
                let what = format!("{} {mode} {jobs}", kind.name);
                database.sql(&format!("DROP TABLE IF EXISTS t; {}", kind.table));
                let before = database.sql("TABLE t");
                let error = refused(&database, &options(&file, "t").mode(mode).jobs(jobs), &what);
                let at = error.location().unwrap_or_else(|| panic!("{what}: {error:?}"));
                assert_eq!((&*at.source, at.line), (file.as_str(), Some(778)), "{what}: {error:?}");
                assert_eq!(error.sqlstate(), Some(kind.sqlstate), "{what}: {error:?}");
                assert_eq!(error.column(), kind.column, "{what}: {error:?}");
                let like = format!("{file}, line 71 ");
                let has_a_like = error.detail().is_some_and(|detail| detail.contains(&like));
                assert_eq!(has_a_like, kind.has_a_like, "{what}: {error:?}");
                assert_eq!(database.sql("TABLE t"), before, "{what}");
            }
        }
    }
}

#[test]
fn a_duplicate_that_a_unique_index_finds_in_the_end_is_named_with_its_like() {
    let database = Database::new();
    let file = database.file("data.csv", rows("70,1,1"));
    let tables = [
        ("CREATE TABLE t (id int CONSTRAINT one PRIMARY KEY, q int, n int)", "one"),
        ("CREATE TABLE t (id int, q int, n int); CREATE UNIQUE INDEX two ON t (id)", "two"),
        ("CREATE TABLE t (id int, q int, n int); CREATE UNIQUE INDEX two ON t ((id + 0))", "two"),
        ("SELECT", "t_pkey"),
    ];
    for (table, constraint) in tables {
        let mode = if table == "SELECT" { Mode::Create } else { Mode::Replace };
        for jobs in [1, 2] {
            let what = format!("{table} {jobs}");
            database.sql(&format!("DROP TABLE IF EXISTS t; {table}"));
            let mut wanted = options(&file, "t").mode(mode).jobs(jobs);
            if mode == Mode::Create {
                wanted = wanted.key(["id"]);
            }
            let error = refused(&database, &wanted, &what);
            let line = error.location().and_then(|at| at.line);
            assert_eq!((line, error.constraint()), (Some(778), Some(constraint)), "{what}: {error:?}");
            let like = format!("{file}, line 71 ");
            assert!(error.detail().is_some_and(|detail| detail.contains(&like)), "{what}: {error:?}");
        }
    }
}

#[test]
fn a_parent_that_comes_later_in_the_input_is_not_called_missing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, b int REFERENCES t)");
    // More than are tried at once.
    let rows: String = (0..60_000).map(|id| format!("{id},{}\n", 59_999 - id)).collect();
    let good = database.file("good.csv", format!("id,b\n{rows}"));
    assert_eq!(try_load(&database, &options(&good, "t")).unwrap().0.rows, 60_000);
    database.sql("TRUNCATE t");
    let file = database.file("data.csv", format!("id,b\n{rows}999999,888888\n"));
    let error = refused(&database, &options(&file, "t"), "a parent that is nowhere");
    assert_eq!(error.sqlstate(), Some("23503"), "{error:?}");
    assert!(error.detail().unwrap().contains("(b)=(888888)"), "{error:?}");
    assert_eq!(error.location().and_then(|at| at.line), Some(60_002), "{error:?}");
}

#[test]
fn records_whose_parents_come_later_hide_no_wrong_one() {
    // Each of 1,000 records refers to one from the other end of the file.
    let with = |changes: &[(usize, &str)]| {
        let mut rows: Vec<String> = (0..1000).map(|id| format!("{id},{},{id}", 999 - id)).collect();
        for (at, row) in changes {
            rows[*at] = (*row).to_owned();
        }
        format!("id,b,u\n{}\n", rows.join("\n"))
    };
    let missing = "Key (b)=(8888) is not present in table";
    let database = Database::new();
    for (bad, line, copied, said) in [
        // The like is of a record whose parent comes later.
        (with(&[(700, "700,299,5")]), 702, 702, "line 7"),
        (with(&[(2, "2,8888,2"), (700, "700,299,5")]), 4, 702, missing),
        (with(&[(800, "800,8888,800"), (700, "700,299,5")]), 702, 702, "line 7"),
        (with(&[(300, "300,8888,300"), (600, "600,7777,600")]), 302, 302, missing),
        // Whoever has its parent in a wrong record is not wrong itself.
        (with(&[(600, "1600,399,7"), (3, "3,1600,3"), (399, "399,1,399")]), 602, 602, "line 9"),
    ] {
        let file = database.file("data.csv", &bad);
        for table in [
            "CREATE TABLE t (id int PRIMARY KEY, b int REFERENCES t, u int CONSTRAINT one UNIQUE)",
            "CREATE TABLE t (id bigint PRIMARY KEY, b int, u int CONSTRAINT one UNIQUE,
             CONSTRAINT \"up\"\"wards\" FOREIGN KEY (b) REFERENCES t)",
        ] {
            database.sql(&format!("DROP TABLE IF EXISTS t; {table}"));
            let wanted = options(&file, "t").mode(Mode::Append);
            let error = refused(&database, &wanted.clone().indexes(Indexes::Rebuild), "rebuilt");
            assert_eq!(error.location().and_then(|at| at.line), Some(line), "{error:?}");
            assert!(error.detail().unwrap().contains(said), "{error:?}");
            // COPY names what it meets first; a parent is missing only at its end.
            let error = refused(&database, &wanted, "kept");
            assert_eq!(error.location().and_then(|at| at.line), Some(copied), "{error:?}");
        }
    }
    // A table in parts, and a parent that is in the table already.
    database.sql(
        "CREATE TABLE p (id int PRIMARY KEY, b int REFERENCES p, u int) PARTITION BY RANGE (id);
         CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (500); CREATE TABLE p2 PARTITION OF p DEFAULT;
         INSERT INTO p VALUES (4000, 4000, 1)",
    );
    let file =
        database.file("parts.csv", with(&[(1, "1,4000,1"), (400, "400,8888,400"), (900, "900,7777,1")]));
    let error = refused(&database, &options(&file, "p").mode(Mode::Append), "partitioned");
    assert_eq!(error.location().and_then(|at| at.line), Some(402), "{error:?}");
    // Keys that the table makes are others the second time.
    database.sql(
        "CREATE TABLE made (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b int REFERENCES made, u int)",
    );
    let file = database.file("made.csv", with(&[(300, "300,8888,300"), (999, "999,1,999")]));
    let wanted = options(&file, "made").mode(Mode::Append).skip_columns(["id"]);
    let error = refused(&database, &wanted.indexes(Indexes::Rebuild), "keys that are made");
    assert!(error.detail().unwrap().contains("Key (b)=("), "{error:?}");
    assert!(error.location().is_none_or(|at| at.line == Some(302)), "{error:?}");
    // Without the right to alter the table.
    let role = format!("child_{}", database.name());
    database.sql(&format!(
        "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, b int REFERENCES t, u int);
         CREATE ROLE {role} LOGIN PASSWORD 'w'; GRANT ALL ON t TO {role}"
    ));
    let file = database.file("data.csv", with(&[(300, "300,8888,300")]));
    let own = Target::new(format!("{} user={role} password=w", database.conninfo())).unwrap();
    let error = howdah::load(&options(&file, "t").mode(Mode::Append), &own, &Control::new()).unwrap_err();
    assert!(error.detail().unwrap().contains(missing), "{error:?}");
    assert_eq!(error.location().and_then(|at| at.line), Some(302), "{error:?}");
}

#[test]
fn what_cannot_be_looked_for_says_why() {
    let database = Database::new();
    parents(&database);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, q int REFERENCES parent, n int)");
    let csv = rows("777,77,1");
    let file = database.file("data.csv", &csv);
    for mode in [Mode::Append, Mode::Truncate, Mode::Replace, Mode::Upsert] {
        let stream = Input::reader("made", Box::new(std::io::Cursor::new(csv.clone().into_bytes())));
        let wanted = options(&file, "t").mode(mode);
        let error = load_inputs(vec![stream], &wanted, &target(&database), &Control::new()).unwrap_err();
        let hint = error.hint().unwrap_or_default();
        assert!(hint.contains("a stream cannot be read again to find the record"), "{mode}: {error:?}");
        assert_eq!(hint.contains("on_error=ignore"), mode != Mode::Upsert, "{mode}: {error:?}");
        assert!(!format!("{error:?}").contains("howdah_"), "{mode}: {error:?}");
    }
    // SQL of the user's is not run twice, and the record at which it fails is none of the input.
    let before = options(&file, "t").mode(Mode::Append).before(["SELECT 1"]);
    let error = refused(&database, &before, "before");
    assert!(error.hint().unwrap().contains("would run twice"), "{error:?}");
    let good = database.file("good.csv", "id,q,n\n1,1,1\n");
    let after = options(&good, "t").mode(Mode::Append).after(["INSERT INTO t VALUES (2, 77, 1)"]);
    let error = refused(&database, &after, "after");
    assert!(error.location().is_none() && error.message().contains("after"), "{error:?}");
}

#[test]
fn rejects_of_a_replaced_table_name_its_constraints() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int CONSTRAINT one PRIMARY KEY, q int, n int)");
    let file = database.file("data.csv", rows("70,1,1"));
    let rejects = database.path("r.jsonl");
    let wanted = options(&file, "t").mode(Mode::Replace).on_error(OnError::Ignore).rejects(rejects.clone());
    assert_eq!(try_load(&database, &wanted).unwrap().0.rows_rejected, 1);
    let kept = std::fs::read_to_string(&rejects).unwrap();
    assert!(kept.contains("\"constraint\":\"one\"") && !kept.contains("howdah_"), "{kept}");
}
