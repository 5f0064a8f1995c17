//! Loads through pgbouncer in transaction mode, where only a transaction stays with one backend: what a load leaves to the next
//! statement must be in the transaction, and nothing may stay behind with the pool. Writers through it in session mode.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use howdah::connect::{ConnectOptions, Environment, Target};
use howdah::options::{Mode, OnError};
use howdah::writer::{Ack, Writer, WriterOptions};
use howdah::{Control, ErrorKind, LoadOptions, Report};
use howdah_testkit::Database;
use howdah_testkit::require::missing;
use howdah_testkit::waiting::PATIENCE;

use crate::common::{GATE, Holder, load, options, until_at_the_gate};

const PGBOUNCER: &str = "/usr/sbin/pgbouncer";

/// A pooler in front of the test's server; it ends with its value.
pub(crate) struct Pooler {
    child: Child,
    target: Target,
    port: u16,
}

impl Pooler {
    /// `None`, with a message, where there is no pgbouncer.
    pub(crate) fn start(database: &Database, mode: &str, size: u32) -> Option<Pooler> {
        if !std::path::Path::new(PGBOUNCER).exists() {
            missing("pgbouncer", &format!("there is no {PGBOUNCER}"));
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = database.file(
            "pgbouncer.ini",
            format!(
                "[databases]\n{} = host={} port={} user={} password={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = {size}\n",
                database.name(),
                database.setting("host"),
                database.setting("port"),
                database.setting("user"),
                database.setting("password"),
            ),
        );
        // It refuses to be root, and must get at the server's socket.
        std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(database.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(PGBOUNCER);
        if is_root() {
            let owner = std::fs::metadata(database.setting("host")).unwrap().uid();
            command.args(["-u", &name_of(owner)]);
        }
        let child = command.arg(&settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        let conninfo = format!("host=127.0.0.1 port={port} user=any dbname={}", database.name());
        let connect = ConnectOptions::default().conninfo(conninfo);
        Some(Pooler { child, port, target: connect.resolve(&Environment::from_pairs([])).unwrap() })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        (std::net::Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn load(&self, options: &LoadOptions) -> Report {
        howdah::load(options, &self.target, &Control::new()).unwrap()
    }
}

#[test]
fn settings_of_variables_reach_the_session_through_a_pooler() {
    let database = Database::new();
    let Some(pooler) = Pooler::start(&database, "transaction", 2) else { return };
    let conninfo = format!("host=127.0.0.1 port={} user=any dbname={}", pooler.port, database.name());
    let environment = Environment::from_pairs([("PGDATESTYLE", "SQL, DMY"), ("PGTZ", "Asia/Tokyo")]);
    let target = ConnectOptions::default().conninfo(conninfo).resolve(&environment).unwrap();
    database.sql("CREATE TABLE t (d date, at timestamptz)");
    let file = database.file("t.csv", "d,at\n1/2/2024,2024-02-01 09:00\n");
    howdah::load(&options(&file, "t"), &target, &Control::new()).unwrap();
    let stored = "SELECT d = '2024-02-01', at = '2024-02-01 00:00+00' FROM t";
    assert_eq!(database.sql(stored), "t|t");
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn name_of(uid: u32) -> String {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = passwd.lines().find(|line| line.split(':').nth(2) == Some(&uid.to_string())).unwrap();
    line.split(':').next().unwrap().to_owned()
}

#[test]
fn a_pool_with_fewer_servers_than_connections_makes_the_load_smaller() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, pad text)");
    let pad = "x".repeat(100);
    let rows: String = (0..20_000).map(|n| format!("{n},{pad}\n")).collect();
    let file = database.file("t.csv", format!("n,pad\n{rows}"));
    for (size, mode, jobs) in [(3, Mode::Append, 2), (3, Mode::Replace, 1), (2, Mode::Append, 1)] {
        let Some(pooler) = Pooler::start(&database, "transaction", size) else { return };
        let control = Control::new();
        let wanted = options(&file, "t").mode(mode).jobs(6);
        let report = howdah::load(&wanted, &pooler.target, &control).unwrap();
        assert_eq!((report.rows, report.jobs), (20_000, jobs), "{size} servers, {mode:?}");
        let notices: Vec<String> = control.take_notices().iter().map(ToString::to_string).collect();
        assert!(
            notices.iter().any(|notice| notice.starts_with("the pooler has no server for")),
            "{notices:?}"
        );
    }
    assert_eq!(database.sql("SELECT count(*) FROM t"), "40000");
}

#[test]
fn loads_work_through_a_pooler_in_transaction_mode_and_leave_it_nothing() {
    let database = Database::new();
    let Some(pooler) = Pooler::start(&database, "transaction", 6) else { return };
    let rows: String = (0..20_000).map(|n| format!("{n},name {n},2024-01-01 00:00:00+00\n")).collect();
    let file = database.file("t.csv", format!("id,name,at\n{rows}"));
    let into = |table: &str| options(&file, table);
    let keyed = into("keyed").key(["id"]).jobs(2);
    let bad = database
        .file("bad.csv", "id,name,at\n1,x,\n30000,y,4 July 2024 America/New_York\nz,,\n30000,twice,\n");
    let tolerant = options(&bad, "keyed").on_error(OnError::Ignore).rejects(database.path("rejects"));
    for (wanted, rows, rejected) in [
        (into("one").jobs(1), 20_000, 0),
        (into("several").jobs(3), 20_000, 0),
        (into("several").jobs(3), 20_000, 0),
        (into("several").jobs(2).mode(Mode::Replace), 20_000, 0),
        (into("one").mode(Mode::Truncate).analyze(true), 20_000, 0),
        (keyed, 20_000, 0),
        (tolerant.clone(), 1, 3),
        (into("keyed").mode(Mode::Upsert).jobs(2), 20_000, 0),
        (into("keyed").mode(Mode::Delete), 20_000, 0),
        (tolerant.dry_run(true), 0, 1),
    ] {
        let report = pooler.load(&wanted);
        assert_eq!((report.rows, report.rows_rejected), (rows, rejected), "{wanted:?}");
    }
    assert_eq!(database.sql("SELECT count(*) FROM several"), "20000");
    assert_eq!(database.sql("SELECT string_agg(name, ' ') FROM keyed"), "y");

    // Side by side, so that backends change hands between the statements of two loads.
    std::thread::scope(|scope| {
        let tables = (0..4).map(|n| into(&format!("side_{n}")).jobs(2));
        let loads: Vec<_> = tables
            .map(|wanted| {
                scope.spawn(|| {
                    let wanted = wanted;
                    pooler.load(&wanted).rows
                })
            })
            .collect();
        assert!(loads.into_iter().all(|load| load.join().unwrap() == 20_000));
    });

    // A load that dies leaves no lock with the pool, which would keep its table for ever.
    let held = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                WHERE l.locktype = 'advisory' AND d.datname = current_database()";
    assert_eq!(database.sql(held), "0");
    database.sql("CREATE TABLE howdah_load_00000000000000ff (n int)");
    pooler.load(&into("one").mode(Mode::Append));
    assert_eq!(database.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah_load_%'"), "0");
    assert_eq!(database.sql(held), "0");

    // Past the pooler everything is as ever.
    load(&database, &into("one").mode(Mode::Replace).jobs(2));
    assert_eq!(database.sql("SELECT count(*) FROM one"), "20000");
}

#[test]
fn a_pooler_outlives_a_load_that_is_stopped() {
    let database = Database::new();
    let Some(mut pooler) = Pooler::start(&database, "transaction", 3) else { return };
    database.sql("CREATE TABLE t (a int)");
    let file = database.file("t.csv", "a\n1\n");
    for _ in 0..5 {
        let holder = Holder::gate(&database);
        let control = Control::new();
        let (wanted, target, own) =
            (options(&file, "t").before([GATE]), pooler.target.clone(), control.clone());
        let load = std::thread::spawn(move || howdah::load(&wanted, &target, &own));
        until_at_the_gate(&database, &load);
        control.cancel();
        let error = load.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}");
        holder.release();
        assert!(pooler.child.try_wait().unwrap().is_none(), "the pooler has ended");
    }
    howdah::load(&options(&file, "t"), &pooler.target, &Control::new()).unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_writer_works_through_a_pooler_in_session_mode() {
    let database = Database::new();
    let Some(pooler) = Pooler::start(&database, "session", 6) else { return };
    database.sql("CREATE TABLE t (n bigint CHECK (n <> 700))");
    let options = WriterOptions::default().max_rows(100);
    let writer = Writer::connect_blocking(&pooler.target, "t", options).unwrap();
    let acks: Vec<Ack> = (0..5_000_i64).map(|n| writer.write_blocking(&(n,)).unwrap()).collect();
    let refused = acks.into_iter().enumerate().filter_map(|(n, ack)| Some((n, ack.wait().err()?)));
    let refused: Vec<_> = refused.map(|(n, error)| (n, error.sqlstate().map(str::to_owned))).collect();
    assert_eq!(refused, [(700, Some("23514".to_owned()))]);
    writer.close_blocking(PATIENCE).unwrap();
    assert_eq!(database.sql("SELECT count(*), sum(n) FROM t"), format!("4999|{}", 4999 * 2500 - 700));
    assert_eq!(database.sql("SELECT count(*) FROM howdah_ledger"), "0");
}

#[test]
fn a_pooler_that_forgets_what_was_prepared_is_called_by_its_name() {
    let database = Database::new();
    let Some(pooler) = Pooler::start(&database, "transaction", 1) else { return };
    database.sql("CREATE TABLE t (n bigint)");
    let options = WriterOptions::default().connections(1);
    let writer = Writer::connect_blocking(&pooler.target, "t", options).unwrap();
    writer.write_blocking(&(1_i64,)).unwrap().wait().unwrap();
    // What another client of the pool leaves.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let other = pooler.target.connect().await.unwrap();
        other.client().batch_execute("DEALLOCATE ALL").await.unwrap();
    });
    let error = writer.write_blocking(&(2_i64,)).unwrap().wait().unwrap_err();
    assert_eq!(error.sqlstate(), Some("26000"), "{error:?}");
    assert!(error.hint().is_some_and(|hint| hint.contains("max_prepared_statements")), "{error:?}");
    assert_eq!(database.sql("SELECT n FROM t"), "1");
}
