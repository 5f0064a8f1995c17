//! Random workloads under random faults, each drawn from one seed: `HOWDAH_SEED=7 HOWDAH_FAULT_RUNS=1` runs seed 7 again.

mod plan;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah::connect::Connection;
use howdah::writer::Writer;
use howdah_testkit::faults::{FaultProxy, Harm};
use howdah_testkit::{Database, Frozen, knob, waiting};
use plan::{Ending, Plan, Producer, Trouble};
use tokio::runtime::{Builder, Runtime};

use super::account::{Account, Key, create, target};
use crate::pooler::Pooler;

/// Runs that go on at the same time: they wait most of the time.
const AT_ONCE: usize = 6;

/// So long a commit may take to wait for a standby, where one is to come.
const WAITER_COMES_WITHIN: Duration = Duration::from_millis(200);

#[test]
fn random_faults_lose_and_double_nothing() {
    let first = u64::try_from(knob("HOWDAH_SEED", 1)).unwrap();
    let runs = u64::try_from(knob("HOWDAH_FAULT_RUNS", 200)).unwrap();
    let database = Database::new();
    let pooler = Pooler::start(&database, "session", 30);
    let fired = Fired::default();
    let next = AtomicU64::new(first);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let sessions = [Session::open(&database), Session::open(&database)];
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs {
                        break;
                    }
                    let plan = Plan::drawn_from(seed);
                    // What panics inside has said why; this says where.
                    let told = Told(&plan);
                    let site = Site { database: &database, pooler: pooler.as_ref(), fired: &fired };
                    let wrongs = run(&plan, &site, &sessions);
                    assert!(
                        wrongs.is_empty(),
                        "{} rows are wrong: {:#?}",
                        wrongs.len(),
                        &wrongs[..wrongs.len().min(9)]
                    );
                    std::mem::forget(told);
                }
            });
        }
    });
    println!("seeds {first} to {}: {}", first + runs - 1, fired.described());
    // In so many runs everything happens.
    if runs >= 200 {
        let never = plan::ALL.iter().filter(|name| fired.times(name) == 0);
        let never: Vec<_> = never.filter(|name| pooler.is_some() || !name.starts_with("pooler")).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
    }
}

/// What all runs have in common.
#[derive(Clone, Copy)]
struct Site<'s> {
    database: &'s Database,
    /// `None` where there is no pgbouncer.
    pooler: Option<&'s Pooler>,
    fired: &'s Fired,
}

/// How often each fault has happened, over all runs: not how often it was ordered.
#[derive(Default)]
struct Fired(Mutex<BTreeMap<&'static str, u64>>);

impl Fired {
    fn add(&self, name: &'static str, times: u64) {
        *self.0.lock().unwrap().entry(name).or_default() += times;
    }

    fn times(&self, name: &str) -> u64 {
        self.0.lock().unwrap().get(name).copied().unwrap_or(0)
    }

    fn described(&self) -> String {
        let fired = self.0.lock().unwrap();
        fired.iter().map(|(name, times)| format!("{name} {times}")).collect::<Vec<_>>().join(", ")
    }
}

/// Dropped by a panic, it tells the plan.
struct Told<'a>(&'a Plan);

impl Drop for Told<'_> {
    #[expect(clippy::print_stderr, reason = "how to run it again is what a failed test has to say")]
    fn drop(&mut self) {
        eprintln!("again: HOWDAH_SEED={} HOWDAH_FAULT_RUNS=1\n{:#?}", self.0.seed, self.0);
    }
}

/// A session beside the writer's, by the socket.
struct Session {
    runtime: Runtime,
    connection: Connection,
}

impl Session {
    fn open(database: &Database) -> Session {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(target(&database.conninfo()).connect()).unwrap();
        Session { runtime, connection }
    }

    fn run(&self, sql: &str) {
        self.runtime.block_on(self.connection.client().batch_execute(sql)).unwrap();
    }

    /// Runs what may fail; whether it did not.
    fn try_run(&self, sql: &str) -> bool {
        self.runtime.block_on(self.connection.client().batch_execute(sql)).is_ok()
    }

    fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(self.connection.client().query_one(sql, &[])).unwrap().get(0)
    }

    fn keys(&self, sql: &str) -> Vec<Key> {
        let rows = self.runtime.block_on(self.connection.client().query(sql, &[])).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

/// Runs a plan in a table of its own; what is wrong afterwards.
fn run(plan: &Plan, site: &Site<'_>, sessions: &[Session; 2]) -> Vec<String> {
    let Site { database, pooler, fired } = *site;
    let [asking, troubling] = sessions;
    let name = format!("run_{}", plan.seed);
    asking.run(&format!("{}; ALTER TABLE {name} ADD CHECK (number >= 0)", create(&name)));
    if plan.is_keyed {
        asking.run(&format!("ALTER TABLE {name} ADD UNIQUE (producer, number)"));
    }
    let pooler = pooler.filter(|_| plan.is_pooled);
    let upstream = pooler.map_or(database.tcp_address(), Pooler::address);
    let proxy = FaultProxy::seeded(upstream, plan.seed);
    proxy.line(plan.line);
    let mut through = format!("{} application_name={name}", proxy.conninfo(&database.conninfo()));
    match pooler {
        Some(_) => fired.add("pooler between", 1),
        // A pooler takes no options.
        None if plan.is_synchronous => through += " options='-c synchronous_commit=on'",
        None => {}
    }
    let writer = Writer::connect_blocking(&target(&through), &name, plan.options.clone()).unwrap();
    let accepted = AtomicUsize::new(0);
    let mut account = Account::default();
    let mut awaited = Vec::new();
    thread::scope(|scope| {
        let (writer, accepted) = (&writer, &accepted);
        let producing: Vec<_> = plan
            .producers
            .iter()
            .zip(1..)
            .map(|(producer, number)| scope.spawn(move || produce(producer, number, writer, accepted)))
            .collect();
        for (after, trouble) in &plan.troubles {
            while accepted.load(Ordering::Relaxed) < *after
                && !producing.iter().all(|thread| thread.is_finished())
            {
                thread::sleep(Duration::from_micros(500));
            }
            let happens = make(trouble, &name, &proxy, troubling);
            // What strikes on the wire is counted where it does.
            if let Some(name) = trouble.name() {
                match happens {
                    Happens::Now(times) => fired.add(name, u64::from(times > 0)),
                    Happens::When(faults) => awaited.push((name, faults)),
                }
            }
        }
        producing.into_iter().for_each(|producing| account.add(producing.join().unwrap()));
    });
    match plan.ending {
        Ending::Settle => {}
        Ending::Flush => drop(writer.flush_blocking()),
        Ending::Close(deadline) => drop(writer.close_blocking(deadline)),
    }
    account.settle();
    let statistics = writer.statistics();
    fired.add("found out", statistics.ambiguous_commits);
    // What is late arrives in the end, with or without a writer.
    let is_late = proxy.held_back() > 0;
    drop(writer);
    proxy.release();
    waiting::until("what was late has arrived", || proxy.held_back() == 0);
    for (name, faults) in awaited {
        fired.add(name, u64::from(faults.iter().all(|fault| proxy.has_struck(*fault))));
    }
    proxy.fired().into_iter().for_each(|(harm, times)| fired.add(harm, times));
    if is_late || matches!(plan.ending, Ending::Close(_)) {
        // What was on its way may still commit.
        let start = Instant::now();
        // A pooler keeps its backends.
        let busy = if pooler.is_some() { " AND state <> 'idle'" } else { "" };
        let backends =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'{busy}");
        while asking.number(&backends) > 0 {
            assert!(start.elapsed() < waiting::PATIENCE, "backends of a closed writer stay");
            thread::sleep(Duration::from_millis(2));
        }
    }
    let exactly_once = plan.is_exactly_once();
    let mut wrongs =
        account.wrongs(asking.keys(&format!("SELECT producer, number FROM {name}")), exactly_once);
    for ((_, number), error) in account.failed() {
        let is_refused = *number < 0 && error.sqlstate() == Some("23514");
        if !is_refused && !matches!(plan.ending, Ending::Close(_)) {
            wrongs.push(format!("row {number} failed although every fault has passed: {error:?}"));
        }
    }
    if statistics.peak_queued_rows > plan.options.queue_rows {
        wrongs.push(format!("{} rows were queued", statistics.peak_queued_rows));
    }
    asking.run(&format!("DROP TABLE {name}"));
    wrongs
}

/// Writes the rows of one producer, until it is closed.
fn produce(producer: &Producer, name: i32, writer: &Writer, accepted: &AtomicUsize) -> Account {
    let mut account = Account::default();
    let payload = "x".repeat(producer.payload);
    for number in 0..producer.rows {
        // The table wants none below 0.
        let number = if producer.bad_every.is_some_and(|every| number % every == every - 1) {
            -number
        } else {
            number
        };
        account.try_write(writer, (name, number), &payload).unwrap();
        accepted.fetch_add(1, Ordering::Relaxed);
        if (number + 1) % producer.pause_every == 0 {
            thread::sleep(producer.pause);
        }
    }
    account
}

/// Whether a trouble that was made is one.
enum Happens {
    /// So many backends, connections or statements were hit.
    Now(i64),
    /// When all these faults of the proxy have struck.
    When(Vec<u64>),
}

/// Makes trouble; what came of it.
fn make(trouble: &Trouble, name: &str, proxy: &FaultProxy, session: &Session) -> Happens {
    let connections = || i64::try_from(proxy.connections_now()).unwrap();
    let of_writer = format!("FROM pg_stat_activity WHERE application_name = '{name}'");
    Happens::Now(match trouble {
        Trouble::Wire(fault) => return Happens::When(vec![proxy.set_watched(*fault)]),
        Trouble::Twice(first, second) => {
            return Happens::When(vec![proxy.set_watched(*first), proxy.set_watched(*second)]);
        }
        Trouble::Cut(harm) => {
            let there_were = connections();
            proxy.cut_all(*harm);
            there_were
        }
        Trouble::Away(time, harm) => {
            let (there_were, taken) = (connections(), proxy.connections());
            proxy.go_away(*harm);
            thread::sleep(*time);
            proxy.come_back();
            // What was swallowed meanwhile is let go.
            proxy.cut_all(Harm::Close);
            there_were + i64::try_from(proxy.connections() - taken).unwrap()
        }
        Trouble::Terminate => {
            session.number(&format!("SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) {of_writer}"))
        }
        Trouble::Cancel(times) => {
            let mut working = 0;
            for _ in 0..*times {
                working += session.number(&format!(
                    "SELECT count(*) FILTER (WHERE pg_cancel_backend(pid) AND state = 'active') {of_writer}"
                ));
                thread::sleep(Duration::from_micros(300));
            }
            working
        }
        Trouble::Freeze(time, is_cut) => {
            let pid = session.number(&format!("SELECT coalesce(min(pid), 0)::bigint {of_writer}"));
            let frozen = Frozen::freeze(&pid.to_string());
            if *is_cut {
                proxy.cut_all(Harm::Close);
            }
            thread::sleep(*time);
            i64::from(frozen.is_some())
        }
        Trouble::StandbyAway(time) => {
            session.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
            session.run("SELECT pg_reload_conf()");
            // Somebody may write no more.
            let start = Instant::now();
            let mut waiters = 0;
            while waiters == 0 && start.elapsed() < *time + WAITER_COMES_WITHIN {
                thread::sleep(Duration::from_millis(1));
                waiters = session.number(&format!("SELECT count(*) {of_writer} AND wait_event = 'SyncRep'"));
            }
            thread::sleep(*time);
            session.run("ALTER SYSTEM RESET synchronous_standby_names");
            session.run("SELECT pg_reload_conf()");
            waiters
        }
        Trouble::Alter => {
            // Where an attempt that is held back holds the table, nobody can alter it before it is let go.
            let change = ["ADD COLUMN IF NOT EXISTS more int DEFAULT 1", "DROP COLUMN IF EXISTS more"];
            let done = change.map(|change| {
                session.try_run(&format!("SET lock_timeout = '500ms'; ALTER TABLE {name} {change}"))
            });
            i64::from(done[0])
        }
        Trouble::Lock(time) => {
            session.run(&format!(
                "SET lock_timeout = 0; BEGIN; LOCK TABLE {name} IN EXCLUSIVE MODE; SELECT pg_sleep({}); COMMIT",
                time.as_secs_f64()
            ));
            1
        }
    })
}
