//! Where every row commits by itself: what is in stays, and a failure says how much that is.

use howdah::options::{HeaderOption, Mode, OnError, RejectLimit, WritePath};
use howdah::report::CommitUnit;
use howdah::report::Outcome;
use howdah::{Control, ErrorKind, LoadOptions, Target};
use howdah_testkit::waiting::until;
use howdah_testkit::{Database, OwnServer, Shutdown};

use crate::common::{load, options, target, try_load};

fn asked(file: &str, table: &str) -> LoadOptions {
    options(file, table).write_path(WritePath::InsertAutocommit).header(HeaderOption::No)
}

fn numbers(rows: usize, with: impl Fn(usize) -> String) -> String {
    (0..rows).map(|n| format!("{n},{}\n", with(n))).collect()
}

#[test]
fn rows_share_no_transaction_and_the_report_says_so() {
    let database = Database::new();
    let file = database.file("t.csv", numbers(50, |n| format!("v{n}")));
    database.sql("CREATE TABLE t (n int PRIMARY KEY, v text)");
    let report = load(&database, &asked(&file, "t").jobs(2));
    assert_eq!((report.rows, report.commit, report.jobs), (50, Some(CommitUnit::Row), 2));
    let insert = report.plan.unwrap().statements.pop().unwrap();
    assert!(insert.contains("each commits"), "{insert}");
    assert_eq!(database.sql("SELECT count(DISTINCT xmin::text), count(*) FROM t"), "50|50");
}

#[test]
fn a_failure_says_how_many_rows_are_in() {
    let database = Database::new();
    let file = database.file("t.csv", numbers(50, |n| if n == 30 { "-1".into() } else { n.to_string() }));
    for check in ["CHECK (v >= 0)", ", UNIQUE (v) DEFERRABLE INITIALLY DEFERRED, CHECK (v >= 0)"] {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (n int, v int {check})"));
        let control = Control::new();
        let error = howdah::load(&asked(&file, "t"), &target(&database), &control).unwrap_err();
        assert_eq!((error.kind(), error.location().unwrap().line), (ErrorKind::PartlyCommitted, Some(31)));
        assert_eq!(error.visible(), Some("30 rows are in public.t: each row was committed by itself"));
        let report = error.load_report().unwrap();
        assert_eq!((report.rows, report.outcome), (30, Outcome::PartlyCommitted));
        assert_eq!(database.sql("SELECT count(*), max(n) FROM t"), "30|29");
    }
}

#[test]
fn a_constraint_that_speaks_at_the_commit_is_heard() {
    let database = Database::new();
    let file = database.file("t.csv", numbers(20, |n| (n % 15).to_string()));
    database.sql("CREATE TABLE t (n int, v int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    let error = try_load(&database, &asked(&file, "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("23505"), Some(16)));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "15");
    database.sql("TRUNCATE t");
    let rejects = database.path("t.rejects.jsonl");
    let ignoring = asked(&file, "t").on_error(OnError::Ignore).rejects(rejects);
    let report = load(&database, &ignoring);
    assert_eq!((report.rows, report.rows_rejected), (15, 5));
    assert_eq!(database.sql("SELECT count(*), max(n) FROM t"), "15|14");
}

#[test]
fn nothing_changed_is_said_only_where_it_is_true() {
    let database = Database::new();
    let file = database.file("t.csv", "x,1\n1,2\n");
    database.sql("CREATE TABLE t (n int, v int)");
    let error = try_load(&database, &asked(&file, "t")).unwrap_err();
    assert_eq!((error.kind(), error.visible()), (ErrorKind::Data, Some("nothing was changed")));
    // A table that the load made is a change.
    let types = vec![("column1".to_owned(), "int".to_owned())];
    let error = try_load(&database, &asked(&file, "made").types(types)).unwrap_err();
    let visible = "no row is in public.made, which this load made: each row was committed by itself";
    assert_eq!((error.kind(), error.visible()), (ErrorKind::PartlyCommitted, Some(visible)));
    assert_eq!(database.sql("SELECT count(*) FROM made"), "0");
    // Too many refused records leave the good ones before them.
    let rows = database.file("rows.csv", numbers(40, |n| if n >= 30 { "x".into() } else { n.to_string() }));
    let limited = asked(&rows, "t")
        .on_error(OnError::Ignore)
        .reject_limit(RejectLimit::Percent(1.0))
        .rejects(database.path("r.jsonl"));
    let error = try_load(&database, &limited).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PartlyCommitted, "{error:?}");
    assert!(error.visible().unwrap().starts_with("30 rows are in public.t"), "{error:?}");
    assert_eq!(database.sql("SELECT count(*) FROM t"), "30");
}

#[test]
fn a_new_table_is_complete_before_its_first_row() {
    let database = Database::new();
    let file = database.file("new.csv", numbers(30, |n| format!("v{n}")));
    let wanted = asked(&file, "new").key(["column1"]).jobs(2);
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.jobs), (30, 2));
    let key = "SELECT count(*) FROM pg_index WHERE indrelid = 'new'::regclass AND indisprimary";
    assert_eq!(database.sql(key), "1");
    assert!(database.sql("SELECT obj_description('new'::regclass)").starts_with("loaded by howdah"));
}

#[test]
fn a_load_that_is_stopped_counts_the_rows_that_are_in() {
    let database = Database::new();
    let file = database.file("t.csv", numbers(3000, |n| n.to_string()));
    database.sql(
        "CREATE TABLE t (n int, v int);
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END';
         CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    for jobs in [1, 2] {
        let control = Control::new();
        let wanted = asked(&file, "t").jobs(jobs);
        let loaded = std::thread::scope(|scope| {
            scope.spawn(|| {
                database.until("SELECT count(*) > 20 FROM t", "t");
                control.cancel();
            });
            howdah::load(&wanted, &target(&database), &control)
        });
        let error = loaded.unwrap_err();
        let report = error.load_report().unwrap();
        assert_eq!(error.kind(), ErrorKind::PartlyCommitted);
        assert_eq!(database.sql("SELECT count(*) FROM t"), report.rows.to_string());
        assert!(report.rows > 0 && report.rows < 3000);
        database.sql("TRUNCATE t");
    }
}

#[test]
fn what_needs_one_transaction_is_refused() {
    let database = Database::new();
    let file = database.file("t.csv", "1,2\n");
    database.sql("CREATE TABLE t (n int PRIMARY KEY, v int)");
    for mode in [Mode::Replace, Mode::Truncate, Mode::Upsert, Mode::Ignore, Mode::Update, Mode::Delete] {
        let error = try_load(&database, &asked(&file, "t").mode(mode)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains(&format!("mode={mode}")), "{error}");
    }
    let statement = || vec!["SELECT 1".to_owned()];
    for wanted in [
        asked(&file, "t").before(statement()),
        asked(&file, "t").after(statement()),
        asked(&file, "new").freeze(true),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert!(error.message().contains("insert-autocommit"), "{error}");
    }
}

#[test]
fn a_server_that_ends_a_session_leaves_a_count_that_is_true() {
    let database = Database::new();
    let file = database.file("t.csv", numbers(3000, |n| n.to_string()));
    database.sql(
        "CREATE TABLE t (n int, v int);
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END';
         CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let wanted = asked(&file, "t").jobs(2);
    let loaded = std::thread::scope(|scope| {
        scope.spawn(|| {
            database.until("SELECT count(*) > 20 FROM t", "t");
            database.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
                    AND query LIKE 'INSERT%' LIMIT 1",
            );
        });
        howdah::load(&wanted, &target(&database), &Control::new())
    });
    let error = loaded.unwrap_err();
    let report = error.load_report().unwrap();
    assert_eq!((error.kind(), report.outcome), (ErrorKind::PartlyCommitted, Outcome::PartlyCommitted));
    let said = report.rows;
    let found: u64 = database.sql("SELECT count(*) FROM t").parse().unwrap();
    let doubt = error.visible().unwrap().contains("may be in too");
    assert!(found == said || doubt && found > said, "{found} are in, {said} said: {error:?}");
}

#[test]
fn rows_under_way_when_the_server_ends_may_be_in_and_that_is_said() {
    let files = Database::new();
    let file = files.file("t.csv", numbers(500_000, |n| n.to_string()));
    let mut server = OwnServer::start();
    for how in [Shutdown::Immediate, Shutdown::Fast] {
        server.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int, v int)");
        let target = Target::new(server.conninfo()).unwrap();
        let wanted = asked(&file, "t").jobs(2);
        let error = std::thread::scope(|threads| {
            let loading = threads.spawn(|| howdah::load(&wanted, &target, &Control::new()).unwrap_err());
            until("rows are in", || server.sql("SELECT count(*) > 100 FROM t") == "t");
            server.stop(how);
            loading.join().unwrap()
        });
        server.start_again();
        assert_eq!(error.kind(), ErrorKind::PartlyCommitted, "{error:?}");
        let visible = error.visible().unwrap();
        assert!(visible.ends_with("rows that were under way may be in too"), "{how:?}: {error:?}");
        let said = error.load_report().unwrap().rows;
        let found: u64 = server.sql("SELECT count(*) FROM t").parse().unwrap();
        assert!((said..=said + 2).contains(&found), "{how:?}: {said} said, {found} found");
    }
}
