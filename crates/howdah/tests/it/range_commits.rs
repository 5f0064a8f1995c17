//! The commits of ranges: where some connections have committed and others not, that is said, the stage is gone, and the same load
//! again gives the table of one load.

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::options::Mode;
use howdah::{Committed, Control, Error, ErrorKind, Report};
use howdah_testkit::faults::{Fault, FaultProxy, Harm, Place};
use howdah_testkit::waiting::until;
use howdah_testkit::{Database, OwnServer};

use crate::common::staged::{MODES, hidden_tables};
use crate::common::{Holder, load, options};

const JOBS: usize = 4;

const SEED: &str = "DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, n int, note text);
    INSERT INTO t SELECT i, 0, 'old' FROM generate_series(0, 999, 2) i";

/// Every key from 0 to 999, three times over.
fn rows() -> String {
    let rows = (0..3000).map(|n| format!("{},{n},new\n", n * 7919 % 1000));
    format!("id,n,note\n{}", rows.collect::<String>())
}

fn target(proxy: &FaultProxy, conninfo: &str) -> Target {
    let options = ConnectOptions::default().conninfo(proxy.conninfo(conninfo));
    options.resolve(&Environment::from_pairs([])).unwrap()
}

/// Loads through the proxy, where `faults` strike when the ranges commit: until they are set, a row keeps the load waiting.
fn load_into(
    database: &Database,
    proxy: &FaultProxy,
    file: &str,
    mode: Mode,
    faults: &[Fault],
) -> Result<Report, Error> {
    let target = target(proxy, &database.conninfo());
    let wanted = options(file, "t").mode(mode).jobs(JOBS);
    // Of a row that is there `ignore` asks nothing; of one that another is about to insert it does.
    let holder =
        Holder::new(database, "UPDATE t SET n = n WHERE id = 500; INSERT INTO t VALUES (501, 0, 'mine')");
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| howdah::load(&wanted, &target, &Control::new()));
        let waiting = "SELECT count(*) > 0 FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until("the ranges are being applied", || {
            assert!(!loading.is_finished(), "the load did not wait");
            database.sql(waiting) == "t"
        });
        faults.iter().for_each(|fault| proxy.set(*fault));
        holder.release();
        loading.join().unwrap()
    })
}

#[test]
fn half_a_load_is_said_and_the_same_load_again_makes_a_whole_of_it() {
    let database = Database::new();
    let proxy = FaultProxy::start(database.tcp_address());
    let file = database.file("t.csv", rows());
    let sum = "SELECT string_agg(t::text, ' ' ORDER BY id) FROM t";
    let mut partly = 0;
    for mode in MODES {
        database.sql(SEED);
        assert_eq!(load(&database, &options(&file, "t").mode(mode).jobs(JOBS)).apply_jobs, Some(JOBS));
        let clean = database.sql(sum);
        for (place, lost) in [
            (Place::Commit, 1),
            (Place::Commit, 2),
            (Place::Commit, 3),
            (Place::Commit, 4),
            (Place::BehindCommit, 2),
        ] {
            let case = format!("{mode}, {lost} times {place:?}");
            database.sql(SEED);
            let before = database.sql(sum);
            let result =
                load_into(&database, &proxy, &file, mode, &vec![Fault { place, harm: Harm::Close }; lost]);
            proxy.clear();
            assert_eq!(hidden_tables(&database), "0", "{case}");
            match &result {
                Ok(_) => assert_eq!(place, Place::BehindCommit, "{case}"),
                Err(error) if error.committed() == Committed::No => {
                    assert_eq!(database.sql(sum), before, "{case}")
                }
                Err(error) => {
                    assert_eq!(
                        (error.kind(), error.committed()),
                        (ErrorKind::PartlyCommitted, Committed::Partly)
                    );
                    assert!(error.visible().unwrap().starts_with("the changes of "), "{case}: {error:?}");
                    assert!(
                        error.hint().unwrap().starts_with("run the same load again"),
                        "{case}: {error:?}"
                    );
                    let now = database.sql(sum);
                    assert!(now != before && now != clean, "{case}: {error:?}");
                    partly += 1;
                }
            }
            load(&database, &options(&file, "t").mode(mode).jobs(JOBS));
            assert_eq!(database.sql(sum), clean, "{case}");
        }
    }
    assert!(partly >= MODES.len(), "only {partly} loads were cut in the middle");
}

/// The server crashes when three connections have committed and the COMMIT of the fourth is on its way.
#[test]
fn a_crash_between_the_commits_leaves_what_the_same_load_completes() {
    let server = OwnServer::start();
    let proxy = FaultProxy::start(server.tcp_address());
    let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    std::fs::write(file.path(), rows()).unwrap();
    server.sql(SEED);
    let mut holder = psql_holding(&server, "UPDATE t SET n = n WHERE id = 500");
    let target = target(&proxy, &server.conninfo());
    let wanted = options(&file.path().to_string_lossy(), "t").mode(Mode::Upsert).jobs(JOBS);
    let error = std::thread::scope(|scope| {
        let loading = scope.spawn(|| howdah::load(&wanted, &target, &Control::new()).unwrap_err());
        until("a range waits", || {
            server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "1"
        });
        proxy.set(Fault { place: Place::Commit, harm: Harm::BlackHole });
        drop(holder.stdin.take());
        holder.wait().unwrap();
        until("three have committed", || {
            let open = "SELECT count(*) FROM pg_stat_activity
                         WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL";
            proxy.struck() == 1 && server.sql(open) == "1"
        });
        let any = "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' LIMIT 1";
        server.kill_backend(&server.sql(any));
        loading.join().unwrap()
    });
    server.await_recovery();
    assert_eq!(
        (error.kind(), error.committed()),
        (ErrorKind::PartlyCommitted, Committed::Partly),
        "{error:?}"
    );
    assert!(error.visible().unwrap().starts_with("the changes of 3 of 4 connections are in"), "{error:?}");
    proxy.cut_all(Harm::Close);
    howdah::load(&wanted, &target, &Control::new()).unwrap();
    assert_eq!(
        server.sql("SELECT count(*), count(*) FILTER (WHERE note = 'new'), min(n) FROM t"),
        "1000|1000|2000"
    );
    assert_eq!(server.sql("SELECT count(*) FROM pg_class WHERE relname ~ '^howdah_load_'"), "0");
}

/// An open transaction in which `sql` was run, until its input ends.
fn psql_holding(server: &OwnServer, sql: &str) -> std::process::Child {
    use std::io::{BufRead, BufReader, Write};
    let mut psql = std::process::Command::new(server.bin_dir().join("psql"));
    psql.args(["-XAtd", &server.conninfo()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = psql.spawn().unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "BEGIN; {sql};\n\\echo ready").unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ready")), "{sql} did not work");
    child
}
