//! Migrations of a database of the tests' server: what is applied, what is remembered, and what is refused.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use howdah_codegen::check::check;
use howdah_codegen::config::{Config, Direct};
use howdah_codegen::migrate::{
    Allowed, Event, FrontEnd, History, MigrateError, Outcome, Report, Settings, StepState,
};
use howdah_connect::Target;
use howdah_testkit::Database;

/// Hears what happens, and says stop when it is asked to.
#[derive(Default)]
struct Listener {
    heard: RefCell<Vec<String>>,
    stop: AtomicBool,
}

impl FrontEnd for Listener {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn notify(&self, event: Event<'_>) {
        let said = match event {
            Event::Adopted(rows) => format!("adopted {rows}"),
            Event::Accepted(step) => format!("accepted {}", step.id()),
            Event::Applied(step, _) => format!("applied {}", step.id()),
            Event::Tried(step, _) => format!("tried {}", step.id()),
            Event::Skipped(step) => format!("skipped {}", step.id()),
            Event::Waiting(what) => what.to_owned(),
            _ => return,
        };
        self.heard.borrow_mut().push(said);
    }
}

fn history(sql: &str) -> History {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sql");
    std::fs::write(&path, sql).expect("a file");
    let files = vec![path.to_string_lossy().into_owned()];
    let direct = Direct { generator: "python/postgres".into(), files, ..Direct::default() };
    let config = Config::direct(direct).expect("a configuration");
    let checked = check(&config).expect("good SQL");
    History::of(&checked, "shop".into()).expect("a history")
}

/// What came of a run: the report, what was heard, and messages.
struct Run {
    report: Report,
    heard: Vec<String>,
    failure: Option<MigrateError>,
    text: String,
}

fn run(database: &Database, sql: &str, settings: &Settings) -> Run {
    let history = history(sql);
    let target = Target::new(database.conninfo()).expect("a target");
    let listener = Listener::default();
    let (report, failure) = history.apply(&target, settings, &listener);
    let told = match &failure {
        Some(
            MigrateError::Refused(told)
            | MigrateError::Drift(told)
            | MigrateError::Usage(told)
            | MigrateError::Stopped(told),
        ) => told.clone(),
        _ => Vec::new(),
    };
    let text = history.diagnostics(told).text();
    Run { report, heard: listener.heard.into_inner(), failure, text }
}

fn applied(database: &Database, sql: &str) -> Run {
    run(database, sql, &Settings::default())
}

const TWO: &str = "-- MIGRATE 1\nCREATE TABLE users (id bigint PRIMARY KEY);\n-- MIGRATE 2\nALTER TABLE users ADD name \
                   text;\nINSERT INTO users VALUES (1, 'Ada');\n";

const ROWS: &str =
    "SELECT string_agg(id || ' ' || position || ' ' || state, ', ' ORDER BY position) FROM howdah_migrations";

#[test]
fn steps_are_applied_once_and_in_order() {
    let database = Database::new();
    let first = applied(&database, TWO);
    assert_eq!(first.text, "");
    assert_eq!(
        (first.report.outcome, first.heard),
        (Outcome::Applied, vec!["applied 1".into(), "applied 2".into()])
    );
    assert_eq!(database.sql("SELECT name FROM users"), "Ada");
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 done");
    assert_eq!(
        database.sql("SELECT bool_and(length(checksum) = 64 AND format = 1 AND duration_ms >= 0 AND applied_by = session_user) FROM howdah_migrations"),
        "t"
    );
    let second = applied(&database, TWO);
    assert_eq!((second.report.outcome, second.heard), (Outcome::UpToDate, vec![]));
    assert!(second.report.entries.iter().all(|entry| entry.state == StepState::Applied));
    let third = applied(&database, &format!("{TWO}-- MIGRATE 3\nDROP TABLE users;\n"));
    assert_eq!(third.heard, ["applied 3"]);
}

#[test]
fn a_refused_statement_is_told_with_its_place_and_leaves_nothing_of_its_step() {
    let database = Database::new();
    let sql = format!("{TWO}-- MIGRATE 3\nCREATE TABLE b (a int);\nINSERT INTO b\n  VALUES (1), (oops);\n");
    let failed = applied(&database, &sql);
    assert!(
        failed.text.contains("a.sql:9:16: error[SQL_EXECUTION_ERROR]: column \"oops\""),
        "{}",
        failed.text
    );
    assert_eq!((failed.report.outcome, failed.heard.len()), (Outcome::Failed, 2));
    assert_eq!(database.sql("SELECT to_regclass('b') IS NULL"), "t");
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 done");
    // What was never applied may be corrected.
    assert_eq!(applied(&database, &sql.replace("oops", "2")).report.outcome, Outcome::Applied);
    // A constraint that was put off speaks up at the end of its step.
    let late = "-- MIGRATE 4\nCREATE TABLE c (a int UNIQUE DEFERRABLE INITIALLY DEFERRED);\nINSERT INTO c VALUES (1), (1);\n";
    let failed = applied(&database, &format!("{}{late}", sql.replace("oops", "2")));
    assert!(
        failed.text.contains("a.sql:10:12: error[SQL_EXECUTION_ERROR]") && failed.text.contains("(23505)"),
        "{}",
        failed.text
    );
    assert_eq!(database.sql("SELECT to_regclass('c') IS NULL"), "t");
}

#[test]
fn what_the_database_remembers_otherwise_is_told_and_nothing_is_applied() {
    let database = Database::new();
    applied(&database, TWO);
    let changed = format!("{}-- MIGRATE 3\nDROP TABLE users;\n", TWO.replace("'Ada'", "'Eve'"));
    let drift = applied(&database, &changed);
    assert!(matches!(drift.failure, Some(MigrateError::Drift(_))));
    assert!(
        drift.text.contains("a.sql:3:12: error[MIGRATION_DRIFT]: its text is not the one"),
        "{}",
        drift.text
    );
    assert_eq!(database.sql("SELECT count(*) FROM users"), "1");
    let accept = |id: &str| Settings {
        allowed: Allowed { accept: vec![id.into()], ..Allowed::default() },
        ..Settings::default()
    };
    assert_eq!(run(&database, &changed, &accept("2")).heard, ["accepted 2", "applied 3"]);
    assert_eq!(applied(&database, &changed).report.outcome, Outcome::UpToDate);
    let unknown = run(&database, &changed, &accept("7"));
    assert!(
        matches!(unknown.failure, Some(MigrateError::Usage(_))) && unknown.text.contains("there are 1, 2, 3")
    );
    // An older program.
    let older = applied(&database, &TWO.replace("'Ada'", "'Eve'"));
    assert!(
        older.text.contains("MIGRATE 3 was applied") && older.text.contains("--allow-newer"),
        "{}",
        older.text
    );
    let newer = Settings { allowed: Allowed { newer: true, ..Allowed::default() }, ..Settings::default() };
    assert_eq!(run(&database, &TWO.replace("'Ada'", "'Eve'"), &newer).report.outcome, Outcome::UpToDate);
    // A step in between, and one that is gone.
    let between = changed.replace("-- MIGRATE 2", "-- MIGRATE 1b\nSELECT 1;\n-- MIGRATE 2");
    assert!(
        applied(&database, &between).text.contains("a.sql:3:12: error[MIGRATION_DRIFT]: it is not applied")
    );
    let gone = applied(
        &database,
        "-- MIGRATE 2b\nSELECT 1;\n-- MIGRATE 3\nDROP TABLE users;\n-- MIGRATE 4\nSELECT 1;\n",
    );
    assert!(
        gone.text.contains("MIGRATE 1 was applied") && gone.text.contains("not in these files"),
        "{}",
        gone.text
    );
}

#[test]
fn a_table_of_a_newer_program_is_not_read() {
    let database = Database::new();
    applied(&database, TWO);
    database.sql("UPDATE howdah_migrations SET format = 2 WHERE id = '2'");
    assert!(applied(&database, TWO).text.contains("has format 2, and this program knows 1"));
}

const ALONE: &str = "-- MIGRATE 1\nCREATE TABLE users (id bigint);\nINSERT INTO users VALUES (1);\n-- MIGRATE 2 \
                     :no_transaction\nCREATE UNIQUE INDEX CONCURRENTLY users_id ON users (id);\n";

#[test]
fn a_step_that_cannot_be_in_a_transaction_runs_by_itself() {
    let database = Database::new();
    let forgotten = applied(&database, &ALONE.replace(":no_transaction", ""));
    assert!(
        forgotten.text.contains("(25001)") && forgotten.text.contains("`:no_transaction`"),
        "{}",
        forgotten.text
    );
    assert_eq!(applied(&database, ALONE).heard, ["applied 2"]);
    assert_eq!(database.sql("SELECT indisvalid FROM pg_index WHERE indexrelid = 'users_id'::regclass"), "t");
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 done");
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database \
                WHERE datname = current_database())";
    database.until(held, "0");
}

#[test]
fn a_step_without_a_transaction_that_failed_is_remembered_as_begun() {
    let database = Database::new();
    let doubled = ALONE.replace("VALUES (1)", "VALUES (1), (1)");
    let failed = applied(&database, &doubled);
    assert!(failed.text.contains("a.sql:5:1: error[SQL_EXECUTION_ERROR]"), "{}", failed.text);
    assert!(failed.text.contains("it counts as begun"), "{}", failed.text);
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 started");
    let again = applied(&database, &doubled);
    assert!(
        matches!(again.failure, Some(MigrateError::Drift(_))) && again.text.contains("nobody saw its end")
    );
    database.sql("DROP INDEX users_id; DELETE FROM users");
    let retry = |id: &str| Settings {
        allowed: Allowed { retry: vec![id.into()], ..Allowed::default() },
        ..Settings::default()
    };
    assert!(matches!(run(&database, &doubled, &retry("1")).failure, Some(MigrateError::Usage(_))));
    assert_eq!(run(&database, &doubled, &retry("2")).heard, ["applied 2"]);
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 done");
}

#[test]
fn a_dry_run_tries_what_can_be_taken_back() {
    let database = Database::new();
    let settings = Settings { dry_run: true, ..Settings::default() };
    let tried = run(&database, &format!("{ALONE}-- MIGRATE 3\nSELECT 1;\n"), &settings);
    assert_eq!(
        (tried.report.outcome, tried.heard),
        (Outcome::Tried, vec!["tried 1".into(), "skipped 2".into(), "skipped 3".into()])
    );
    let failed = run(&database, &TWO.replace("'Ada'", "nobody"), &settings);
    assert!(failed.text.contains("a.sql:5:30: error"), "{}", failed.text);
    assert_eq!(
        database.sql("SELECT to_regclass('users') IS NULL AND to_regclass('howdah_migrations') IS NULL"),
        "t"
    );
}

#[test]
fn the_steps_of_sqg_are_taken_over_once() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE _sqg_migrations (project text NOT NULL, migration_id text NOT NULL, applied_at timestamp DEFAULT \
         now() NOT NULL, PRIMARY KEY (project, migration_id));
         INSERT INTO _sqg_migrations VALUES ('shop', '1', '2025-01-01'), ('other', '2', now());
         CREATE TABLE users (id bigint PRIMARY KEY)",
    );
    let first = applied(&database, TWO);
    assert_eq!((first.text.as_str(), first.heard), ("", vec!["adopted 1".into(), "applied 2".into()]));
    assert_eq!(database.sql(ROWS), "1 1 done, 2 2 done");
    assert_eq!(database.sql("SELECT applied_by FROM howdah_migrations WHERE id = '1'"), "sqg");
    assert_eq!(database.sql("SELECT count(*) FROM _sqg_migrations"), "2");
    assert_eq!(applied(&database, TWO).report.outcome, Outcome::UpToDate);
}

#[test]
fn a_schema_is_called_as_the_places_in_our_texts_are() {
    let database = Database::new();
    let name = database.name();
    database.sql(&format!(
        "CREATE SCHEMA \"{{sqg}}\"; ALTER DATABASE \"{name}\" SET search_path = \"{{sqg}}\"; CREATE TABLE \
         \"{{sqg}}\"._sqg_migrations (project text NOT NULL, migration_id text NOT NULL, applied_at timestamp)"
    ));
    let done = applied(&database, TWO);
    assert_eq!((done.text.as_str(), done.report.applied.len()), ("", 2));
    assert_eq!(database.sql("SELECT count(*) FROM \"{sqg}\".howdah_migrations"), "2");
}

#[test]
fn what_a_step_sets_is_not_there_for_the_next() {
    let database = Database::new();
    let role = format!("{}_maker", database.name());
    database.sql(&format!("CREATE ROLE {role}; CREATE SCHEMA mine AUTHORIZATION {role}"));
    let sql = format!(
        "-- MIGRATE 1\nSET LOCAL ROLE {role};\nSELECT set_config('search_path', '', false);\nCREATE TABLE mine.a (b \
         int);\n-- MIGRATE 2\nCREATE TABLE c (d int);\n"
    );
    let done = applied(&database, &sql);
    assert_eq!((done.text.as_str(), done.report.applied.len()), ("", 2));
    assert_eq!(database.sql("SELECT tableowner = current_user FROM pg_tables WHERE tablename = 'c'"), "t");
    assert_eq!(database.sql("SELECT to_regclass('public.howdah_migrations') IS NOT NULL"), "t");
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_lock_that_is_not_to_be_had_says_who_holds_it() {
    let database = Database::new();
    applied(&database, TWO);
    let settings = Settings { lock_timeout: Some(Duration::from_millis(700)), ..Settings::default() };
    let holder = Holder::of(&database, "BEGIN; LOCK TABLE users");
    let step = format!("{TWO}-- MIGRATE 3\nALTER TABLE users ADD email text;\n");
    let late = run(&database, &step, &settings);
    assert!(
        late.text.contains(
            "a.sql:7:1: error[SQL_EXECUTION_ERROR]: a lock on users was not to be had within 0.7 s"
        ),
        "{}",
        late.text
    );
    assert!(
        late.text.contains(&format!("process {} (", holder.pid)) && late.text.contains("idle in transaction"),
        "{}",
        late.text
    );
    drop(holder);
    let project = "SELECT pg_advisory_lock(hashtextextended('howdah migrations shop', 0))";
    let holder = Holder::of(&database, project);
    let late = run(&database, &step, &settings);
    assert!(late.text.contains("the lock of the project's migrations was not to be had"), "{}", late.text);
    assert!(late.text.contains(&format!("process {} (", holder.pid)), "{}", late.text);
    drop(holder);
    assert_eq!(applied(&database, &step).heard, ["applied 3"]);
}

#[test]
fn runners_at_once_apply_each_step_once() {
    let database = Database::new();
    let steps = (0..20).map(|n| match n % 5 {
        4 => format!("-- MIGRATE {n} :no_transaction\nCREATE INDEX CONCURRENTLY i{n} ON t0 (a);\n"),
        _ => format!("-- MIGRATE {n}\nCREATE TABLE t{n} (a int);\nSELECT pg_sleep(0.01);\n"),
    });
    let sql = steps.collect::<String>();
    let counts = std::thread::scope(|scope| {
        let runners = (0..4).map(|_| {
            scope.spawn(|| {
                let done = applied(&database, &sql);
                assert_eq!(done.text, "");
                done.report.applied.len()
            })
        });
        let runners = runners.collect::<Vec<_>>();
        runners.into_iter().map(|runner| runner.join().expect("a runner")).sum::<usize>()
    });
    assert_eq!(counts, 20);
    assert_eq!(
        database.sql("SELECT count(*), count(*) FILTER (WHERE state = 'done') FROM howdah_migrations"),
        "20|20"
    );
}

/// A session that holds something until it is dropped.
struct Holder {
    psql: std::process::Child,
    pid: String,
}

impl Holder {
    fn of(database: &Database, sql: &str) -> Self {
        use std::io::{BufRead, BufReader, Write};
        let mut command = database.psql();
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut psql = command.spawn().expect("psql");
        let mut input = psql.stdin.take().expect("a pipe");
        writeln!(input, "\\set QUIET 1\n{sql};\nSELECT 'pid=' || pg_backend_pid();").expect("it reads");
        let lines = BufReader::new(psql.stdout.take().expect("a pipe")).lines();
        let mut found =
            lines.map_while(Result::ok).filter_map(|line| Some(line.trim().strip_prefix("pid=")?.to_owned()));
        let pid = found.next().expect("a process number");
        psql.stdin = Some(input);
        Self { psql, pid }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.psql.stdin.take());
        let _ = self.psql.wait();
    }
}
