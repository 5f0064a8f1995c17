//! What a load says when the answer to its COMMIT is lost is what is in the table: with one and several connections, into
//! tables that are there and that are not, through a proxy that loses, cuts and swallows.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::options::{Mode, OnError};
use howdah::report::Outcome;
use howdah::{Committed, Control, Error, ErrorKind, LoadOptions, Report};
use howdah_testkit::faults::{Fault, FaultProxy, Harm, Place};
use howdah_testkit::waiting::{promised, until};
use howdah_testkit::{Database, OwnServer};

use crate::common::{GATE, Holder, options, until_at_the_gate};

/// So many rows make each of four connections take some.
const ROWS: usize = 60_000;
/// Nothing waits so long: for a test that is for ever.
const HELD_UP: Duration = Duration::from_secs(600);

fn numbers(database: &Database) -> String {
    let pad = "x".repeat(100);
    let lines: Vec<String> = (0..ROWS).map(|n| format!("{n},{pad}\n")).collect();
    database.file("t.csv", format!("n,pad\n{}", lines.concat()))
}

/// A database, and a way to it on which things go wrong.
struct Rig {
    database: Database,
    proxy: FaultProxy,
    file: String,
}

/// A load under way.
struct Running {
    control: Control,
    load: JoinHandle<Result<Report, Error>>,
}

impl Rig {
    fn new() -> Rig {
        let database = Database::new();
        let proxy = FaultProxy::start(database.tcp_address());
        let file = numbers(&database);
        Rig { database, proxy, file }
    }

    fn target(&self) -> Target {
        let conninfo = self.proxy.conninfo(&self.database.conninfo());
        let options = ConnectOptions::default().conninfo(conninfo);
        options.resolve(&Environment::from_pairs([])).unwrap()
    }

    fn append(&self, jobs: usize) -> LoadOptions {
        options(&self.file, "t").mode(Mode::Append).jobs(jobs)
    }

    /// Starts a load that meets `faults` when it commits. One connection waits at the gate until they are made, so that no
    /// earlier COMMIT meets them; several have no gate, and none is earlier where the table exists.
    fn start(&self, options: LoadOptions, faults: &[Fault]) -> Running {
        let (target, control) = (self.target(), Control::new());
        let its = control.clone();
        if options.writing.jobs != Some(1) {
            faults.iter().for_each(|fault| self.proxy.set(*fault));
            let load = std::thread::spawn(move || howdah::load(&options, &target, &its));
            return Running { control, load };
        }
        let gate = Holder::gate(&self.database);
        let load = std::thread::spawn(move || howdah::load(&options.after([GATE]), &target, &its));
        until_at_the_gate(&self.database, &load);
        faults.iter().for_each(|fault| self.proxy.set(*fault));
        gate.release();
        Running { control, load }
    }

    fn count(&self) -> usize {
        self.database.sql("SELECT count(*) FROM t").parse().unwrap()
    }
}

impl Running {
    fn end(self) -> Result<Report, Error> {
        self.load.join().unwrap()
    }
}

/// What is said is what is in, `before` the load and after it.
fn check(rig: &Rig, result: &Result<Report, Error>, before: usize, case: &str) {
    let there = rig.count() - before;
    match result {
        Ok(report) => assert_eq!((there, report.outcome), (ROWS, Outcome::Loaded), "{case}"),
        Err(error) => match error.committed() {
            Committed::No => assert_eq!(there, 0, "{case}: {error:?}"),
            Committed::Partly => {
                assert!(0 < there && there < ROWS, "{case}: {there} rows, {error:?}");
                assert_eq!(error.kind(), ErrorKind::PartlyCommitted);
                let hint = error.hint().unwrap();
                let (_, undo) = hint.split_once("to take the rows out again: ").unwrap();
                rig.database.sql(undo);
                assert_eq!(rig.count(), before, "{case}: {undo}");
            }
            other => panic!("{case}: {other:?}, {there} rows are there: {error:?}"),
        },
    }
}

#[test]
fn a_lost_commit_and_a_lost_answer_are_told_apart() {
    let rig = Rig::new();
    let mut partly = 0;
    for (jobs, is_new) in [(1, false), (2, false), (4, false), (1, true), (2, true)] {
        for place in [Place::Commit, Place::BehindCommit, Place::CommitReply] {
            for harm in [Harm::Close, Harm::Reset] {
                for lost in if is_new || jobs == 1 { vec![1] } else { vec![1, jobs] } {
                    let case = format!("{jobs} connections, new: {is_new}, {place:?} {harm:?} {lost} times");
                    rig.database.sql("DROP TABLE IF EXISTS t");
                    let mode = if is_new {
                        Mode::Create
                    } else {
                        rig.database
                            .sql("CREATE TABLE t (n int, pad text); INSERT INTO t VALUES (-1, 'mine')");
                        Mode::Append
                    };
                    let faults = vec![Fault { place, harm }; lost];
                    let result = rig.start(rig.append(jobs).mode(mode), &faults).end();
                    rig.proxy.clear();
                    if is_new && let Err(error) = &result {
                        assert_eq!(
                            rig.database.sql("SELECT to_regclass('t') IS NULL"),
                            "t",
                            "{case}: {error:?}"
                        );
                        assert_eq!(error.committed(), Committed::No, "{case}: {error:?}");
                        continue;
                    }
                    check(&rig, &result, usize::from(!is_new), &case);
                    match (place, &result) {
                        (Place::CommitReply, result) => assert!(result.is_ok(), "{case}: {result:?}"),
                        (Place::Commit, result) if lost == jobs => assert!(result.is_err(), "{case}"),
                        _ => {}
                    }
                    partly +=
                        usize::from(matches!(&result, Err(error) if error.committed() == Committed::Partly));
                }
            }
        }
    }
    assert!(partly > 0, "no case in which some connections committed and others did not");
}

/// The way back from half a load takes rows out that were sent under savepoints, too, and leaves those of others.
#[test]
fn rows_behind_savepoints_are_taken_out_again_too() {
    let rig = Rig::new();
    let mut partly = 0;
    for _ in 0..10 {
        rig.database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (n int CHECK (n % 1000 <> 7), pad text)");
        rig.database.sql("INSERT INTO t VALUES (-1, 'mine')");
        let tolerant = rig.append(2).on_error(OnError::Ignore).rejects(rig.database.path("bad.jsonl"));
        let _ = std::fs::remove_file(rig.database.path("bad.jsonl"));
        let running = rig.start(tolerant, &[Fault { place: Place::Commit, harm: Harm::Close }]);
        rig.database.sql("INSERT INTO t VALUES (-2, 'meanwhile')");
        let error = running.end().unwrap_err();
        if error.committed() == Committed::Partly {
            check(&rig, &Err(error), 2, "tolerant");
            partly += 1;
            break;
        }
    }
    assert_eq!(partly, 1);
}

/// The connection falls silent while others to the server are made: a firewall has forgotten it.
#[test]
fn a_swallowed_commit_is_found_out() {
    let rigs = [Place::Commit, Place::CommitReply].map(|place| {
        std::thread::spawn(move || {
            let rig = Rig::new();
            rig.database.sql("CREATE TABLE t (n int, pad text)");
            let faults = [Fault { place, harm: Harm::BlackHole }];
            let running = rig.start(rig.append(1).analyze(true), &faults);
            let start = Instant::now();
            let result = running.end();
            let time = start.elapsed();
            check(&rig, &result, 0, &format!("{place:?}"));
            assert_eq!(result.is_ok(), place == Place::CommitReply, "{result:?}");
            assert!(time < promised(Duration::from_secs(30)), "{time:?}");
            rig.proxy.cut_all(Harm::Close);
        })
    });
    for rig in rigs {
        rig.join().unwrap();
    }
}

/// A line that loses packets delays a COMMIT for as long as TCP takes to send it again. To end its session would make half a load
/// of a whole one.
#[test]
fn a_late_commit_is_waited_for() {
    let rigs = [1, 2].map(|jobs| {
        std::thread::spawn(move || {
            let rig = Rig::new();
            rig.database.sql("CREATE TABLE t (n int, pad text)");
            let harm = Harm::Stall(Duration::from_secs(11));
            let result = rig.start(rig.append(jobs), &[Fault { place: Place::Commit, harm }]).end();
            assert_eq!(rig.proxy.struck(), 1);
            assert!(result.is_ok(), "{jobs} connections: {result:?}");
            check(&rig, &result, 0, &format!("{jobs} connections"));
        })
    });
    for rig in rigs {
        rig.join().unwrap();
    }
}

/// It is howdah itself that ends the session of a COMMIT that does not arrive, and no administrator.
#[test]
fn who_ended_a_session_is_said_as_it_was() {
    let rig = Rig::new();
    rig.database.sql("CREATE TABLE t (n int, pad text)");
    let running = rig.start(rig.append(1), &[Fault { place: Place::Commit, harm: Harm::Stall(HELD_UP) }]);
    until("the fault strikes", || rig.proxy.struck() == 1);
    let error = running.end().unwrap_err();
    assert!(error.message().contains("howdah ended its session"), "{error:?}");
    assert_eq!((error.committed(), error.sqlstate()), (Committed::No, None), "{error:?}");
    assert_eq!(rig.count(), 0);
    rig.proxy.cut_all(Harm::Close);
    // Somebody else's doing stays what the server calls it.
    let running = rig.start(rig.append(1), &[Fault { place: Place::Commit, harm: Harm::Stall(HELD_UP) }]);
    until("the fault strikes", || rig.proxy.struck() == 2);
    rig.database.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE state = 'idle in transaction' AND datname = current_database()",
    );
    let error = running.end().unwrap_err();
    assert_eq!((error.committed(), error.sqlstate()), (Committed::No, Some("57P01")), "{error:?}");
    rig.proxy.cut_all(Harm::Close);
}

#[test]
fn a_machine_that_is_gone_at_the_commit_leaves_an_unknown_outcome_that_can_be_looked_up() {
    let rig = Rig::new();
    rig.database.sql("CREATE TABLE t (n int, pad text)");
    let faults = [Fault { place: Place::BehindCommit, harm: Harm::BlackHole }];
    let running = rig.start(rig.append(1), &faults);
    until("the fault strikes", || rig.proxy.struck() == 1);
    rig.proxy.vanish();
    let start = Instant::now();
    let error = running.end().unwrap_err();
    assert!(start.elapsed() < promised(Duration::from_secs(30)), "{:?}", start.elapsed());
    assert_eq!(
        (error.kind(), error.committed()),
        (ErrorKind::PartlyCommitted, Committed::Unknown),
        "{error:?}"
    );
    assert_eq!(error.load_report().unwrap().outcome, Outcome::Unknown);
    let hint = error.hint().unwrap();
    let (_, question) = hint.split_once(": SELECT ").unwrap();
    let (question, undo) = question.split_once("; to take the rows out again: ").unwrap();
    let answer = rig.database.sql(&format!("SELECT {question}"));
    let is_in = answer.ends_with("|committed");
    assert_eq!(rig.count(), if is_in { ROWS } else { 0 }, "{answer}");
    rig.database.sql(undo);
    assert_eq!(rig.count(), 0);
}

#[test]
fn a_stop_while_commit_is_under_way_is_answered_within_two_seconds() {
    let rig = Rig::new();
    rig.database.sql("CREATE TABLE t (n int, pad text)");
    for (place, is_gone) in [(Place::Commit, false), (Place::CommitReply, false), (Place::BehindCommit, true)]
    {
        rig.database.sql("TRUNCATE t");
        let struck = rig.proxy.struck();
        let running = rig.start(rig.append(2), &[Fault { place, harm: Harm::BlackHole }]);
        until(&format!("the fault strikes: {place:?}"), || rig.proxy.struck() > struck);
        if is_gone {
            rig.proxy.vanish();
        }
        let start = Instant::now();
        running.control.cancel();
        let result = running.end();
        let time = start.elapsed();
        assert!(time < promised(Duration::from_secs(2)), "{place:?}: {time:?}");
        match (is_gone, &result) {
            (true, Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::PartlyCommitted, "{error:?}");
                assert!(error.hint().unwrap().contains("pg_xact_status"), "{error:?}");
            }
            (true, Ok(_)) => panic!("nobody can know that"),
            (false, result) => check(&rig, result, 0, &format!("{place:?}")),
        }
        rig.proxy.come_back();
        rig.proxy.cut_all(Harm::Close);
    }
}

/// After a failover the number of a transaction may be another's: what the new server says of it is not believed.
#[test]
fn another_server_is_not_asked_what_became_of_a_commit() {
    let (first, second) = (OwnServer::start(), OwnServer::start());
    let password = |server: &OwnServer| {
        let conninfo = server.conninfo();
        let rest = conninfo.rsplit("password=").next().unwrap();
        rest.trim_start_matches('\'').split([' ', '\'']).next().unwrap().to_owned()
    };
    // The second server knows the number, and that its own transaction was committed.
    let current = |server: &OwnServer| server.sql("SELECT pg_current_xact_id()").parse::<u64>().unwrap();
    let behind = current(&first) + 100;
    second.sql(&format!("DO $$ BEGIN WHILE pg_current_xact_id() < '{behind}' LOOP COMMIT; END LOOP; END $$"));
    assert!(current(&second) > current(&first));
    second.sql(&format!("ALTER ROLE current_user PASSWORD '{}'", password(&first)));
    let proxy = FaultProxy::start(first.tcp_address());
    first.sql("CREATE TABLE t (n int)");
    let conninfo = proxy.conninfo(&first.conninfo());
    let connect = ConnectOptions::default().conninfo(conninfo);
    let target = connect.resolve(&Environment::from_pairs([])).unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    std::fs::write(file.path(), "n\n1\n").unwrap();
    let options = options(&file.path().to_string_lossy(), "t").mode(Mode::Append).jobs(1);
    proxy.set(Fault { place: Place::BehindCommit, harm: Harm::GoAway });
    let error = std::thread::scope(|scope| {
        let load = scope.spawn(|| howdah::load(&options, &target, &Control::new()).unwrap_err());
        until("COMMIT was sent", || proxy.struck() == 1);
        proxy.lead_to(second.tcp_address());
        proxy.come_back();
        load.join().unwrap()
    });
    assert_eq!(error.committed(), Committed::Unknown, "{error:?}");
    let system = first.sql("SELECT system_identifier FROM pg_control_system()");
    assert!(
        error.hint().unwrap().contains(&format!("the system identifier {system} and timeline 00000001")),
        "{error:?}"
    );
}
