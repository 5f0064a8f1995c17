//! Other sessions get in the way: deadlocks, serialization failures, a second writer on the same rows.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;

use howdah::writer::{OnConflict, Writer, WriterPath};
use howdah_testkit::{Database, waiting};

use super::account::{Account, connect, create, options};

/// A psql session that is given one line after the other; it ends with its value.
pub(super) struct Session {
    psql: Child,
    input: ChildStdin,
}

impl Session {
    pub(super) fn new(database: &Database) -> Session {
        let mut psql = database.psql();
        psql.args(["-v", "ON_ERROR_STOP=0"]);
        let mut psql =
            psql.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let input = psql.stdin.take().unwrap();
        Session { psql, input }
    }

    /// Sends a line; it is not waited for.
    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

/// Waits until the database answers `t`.
pub(super) fn until(database: &Database, question: &str) {
    database.until(question, "t");
}

pub(super) const SOMEBODY_IS_BLOCKED: &str = "SELECT count(*) > 0 FROM pg_stat_activity \
                                   WHERE cardinality(pg_blocking_pids(pid)) > 0 AND datname = current_database()";

/// A trigger that stops row 5 at gate 5, and the first attempt at row 7 at gate 7. A gate is a lock that a session holds.
const GATES: &str = "CREATE SEQUENCE attempts; \
    CREATE FUNCTION gates() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF NEW.number = 5 THEN PERFORM pg_advisory_xact_lock_shared(5); END IF; \
    IF NEW.number = 7 AND nextval('attempts') = 1 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; \
    RETURN NEW; END $$; \
    CREATE TRIGGER gates BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION gates();";

/// Waits until a lock of gate `number` is held (`t`) or waited for (`f`).
fn until_gate(database: &Database, number: u32, granted: &str) {
    let locks = "SELECT count(*) > 0 FROM pg_locks JOIN pg_database d ON d.oid = database \
                 WHERE locktype = 'advisory' AND datname = current_database()";
    until(database, &format!("{locks} AND objid = {number} AND granted = '{granted}'"));
}

/// Writes rows 5 to 9, and returns when 6 to 9 are one transaction that waits at gate 7; the session opens it.
fn stopped_at_seven(database: &Database, writer: &Writer) -> (Account, Session) {
    let mut gates = Session::new(database);
    gates.tell("SELECT pg_advisory_lock(5), pg_advisory_lock(7);");
    until_gate(database, 7, "t");
    let mut account = Account::default();
    account.write(writer, (1, 5));
    until_gate(database, 5, "f");
    (6..10).for_each(|number| account.write(writer, (1, number)));
    gates.tell("SELECT pg_advisory_unlock(5);");
    until_gate(database, 7, "f");
    (account, gates)
}

const OPEN_GATE_7: &str = "SELECT pg_advisory_unlock(7);";

#[test]
fn a_writer_that_loses_a_deadlock_writes_its_rows_again() {
    for path in [WriterPath::Copy, WriterPath::Insert] {
        let database = Database::new();
        database.sql(&format!("{}; ALTER TABLE t ADD PRIMARY KEY (number); {GATES}", create("t")));
        // Whoever waits for so long looks for a deadlock and ends itself.
        let hasty = format!("{} options='-c deadlock_timeout=20ms'", database.conninfo());
        let writer = connect(&hasty, &options().path(path).connections(1));
        let mut other = Session::new(&database);
        other.tell("SET deadlock_timeout = '100s'; BEGIN; INSERT INTO t VALUES (2, 9);");
        let (mut account, mut gates) = stopped_at_seven(&database, &writer);
        other.tell("INSERT INTO t VALUES (2, 6);");
        // The writer waits at the gate, and the other session for the writer.
        until(&database, &SOMEBODY_IS_BLOCKED.replace("> 0 FROM", "= 2 FROM"));
        gates.tell(OPEN_GATE_7);
        waiting::until("the writer loses the deadlock", || writer.statistics().retries > 0);
        other.tell("ROLLBACK;");
        account.check_all(|sql| database.sql(sql));
    }
}

#[test]
fn a_serialization_failure_is_tried_again() {
    let database = Database::new();
    // The writer's transactions read what the other session writes, and it reads what they write.
    database.sql(&format!(
        "{}; CREATE TABLE other (n int); {}",
        create("t"),
        GATES.replace(
            "THEN PERFORM pg_advisory_xact_lock_shared(7)",
            "THEN PERFORM count(*) FROM other; PERFORM pg_advisory_xact_lock_shared(7)"
        )
    ));
    let strict = format!("{} options='-c default_transaction_isolation=serializable'", database.conninfo());
    let writer = connect(&strict, &options().connections(1));
    let (mut account, mut gates) = stopped_at_seven(&database, &writer);
    database.sql(
        "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM t; INSERT INTO other VALUES (1); COMMIT;",
    );
    gates.tell(OPEN_GATE_7);
    account.check_all(|sql| database.sql(sql));
    assert!(writer.statistics().retries > 0, "there was no serialization failure");
}

#[test]
fn errors_that_pass_are_tried_again_and_others_are_not() {
    for (sqlstate, passes) in
        [("40001", true), ("40P01", true), ("53300", true), ("57014", true), ("P0001", false)]
    {
        let database = Database::new();
        database.sql(&format!(
            "{}; CREATE SEQUENCE attempts; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.number = 7 AND nextval('attempts') <= 3 THEN RAISE 'not now' USING ERRCODE = '{sqlstate}'; END IF; \
             RETURN NEW; END $$; CREATE TRIGGER fail BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fail();",
            create("t")
        ));
        let writer = connect(&database.conninfo(), &options());
        let mut account = Account::default();
        (5..10).for_each(|number| account.write(&writer, (1, number)));
        account.check(|sql| database.sql(sql));
        if passes {
            assert_eq!((account.acknowledged(), writer.statistics().retries), (5, 3), "{sqlstate}");
        } else {
            // It may be raised once more when the row is narrowed to, and not again.
            assert!(account.failed().len() <= 1, "{sqlstate}: {:?}", account.failed());
            assert_eq!(writer.statistics().retries, 0, "{sqlstate}");
        }
    }
}

#[test]
fn somebody_who_holds_rows_of_the_ledger_holds_no_others_up() {
    let database = Database::new();
    database.sql(&create("t"));
    let options = options().path(WriterPath::Copy).connections(1);
    let writer = connect(&database.conninfo(), &options);
    let mut account = Account::default();
    // Each is a transaction of its own; some hundreds of them, and their rows in the ledger are removed.
    let write = |account: &mut Account, numbers: std::ops::Range<i64>| {
        for number in numbers {
            account.write(&writer, (1, number));
            account.settle();
        }
    };
    write(&mut account, 0..100);
    let mut other = Session::new(&database);
    other.tell("BEGIN; SELECT * FROM howdah_ledger FOR UPDATE;");
    until(
        &database,
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
    );
    // Whoever removes rows waits for a moment only, again and again: the session sees that itself.
    other.tell(
        "DO $$ BEGIN WHILE NOT EXISTS(SELECT FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))) LOOP \
         PERFORM pg_sleep(0.01); END LOOP; END $$; SET application_name = 'waited for';",
    );
    let mut next = 100;
    waiting::until("rows of the ledger are waited for", || {
        write(&mut account, next..next + 50);
        next += 50;
        let is_seen = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waited for' \
                          AND datname = current_database()";
        next >= 300 && database.sql(is_seen) == "1"
    });
    until(&database, &SOMEBODY_IS_BLOCKED.replace("> 0 FROM", "= 0 FROM"));
    write(&mut account, next..next + 100);
    account.check_all(|sql| database.sql(sql));
    assert_eq!(writer.statistics().retries, 0, "{:?}", writer.statistics().retries);
}

#[test]
fn two_writers_of_one_table_do_not_get_into_each_other_s_way() {
    let database = Database::new();
    database.sql(&format!("{}; ALTER TABLE t ADD UNIQUE (producer, number)", create("t")));
    let mut account = Account::default();
    thread::scope(|scope| {
        let writing = [1, 2].map(|producer| {
            let conninfo = database.conninfo();
            scope.spawn(move || {
                let writer = connect(&conninfo, &options());
                let mut account = Account::default();
                (0..3000).for_each(|number| account.write(&writer, (producer, number)));
                account.settle();
                account
            })
        });
        writing.into_iter().for_each(|writing| account.add(writing.join().unwrap()));
    });
    account.check_all(|sql| database.sql(sql));
}

#[test]
fn two_writers_that_update_the_same_rows_in_opposite_orders_both_end() {
    let database = Database::new();
    database.sql(&format!("{}; ALTER TABLE t ADD PRIMARY KEY (number)", create("t")));
    // With one connection, a writer's rows of one key follow each other.
    let update = options().on_conflict(OnConflict::Update).connections(1);
    thread::scope(|scope| {
        for producer in [1, 2] {
            let (conninfo, update) = (database.conninfo(), update.clone());
            scope.spawn(move || {
                let writer = connect(&conninfo, &update);
                let mut account = Account::default();
                for round in 0..40 {
                    for n in 0..50 {
                        let number = if producer == 1 { n } else { 49 - n };
                        account.try_write(&writer, (producer, number), &format!("round {round}")).unwrap();
                    }
                }
                account.settle();
                assert!(account.failed().is_empty(), "{:?}", account.failed());
            });
        }
    });
    assert_eq!(database.sql("SELECT count(*), min(payload), max(payload) FROM t"), "50|round 39|round 39");
}
