//! Landing and promotion: typed rows as COPY would have stored them, and rows that do not fit kept with the reason.

use std::io::Write;
use std::time::{Duration, Instant};

use howdah::name::TableName;
use howdah::options::{HeaderOption, Mode, OnError, RejectLimit, Thousands, Unlogged, WritePath};
use howdah::report::Outcome;
use howdah::{Control, Error, ErrorKind, LoadOptions, PromoteOptions, PromoteReport};
use howdah_testkit::Database;
use howdah_testkit::waiting::{promised, until};

use crate::common::{load, options, target, try_load};

fn asked(landing: &str, into: &str) -> PromoteOptions {
    let name = |text: &str| TableName::parse(text).unwrap();
    PromoteOptions::new(name(landing), name(into))
}

fn promote(database: &Database, options: &PromoteOptions) -> Result<PromoteReport, Error> {
    howdah::promote(options, &target(database), &Control::new())
}

fn landing(file: &str, table: &str) -> LoadOptions {
    options(file, table).write_path(WritePath::Landing).header(HeaderOption::No)
}

const TYPED: &str =
    "DROP TABLE IF EXISTS t; CREATE TABLE t (n int PRIMARY KEY, v varchar(3), d date, a varchar(3)[])";

/// Row 3 has a bad number, 4 too long a string, 5 two faults, 6 an element that is too long.
const RAW: &str = "DROP TABLE IF EXISTS raw; CREATE TABLE raw (n text, v text, d text, a text);
    INSERT INTO raw VALUES ('1', 'abc', '2026-01-05', '{abc,d}'), ('2', '', NULL, NULL), ('3x', 'a', NULL, '{}'),
        ('4', 'abcd', NULL, NULL), ('5', 'abcde', 'tomorow', NULL), ('6', NULL, NULL, '{abcd}'), ('7', 'abc   ', NULL, '{}')";

#[test]
fn rows_that_do_not_fit_are_kept_with_the_first_reason_and_the_others_are_in() {
    let database = Database::new();
    // An input function that raises its errors leaves only halving: the same must come of both ways.
    database.sql("CREATE DOMAIN raising AS int CHECK (1 / (VALUE - 4000) IS NOT NULL)");
    for (n, other_reasons) in [("int", 0), ("raising", 1)] {
        database
            .sql(&format!("{}; DROP TABLE IF EXISTS raw_rejects", TYPED.replace("n int", &format!("n {n}"))));
        database.sql(RAW);
        if other_reasons > 0 {
            database.sql("INSERT INTO raw VALUES ('4000', 'a')");
        }
        let report = promote(&database, &asked("raw", "t")).unwrap();
        assert_eq!((report.rows, report.rows_rejected), (3, 4 + other_reasons), "{n}");
        assert_eq!(report.rejects_table.as_deref(), Some("public.raw_rejects"));
        assert!(report.phases.promote_s > 0.0 && report.outcome == Outcome::Promoted);
        assert_eq!(
            database.sql("SELECT n, v, v IS NULL, octet_length(v), a FROM t ORDER BY n"),
            "1|abc|f|3|{abc,d}\n2||f|0|\n7|abc|f|3|{}"
        );
        let kept = database.sql(
            "SELECT n, v, reject_column, reject_sqlstate, reject_reason FROM raw_rejects WHERE n NOT IN ('6', '4000') ORDER BY n",
        );
        let expected = [
            "3x|a|n|22P02|invalid input syntax for type integer: \"3x\"",
            "4|abcd|v|22001|value too long for type character varying(3)",
            "5|abcde|v|22001|value too long for type character varying(3)",
        ];
        assert_eq!(kept.lines().take(3).collect::<Vec<_>>(), expected, "{n}");
        assert_eq!(database.sql("SELECT reject_sqlstate FROM raw_rejects WHERE n = '6'"), "22001");
        if other_reasons > 0 {
            assert_eq!(database.sql("SELECT reject_sqlstate FROM raw_rejects WHERE n = '4000'"), "22012");
        }
        assert_eq!(database.sql("SELECT count(*) FROM raw"), (7 + other_reasons).to_string());
    }
}

#[test]
fn a_violation_ends_it_all_unless_asked_otherwise_and_the_first_of_two_rows_wins() {
    let database = Database::new();
    database.sql(TYPED);
    database.sql("ALTER TABLE t ADD CHECK (n <> 13); CREATE TABLE raw (n text, v text, d text, a text);
        INSERT INTO raw SELECT (i % 400)::text, 'v', CASE i WHEN 77 THEN 'x' END FROM generate_series(1, 500) i");
    let error = promote(&database, &asked("raw", "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.visible()), (Some("23514"), Some("nothing was changed")));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    let rejecting = asked("raw", "t").rejects_violations(true).drops_landing(true);
    let report = promote(&database, &rejecting).unwrap();
    // Of 500 rows 100 come twice, of which one is 13 and one is 77, bad the first time only.
    assert_eq!((report.rows, report.rows_rejected), (399, 101));
    let reasons = "SELECT reject_sqlstate, count(*) FROM raw_rejects GROUP BY 1 ORDER BY 1";
    assert_eq!(database.sql(reasons), "22007|1\n23505|98\n23514|2");
    assert_eq!(database.sql("SELECT to_regclass('raw')"), "");
}

#[test]
fn columns_that_do_not_fit_are_named_before_anything_is_done() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int, g int GENERATED ALWAYS AS (n + 1) STORED);
        CREATE TABLE raw (n int, x text, g text); CREATE TABLE parts (n text) PARTITION BY LIST (n)",
    );
    let error = promote(&database, &asked("raw", "t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    for part in ["n is integer", "no column x", "g is a generated column"] {
        assert!(error.message().contains(part), "{error}");
    }
    for (from, into, says) in
        [("parts", "t", "plain table"), ("none", "t", "does not exist"), ("t", "t", "itself")]
    {
        let error = promote(&database, &asked(from, into)).unwrap_err();
        assert!(error.message().contains(says), "{error}");
    }
}

#[test]
fn a_load_lands_and_promotes_and_leaves_only_the_rows() {
    let database = Database::new();
    database.sql(TYPED);
    let rows: String = (0..3000).map(|n| format!("{n},\"\",,{{}}\n")).collect();
    let file = database.file("t.csv", rows);
    for jobs in [1, 2] {
        database.sql("TRUNCATE t");
        let report = load(&database, &landing(&file, "t").jobs(jobs));
        assert_eq!((report.rows, report.rows_inserted, report.jobs), (3000, 3000, jobs));
        assert_eq!((report.write_path, report.table.as_str()), (Some(WritePath::Landing), "public.t"));
        assert!(report.phases.load_s > 0.0 && report.phases.promote_s > 0.0);
        assert_eq!(database.sql("SELECT count(*), count(v), count(d) FROM t"), "3000|3000|0");
        assert_eq!(
            database
                .sql("SELECT count(*) FROM pg_class WHERE relname LIKE '%land%' OR relname LIKE 'howdah%'"),
            "0"
        );
    }
    // Kept, and unlogged.
    database.sql("TRUNCATE t; CREATE SCHEMA s");
    let name = TableName::parse("s.l").unwrap();
    let keeping = landing(&file, "t").landing_table(name).keep_landing(true).unlogged(Unlogged::Yes);
    let report = load(&database, &keeping);
    assert_eq!(report.durability, load(&database, &options(&file, "t").mode(Mode::Truncate)).durability);
    assert_eq!(database.sql("SELECT count(*) FROM s.l"), "3000");
    assert_eq!(database.sql("SELECT relpersistence, count(DISTINCT atttypid) FROM pg_class c JOIN pg_attribute ON attrelid = c.oid
        WHERE c.oid = 's.l'::regclass AND attnum > 0 GROUP BY 1"), "u|1");
    let error = try_load(&database, &keeping).unwrap_err();
    assert!(error.hint().unwrap().contains("from s.l into public.t"), "{error:?}");
}

#[test]
fn a_bad_value_ends_a_load_or_goes_to_the_table_as_on_error_says() {
    let database = Database::new();
    let file =
        database.file("t.csv", "1,a,,\n2,abcd,,\n3,a,2026-02-30,\n1,b,,\n5,too,many,{},fields\n6,c,,\n");
    database.sql(TYPED);
    let short = database.file("short.csv", "1,a,,\n2,abcd,,\n");
    let error = try_load(&database, &landing(&short, "t")).unwrap_err();
    // Before PostgreSQL 16 nobody can ask the server about a value without an error.
    let column = (database.sql("SHOW server_version_num").as_str() >= "160000").then_some("v");
    assert_eq!((error.sqlstate(), error.column()), (Some("22001"), column));
    assert_eq!(error.visible(), Some("nothing was changed"));
    assert_eq!(database.sql("SELECT to_regclass('t_landing')"), "");
    let error = try_load(&database, &landing(&short, "t").keep_landing(true)).unwrap_err();
    assert!(error.visible().unwrap().contains("rows are in public.t_landing"), "{error:?}");
    database.sql("DROP TABLE t_landing");
    let rejects = database.path("rejects.jsonl");
    let ignoring = landing(&file, "t").on_error(OnError::Ignore).rejects(rejects);
    let limited = ignoring.clone().reject_limit(RejectLimit::Rows(3));
    assert_eq!(try_load(&database, &limited).unwrap_err().kind(), ErrorKind::TooManyRejects);
    assert_eq!(database.sql("SELECT count(*), to_regclass('t_landing') IS NULL FROM t"), "0|t");
    let report = load(&database, &ignoring);
    assert_eq!((report.rows, report.rows_rejected, report.rows_read), (2, 4, 6));
    assert_eq!(report.rejects_table.as_deref(), Some("public.t_landing_rejects"));
    assert!(report.rejects_path.is_some());
    let kept = "SELECT n, reject_column, reject_sqlstate FROM t_landing_rejects ORDER BY n, reject_sqlstate";
    assert_eq!(database.sql(kept), "1||23505\n2|v|22001\n3|d|22008");
}

#[test]
fn what_landing_cannot_keep_is_refused() {
    let database = Database::new();
    database.sql(TYPED);
    let file = database.file("t.csv", "1,a,,\n");
    for wanted in [
        landing(&file, "t").mode(Mode::Replace),
        landing(&file, "t").decimal_comma(true),
        landing(&file, "t").thousands(Thousands::Comma),
        landing(&file, "t").booleans([("ja", "nein")]),
        landing(&file, "t").dry_run(true),
        landing(&file, "t").after(["SELECT 1"]),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.message().contains("write_path=landing"), "{error}");
    }
    let error = try_load(&database, &landing(&file, "missing")).unwrap_err();
    assert_eq!((error.sqlstate(), error.kind()), (Some("42P01"), ErrorKind::Usage));
    assert!(error.hint().unwrap().contains("make it first"));
    let error = try_load(&database, &options(&file, "t").keep_landing(true)).unwrap_err();
    assert!(error.message().contains("keep_landing"), "{error}");
}

#[test]
fn a_promotion_that_is_stopped_leaves_nothing_behind_and_soon() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int); CREATE TABLE raw (n text); INSERT INTO raw SELECT i::text FROM generate_series(1, 5000) i;
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END';
         CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let file = database.file("t.csv", (0..5000).map(|n| format!("{n}\n")).collect::<String>());
    let stopped = |work: &(dyn Fn(&Control) -> Error + Sync)| {
        let control = Control::new();
        let resting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
        let (error, took) = std::thread::scope(|scope| {
            let working = scope.spawn(|| work(&control));
            database.until(resting, "t");
            let asked = Instant::now();
            control.cancel();
            (working.join().unwrap(), asked.elapsed())
        });
        assert_eq!((error.kind(), error.visible()), (ErrorKind::Cancelled, Some("nothing was changed")));
        assert!(took < promised(Duration::from_secs(2)), "{took:?}");
        assert_eq!(database.sql("SELECT count(*), to_regclass('t_landing') IS NULL FROM t"), "0|t");
    };
    stopped(&|control| howdah::promote(&asked("raw", "t"), &target(&database), control).unwrap_err());
    stopped(&|control| howdah::load(&landing(&file, "t"), &target(&database), control).unwrap_err());
}

#[test]
fn a_table_of_rejects_that_is_there_is_added_to() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int); CREATE TABLE raw (n text, reject_reason text); INSERT INTO raw VALUES ('x', 'own');
         ALTER TABLE t ADD reject_reason text",
    );
    for rows in ["1", "2"] {
        assert_eq!(promote(&database, &asked("raw", "t")).unwrap().rows_rejected, 1);
        let found = database.sql("SELECT count(*), min(reject_reason), min(reject_column), min(reject_reason_) LIKE 'invalid%' FROM raw_rejects");
        assert_eq!(found, format!("{rows}|own|n|t"));
    }
    // One that cannot hold them ends it, and nothing is promoted.
    database.sql("CREATE TABLE other (a int); INSERT INTO raw VALUES ('1')");
    let other = TableName::parse("other").unwrap();
    let error = promote(&database, &asked("raw", "t").rejects_table(other)).unwrap_err();
    assert_eq!((error.sqlstate(), database.sql("SELECT count(*) FROM t").as_str()), (Some("42703"), "0"));
}

#[test]
fn values_that_their_type_reports_as_a_bad_name_or_syntax_are_kept_apart() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (q tsquery, p jsonpath); CREATE TABLE raw (q text, p text);
         INSERT INTO raw VALUES ('a & b', '$.a'), ('a b', NULL), (NULL, '$.'), ('c', NULL)",
    );
    let report = promote(&database, &asked("raw", "t")).unwrap();
    assert_eq!((report.rows, report.rows_rejected), (2, 2));
    assert_eq!(database.sql("SELECT DISTINCT reject_sqlstate FROM raw_rejects"), "42601");
}

#[test]
fn no_row_goes_with_the_landing_table_that_somebody_was_just_writing_into_it() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int); CREATE TABLE raw (n text); INSERT INTO raw VALUES ('1')");
    let mut writer = database.psql().stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = writer.stdin.take().unwrap();
    lines.write_all(b"BEGIN; INSERT INTO raw VALUES ('2');\n").unwrap();
    let until_there = |condition: &str| {
        let found = format!(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
              WHERE d.datname = current_database() AND relation = 'raw'::regclass AND {condition}"
        );
        until(condition, || database.sql(&found) != "0");
    };
    until_there("mode = 'RowExclusiveLock'");
    let dropping = asked("raw", "t").drops_landing(true);
    let report = std::thread::scope(|scope| {
        let promoting = scope.spawn(|| promote(&database, &dropping).unwrap());
        until_there("NOT granted");
        lines.write_all(b"COMMIT;\n").unwrap();
        drop(lines);
        promoting.join().unwrap()
    });
    writer.wait().unwrap();
    assert_eq!(report.rows, 2);
    assert_eq!(
        database.sql("SELECT string_agg(n::text, ',' ORDER BY n), to_regclass('raw') IS NULL FROM t"),
        "1,2|t"
    );
}

#[test]
fn rows_of_tables_that_inherit_from_the_landing_table_are_not_taken_for_its_own() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int); CREATE TABLE raw (n text); CREATE TABLE child () INHERITS (raw);
         INSERT INTO child SELECT CASE i WHEN 1 THEN 'bad' ELSE i::text END FROM generate_series(1, 3000) i;
         INSERT INTO raw VALUES ('-1'), ('x')",
    );
    let report = promote(&database, &asked("raw", "t")).unwrap();
    assert_eq!((report.rows, report.rows_rejected), (1, 1));
    assert_eq!(database.sql("SELECT (SELECT string_agg(n::text, ',') FROM t), n FROM raw_rejects"), "-1|x");
    // Nor do they go with it.
    let error = promote(&database, &asked("raw", "t").drops_landing(true)).unwrap_err();
    assert_eq!((error.sqlstate(), error.visible()), (Some("2BP01"), Some("nothing was changed")));
    assert_eq!(database.sql("SELECT count(*) FROM raw"), "3002");
}

#[test]
fn what_became_of_rows_that_landed_is_counted_and_not_guessed() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int);
         CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE NEW.n % 2 WHEN 1 THEN NEW END; END';
         CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()",
    );
    let file = database.file("t.csv", "1\n2\nx\n3\n");
    let (report, notices) = try_load(&database, &landing(&file, "t").on_error(OnError::Ignore)).unwrap();
    assert_eq!((report.rows, report.rows_rejected), (2, 1));
    let said = "4 rows landed; the server counted 2 into public.t and 1 apart";
    assert!(notices.iter().any(|notice| notice.starts_with(said)), "{notices:?}");
}

#[test]
fn corrected_rejects_of_a_load_that_lands_go_into_its_typed_table() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, x int)");
    let file = database.file("t.csv", "id,x\n1,1\n2,2,2\n");
    let rejects = database.path("t.rejects.jsonl");
    let landing = options(&file, "t").write_path(WritePath::Landing).on_error(OnError::Ignore);
    assert_eq!(load(&database, &landing.rejects(rejects.clone())).rows_rejected, 1);
    let mended = std::fs::read_to_string(&rejects).unwrap().replace("2,2,2", "2,2");
    std::fs::write(&rejects, mended).unwrap();
    load(&database, &howdah::LoadOptions::new(rejects));
    assert_eq!(database.sql("SELECT string_agg(t::text, ' ' ORDER BY id) FROM t"), "(1,1) (2,2)");
}
