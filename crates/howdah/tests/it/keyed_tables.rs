//! Tables with keys are filled by several connections: the table is that of one connection, and a row that cannot be there
//! beside another is named by its place in the input, wherever the two were sent.

use std::fmt::Write;

use howdah::options::Mode;
use howdah::source::Input;
use howdah::{Control, ErrorKind, load_inputs};
use howdah_testkit::Database;

use crate::common::{load, options, target, try_load};

/// More than a piece (512 KiB), so that each half is sent by itself.
const HALF: usize = 30_000;

/// `record` of each number, in an order that has no runs.
fn scattered(rows: usize, record: impl Fn(usize) -> String) -> String {
    let mut csv = String::new();
    for n in 0..rows {
        writeln!(csv, "{}", record(n * 7919 % rows)).unwrap();
    }
    csv
}

#[test]
fn several_connections_fill_keyed_tables_as_psql_does() {
    let database = Database::new();
    database
        .sql("CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 99)");
    let csv = scattered(2 * HALF, |n| format!("{n},{},name {}", n % 100, n * 31 % 1000));
    let file = database.file("data.csv", format!("id,parent,name\n{csv}"));
    for (what, columns) in [
        ("keys", "id int PRIMARY KEY, parent int, name text, UNIQUE (name, id)"),
        ("deferred", "id int UNIQUE DEFERRABLE INITIALLY DEFERRED, parent int REFERENCES parent, name text"),
        ("exclusion", "id int, parent int, name text, EXCLUDE USING btree (id WITH =)"),
        (
            "generated",
            "id int PRIMARY KEY, parent int, name text, twice int UNIQUE GENERATED ALWAYS AS (id * 2) STORED",
        ),
    ] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS by_psql, by_us; CREATE TABLE by_psql ({columns}); CREATE TABLE by_us ({columns})"
        ));
        database.sql(&format!(r"\copy by_psql (id, parent, name) FROM '{file}' (FORMAT csv, HEADER match)"));
        for jobs in [1, 2, 4, 8] {
            database.sql("TRUNCATE by_us");
            load(&database, &options(&file, "by_us").jobs(jobs));
            assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"), "{what} {jobs}");
        }
    }
    database.sql(
        "CREATE TABLE p (id int, parent int, name text, PRIMARY KEY (id, parent)) PARTITION BY LIST (parent);
         CREATE TABLE low PARTITION OF p FOR VALUES IN (0, 1, 2); CREATE TABLE high PARTITION OF p DEFAULT",
    );
    load(&database, &options(&file, "p").jobs(4));
    database.sql("ALTER TABLE by_psql DROP twice");
    assert_eq!(database.binary_rows("p"), database.binary_rows("by_psql"));
}

#[test]
fn a_key_alone_does_not_leave_one_connection() {
    let database = Database::new();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let csv = scattered(400_000, |n| format!("{n},0,a name that takes some room {n}"));
    let file = database.file("data.csv", format!("id,parent,name\n{csv}"));
    let columns = "(id int PRIMARY KEY, parent int, name text)";
    database.sql(&format!("CREATE TABLE keyed {columns}"));
    assert_eq!(load(&database, &options(&file, "keyed")).jobs, cores.min(4));

    // What good rows may meet in does.
    database.sql(&format!(
        "CREATE TABLE counted {columns}; CREATE TABLE counts (n bigint); INSERT INTO counts VALUES (0);
         CREATE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN UPDATE counts SET n = n + (SELECT count(*) FROM new_rows); RETURN NULL; END $$;
         CREATE TRIGGER counting AFTER INSERT ON counted REFERENCING NEW TABLE AS new_rows
             FOR EACH STATEMENT EXECUTE FUNCTION tally();
         CREATE TABLE tree (id int, parent int, name text, PRIMARY KEY (id, parent)) PARTITION BY LIST (parent);
         CREATE TABLE leaf PARTITION OF tree FOR VALUES IN (0);
         ALTER TABLE tree ADD FOREIGN KEY (id, parent) REFERENCES tree;
         CREATE TABLE siblings (id int PRIMARY KEY, parent int, name text) PARTITION BY RANGE (id);
         CREATE TABLE low PARTITION OF siblings FOR VALUES FROM (0) TO (200000);
         CREATE TABLE high PARTITION OF siblings DEFAULT;
         CREATE FUNCTION next() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
         CREATE TABLE numbered (id int PRIMARY KEY, parent int, name text, n bigint DEFAULT next());
         ALTER TABLE high ADD FOREIGN KEY (parent) REFERENCES low (id)"
    ));
    for (table, reason) in [
        ("counted", "a statement trigger"),
        ("tree", "a foreign key to itself"),
        ("leaf", "a foreign key to itself"),
        ("siblings", "a foreign key to itself"),
        ("numbered", "a default that runs a function"),
    ] {
        let report = load(&database, &options(&file, table));
        assert_eq!(report.jobs, 1, "{table}");
        assert!(report.jobs_reason.unwrap().to_string().contains(reason), "{table}");
        database.sql("TRUNCATE tree");
    }
    assert_eq!(database.sql("TABLE counts"), "400000");
}

#[test]
fn rows_that_meet_on_two_connections_are_named_by_their_place_in_the_input() {
    let database = Database::new();
    // Each key stands in both halves; the second names the pairs the other way round.
    let half = |turn: usize| -> String {
        (0..HALF).map(|n| format!("{},{},of some length\n", n + turn, HALF + turn - n)).collect()
    };
    let csv = format!("a,b,c\n{}{}", half(0), half(1));
    let file = database.file("data.csv", &csv);
    for (what, columns, sqlstate) in [
        ("key", "a int PRIMARY KEY, b int, c text", "23505"),
        ("deferred", "a int UNIQUE DEFERRABLE INITIALLY DEFERRED, b int, c text", "23505"),
        ("two keys", "a int UNIQUE, b int UNIQUE, c text", "23505"),
        ("exclusion", "a int, b int, c text, EXCLUDE USING btree (a WITH =)", "23P01"),
    ] {
        for jobs in [1, 2, 4] {
            let what = format!("{what} {jobs}");
            database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t ({columns})"));
            let error = try_load(&database, &options(&file, "t").mode(Mode::Append).jobs(jobs)).unwrap_err();
            assert_eq!(
                (error.kind(), error.sqlstate()),
                (ErrorKind::Data, Some(sqlstate)),
                "{what}: {error:?}"
            );
            assert!(error.visible().unwrap().starts_with("nothing was changed"), "{what}: {error:?}");
            let line = error.location().and_then(|at| at.line).unwrap();
            // The first such record, where nothing was sent beside it; never one of the first half.
            assert!(line == HALF as u64 + 2 || jobs > 1 && line > HALF as u64, "{what}: {error:?}");
            assert_eq!(database.sql("SELECT count(*) FROM t"), "0", "{what}");
        }
    }

    // Of two such records, the later.
    let rare = format!("{}{}1,1,again\n", half(0), half(HALF));
    let file = database.file("rare.csv", format!("a,b,c\n{rare}"));
    for jobs in [1, 2, 4] {
        database.sql("DROP TABLE t; CREATE TABLE t (a int PRIMARY KEY, b int, c text)");
        let error = try_load(&database, &options(&file, "t").mode(Mode::Append).jobs(jobs)).unwrap_err();
        let line = error.location().and_then(|at| at.line);
        assert_eq!(
            (line, error.constraint()),
            (Some(2 * HALF as u64 + 2), Some("t_pkey")),
            "{jobs}: {error:?}"
        );
    }

    // A stream cannot be looked at again: the row that waited is named.
    database.sql("DROP TABLE t; CREATE TABLE t (a int PRIMARY KEY, b int, c text)");
    let stream = Input::reader("made", Box::new(std::io::Cursor::new(csv.into_bytes())));
    let wanted = options(&file, "t").mode(Mode::Append).jobs(2);
    let error = load_inputs(vec![stream], &wanted, &target(&database), &Control::new()).unwrap_err();
    assert_eq!((error.sqlstate(), error.constraint()), (Some("23505"), Some("t_pkey")), "{error:?}");
    assert!(error.location().is_some(), "{error:?}");
}
