//! The wire is cut: at every message of a flush, and around its COMMIT; or it swallows everything.

use std::time::{Duration, Instant};

use howdah::ErrorKind;
use howdah::writer::{Delivery, Writer, WriterOptions, WriterPath};
use howdah_testkit::faults::{Direction, Fault, FaultProxy, Harm, Line, Place};
use howdah_testkit::{Database, waiting};

use super::account::{Account, connect, create, options};

/// A table, a proxy in front of its server, and a writer behind that.
struct Site {
    database: Database,
    proxy: FaultProxy,
    writer: Writer,
    account: Account,
    next: i64,
}

impl Site {
    /// With one connection: messages then come in one order.
    fn new(options: WriterOptions) -> Site {
        let database = Database::new();
        database.sql(&create("t"));
        let proxy = FaultProxy::start(database.tcp_address());
        let options = options.connections(1);
        let writer = connect(&proxy.conninfo(&database.conninfo()), &options);
        Site { database, proxy, writer, account: Account::default(), next: 0 }
    }

    /// Writes rows; the first sets out alone, so that the others go together.
    fn write(&mut self, rows: i64) {
        for number in self.next..self.next + rows {
            self.account.write(&self.writer, (1, number));
        }
        self.next += rows;
    }

    fn fault(&self, place: Place, harm: Harm) {
        self.proxy.set(Fault { place, harm });
    }

    /// Every row so far is in, once.
    fn check_all(&mut self) {
        self.account.check_all(|sql| self.database.sql(sql));
    }

    /// Writes rows until the fault that was put at `place` has struck; those that set out alone have no COMMIT.
    fn write_into(&mut self, place: Place, harm: Harm) {
        let struck = self.proxy.struck();
        self.fault(place, harm);
        for _ in 0..100 {
            self.write(4);
            self.account.settle();
            if self.proxy.struck() > struck {
                return;
            }
        }
        panic!("{place:?} does not happen");
    }
}

/// Cuts at message 1, 2, … of a flush of `rows` rows, until one passes without being cut; on a connection that has
/// written such rows before, or `cold`, on one that is made for them.
fn cut_everywhere(path: WriterPath, rows: i64, cold: bool, harm: Harm) {
    let mut site = Site::new(options().path(path));
    for direction in [Direction::ToServer, Direction::ToClient] {
        let mut cuts = 0;
        loop {
            site.write(rows);
            site.account.settle();
            if cold {
                site.proxy.cut_all(Harm::Close);
            }
            site.fault(Place::Message(direction, cuts + 1), harm);
            site.write(rows);
            site.check_all();
            if site.proxy.clear() == 1 {
                break;
            }
            cuts += 1;
            assert!(cuts < 300, "a flush of {rows} rows has no end");
        }
        assert!(cuts >= 3, "{direction:?}: only {cuts} messages");
    }
}

#[test]
fn a_copy_cut_at_any_message_loses_and_doubles_nothing() {
    cut_everywhere(WriterPath::Copy, 3, false, Harm::Close);
}

#[test]
fn an_insert_cut_at_any_message_loses_and_doubles_nothing() {
    cut_everywhere(WriterPath::Insert, 3, false, Harm::Reset);
}

#[test]
fn a_lone_row_cut_at_any_message_is_neither_lost_nor_doubled() {
    cut_everywhere(WriterPath::Auto, 1, false, Harm::Half);
}

#[test]
fn a_new_connection_cut_at_any_message_loses_and_doubles_nothing() {
    cut_everywhere(WriterPath::Insert, 2, true, Harm::Close);
}

#[test]
fn rows_whose_commit_was_not_answered_are_in_once() {
    // An INSERT is one message after the other: its answers are lost where messages are.
    let mut site = Site::new(options().path(WriterPath::Copy));
    site.write(3);
    site.account.settle();
    for place in [Place::Commit, Place::BehindCommit, Place::CommitReply] {
        for harm in [Harm::Close, Harm::Reset] {
            site.write_into(place, harm);
            site.check_all();
        }
    }
    let statistics = site.writer.close_blocking(waiting::PATIENCE).unwrap();
    assert!(statistics.ambiguous_commits >= 2, "{statistics:?}");
    assert!(statistics.retries >= 6 && statistics.reconnections >= 6, "{statistics:?}");
}

#[test]
fn at_least_once_doubles_rows_rather_than_losing_them() {
    let at_least_once = options().delivery(Delivery::AtLeastOnce).path(WriterPath::Copy);
    let mut site = Site::new(at_least_once);
    for place in [Place::Commit, Place::CommitReply, Place::BehindCommit] {
        site.write_into(place, Harm::Close);
    }
    assert!(site.account.failed().is_empty(), "{:?}", site.account.failed());
    let distinct = site.database.sql("SELECT count(DISTINCT number) FROM t");
    assert_eq!(distinct, site.account.acknowledged().to_string());
    assert_eq!(
        site.database.sql("SELECT to_regclass('howdah_ledger') IS NULL"),
        "t",
        "no ledger was asked for"
    );
}

#[test]
fn rows_whose_commit_stays_unanswered_are_said_to_be_unknown() {
    let retry_for = Duration::from_millis(400);
    let mut site = Site::new(options().retry_for(retry_for).path(WriterPath::Copy).max_rows(10));
    site.fault(Place::CommitReply, Harm::GoAway);
    site.write(10);
    site.account.settle();
    let failed = site.account.failed();
    assert_eq!(failed.len(), 10);
    let unknown = failed.iter().filter(|(_, error)| error.kind() == ErrorKind::PartlyCommitted);
    // Rows that were never sent are known not to be there.
    assert_eq!(site.database.sql("SELECT count(*) FROM t"), unknown.count().to_string(), "{failed:?}");
    assert!(failed.iter().all(|(_, error)| error.visible().is_some()), "{failed:?}");
    site.proxy.come_back();
    site.write(3);
    site.account.check(|sql| site.database.sql(sql));
    assert_eq!(site.account.acknowledged(), 3, "a writer goes on when its server is back");
}

#[test]
fn a_wire_that_swallows_everything_does_not_keep_close_from_ending() {
    let mut site = Site::new(options().queue_rows(500).max_rows(10));
    site.write(10);
    site.account.settle();
    site.proxy.go_away(Harm::BlackHole);
    site.write(200);
    let start = Instant::now();
    let closed = site.writer.close_blocking(Duration::from_millis(500));
    assert!(start.elapsed() < waiting::PATIENCE, "{:?}", start.elapsed());
    assert!(closed.is_err(), "rows were lost, and close says nothing of it");
    site.account.settle();
    assert_eq!((site.account.acknowledged(), site.account.failed().len()), (10, 200));
    site.proxy.come_back();
    site.proxy.cut_all(Harm::Close);
    site.account.check(|sql| site.database.sql(sql));
}

#[test]
fn a_machine_that_is_gone_is_given_up_within_thirty_seconds_and_found_again() {
    let mut site = Site::new(options());
    site.write(10);
    site.account.settle();
    site.proxy.vanish();
    site.write(10);
    let start = Instant::now();
    while site.writer.statistics().retries == 0 {
        assert!(
            start.elapsed() < waiting::promised(Duration::from_secs(30)),
            "rows wait for a machine that is gone"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    site.proxy.come_back();
    site.proxy.cut_all(Harm::Close);
    site.check_all();
}

#[test]
fn a_slow_and_stalling_line_only_takes_longer() {
    let mut site = Site::new(options().max_rows(20));
    let line = Line {
        delay: Duration::from_millis(2),
        jitter: Duration::from_millis(3),
        bytes_per_second: Some(500_000),
    };
    site.proxy.line(line);
    site.fault(Place::CommitReply, Harm::Stall(Duration::from_millis(300)));
    site.write(500);
    site.check_all();
    assert_eq!(site.writer.statistics().retries, 0);
}

#[test]
fn a_row_that_takes_longer_to_send_than_silence_is_borne_is_sent_once() {
    let mut site = Site::new(options().path(WriterPath::Insert));
    site.write(1);
    site.account.settle();
    site.proxy.line(Line { bytes_per_second: Some(20_000), ..Line::default() });
    // Its buffers are small from the next read on.
    site.write(1);
    site.account.settle();
    // Sixteen seconds, in one message: the server has nothing to show for them before it is whole.
    site.account.try_write(&site.writer, (1, 2), &"x".repeat(320_000)).unwrap();
    site.check_all();
    assert_eq!(site.writer.statistics().retries, 0, "a slow line was taken for one that swallows everything");
}
