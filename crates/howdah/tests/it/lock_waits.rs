//! A load that waits for somebody's lock says whose, and waits no longer than it is told.

use std::time::{Duration, Instant};

use howdah::connect::{ConnectOptions, Environment};
use howdah::options::{Mode, Sort, WritePath};
use howdah::{Committed, Control, Error};
use howdah_testkit::Database;
use howdah_testkit::waiting::{PATIENCE, until};

use crate::common::{Holder, options, target};

#[test]
fn who_holds_up_a_load_is_said() {
    for (mode, jobs, lock) in [
        (Mode::Append, 1, "LOCK TABLE t IN SHARE MODE"),
        (Mode::Append, 2, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE"),
        (Mode::Truncate, 1, "SELECT * FROM t"),
        (Mode::Replace, 2, "SELECT * FROM t"),
    ] {
        let database = Database::new();
        database.sql("CREATE TABLE t (n int)");
        let file = database.file("t.csv", "n\n1\n2\n");
        let holder = Holder::new(&database, &format!("SET application_name = 'somebody'; {lock}"));
        let (control, target) = (Control::new(), target(&database));
        let (its, wanted) = (control.clone(), options(&file, "t").mode(mode).jobs(jobs));
        let load = std::thread::spawn(move || howdah::load(&wanted, &target, &its));
        let mut said = Vec::new();
        until("the holder is named", || {
            said.extend(control.take_notices().iter().map(ToString::to_string));
            said.iter().any(|notice: &String| notice.starts_with("waiting for"))
        });
        let notice = said.iter().find(|notice| notice.starts_with("waiting for")).unwrap();
        assert!(notice.starts_with("waiting for a lock on t: process "), "{notice}");
        assert!(
            notice.contains("(somebody, role ") && notice.ends_with("idle in transaction) holds it"),
            "{notice}"
        );
        holder.release();
        assert_eq!(load.join().unwrap().unwrap().rows, 2);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
    }
}

#[test]
fn a_deadlock_through_a_session_of_somebody_else_ends_the_load() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY, v text)");
    // More than sockets and chunks under way hold: the connection that waits cannot have taken the last row too.
    let beside = "x".repeat(1000);
    let rows: String = (0..30_000).map(|n| format!("{n},{beside}\n")).collect();
    let file = database.file("t.csv", format!("n,v\n-1,waits\n{rows}"));
    let mut holder = Holder::new(&database, "INSERT INTO t VALUES (-1)");
    let wanted = options(&file, "t").mode(Mode::Append).jobs(2).sort(Sort::None);
    let target = target(&database);
    let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
    // One connection waits for the session, the other has sent the rest and waits for the end of the load.
    database.until(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND query LIKE 'SET CONSTRAINTS%' AND state = 'idle in transaction' AND backend_xid IS NOT NULL",
        "1",
    );
    holder.tell("INSERT INTO t VALUES (29999)");
    let error = load.join().unwrap().unwrap_err();
    assert_eq!((error.sqlstate(), error.committed()), (Some("40P01"), Committed::No), "{error:?}");
    assert!(error.message().starts_with("deadlock with process ") && error.is_retryable(), "{error:?}");
    holder.release();
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn of_two_loads_that_wait_for_each_other_one_gives_way() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY, v text)");
    let beside = "x".repeat(1000);
    // Where a connection of each waits for a session, the other sends the rest, and the next row is one of those of the other load.
    let holders = [-1, -2].map(|n| Holder::new(&database, &format!("INSERT INTO t VALUES ({n})")));
    let loads = [(-1, 0, 129_999), (-2, 100_000, 29_999)].map(|(held, first, of_the_other)| {
        let rows: String = (first..first + 30_000).map(|n| format!("{n},{beside}\n")).collect();
        let csv = format!("n,v\n{held},\n{of_the_other},\n{rows}");
        let file = database.file(&format!("{first}.csv"), csv);
        let wanted = options(&file, "t").mode(Mode::Append).jobs(2).sort(Sort::None);
        let target = target(&database);
        std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()))
    });
    database.until(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND query LIKE 'SET CONSTRAINTS%' AND state = 'idle in transaction' AND backend_xid IS NOT NULL",
        "2",
    );
    holders.into_iter().for_each(Holder::release);
    let ended = loads.map(|load| load.join().unwrap());
    let refused: Vec<&Error> = ended.iter().filter_map(|ended| ended.as_ref().err()).collect();
    assert_eq!(refused.len(), 1, "{ended:?}");
    assert_eq!(
        (refused[0].sqlstate(), refused[0].committed()),
        (Some("40P01"), Committed::No),
        "{refused:?}"
    );
    assert_eq!(database.sql("SELECT count(*) FROM t"), "30002");
}

#[test]
fn a_wait_that_is_too_long_ends_the_load_and_changes_nothing() {
    for (mode, jobs, lock) in [
        (Mode::Append, 1, "INSERT INTO t VALUES (1)"),
        (Mode::Append, 2, "LOCK TABLE t IN SHARE MODE"),
        (Mode::Truncate, 1, "SELECT * FROM t"),
        (Mode::Replace, 2, "SELECT * FROM t"),
        (Mode::Upsert, 1, "INSERT INTO t VALUES (1)"),
    ] {
        let database = Database::new();
        database.sql("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (0)");
        let file = database.file("t.csv", "n\n1\n2\n");
        let holder = Holder::new(&database, lock);
        let wanted = options(&file, "t").mode(mode).jobs(jobs).lock_timeout(Duration::from_millis(700));
        let start = Instant::now();
        let error = howdah::load(&wanted, &target(&database), &Control::new()).unwrap_err();
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        assert_eq!((error.sqlstate(), error.committed()), (Some("55P03"), Committed::No), "{error:?}");
        assert!(error.message().ends_with("was not to be had within 0.7 s (lock_timeout)"), "{error:?}");
        assert!(error.detail().unwrap().contains("holds it") && error.hint().is_some(), "{error:?}");
        holder.release();
        assert_eq!(database.sql("SELECT count(*) FROM t WHERE n = 0"), "1");
        let leftovers = "SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah%'";
        database.until(leftovers, "0");
    }
}

#[test]
fn a_wait_that_is_too_long_ends_where_no_further_connection_is_to_be_had() {
    let (copy, landing) = (WritePath::CopyBinary, WritePath::Landing);
    for (mode, path, lock) in [
        (Mode::Append, copy, "LOCK TABLE t IN SHARE MODE"),
        (Mode::Truncate, copy, "SELECT * FROM t"),
        (Mode::Replace, copy, "SELECT * FROM t"),
        (Mode::Upsert, copy, "INSERT INTO t VALUES (1)"),
        // While it plans.
        (Mode::Append, copy, "LOCK TABLE t"),
        (Mode::Upsert, copy, "LOCK TABLE t"),
        // While it promotes what has landed.
        (Mode::Append, landing, "LOCK TABLE t IN SHARE MODE"),
    ] {
        let database = Database::new();
        let role = format!("lone_{}", database.name());
        database.sql(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'lone' CONNECTION LIMIT 1; GRANT CREATE ON SCHEMA public TO {role};
             CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (0); ALTER TABLE t OWNER TO {role}"
        ));
        let file = database.file("t.csv", "n\n1\n2\n");
        let conninfo = format!("{} user={role} password=lone", database.conninfo());
        let lone = ConnectOptions::default().conninfo(conninfo);
        let lone = lone.resolve(&Environment::from_pairs([])).unwrap();
        let holder = Holder::new(&database, lock);
        let wanted =
            options(&file, "t").mode(mode).jobs(1).write_path(path).lock_timeout(Duration::from_millis(700));
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(howdah::load(&wanted, &lone, &Control::new())).unwrap());
        let error = ended.recv_timeout(Duration::from_secs(60)).expect("it waits for ever").unwrap_err();
        assert_eq!((error.sqlstate(), error.committed()), (Some("55P03"), Committed::No), "{error:?}");
        assert!(error.message().ends_with("was not to be had within 0.7 s (lock_timeout)"), "{error:?}");
        assert!(error.detail().is_some() && error.hint().is_some(), "{error:?}");
        holder.release();
        assert_eq!(database.sql("SELECT count(*) FROM t WHERE n = 0"), "1");
    }
}

#[test]
fn a_limited_rate_is_kept_by_all_connections_together() {
    let database = Database::new();
    database.sql("CREATE TABLE t (x text)");
    let file = database.file("t.csv", format!("{}\n", "x".repeat(99)).repeat(30_000));
    let wanted = options(&file, "t").mode(Mode::Append).jobs(2).max_rate(2_000_000);
    let start = Instant::now();
    let report = howdah::load(&wanted, &target(&database), &Control::new()).unwrap();
    // Three million bytes, of which the first chunk need not wait.
    assert!(start.elapsed() > Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!((report.rows, report.jobs), (30_000, 2));
}
