//! The proxy with faults in front of a real server, which psql talks to: what passes arrives, and what goes wrong does so
//! exactly where it was to.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use howdah_testkit::Database;
use howdah_testkit::faults::{Direction, Fault, FaultProxy, Harm, Line, Place};
use howdah_testkit::waiting::{PATIENCE, until};

const MS: Duration = Duration::from_millis(1);

/// A database with an empty table, and a proxy in front of it.
struct Site {
    database: Database,
    proxy: FaultProxy,
}

impl Site {
    fn new() -> Site {
        let database = Database::new();
        database.sql("CREATE TABLE t (n int)");
        let proxy = FaultProxy::start(database.tcp_address());
        Site { database, proxy }
    }

    fn psql(&self, sslmode: &str) -> Command {
        let mut psql = Command::new(self.database.bin_dir().join("psql"));
        let conninfo = self.proxy.conninfo(&self.database.conninfo());
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", &format!("{conninfo} sslmode={sslmode}")]);
        psql
    }

    /// Runs commands through the proxy; what they print, or why they failed.
    fn run(&self, commands: &str) -> Result<String, String> {
        let mut psql = self.psql("disable");
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut psql = psql.spawn().unwrap();
        // Where it cannot connect it does not read.
        let _ = psql.stdin.take().unwrap().write_all(commands.as_bytes());
        let output = psql.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn rows(&self) -> String {
        self.database.sql("SELECT count(*) FROM t")
    }

    fn fault(&self, place: Place, harm: Harm) {
        self.proxy.set(Fault { place, harm });
    }
}

#[test]
fn everything_passes_while_nothing_goes_wrong() {
    let site = Site::new();
    assert_eq!(site.run("SELECT length(repeat('x', 3000000));").unwrap(), "3000000");
    let mut copy =
        site.psql("prefer").args(["-c", r"\copy t FROM STDIN"]).stdin(Stdio::piped()).spawn().unwrap();
    let rows: String = (0..300_000).map(|n| format!("{n}\n")).collect();
    copy.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
    assert!(copy.wait().unwrap().success(), "who asks for encryption is told that there is none");
    assert_eq!(site.rows(), "300000");
    assert_eq!((site.proxy.connections(), site.proxy.struck()), (2, 0));
    assert!(site.proxy.messages(Direction::ToServer) > 6 && site.proxy.messages(Direction::ToClient) > 20);
    until("connections are let go", || site.proxy.connections_now() == 0);
}

#[test]
fn a_wire_can_be_cut_at_every_message_until_none_is_left() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        for harm in [Harm::Close, Harm::Reset, Harm::Half] {
            let site = Site::new();
            let mut failures: u64 = 0;
            for n in 1.. {
                site.fault(Place::Message(direction, n), harm);
                let outcome = site.run("BEGIN\\; INSERT INTO t VALUES (1);\nCOMMIT;");
                if site.proxy.clear() == 1 {
                    assert!(outcome.is_ok(), "{outcome:?}");
                    break;
                }
                failures += u64::from(outcome.is_err());
                assert!(n < 100, "{direction:?} never passes");
            }
            // The last message to the server is a farewell, which nobody misses.
            assert!(failures >= 5, "{direction:?} {harm:?}: {failures} failures");
            assert!(site.proxy.struck() >= failures);
        }
    }
}

#[test]
fn a_commit_is_lost_before_the_server_gets_it_or_when_it_has_answered() {
    let forms = [
        r"BEGIN\; INSERT INTO t VALUES (1)\; COMMIT;",
        "BEGIN; INSERT INTO t VALUES (1);\nCOMMIT;",
        "BEGIN; INSERT INTO t VALUES (1);\nCOMMIT \\bind \\g\n",
    ];
    for form in forms {
        let site = Site::new();
        site.fault(Place::Commit, Harm::Close);
        assert!(site.run(form).is_err(), "{form:?}");
        assert_eq!(site.rows(), "0", "{form:?}: the server got it");
        site.fault(Place::CommitReply, Harm::Reset);
        assert!(site.run(form).is_err(), "{form:?}");
        assert_eq!(site.rows(), "1", "{form:?}: the server did not get it");
        site.fault(Place::BehindCommit, Harm::Close);
        assert!(site.run(form).is_err(), "{form:?}");
        assert_eq!(site.proxy.struck(), 3);
        assert!(site.run(form).is_ok(), "a fault strikes once");
    }
}

#[test]
fn a_reset_is_one_and_a_close_is_none() {
    let site = Site::new();
    for (harm, expected) in [(Harm::Reset, Err(ErrorKind::ConnectionReset)), (Harm::Close, Ok(0))] {
        site.fault(Place::Connection, harm);
        let mut socket = TcpStream::connect(site.proxy.address()).unwrap();
        assert_eq!(socket.read(&mut [0]).map_err(|error| error.kind()), expected, "{harm:?}");
    }
}

#[test]
fn a_black_hole_keeps_its_sockets_until_it_is_cut() {
    let site = Site::new();
    site.proxy.go_away(Harm::BlackHole);
    let mut socket = TcpStream::connect(site.proxy.address()).unwrap();
    socket.write_all(&[0; 100_000]).unwrap();
    socket.set_read_timeout(Some(200 * MS)).unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(site.proxy.connections_now(), 1);
    site.proxy.come_back();
    site.proxy.cut_all(Harm::Close);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = socket.read(&mut [0]).map(|read| assert_eq!(read, 0));
    assert_eq!(site.run("SELECT 1;").unwrap(), "1");
}

#[test]
fn a_slow_line_is_as_slow_as_asked() {
    let site = Site::new();
    let timed = |line| {
        site.proxy.line(line);
        let start = Instant::now();
        site.run("SELECT length(repeat('x', 100000)), repeat('x', 100000);").unwrap();
        start.elapsed()
    };
    // Startup, two of SCRAM, the query: four round trips at least.
    let late = timed(Line { delay: 25 * MS, ..Line::default() });
    assert!(late >= 200 * MS, "{late:?}");
    let narrow = timed(Line { bytes_per_second: Some(200_000), ..Line::default() });
    assert!(narrow >= 500 * MS, "{narrow:?}");
    site.fault(Place::Message(Direction::ToServer, 3), Harm::Stall(300 * MS));
    assert!(timed(Line::default()) >= 300 * MS);
}

#[test]
fn a_server_that_goes_away_is_away_for_everybody_until_it_comes_back() {
    let site = Site::new();
    site.fault(Place::CommitReply, Harm::GoAway);
    assert!(site.run("BEGIN; INSERT INTO t VALUES (1);\nCOMMIT;").is_err());
    assert_eq!(site.rows(), "1");
    assert!(site.run("SELECT 1;").is_err() && site.run("SELECT 1;").is_err());
    site.proxy.come_back();
    assert_eq!(site.run("SELECT 1;").unwrap(), "1");
}
