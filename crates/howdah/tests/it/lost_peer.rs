//! A machine that goes away in the middle of a load is noticed within 30 seconds, although data is on its way to it, and a
//! server that only waits is not taken for one.

use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use howdah::Control;
use howdah::connect::{ConnectOptions, Environment};
use howdah::options::{HeaderOption, Mode};
use howdah_testkit::Database;
use howdah_testkit::faults::{FaultProxy, Harm};
use howdah_testkit::waiting::{promised, until};
use socket2::{Domain, Socket, Type};

use crate::common::{Holder, load, options};

/// So many bytes reach the server; then the machine is gone.
const LIFE: usize = 3 << 20;

/// Takes one connection, forwards a part of it and falls silent, without closing anything; like a machine without
/// power it takes no further connection, since its queue of such is full.
fn dying_machine(server: String) -> (SocketAddr, mpsc::Sender<()>) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(1).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    let (end, wait) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = UnixStream::connect(server).unwrap();
        let fillers: Vec<_> = (0..8)
            .filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok())
            .collect();
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let mut limited = (&client).take(LIFE as u64);
        let _ = std::io::copy(&mut limited, &mut &server);
        let _ = wait.recv();
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        drop(fillers);
    });
    (address, end)
}

fn big_file(database: &Database) -> String {
    let line = format!("{}\n", "x".repeat(99));
    database.file("t.csv", line.repeat(200_000))
}

#[test]
fn a_machine_that_is_gone_ends_the_load_within_thirty_seconds() {
    let database = Database::new();
    database.sql("CREATE TABLE t (x text)");
    let conninfo = database.conninfo();
    let server = format!("{}/.s.PGSQL.{}", database.setting("host"), database.setting("port"));
    let (address, end) = dying_machine(server);
    let through = format!("{conninfo} host=127.0.0.1 port={} connect_timeout=60", address.port());
    let connect = ConnectOptions::default().conninfo(through);
    let target = connect.resolve(&Environment::from_pairs([])).unwrap();
    let wanted = options(&big_file(&database), "t").header(HeaderOption::No).mode(Mode::Append).jobs(1);
    let start = Instant::now();
    let error = howdah::load(&wanted, &target, &Control::new()).unwrap_err();
    assert!(error.message().contains("does not answer any more"), "{error:?}");
    assert_eq!(error.visible(), Some("nothing was changed"));
    assert!(start.elapsed() < promised(Duration::from_secs(30)), "{:?}", start.elapsed());
    end.send(()).unwrap();
}

#[test]
fn a_server_that_waits_for_a_lock_is_not_given_up() {
    let database = Database::new();
    database.sql("CREATE TABLE t (x text)");
    let holder = Holder::new(&database, "LOCK TABLE t IN SHARE MODE");
    let file = big_file(&database);
    let wanted = options(&file, "t").header(HeaderOption::No).mode(Mode::CreateAppend).jobs(1);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(&database, &wanted));
        // Longer than a machine that is gone may be silent.
        database.until(
            "SELECT count(*) > 0 FROM pg_locks
                WHERE NOT granted AND relation = 't'::regclass AND clock_timestamp() - waitstart > '14 s'",
            "t",
        );
        holder.release();
        assert_eq!(loading.join().unwrap().rows, 200_000);
    });
}

/// Whatever the load waits for: its own statements, the user's, the look at the table before anything is sent.
#[test]
fn a_machine_that_goes_while_a_statement_runs_is_noticed_in_every_phase() {
    let phases = [
        ("before", "query LIKE '%pg_sleep(600)%'"),
        ("after", "query LIKE '%pg_sleep(600)%'"),
        ("planning", "wait_event_type = 'Lock'"),
    ];
    let loads = phases.map(|(phase, is_there)| {
        std::thread::spawn(move || {
            let database = Database::new();
            database.sql("CREATE TABLE t (x text)");
            let locked = "LOCK TABLE t IN ACCESS EXCLUSIVE MODE";
            let holder = (phase == "planning").then(|| Holder::new(&database, locked));
            let proxy = FaultProxy::start(database.tcp_address());
            let conninfo = proxy.conninfo(&database.conninfo());
            let connect = ConnectOptions::default().conninfo(conninfo);
            let target = connect.resolve(&Environment::from_pairs([])).unwrap();
            let file = database.file("t.csv", "a\nb\n");
            let wanted = options(&file, "t").header(HeaderOption::No).mode(Mode::Append).jobs(1);
            let wanted = match phase {
                "before" => wanted.before(["SELECT pg_sleep(600)"]),
                "after" => wanted.after(["SELECT pg_sleep(600)"]),
                _ => wanted,
            };
            let load = std::thread::spawn(move || howdah::load(&wanted, &target, &Control::new()));
            let there = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND application_name = 'howdah' AND {is_there}"
            );
            until("the load is there", || database.sql(&there) == "1");
            proxy.vanish();
            let start = Instant::now();
            let error = load.join().unwrap().unwrap_err();
            assert!(start.elapsed() < promised(Duration::from_secs(30)), "{phase}: {:?}", start.elapsed());
            assert!(error.message().contains("does not answer any more"), "{phase}: {error:?}");
            assert_eq!(error.visible(), Some("nothing was changed"), "{phase}");
            proxy.cut_all(Harm::Close);
            drop(holder);
        })
    });
    for load in loads {
        load.join().unwrap();
    }
}
