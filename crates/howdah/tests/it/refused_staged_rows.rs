//! What only the table can refuse, in the modes that match rows, costs the record alone: rows and rejects are those of a loop in SQL.

use std::fmt::Write;

use howdah::options::{Mode, OnError};
use howdah_testkit::Database;

use crate::common::staged::{counts, hidden_tables, matching};
use crate::common::{load, try_load};

/// `(line, SQLSTATE, constraint, raw)` of each record in a reject file, in the order of the input.
fn rejected(path: &str) -> Vec<(u64, String, String, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let field = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut rejects: Vec<_> = text
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let line = value["line"].as_u64().unwrap();
            (line, field(&value["sqlstate"]), field(&value["constraint"]), field(&value["raw"]))
        })
        .collect();
    rejects.sort();
    rejects
}

/// What only the table can refuse: a foreign key, a CHECK, another unique index; and there is a trigger.
const STRICT: &str =
    "(id int PRIMARY KEY, q int CONSTRAINT parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED,
     n int CONSTRAINT small CHECK (n < 1000), code text UNIQUE, note text)";

/// Loads `csv` with bad records kept apart, and compares rows and rejects with a loop in SQL that takes the rows one by one, the
/// last first, and leaves out those whose key was settled.
fn tolerated(database: &Database, mode: Mode, csv: &str, jobs: usize) -> usize {
    let statement = match mode {
        Mode::Upsert => {
            "INSERT INTO expected VALUES (r.id, r.q, r.n, r.code, r.note) ON CONFLICT (id)
             DO UPDATE SET q = excluded.q, n = excluded.n, code = excluded.code, note = excluded.note"
        }
        Mode::Ignore => {
            "INSERT INTO expected VALUES (r.id, r.q, r.n, r.code, r.note) ON CONFLICT (id) DO NOTHING"
        }
        Mode::Update => "UPDATE expected SET q = r.q, n = r.n, code = r.code, note = r.note WHERE id = r.id",
        _ => "DELETE FROM expected WHERE id = r.id",
    };
    let file = database.file("data.csv", csv);
    let seed = "INSERT INTO {} SELECT i, 1, 0, 'old ' || i, 'old' FROM generate_series(0, 5000, 3) AS i";
    let trigger =
        "CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON {} FOR EACH ROW EXECUTE FUNCTION guard()";
    database.sql(
        "DROP TABLE IF EXISTS t, expected, input, parent, verdicts CASCADE;
         CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 9);
         CREATE OR REPLACE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'DELETE' THEN
                IF OLD.id % 500 = 0 THEN RAISE EXCEPTION 'keep %', OLD.id; END IF;
                RETURN OLD;
            END IF;
            IF NEW.note = 'never' THEN RAISE EXCEPTION 'never'; END IF;
            RETURN NEW; END $$",
    );
    for table in ["t", "expected"] {
        let of = |sql: &str| sql.replace("{}", table);
        database.sql(&format!("CREATE TABLE {table} {STRICT}; {}; {}", of(seed), of(trigger)));
    }
    database.sql(&format!(
        "CREATE TABLE input (line bigint GENERATED ALWAYS AS IDENTITY (START 2), id int, q int, n int, code text, note text);
         \\copy input (id, q, n, code, note) FROM '{file}' (FORMAT csv, HEADER)
         CREATE TABLE verdicts (line bigint, id int, refused text); CREATE INDEX ON verdicts (id);
         DO $$ DECLARE r record; BEGIN
            SET CONSTRAINTS ALL IMMEDIATE;
            FOR r IN SELECT * FROM input ORDER BY line DESC LOOP
                CONTINUE WHEN EXISTS (SELECT FROM verdicts AS v WHERE v.id = r.id AND v.refused IS NULL);
                BEGIN
                    {statement};
                    INSERT INTO verdicts VALUES (r.line, r.id);
                EXCEPTION WHEN OTHERS THEN
                    INSERT INTO verdicts VALUES (r.line, r.id, SQLSTATE);
                END;
            END LOOP; END $$"
    ));
    let rejects = database.path("r.jsonl");
    let wanted = matching(mode, &file, "t", jobs).on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(database, &wanted);
    let difference = "WITH a AS (TABLE t), b AS (TABLE expected)
         SELECT count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) AS x";
    assert_eq!(database.sql(difference), "0", "{mode} on {jobs} connections");
    let rejects = rejected(&rejects);
    let lines: Vec<_> = csv.lines().collect();
    for (line, _, _, raw) in &rejects {
        assert_eq!(lines[usize::try_from(*line).unwrap() - 1], raw, "{mode}");
    }
    let told: Vec<_> = rejects.iter().map(|(line, sqlstate, ..)| format!("{line}|{sqlstate}")).collect();
    let expected = database.sql("SELECT line, refused FROM verdicts WHERE refused IS NOT NULL ORDER BY line");
    assert_eq!(told.join("\n"), expected, "{mode} on {jobs} connections");
    assert_eq!(report.rows_rejected, rejects.len() as u64);
    let counted: u64 = counts(&report).iter().sum();
    assert_eq!(counted, report.rows, "{mode} on {jobs} connections");
    assert_eq!(hidden_tables(database), "0");
    rejects.len()
}

/// `rows` records of which those in `bad` break a rule of the table, each another one.
fn strict_rows(rows: usize, bad: impl Fn(usize) -> bool) -> String {
    let mut csv = "id,q,n,code,note\n".to_owned();
    for row in 0..rows {
        let id = row * 7919 % rows;
        let good = format!("{id},{},{},c{id},fine", row % 10, row % 1000);
        let line = match (bad(row), row % 4) {
            (false, _) => good,
            (true, 0) => format!("{id},77,1,c{id},orphan"),
            (true, 1) => format!("{id},1,1000,c{id},large"),
            (true, 2) => format!("{id},1,1,old 4998,taken"),
            (true, _) => format!("{id},1,1,c{id},never"),
        };
        writeln!(csv, "{line}").unwrap();
    }
    csv
}

#[test]
fn what_only_the_table_refuses_is_kept_apart_and_nothing_else() {
    let database = Database::new();
    let rows = 4000;
    let places: [(&str, &dyn Fn(usize) -> bool); 5] = [
        ("none", &|_| false),
        ("first", &|row| row == 0),
        ("middle", &|row| row == 2001),
        ("last", &|row| row == 3999),
        ("one in a hundred", &|row| row % 101 == 7),
    ];
    for (name, bad) in places {
        let csv = strict_rows(rows, bad);
        let expected = (0..rows).filter(|row| bad(*row)).count();
        for jobs in [1, 2] {
            assert_eq!(tolerated(&database, Mode::Upsert, &csv, jobs), expected, "{name}");
        }
    }
    let csv = strict_rows(rows, |row| row % 101 == 7);
    for mode in [Mode::Ignore, Mode::Update, Mode::Delete] {
        assert!(tolerated(&database, mode, &csv, 1) > 2, "{mode}");
    }
    // All of them, and one alone.
    assert_eq!(tolerated(&database, Mode::Upsert, &strict_rows(8, |_| true), 1), 8);
    assert_eq!(tolerated(&database, Mode::Upsert, &strict_rows(1, |_| true), 2), 1);
}

#[test]
fn a_row_that_gave_way_to_a_refused_one_takes_its_place() {
    let database = Database::new();
    let csv = "id,q,n,code,note\n1,1,1,a,first\n1,2,2,b,second\n1,99,3,c,orphan\n2,99,1,d,orphan\n2,98,1,e,orphan\n\
               3,1,5000,f,large\n3,1,1,g,fine\n";
    for (mode, refused) in [(Mode::Upsert, 3), (Mode::Ignore, 3), (Mode::Update, 0)] {
        assert_eq!(tolerated(&database, mode, csv, 1), refused, "{mode}");
    }
    tolerated(&database, Mode::Upsert, csv, 2);
    assert_eq!(database.sql("SELECT note FROM t WHERE id IN (1, 3) ORDER BY id"), "second\nfine");
    let rejects = rejected(&database.path("r.jsonl"));
    let constraints: Vec<_> =
        rejects.iter().map(|(line, _, constraint, _)| (*line, constraint.as_str())).collect();
    assert_eq!(constraints, [(4, "parent"), (5, "parent"), (6, "parent")]);
}

#[test]
fn a_row_whose_parent_comes_later_in_the_input_is_no_orphan() {
    let database = Database::new();
    // Each refers to a row with a larger key, and every fifth of those to one that is nowhere.
    let csv: String =
        (1..=60).map(|id| format!("{id},{}\n", if id % 5 == 0 { 1000 } else { id / 5 * 5 + 61 })).collect();
    let roots: String = (1..=61).map(|id| format!("{},\n", id + 60)).collect();
    let file = database.file("data.csv", format!("id,parent\n{csv}{roots}"));
    for jobs in [1, 2] {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES t)");
        let wanted = matching(Mode::Upsert, &file, "t", jobs)
            .on_error(OnError::Ignore)
            .rejects(database.path("r.jsonl"));
        let report = load(&database, &wanted);
        assert_eq!((counts(&report), report.rows_rejected), ([109, 0, 0, 0, 0], 12));
        assert_eq!(database.sql("SELECT count(*) FROM t WHERE parent IS NOT NULL"), "48");
    }
}

#[test]
fn refused_rows_of_several_files_stand_where_they_say_and_the_limit_holds() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 10), note text)");
    // Records of two lines; a bad one in a piece that is not the first, and one that howdah itself refuses before it.
    let rows =
        |from: usize| (from..from + 30_000).map(|id| format!("{id},1,\"some note\nof two lines\"\r\n"));
    let text = |from: usize| format!("id,n,note\r\n{}", rows(from).collect::<String>());
    database.file("x1.csv", text(0).replace("\n777,1,", "\nx777,1,").replace("\n29000,1,", "\n29000,10,"));
    database.file("x2.csv", text(30_000).replace("\n59999,1,", "\n59999,11,"));
    let rejects = database.path("r.jsonl");
    let wanted = matching(Mode::Upsert, &database.path("x*.csv"), "t", 2)
        .on_error(OnError::Ignore)
        .rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((counts(&report), report.rows_rejected), ([59_997, 0, 0, 0, 0], 3));
    let found: Vec<_> =
        rejected(&rejects).into_iter().map(|(line, sqlstate, _, raw)| (line, sqlstate, raw)).collect();
    let raw = |id: &str, n: u32| format!("{id},{n},\"some note\nof two lines\"");
    assert_eq!(
        found,
        [
            (2 + 2 * 777, "22P02".to_owned(), raw("x777", 1)),
            (2 + 2 * 29_000, "23514".to_owned(), raw("29000", 10)),
            (2 + 2 * 29_999, "23514".to_owned(), raw("59999", 11)),
        ]
    );
    database.sql("TRUNCATE t");
    let limited = wanted.reject_limit(howdah::options::RejectLimit::Rows(2));
    let error = try_load(&database, &limited).unwrap_err();
    assert_eq!(error.kind(), howdah::ErrorKind::TooManyRejects);
    assert!(error.visible().unwrap().starts_with("nothing was changed"), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t") + &hidden_tables(&database), "00");
}

#[test]
fn where_the_load_stops_the_refused_row_is_named_with_its_line() {
    let database = Database::new();
    let mut csv = String::from("id,q,n\n");
    for id in 0..20_000 {
        let (q, n) = match id {
            12_345 => (77, 1),
            _ => (1, 1),
        };
        writeln!(csv, "{id},{q},{n}").unwrap();
    }
    let orphan = database.file("orphan.csv", &csv);
    let large = database.file("large.csv", csv.replace("\n777,1,1\n", "\n777,1,5000\n"));
    let deferred = "REFERENCES parent DEFERRABLE INITIALLY DEFERRED";
    for reference in ["REFERENCES parent", deferred] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS t, parent; CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
             CREATE TABLE t (id int PRIMARY KEY, q int {reference}, n int CHECK (n < 1000)); INSERT INTO t VALUES (5, 1, 0)"
        ));
        for mode in [Mode::Upsert, Mode::Ignore] {
            for (file, line, sqlstate) in [(&orphan, 12_347, "23503"), (&large, 779, "23514")] {
                for jobs in [1, 2] {
                    let error = try_load(&database, &matching(mode, file, "t", jobs)).unwrap_err();
                    let at = error.location().unwrap_or_else(|| panic!("{mode} {jobs}: {error:?}"));
                    assert_eq!((at.line, error.sqlstate()), (Some(line), Some(sqlstate)), "{mode} {jobs}");
                    assert!(error.visible().unwrap().starts_with("nothing was changed"), "{error:?}");
                    assert_eq!(database.sql("TABLE t") + &hidden_tables(&database), "5|1|00");
                }
            }
        }
    }
    // Children may stand before their parents.
    database.sql("DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, q int REFERENCES t, n int)");
    let file = database.file("tree.csv", "id,q,n\n1,2,0\n2,3,0\n3,,0\n4,99,0\n");
    let error = try_load(&database, &matching(Mode::Upsert, &file, "t", 1)).unwrap_err();
    assert_eq!(error.location().and_then(|at| at.line), Some(5), "{error:?}");
}
