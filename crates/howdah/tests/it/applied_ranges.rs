//! Staged rows that several connections apply, each a range of the key: the table and the counts are those of one connection and
//! of a loop in SQL, whatever the key is; where rows of two ranges could meet, one statement applies them.

use std::fmt::Write;
use std::io::Cursor;

use howdah::options::{Mode, OnError};
use howdah::source::Input;
use howdah::{Control, Report, load_inputs};
use howdah_testkit::waiting::until;
use howdah_testkit::{Database, Rng};

use crate::common::staged::{MODES, counts, hidden_tables, matching};
use crate::common::{Holder, load, target, try_load};

/// What applies the rows, by the plan and as it was.
fn applied(report: &Report) -> (String, Option<usize>) {
    let staging = report.plan.as_ref().and_then(|plan| plan.staging.as_ref());
    (staging.map(ToString::to_string).unwrap_or_default(), report.apply_jobs)
}

/// The type of a key, and what makes one of its values of a number.
type KeyType = (&'static str, fn(usize) -> String);

fn keys() -> Vec<KeyType> {
    vec![
        ("int", |n| n.to_string()),
        ("text COLLATE \"C\"", |n| format!("{}{n}", ["a", "B", "é", "x'", "y\\"][n % 5])),
        ("text", |n| format!("{}{n}", ["Ä", "a", "B", "z"][n % 4])),
        ("citext", |n| format!("{}{}", ["k", "K"][n % 2], n / 2)),
        ("varchar(9)", |n| format!("v {n}")),
        ("char(9)", |n| format!("c{n}")),
        ("numeric", |n| format!("{}{}", n / 2, ["", ".00"][n % 2])),
        ("float8", |n| match n {
            0 => "NaN".to_owned(),
            1 => "-0".to_owned(),
            2 => "0".to_owned(),
            3 => "-Infinity".to_owned(),
            n => format!("{}", (n as f64).sqrt() - 20.0),
        }),
        ("timestamptz", |n| format!("2026-10-25 00:{:02}:00+{:02}", n % 60, n / 60 % 12)),
        ("interval", |n| if n % 2 == 0 { format!("{n} months") } else { format!("{} days", (n - 1) * 30) }),
        ("uuid", |n| format!("{:08x}-0000-4000-8000-000000000000", n * 2_654_435_761 % (1 << 32))),
        ("bytea", |n| format!("\\x{n:06x}")),
        ("shade", |n| ["red", "green", "blue", "black", "grey"][n % 5].to_owned()),
        ("positive", |n| format!("{}", n + 1)),
    ]
}

/// How the rows of `input` are applied by one statement a row.
fn one_by_one(mode: Mode) -> &'static str {
    match mode {
        Mode::Upsert => {
            "INSERT INTO expected VALUES (r.k, r.note) ON CONFLICT (k) DO UPDATE SET note = excluded.note"
        }
        Mode::Ignore => "INSERT INTO expected VALUES (r.k, r.note) ON CONFLICT (k) DO NOTHING",
        Mode::Update => "UPDATE expected SET note = r.note WHERE k = r.k",
        _ => "DELETE FROM expected WHERE k = r.k",
    }
}

const DIFFERENCE: &str = "WITH a AS (TABLE t), b AS (TABLE expected)
    SELECT count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) AS x";

#[test]
fn whatever_the_key_is_the_table_is_that_of_one_statement_a_row() {
    let database = Database::new();
    database.sql(
        "CREATE EXTENSION citext;
         CREATE TYPE shade AS ENUM ('red', 'green', 'blue', 'black', 'grey');
         CREATE DOMAIN positive AS int CHECK (value > 0)",
    );
    let mut rng = Rng::new(7);
    let mut below = |most: u64| usize::try_from(rng.within(0..most)).unwrap();
    for (at, (name, value)) in keys().into_iter().enumerate() {
        let unique = ["UNIQUE", "UNIQUE NULLS NOT DISTINCT"][at % 2];
        // Keys stand in the file once, twice and often; some are in the table, and some are NULL.
        let mut csv = String::from("note,k\n");
        for n in 0..1500 {
            let key = match below(20) {
                0 => String::new(),
                1..4 => value(below(5)),
                _ => value(below(900)),
            };
            writeln!(csv, "note {n},{key}").unwrap();
        }
        let there: String = (0..900).step_by(3).map(|n| format!("{}\n", value(n))).collect();
        let (file, there) = (database.file("data.csv", csv), database.file("there.csv", there));
        database.sql(&format!(
            "DROP TABLE IF EXISTS input, seed, t, expected;
             CREATE TABLE input (at bigint GENERATED ALWAYS AS IDENTITY, note text, k {name});
             \\copy input (note, k) FROM '{file}' (FORMAT csv, HEADER)
             CREATE TABLE seed (k {name}, note text, {unique} (k));
             CREATE TEMP TABLE there (k {name});
             \\copy there FROM '{there}' (FORMAT csv)
             INSERT INTO seed SELECT k, 'old' FROM there ON CONFLICT DO NOTHING;
             INSERT INTO seed VALUES (NULL, 'old');
             CREATE TABLE t (LIKE seed INCLUDING ALL); CREATE TABLE expected (LIKE seed INCLUDING ALL)"
        ));
        for mode in MODES {
            let direction = if mode == Mode::Ignore { "DESC" } else { "ASC" };
            database.sql(&format!(
                "TRUNCATE expected; INSERT INTO expected TABLE seed;
                 DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM input ORDER BY at {direction} LOOP {}; END LOOP; END $$",
                one_by_one(mode)
            ));
            let mut one = None;
            for jobs in [1, 2, 4, 8] {
                let case = format!("{mode} by {name} {unique} on {jobs} connections");
                database.sql("TRUNCATE t; INSERT INTO t TABLE seed");
                let report = load(&database, &matching(mode, &file, "t", jobs));
                assert_eq!(database.sql(DIFFERENCE), "0", "{case}");
                assert_eq!(counts(&report), *one.get_or_insert(counts(&report)), "{case}");
                let most = if name == "shade" { jobs.min(5) } else { jobs };
                assert_eq!(report.apply_jobs, Some(most), "{case}");
                assert_eq!(hidden_tables(&database), "0", "{case}");
            }
        }
    }
}

#[test]
fn a_key_of_several_columns_is_cut_by_the_one_that_tells_most_apart() {
    let database = Database::new();
    let csv: String = (0..4000).map(|n| format!("{},{},{n}\n", n % 2, n * 7919 % 3000)).collect();
    let file = database.file("data.csv", format!("kind,id,n\n{csv}"));
    let columns = "(kind int, id int, n int, PRIMARY KEY (kind, id))";
    database.sql(&format!(
        "CREATE TABLE seed {columns}; INSERT INTO seed SELECT k, i, 0 FROM generate_series(0, 3999, 3) i, generate_series(0, 1) k;
         CREATE TABLE t {columns} PARTITION BY LIST (kind);
         CREATE TABLE even PARTITION OF t FOR VALUES IN (0); CREATE TABLE other PARTITION OF t DEFAULT;
         CREATE TABLE expected {columns}"
    ));
    for mode in MODES {
        for jobs in [1, 2, 4, 8] {
            database.sql("TRUNCATE t; INSERT INTO t TABLE seed");
            let report = load(&database, &matching(mode, &file, "t", jobs));
            assert_eq!(report.apply_jobs, Some(jobs), "{mode} {jobs}");
            if jobs == 1 {
                database.sql("TRUNCATE expected; INSERT INTO expected TABLE t");
            }
            assert_eq!(database.sql(DIFFERENCE), "0", "{mode} {jobs}");
        }
    }
    // Rows that all have one key are no ranges.
    let same = database.file("same.csv", "kind,id,n\n".to_owned() + &"1,1,5\n".repeat(100));
    let report = load(&database, &matching(Mode::Upsert, &same, "t", 4));
    assert_eq!((report.apply_jobs, counts(&report)), (Some(1), [1, 0, 0, 0, 99]));
}

/// Columns, more SQL, the mode, and what the plan says of who applies the rows.
const TOGETHER: [(&str, &str, Mode, &str); 14] = [
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE TRIGGER late AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION nothing()",
        Mode::Update,
        "a trigger fires for the rows",
    ),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE TRIGGER each AFTER INSERT ON t EXECUTE FUNCTION nothing()",
        Mode::Ignore,
        "a trigger fires for the rows",
    ),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE TRIGGER gone AFTER DELETE ON t EXECUTE FUNCTION nothing()",
        Mode::Delete,
        "a trigger fires for the rows",
    ),
    ("id int PRIMARY KEY, a int REFERENCES t, b int", "", Mode::Upsert, "a foreign key to itself"),
    ("id int PRIMARY KEY, a int UNIQUE, b int", "", Mode::Upsert, "a row can take what another gives up"),
    (
        "id int PRIMARY KEY, a int UNIQUE DEFERRABLE INITIALLY DEFERRED, b int",
        "",
        Mode::Update,
        "a row can take what another gives up",
    ),
    (
        "id int PRIMARY KEY, a int, b int, EXCLUDE USING btree (a WITH =)",
        "",
        Mode::Upsert,
        "a row can take what another gives up",
    ),
    (
        "id int PRIMARY KEY, a int, b int, c int UNIQUE GENERATED ALWAYS AS (a + 1) STORED",
        "",
        Mode::Update,
        "a row can take what another gives up",
    ),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE UNIQUE INDEX ON t (abs(a))",
        Mode::Upsert,
        "a row can take what another gives up",
    ),
    (
        "id int PRIMARY KEY, a int, b int, c int DEFAULT one()",
        "",
        Mode::Upsert,
        "a default that runs a function",
    ),
    ("id int PRIMARY KEY, a int, b int", "CREATE TABLE heir () INHERITS (t)", Mode::Update, "inherit from"),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE RULE late AS ON DELETE TO t DO ALSO SELECT 1",
        Mode::Update,
        "the table has a rule",
    ),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE)",
        Mode::Delete,
        "passes deletions on",
    ),
    ("id int, a int, b int", "CREATE INDEX ON t (a)", Mode::Update, "has id in order"),
];

/// Where rows of two ranges meet nowhere.
const APART: [(&str, &str, Mode); 9] = [
    ("id int PRIMARY KEY, a int, b int, c text UNIQUE", "", Mode::Upsert),
    ("id int PRIMARY KEY, a int UNIQUE, b int", "", Mode::Ignore),
    ("id int PRIMARY KEY, a int UNIQUE, b int", "", Mode::Delete),
    (
        "id int PRIMARY KEY, a int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, b int CHECK (b >= 0)",
        "",
        Mode::Upsert,
    ),
    ("id int PRIMARY KEY, a int, b int", "CREATE TABLE child (t int REFERENCES t)", Mode::Delete),
    (
        "id int PRIMARY KEY, a int, b int",
        "CREATE TRIGGER late AFTER DELETE ON t EXECUTE FUNCTION nothing()",
        Mode::Ignore,
    ),
    ("id int, a int, b int", "CREATE INDEX ON t (a, id)", Mode::Update),
    ("id int PRIMARY KEY, a int, b int, c uuid DEFAULT gen_random_uuid()", "", Mode::Upsert),
    ("id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b int", "", Mode::Upsert),
];

/// A table of 100 rows, and a file of 200 of which every second is there.
fn small(database: &Database, columns: &str, sql: &str) -> String {
    database.sql(&format!(
        "DROP TABLE IF EXISTS t CASCADE; DROP TABLE IF EXISTS child, parent;
         CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 999);
         CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE OR REPLACE FUNCTION one() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
         CREATE TABLE t ({columns}); {sql};
         INSERT INTO t (id, a, b) OVERRIDING SYSTEM VALUE SELECT i, i, 0 FROM generate_series(0, 198, 2) i"
    ));
    let rows: String = (0..200).rev().map(|id| format!("{id},{id},1\n")).collect();
    database.file("data.csv", format!("id,a,b\n{rows}"))
}

fn of_all(mode: Mode) -> [u64; 5] {
    match mode {
        Mode::Upsert => [100, 100, 0, 0, 0],
        Mode::Ignore => [100, 0, 0, 100, 0],
        Mode::Update => [0, 100, 0, 100, 0],
        _ => [0, 0, 100, 100, 0],
    }
}

#[test]
fn one_statement_applies_rows_that_could_meet_elsewhere_than_in_their_key() {
    let database = Database::new();
    for (columns, sql, mode, why) in TOGETHER {
        let file = small(&database, columns, sql);
        let report = load(&database, &matching(mode, &file, "t", 2).key(["id"]));
        let (said, connections) = applied(&report);
        assert!(
            said.contains("; one statement applies them: ") && said.contains(why),
            "{columns} {sql}: {said}"
        );
        assert_eq!((connections, report.jobs), (Some(1), 2), "{columns} {sql}");
        assert_eq!(counts(&report), of_all(mode), "{columns} {sql}");
        assert_eq!(hidden_tables(&database), "0", "{columns} {sql}");
    }
    for (columns, sql, mode) in APART {
        let file = small(&database, columns, sql);
        let report = load(&database, &matching(mode, &file, "t", 2).key(["id"]));
        let (said, connections) = applied(&report);
        assert!(
            said.ends_with("; 2 connections apply them, each a range of the keys"),
            "{columns} {sql}: {said}"
        );
        assert_eq!((connections, counts(&report)), (Some(2), of_all(mode)), "{columns} {sql}");
    }
}

#[test]
fn one_statement_applies_rows_where_the_load_is_one_transaction() {
    let database = Database::new();
    let columns = "id int PRIMARY KEY, a int, b int";
    let file = small(&database, columns, "");
    let wanted = || matching(Mode::Upsert, &file, "t", 2);
    for (options, why) in [
        (
            wanted().on_error(OnError::Ignore).rejects(database.path("r.jsonl")),
            "tries rows one after the other",
        ),
        (wanted().after(["SELECT 1"]), "is part of the load's transaction"),
    ] {
        let (said, connections) = applied(&load(&database, &options));
        assert!(said.contains(why), "{said}");
        assert_eq!(connections, Some(1), "{said}");
    }
    let stream = Input::reader("made", Box::new(Cursor::new(std::fs::read(&file).unwrap())));
    let report = load_inputs(vec![stream], &wanted(), &target(&database), &Control::new()).unwrap();
    let (said, connections) = applied(&report);
    assert!(said.contains("the input cannot be read again"), "{said}");
    assert_eq!(connections, Some(1));
    // One connection does it in a temporary table, and nobody asks why.
    let (said, connections) = applied(&load(&database, &matching(Mode::Upsert, &file, "t", 1)));
    assert_eq!((said.as_str(), connections), ("in a temporary table; rows are matched by id", Some(1)));
    database.sql("CREATE TRIGGER late AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION nothing()");
    let (said, connections) = applied(&load(&database, &wanted().disable_triggers(true)));
    assert!(said.contains("triggers are disabled and enabled again"), "{said}");
    assert_eq!(connections, Some(1));
}

#[test]
fn an_index_that_compares_otherwise_than_its_column_is_no_place_to_cut() {
    let database = Database::new();
    let rows: String = (0..100).map(|n| format!("{}{n},x\n", ["a", "B"][n % 2])).collect();
    let file = database.file("data.csv", format!("k,note\n{rows}"));
    for key in ["k COLLATE \"C\"", "k text_pattern_ops"] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (k text, note text); CREATE UNIQUE INDEX ON t ({key})"
        ));
        for mode in [Mode::Ignore, Mode::Upsert] {
            let report = load(&database, &matching(mode, &file, "t", 2));
            let (said, connections) = applied(&report);
            assert!(said.contains("does not compare as its columns do"), "{key}: {said}");
            assert_eq!((connections, report.rows), (Some(1), 100), "{key}");
        }
        // Where rows are only looked for, no index says which are the same; but none has them in order.
        let report = load(&database, &matching(Mode::Update, &file, "t", 2).key(["k"]));
        assert!(applied(&report).0.contains("has k in order"), "{key}");
        assert_eq!(counts(&report), [0, 100, 0, 0, 0], "{key}");
    }
    // Without its schema in the search path, another operator of that name is found: one that tells the same keys apart.
    database.sql(
        "CREATE SCHEMA apart; CREATE EXTENSION citext SCHEMA apart;
         CREATE TABLE seed (k apart.citext PRIMARY KEY, note text); INSERT INTO seed SELECT 'K' || i, 'old' FROM generate_series(0, 99) i;
         CREATE TABLE expected (LIKE seed INCLUDING ALL)",
    );
    let rows: String = (0..400).map(|n| format!("{}{},{n}\n", ["k", "K"][n / 200], n % 200)).collect();
    let file = database.file("folded.csv", format!("k,note\n{rows}"));
    for mode in [Mode::Ignore, Mode::Upsert] {
        for jobs in [1, 2, 4] {
            database.sql("DROP TABLE t; CREATE TABLE t (LIKE seed INCLUDING ALL); INSERT INTO t TABLE seed");
            let report = load(&database, &matching(mode, &file, "t", jobs));
            assert_eq!((report.apply_jobs, report.rows_duplicate), (Some(jobs), 200), "{mode} {jobs}");
            if jobs == 1 {
                database.sql("TRUNCATE expected; INSERT INTO expected TABLE t");
            }
            assert_eq!(database.sql(DIFFERENCE), "0", "{mode} {jobs}");
        }
    }
}

#[test]
fn a_row_that_is_refused_in_its_range_is_named_and_nothing_is_changed() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int CHECK (n < 10)); INSERT INTO t VALUES (5, 5)");
    let rows: String = (0..3000).map(|id| format!("{id},{}\n", if id == 2345 { 10 } else { 1 })).collect();
    let file = database.file("data.csv", format!("id,n\n{rows}"));
    for jobs in [1, 4] {
        let error = try_load(&database, &matching(Mode::Upsert, &file, "t", jobs)).unwrap_err();
        assert_eq!(error.location().and_then(|at| at.line), Some(2347), "{error:?}");
        assert!(error.visible().unwrap().starts_with("nothing was changed"), "{error:?}");
        assert_eq!(database.sql("TABLE t") + &hidden_tables(&database), "5|50");
    }
}

const WAITING: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

#[test]
fn a_session_between_two_ranges_is_no_deadlock_in_the_end() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 1000) i");
    let rows: String = (1..=1000).map(|id| format!("{id},1\n")).collect();
    let file = database.file("data.csv", format!("id,n\n{rows}"));
    for mode in [Mode::Upsert, Mode::Update, Mode::Delete] {
        let mut holder = Holder::new(&database, "UPDATE t SET n = n WHERE id = 2");
        let report = std::thread::scope(|scope| {
            let loading = scope.spawn(|| load(&database, &matching(mode, &file, "t", 2)));
            until("a range waits, and the other is done", || {
                assert!(!loading.is_finished(), "{mode} did not wait");
                let done = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                             AND state = 'idle in transaction' AND query = 'SET CONSTRAINTS ALL IMMEDIATE'";
                database.sql(WAITING) == "1" && database.sql(done) == "1"
            });
            holder.tell("UPDATE t SET n = n WHERE id = 999");
            holder.tell("COMMIT");
            loading.join().unwrap()
        });
        drop(holder);
        assert_eq!(report.apply_jobs, Some(1), "{mode}");
        assert_eq!(report.rows_updated + report.rows_deleted, 1000, "{mode}");
        assert_eq!(hidden_tables(&database), "0");
    }
}

#[test]
fn a_session_that_ends_in_the_middle_changes_nothing() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (7, 0)");
    let rows: String = (1..=1000).map(|id| format!("{id},1\n")).collect();
    let file = database.file("data.csv", format!("id,n\n{rows}"));
    let holder = Holder::new(&database, "UPDATE t SET n = n WHERE id = 7");
    let loaded = std::thread::scope(|scope| {
        let loading = scope.spawn(|| try_load(&database, &matching(Mode::Upsert, &file, "t", 4)));
        until("a range waits", || {
            assert!(!loading.is_finished(), "it did not wait");
            database.sql(WAITING) == "1"
        });
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        loading.join().unwrap()
    });
    let error = loaded.unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.visible()),
        (Some("57P01"), Some("nothing was changed")),
        "{error:?}"
    );
    drop(holder);
    assert_eq!(database.sql("TABLE t") + &hidden_tables(&database), "7|00");
}

#[test]
fn of_two_loads_whose_ranges_wait_for_each_other_one_gives_way() {
    let database = Database::new();
    let csv = |keys: &[i32]| {
        let rows: String = keys.iter().map(|key| format!("{key},new\n")).collect();
        format!("id,note\n{rows}")
    };
    let (low, high): (Vec<i32>, Vec<i32>) = ((100..151).collect(), (200..252).collect());
    // The upper range of the one begins with a row that a session holds, and so does the lower range of the other.
    let files = [[&low[..], &[151], &high[..50]].concat(), [&[1], &low[..], &high].concat()];
    for mode in MODES {
        let there = if mode == Mode::Ignore { "false" } else { "true" };
        database.sql(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, note text);
             INSERT INTO t SELECT i, 'old' FROM generate_series(1, 300) i WHERE {there}"
        ));
        let hold = |id: i32| match mode {
            Mode::Ignore => format!("INSERT INTO t VALUES ({id}, 'mine')"),
            _ => format!("UPDATE t SET note = note WHERE id = {id}"),
        };
        let (upper, lower) = (Holder::new(&database, &hold(151)), Holder::new(&database, &hold(1)));
        let loads = [0, 1].map(|at| {
            let file = database.file(&format!("{at}.csv"), csv(&files[at]));
            let (wanted, target) = (matching(mode, &file, "t", 2), target(&database));
            let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
            database.until(
                "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') || ' wait, '
                        || count(*) FILTER (WHERE query LIKE 'SET CONSTRAINTS%' AND state = 'idle in transaction') || ' are done'
                   FROM pg_stat_activity WHERE datname = current_database()",
                &format!("{0} wait, {0} are done", at + 1),
            );
            load
        });
        upper.release();
        lower.release();
        let reports = loads.map(|load| load.join().unwrap().unwrap());
        let mut connections = reports.each_ref().map(|report| report.apply_jobs);
        connections.sort_unstable();
        // The other waits for some seconds whether that helps; on a busy machine it may not have seen it by then.
        assert_eq!(connections[0], Some(1), "{mode}: {reports:?}");
        assert_eq!(hidden_tables(&database), "0");
        let done = match mode {
            Mode::Ignore => "count(*) = 105 AND bool_and(note = 'new')",
            Mode::Delete => "count(*) = 195",
            _ => "count(*) FILTER (WHERE note = 'new') = 105",
        };
        assert_eq!(database.sql(&format!("SELECT {done} FROM t")), "t", "{mode}");
    }
}
