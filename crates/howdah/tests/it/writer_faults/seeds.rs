//! Random workloads under random faults, each drawn from one seed: `HOWDAH_SEED=7 HOWDAH_FAULT_RUNS=1` runs seed 7 again.

mod plan;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah::connect::Connection;
use howdah::writer::Writer;
use howdah_testkit::faults::{FaultProxy, Harm};
use howdah_testkit::{Database, knob};
use plan::{Ending, Plan, Producer, Trouble};
use tokio::runtime::{Builder, Runtime};

use super::account::{Account, Key, create, target};

/// Runs that go on at the same time: they wait most of the time.
const AT_ONCE: usize = 6;

/// So long rows may be on their way after a writer was closed early.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn random_faults_lose_and_double_nothing() {
    let first = u64::try_from(knob("HOWDAH_SEED", 1)).unwrap();
    let runs = u64::try_from(knob("HOWDAH_FAULT_RUNS", 200)).unwrap();
    let database = Database::new();
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
                    let wrongs = run(&plan, &database, &sessions);
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

    fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(self.connection.client().query_one(sql, &[])).unwrap().get(0)
    }

    fn keys(&self, sql: &str) -> Vec<Key> {
        let rows = self.runtime.block_on(self.connection.client().query(sql, &[])).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

/// Runs a plan in a table of its own; what is wrong afterwards.
fn run(plan: &Plan, database: &Database, sessions: &[Session; 2]) -> Vec<String> {
    let [asking, troubling] = sessions;
    let name = format!("run_{}", plan.seed);
    asking.run(&format!("{}; ALTER TABLE {name} ADD CHECK (number >= 0)", create(&name)));
    if plan.is_keyed {
        asking.run(&format!("ALTER TABLE {name} ADD UNIQUE (producer, number)"));
    }
    let proxy = FaultProxy::seeded(database.tcp_address(), plan.seed);
    proxy.line(plan.line);
    let through = format!("{} application_name={name}", proxy.conninfo(&database.conninfo()));
    let writer = Writer::connect_blocking(&target(&through), &name, plan.options.clone()).unwrap();
    let accepted = AtomicUsize::new(0);
    let mut account = Account::default();
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
            make(trouble, &name, &proxy, troubling);
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
    drop(writer);
    if let Ending::Close(_) = plan.ending {
        // What was on its way may still commit.
        let start = Instant::now();
        let backends = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
        while asking.number(&backends) > 0 {
            assert!(start.elapsed() < PATIENCE, "backends of a closed writer stay");
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

fn make(trouble: &Trouble, name: &str, proxy: &FaultProxy, session: &Session) {
    match trouble {
        Trouble::Wire(fault) => proxy.set(*fault),
        Trouble::Cut(harm) => proxy.cut_all(*harm),
        Trouble::Away(time, harm) => {
            proxy.go_away(*harm);
            thread::sleep(*time);
            proxy.come_back();
            // What was swallowed meanwhile is let go.
            proxy.cut_all(Harm::Close);
        }
        Trouble::Terminate => session.run(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
        )),
        Trouble::Cancel(times) => {
            for _ in 0..*times {
                session.run(&format!(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
                ));
                thread::sleep(Duration::from_micros(300));
            }
        }
        Trouble::Lock(time) => session.run(&format!(
            "BEGIN; LOCK TABLE {name} IN EXCLUSIVE MODE; SELECT pg_sleep({}); COMMIT",
            time.as_secs_f64()
        )),
    }
}
