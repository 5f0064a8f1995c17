//! A stop while the server's machine is gone ends within two seconds, whatever the load is doing: nothing that cleaning up asks is
//! answered, and all of it has one deadline.

use std::time::{Duration, Instant};

use howdah::connect::{ConnectOptions, Environment};
use howdah::name::TableName;
use howdah::options::{HeaderOption, Mode, WritePath};
use howdah::{Control, Error, ErrorKind, LoadOptions, PromoteOptions};
use howdah_testkit::Database;
use howdah_testkit::faults::{FaultProxy, Harm};
use howdah_testkit::waiting::{promised, until};

use crate::common::{GATE, Holder, options};

/// What is promised.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Where a load waits when its machine goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Planning,
    Before,
    Copying { jobs: usize },
    RowByRow,
    Applying,
    After,
    PromotingLanded,
    Promoting,
}

impl Phase {
    fn options(self, wanted: LoadOptions) -> LoadOptions {
        let wanted = wanted.header(HeaderOption::Yes).jobs(1);
        let append = wanted.clone().mode(Mode::Append);
        match self {
            Phase::Planning | Phase::Promoting => append,
            Phase::Before => append.before([GATE]),
            Phase::Copying { jobs } => append.jobs(jobs),
            Phase::RowByRow => append.write_path(WritePath::InsertAutocommit),
            Phase::Applying => wanted.mode(Mode::Upsert),
            Phase::After => append.after([GATE]),
            Phase::PromotingLanded => append.write_path(WritePath::Landing),
        }
    }

    /// Makes a load wait in this phase and no earlier.
    fn holder(self, database: &Database) -> Holder {
        match self {
            Phase::Planning => Holder::new(database, "LOCK TABLE t IN ACCESS EXCLUSIVE MODE"),
            Phase::Before | Phase::After => Holder::gate(database),
            _ => {
                database.sql(&format!(
                    "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM {}; RETURN NEW; END $$;
                     CREATE TRIGGER wait BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION wait()",
                    GATE.strip_prefix("SELECT ").unwrap()
                ));
                Holder::gate(database)
            }
        }
    }
}

#[test]
fn a_stop_while_the_machine_is_gone_ends_within_two_seconds_in_every_phase() {
    for phase in [
        Phase::Planning,
        Phase::Before,
        Phase::Copying { jobs: 1 },
        Phase::Copying { jobs: 2 },
        Phase::RowByRow,
        Phase::Applying,
        Phase::After,
        Phase::PromotingLanded,
        Phase::Promoting,
    ] {
        let database = Database::new();
        database.sql(
            "CREATE TABLE t (n int PRIMARY KEY); CREATE TABLE raw (n text); INSERT INTO raw VALUES ('1')",
        );
        let holder = phase.holder(&database);
        let proxy = FaultProxy::start(database.tcp_address());
        let conninfo = proxy.conninfo(&database.conninfo());
        let connect = ConnectOptions::default().conninfo(conninfo);
        let target = connect.resolve(&Environment::from_pairs([])).unwrap();
        let wanted = phase.options(options(&database.file("t.csv", "n\n1\n2\n3\n"), "t"));
        let control = Control::new();
        let its = control.clone();
        let running = std::thread::spawn(move || -> Result<(), Error> {
            if phase != Phase::Promoting {
                return howdah::load(&wanted, &target, &its).map(|_| ());
            }
            let name = |name| TableName::parse(name).unwrap();
            howdah::promote(&PromoteOptions::new(name("raw"), name("t")), &target, &its).map(|_| ())
        });
        until(&format!("it waits: {phase:?}"), || {
            assert!(!running.is_finished(), "{phase:?}: it ended before");
            database.sql(
                "SELECT count(*) > 0 FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name = 'howdah' AND wait_event_type = 'Lock'",
            ) == "t"
        });
        proxy.vanish();
        let start = Instant::now();
        control.cancel();
        let error = running.join().unwrap().unwrap_err();
        let time = start.elapsed();
        assert!(time < promised(ENDS_WITHIN), "{phase:?}: {time:?}, {error:?}");
        if phase != Phase::RowByRow {
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{phase:?}: {error:?}");
        }
        proxy.cut_all(Harm::Close);
        drop(holder);
    }
}
