//! An attempt that was given up arrives after all: its rows must not be there a second time, nor at all where they were
//! refused. And what stands in the way of the next attempt meanwhile is dealt with.

use std::time::Duration;

use howdah::writer::{Delivery, OnConflict, Writer, WriterOptions, WriterPath};
use howdah::{Committed, ErrorKind};
use howdah_testkit::faults::{Direction, Fault, FaultProxy, Harm, Place};
use howdah_testkit::{Database, Frozen, OwnServer, waiting};

use super::account::{Account, connect, create, options};
use super::sessions::{SOMEBODY_IS_BLOCKED, Session, until};

/// Not before the test says so.
const AT_THE_END: Harm = Harm::Late(u64::MAX);

const FIRST_MESSAGE: Place = Place::Message(Direction::ToServer, 1);

struct Site {
    database: Database,
    proxy: FaultProxy,
    writer: Writer,
    account: Account,
}

impl Site {
    fn new(sql: &str, options: WriterOptions) -> Site {
        let database = Database::new();
        database.sql(&format!("{}; {sql}", create("t")));
        let proxy = FaultProxy::start(database.tcp_address());
        let conninfo = format!("{} application_name=writer", proxy.conninfo(&database.conninfo()));
        let writer = connect(&conninfo, &options.connections(1));
        Site { database, proxy, writer, account: Account::default() }
    }

    /// Writes the rows as one batch, of which the first attempt is struck.
    fn write_struck(&mut self, numbers: impl IntoIterator<Item = i64>, place: Place, harm: Harm) {
        let mut other = Session::new(&self.database);
        other.tell("BEGIN; LOCK TABLE t IN EXCLUSIVE MODE;");
        let locked =
            "SELECT count(*) > 0 FROM pg_locks WHERE relation = 't'::regclass AND mode = 'ExclusiveLock'";
        until(&self.database, locked);
        self.account.write(&self.writer, (1, 0));
        until(&self.database, SOMEBODY_IS_BLOCKED);
        numbers.into_iter().for_each(|number| self.account.write(&self.writer, (1, number)));
        self.proxy.set(Fault { place, harm });
        other.tell("COMMIT;");
    }

    /// Lets what is late arrive, and waits for what the server makes of it.
    fn release(&self) {
        assert!(self.proxy.held_back() > 0, "nothing is late");
        self.proxy.release();
        waiting::until("what was late has arrived", || self.proxy.held_back() == 0);
        self.database.until(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writer' AND state <> 'idle'",
            "0",
        );
    }

    fn check(&mut self) {
        self.account.check(|sql| self.database.sql(sql));
    }
}

#[test]
fn an_attempt_that_arrives_after_its_writer_was_closed_doubles_nothing() {
    for (path, place) in [
        (WriterPath::Copy, FIRST_MESSAGE),
        (WriterPath::Insert, FIRST_MESSAGE),
        (WriterPath::Copy, Place::Commit),
    ] {
        let mut site = Site::new("", options().path(path));
        site.write_struck(1..5, place, AT_THE_END);
        site.account.settle();
        site.writer.close_blocking(waiting::PATIENCE).unwrap();
        // Where the attempt was in the middle of a transaction, it was ended to let the next one pass.
        if place == FIRST_MESSAGE {
            site.release();
        }
        site.account.check_all(|sql| site.database.sql(sql));
    }
}

#[test]
fn an_attempt_that_arrives_after_hundreds_of_others_doubles_nothing() {
    let mut site = Site::new("", options());
    site.write_struck(1..5, FIRST_MESSAGE, AT_THE_END);
    // Each is a transaction of its own; some hundreds of them, and what they noted is removed.
    for number in 5..300 {
        site.account.write(&site.writer, (1, number));
        site.account.settle();
    }
    until(&site.database, "SELECT count(*) < 200 FROM howdah_ledger");
    site.release();
    site.account.check_all(|sql| site.database.sql(sql));
}

#[test]
fn rows_that_were_sent_again_one_by_one_are_not_doubled_by_the_batch_that_they_were() {
    let fk = "CREATE TABLE parent (number bigint PRIMARY KEY); INSERT INTO parent VALUES (0), (12), (13), (15); \
              ALTER TABLE t ADD FOREIGN KEY (number) REFERENCES parent";
    for path in [WriterPath::Copy, WriterPath::Insert] {
        let mut site = Site::new(fk, options().path(path));
        site.write_struck(12..16, FIRST_MESSAGE, AT_THE_END);
        site.account.settle();
        let refused: Vec<i64> = site.account.failed().iter().map(|((_, number), _)| *number).collect();
        assert_eq!(refused, [14]);
        // What was wrong with it is put right before the first attempt arrives.
        site.database.sql("INSERT INTO parent VALUES (14)");
        site.release();
        site.check();
    }
}

#[test]
fn every_attempt_that_was_given_up_is_ended_when_it_stands_in_the_way() {
    let mut site = Site::new("", options().path(WriterPath::Copy).retry_for(Duration::from_secs(25)));
    // The second attempt stands in the way of the third as the first one did in its own.
    site.proxy.set(Fault { place: Place::Commit, harm: AT_THE_END });
    site.write_struck(1..5, Place::Commit, AT_THE_END);
    site.account.check_all(|sql| site.database.sql(sql));
    assert_eq!(site.proxy.held_back(), 2);
}

#[test]
fn a_table_that_is_altered_while_an_attempt_is_held_back_holds_nothing_up_for_good() {
    let mut site = Site::new("", options().path(WriterPath::Copy));
    site.write_struck(1..5, Place::Commit, AT_THE_END);
    let mut other = Session::new(&site.database);
    other.tell("ALTER TABLE t ADD COLUMN more int;");
    site.account.check_all(|sql| site.database.sql(sql));
    let altered = "SELECT count(*) = 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'more'";
    until(&site.database, altered);
}

#[test]
fn a_connection_that_is_swallowed_alone_is_found_out_although_it_is_not_retried_for_so_long() {
    let mut site = Site::new("", options().retry_for(Duration::from_secs(3)));
    site.account.write(&site.writer, (1, 1));
    site.account.settle();
    site.proxy.cut_all(Harm::BlackHole);
    site.account.write(&site.writer, (1, 2));
    site.account.check_all(|sql| site.database.sql(sql));
    assert!(site.writer.statistics().retries > 0);
}

#[test]
fn an_older_row_that_arrives_after_it_was_called_unknown_does_not_overwrite_a_newer_one() {
    const ANSWER: Place = Place::Message(Direction::ToClient, 1);
    let update = || options().on_conflict(OnConflict::Update).retry_for(Duration::from_millis(400));
    // Held back; or in, and nobody was told.
    for (place, harm) in [(FIRST_MESSAGE, AT_THE_END), (ANSWER, Harm::Close)] {
        let mut site = Site::new("ALTER TABLE t ADD PRIMARY KEY (producer, number)", update());
        let write = |site: &mut Site, payload: &str| {
            site.account.try_write(&site.writer, (1, 1), payload).unwrap();
            site.account.settle();
        };
        write(&mut site, "first");
        site.proxy.set(Fault { place, harm });
        site.proxy.set(Fault { place: Place::Connection, harm: Harm::GoAway });
        write(&mut site, "old");
        assert_eq!(site.account.failed()[0].1.kind(), ErrorKind::PartlyCommitted);
        // As long as nothing can be found out of the old one, newer ones are not sent, and said to be absent.
        write(&mut site, "never sent");
        assert_eq!(site.account.failed().len(), 2);
        assert_eq!(site.account.failed()[1].1.committed(), Committed::No);
        site.proxy.come_back();
        write(&mut site, "new");
        assert_eq!(site.account.acknowledged(), 2, "{:?}", site.account.failed());
        if harm == AT_THE_END {
            site.release();
        }
        assert_eq!(site.database.sql("SELECT payload FROM t"), "new");
    }
}

#[test]
fn a_backend_that_stood_still_and_wakes_up_after_the_close_doubles_nothing() {
    let mut site = Site::new("", options().path(WriterPath::Copy));
    site.account.write(&site.writer, (1, 1));
    site.account.settle();
    let pid = site.database.sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'writer' AND datname = current_database()",
    );
    let frozen = Frozen::freeze(&pid).unwrap();
    let sent = site.proxy.messages(Direction::ToServer);
    site.account.write(&site.writer, (1, 2));
    waiting::until("the row is on its way", || site.proxy.messages(Direction::ToServer) > sent + 2);
    site.proxy.cut_all(Harm::Close);
    site.account.settle();
    site.writer.close_blocking(waiting::PATIENCE).unwrap();
    drop(frozen);
    site.database.until(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writer' AND datname = current_database()",
        "0",
    );
    site.account.check_all(|sql| site.database.sql(sql));
}

#[test]
fn a_row_that_no_standby_has_is_not_acknowledged_because_its_transaction_is_there() {
    let server = OwnServer::start();
    server.sql(&create("t"));
    let proxy = FaultProxy::start(server.tcp_address());
    let conninfo = format!("{} application_name=writer", proxy.conninfo(&server.conninfo()));
    let writer = connect(&conninfo, &options().connections(1));
    let mut account = Account::default();
    account.write(&writer, (1, 1));
    account.settle();
    let waiters = |count: &str| {
        waiting::until("backends wait for a standby", || {
            server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == count
        });
    };
    server.ask_for_a_standby("nobody");
    let ack = writer.write_blocking(&(1, 2_i64, "no standby has it")).unwrap();
    waiters("1");
    // The client gives the attempt up, and does not end it, however often it stands in the way of the next.
    proxy.cut_all(Harm::Reset);
    waiting::until("it is tried again more than once", || writer.statistics().retries > 2);
    waiters("1");
    // An administrator does: it has committed here, and nowhere else.
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let ours = "SELECT count(*) FROM t WHERE number = 2";
    waiting::until("it is in the table", || server.sql(ours) == "1");
    waiters("1");
    assert!(ack.try_get().is_none(), "a row is acknowledged that no standby has");
    server.sql("ALTER SYSTEM RESET synchronous_standby_names");
    server.sql("SELECT pg_reload_conf()");
    ack.wait().unwrap();
    assert_eq!(server.sql(ours), "1");
}

/// A wait that is cancelled ends with a COMMIT that worked, and a warning beside it.
#[test]
fn a_row_whose_wait_for_a_standby_was_cancelled_is_not_acknowledged() {
    const WAITERS: &str = "pg_stat_activity WHERE wait_event = 'SyncRep'";
    let server = OwnServer::start();
    server.sql(&create("t"));
    let paths = [WriterPath::Insert, WriterPath::Copy];
    for (path, delivery) in
        [Delivery::ExactlyOnce, Delivery::AtLeastOnce].into_iter().flat_map(|of| paths.map(|path| (path, of)))
    {
        server.sql("TRUNCATE t");
        let writer = connect(&server.conninfo(), &options().connections(1).path(path).delivery(delivery));
        let mut account = Account::default();
        account.write(&writer, (1, 1));
        account.settle();
        server.ask_for_a_standby("nobody");
        let ack = writer.write_blocking(&(1, 2_i64, "no standby has it")).unwrap();
        // The row's own wait first, then those of the commits behind it.
        for _ in 0..3 {
            waiting::until("a wait is cancelled", || {
                server.sql(&format!("SELECT count(pg_cancel_backend(pid)) FROM {WAITERS}")) == "1"
            });
        }
        waiting::until("another commit waits", || {
            server.sql(&format!("SELECT count(*) FROM {WAITERS}")) == "1"
        });
        assert_eq!(server.sql("SELECT count(*) FROM t WHERE number = 2"), "1");
        assert!(ack.try_get().is_none(), "{path:?} {delivery:?}: a row is acknowledged that no standby has");
        server.sql("ALTER SYSTEM RESET synchronous_standby_names");
        server.sql("SELECT pg_reload_conf()");
        ack.wait().unwrap();
        assert_eq!(server.sql("SELECT count(*) FROM t WHERE number = 2"), "1");
    }
}
