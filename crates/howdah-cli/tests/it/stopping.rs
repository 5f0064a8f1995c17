//! The command against a real server, stopped in every situation; and what it reports and takes from a pipe.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::Database;
use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::{promised, until_read};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// What a stop takes at most, as promised: it is measured at some tens of milliseconds.
const PROMISED: Duration = Duration::from_secs(2);

/// The ways to ask, with the exit codes that shells give them.
const REQUESTS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];

/// Whether the tests were started under nohup, or something like it: a load that they start then outlives its terminal.
fn outlives_terminals() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1
}

/// Those that stop a load here.
fn requests() -> impl Iterator<Item = (Signal, i32)> {
    let ignores_hup = outlives_terminals();
    if ignores_hup {
        println!("SIGHUP is ignored here: it stops nothing");
    }
    REQUESTS.into_iter().filter(move |(signal, _)| !(*signal == Signal::HUP && ignores_hup))
}

/// What can be seen of loads in the database of a test.
const BACKENDS: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'howdah' AND datname = current_database()";
const HIDDEN: &str = "SELECT count(*) FROM pg_class WHERE relname LIKE 'howdah\\_load\\_%'";

fn howdah(database: &Database, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in
        ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS", "PGAPPNAME"]
    {
        command.env_remove(name);
    }
    command.args(args).args(["-w", "-d", &database.conninfo()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `howdah load - --table t` with these further arguments.
fn load(database: &Database, args: &[&str]) -> Child {
    howdah(database, &[&["load", "-", "--table", "t"], args].concat()).spawn().unwrap()
}

/// Feeds rows without an end until the reader is gone: at first enough to keep every connection busy, then slowly, to
/// spare the disk.
fn feed_for_ever(mut stdin: ChildStdin) {
    thread::spawn(move || {
        let rows = "17,some words\n".repeat(5_000);
        let _ = stdin.write_all(rows.repeat(100).as_bytes());
        while stdin.write_all(rows.as_bytes()).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
}

/// Waits until the database answers `expected` to `query`.
fn until(database: &Database, query: &str, expected: &str) {
    database.until(query, expected);
}

fn until_it_copies(database: &Database) {
    let copying =
        BACKENDS.replace("count(*)", "count(*) > 0") + " AND state = 'active' AND query LIKE 'COPY %'";
    until(database, &copying, "t");
}

fn until_it_waits_for_a_lock(database: &Database) {
    let waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                   AND application_name = 'howdah' AND datname = current_database()";
    until(database, waiting, "t");
}

/// Sends the signal and waits for the end of the process; it must come in time.
fn stop(mut child: Child, signal: Signal, situation: &str) -> Output {
    let (start, limit) = (Instant::now(), promised(PROMISED));
    kill_process(Pid::from_child(&child), signal).unwrap();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > limit {
            child.kill().unwrap();
            panic!("{situation}: not stopped after {limit:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    println!("{situation}: stopped after {} ms", start.elapsed().as_millis());
    child.guarded_output()
}

/// What a person must find after a stop: the exit code, a word about it, and nothing else.
fn check_nothing_is_left(database: &Database, output: &Output, code: i32, situation: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{situation}: {said}");
    assert!(said.contains("error: stopped on request"), "{situation}: {said}");
    assert!(output.stdout.is_empty(), "{situation}");
    until(database, BACKENDS, "0");
    assert_eq!(database.sql(HIDDEN), "0", "{situation}");
}

/// Runs `situation` for both signals, with one connection and with two.
fn in_every_way(run: impl Fn(&Database, Signal, i32, &str, &str)) {
    for (signal, code) in requests() {
        for jobs in ["1", "2"] {
            run(&Database::new(), signal, code, jobs, &format!("{signal:?}, {jobs} jobs"));
        }
    }
}

/// A psql session that holds a lock on `t` until it is dropped.
struct Locker(Child);

impl Locker {
    fn new(database: &Database, mode: &str) -> Locker {
        let mut psql = database.psql().stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        writeln!(psql.stdin.as_mut().unwrap(), "BEGIN; LOCK TABLE t IN {mode} MODE;").unwrap();
        let granted = format!(
            "SELECT count(*) FROM pg_locks WHERE granted AND relation = 't'::regclass AND mode = '{}Lock'",
            mode.split(' ')
                .map(|word| format!("{}{}", &word[..1], word[1..].to_lowercase()))
                .collect::<String>()
        );
        until(database, &granted, "1");
        Locker(psql)
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_stopped_load_leaves_an_existing_table_as_it_was() {
    in_every_way(|database, signal, code, jobs, situation| {
        database.sql("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'mine')");
        let mut child = load(database, &["--jobs", jobs]);
        feed_for_ever(child.stdin.take().unwrap());
        until_it_copies(database);
        let output = stop(child, signal, situation);
        check_nothing_is_left(database, &output, code, situation);
        assert_eq!(database.sql("SELECT a, b FROM t"), "1|mine");
    });
}

#[test]
fn a_stopped_load_leaves_no_new_table() {
    in_every_way(|database, signal, code, jobs, situation| {
        let mut child = load(database, &["--jobs", jobs]);
        feed_for_ever(child.stdin.take().unwrap());
        until_it_copies(database);
        let output = stop(child, signal, situation);
        check_nothing_is_left(database, &output, code, situation);
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    });
}

#[test]
fn a_load_of_a_file_stops_while_it_looks_for_types_and_while_it_sends() {
    let rows: String = (0..3_000_000).map(|n| format!("{n},{n}.5,some words that take room\n")).collect();
    let database = Database::new();
    let file = database.file("big.csv", rows);
    for (sends, (signal, code)) in [false, true].into_iter().zip(requests()) {
        let situation = format!("{signal:?}, sending: {sends}");
        let child = howdah(&database, &["load", &file, "--table", "t", "--jobs", "2"]).spawn().unwrap();
        // The handlers are there before the server is spoken to.
        until(&database, &BACKENDS.replace("count(*)", "count(*) > 0"), "t");
        if sends {
            until_it_copies(&database);
        }
        let output = stop(child, signal, &situation);
        check_nothing_is_left(&database, &output, code, &situation);
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
    }
}

#[test]
fn a_load_that_waits_to_write_stops_too() {
    stopped_while_it_waits_for_a_lock("SHARE");
}

#[test]
fn a_load_that_waits_to_look_into_the_table_stops_too() {
    stopped_while_it_waits_for_a_lock("ACCESS EXCLUSIVE");
}

fn stopped_while_it_waits_for_a_lock(mode: &str) {
    in_every_way(|database, signal, code, jobs, situation| {
        let situation = format!("{situation}, {mode}");
        database.sql("CREATE TABLE t (a int, b text)");
        let locker = Locker::new(database, mode);
        let mut child = load(database, &["--jobs", jobs]);
        feed_for_ever(child.stdin.take().unwrap());
        until_it_waits_for_a_lock(database);
        let output = stop(child, signal, &situation);
        check_nothing_is_left(database, &output, code, &situation);
        drop(locker);
        assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn a_truncating_load_that_waits_for_a_lock_stops_and_truncates_nothing() {
    for (signal, code) in requests() {
        let database = Database::new();
        database.sql("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'mine')");
        let locker = Locker::new(&database, "SHARE");
        let mut child = load(&database, &["--mode", "truncate"]);
        feed_for_ever(child.stdin.take().unwrap());
        until_it_waits_for_a_lock(&database);
        let situation = format!("{signal:?}, truncating");
        let output = stop(child, signal, &situation);
        check_nothing_is_left(&database, &output, code, &situation);
        drop(locker);
        assert_eq!(database.sql("SELECT a, b FROM t"), "1|mine");
    }
}

#[test]
fn a_load_stops_while_standard_input_is_silent() {
    for rows in ["", "a,b\n1,x\n"] {
        in_every_way(|database, signal, code, jobs, situation| {
            let mut child = load(database, &["--jobs", jobs]);
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(rows.as_bytes()).unwrap();
            until_read(&stdin);
            until(database, &BACKENDS.replace("count(*)", "count(*) > 0"), "t");
            let situation = format!("{situation}, {} bytes came", rows.len());
            let output = stop(child, signal, &situation);
            check_nothing_is_left(database, &output, code, &situation);
            assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
            drop(stdin);
        });
    }
}

#[test]
fn a_killed_load_leaves_no_backend_and_the_next_one_removes_its_hidden_table() {
    for jobs in ["1", "2"] {
        let database = Database::new();
        let mut child = load(&database, &["--jobs", jobs]);
        feed_for_ever(child.stdin.take().unwrap());
        until_it_copies(&database);
        child.kill().unwrap();
        let start = Instant::now();
        child.wait().unwrap();
        until(&database, BACKENDS, "0");
        println!("{jobs} jobs: backends gone after {} ms", start.elapsed().as_millis());
        assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");

        let hidden = database.sql(HIDDEN.replace("count(*)", "relname").as_str());
        let mut child = load(&database, &["--jobs", jobs]);
        child.stdin.take().unwrap().write_all(b"a,b\n1,x\n").unwrap();
        let output = child.guarded_output();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        if jobs == "2" {
            assert!(said.contains(&format!("removed {hidden}, left by a load that died")), "{said}");
        }
        assert_eq!((database.sql(HIDDEN), database.sql("SELECT count(*) FROM t")), ("0".into(), "1".into()));
    }
}

#[test]
fn a_load_that_was_killed_while_it_waited_for_a_lock_leaves_no_backend() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let locker = Locker::new(&database, "SHARE");
    let mut child = load(&database, &["--jobs", "2"]);
    feed_for_ever(child.stdin.take().unwrap());
    until_it_waits_for_a_lock(&database);
    child.kill().unwrap();
    child.wait().unwrap();
    until(&database, BACKENDS, "0");
    drop(locker);
}

/// The keys that scripts may rely on.
const KEYS: [&str; 22] = [
    "report_format",
    "outcome",
    "table",
    "rows",
    "rows_read",
    "rows_rejected",
    "rejects_path",
    "bytes_read",
    "elapsed_s",
    "rows_per_s",
    "jobs",
    "write_path",
    "copy_format",
    "commit",
    "parts",
    "durability",
    "phases",
    "client_cpu_s",
    "peak_rss_bytes",
    "server_version",
    "load_id",
    "error",
];

/// Standard output as the one JSON value that it must be, with every promised key.
fn report(output: &Output) -> Value {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in KEYS {
        assert!(report.get(key).is_some(), "{key} is missing in {report}");
    }
    for key in
        ["infer_s", "plan_s", "load_s", "read_s", "encode_s", "wait_s", "commit_s", "index_s", "analyze_s"]
    {
        assert!(report["phases"][key].is_f64(), "phases.{key} is missing in {report}");
    }
    if !report["error"].is_null() {
        for key in ["message", "sqlstate", "location"] {
            assert!(report["error"].get(key).is_some(), "error.{key} is missing in {report}");
        }
    }
    report
}

#[test]
fn the_json_report_has_every_key_on_success_failure_and_interruption() {
    let database = Database::new();
    let good = database.file("good.csv", "a,b\n1,x\n2,y\n");
    let output = howdah(&database, &["load", &good, "--table", "t", "--report", "json"]).guarded_output();
    assert_eq!(output.status.code(), Some(0));
    let told = report(&output);
    assert_eq!((&told["outcome"], &told["error"]), (&"loaded".into(), &Value::Null));
    assert_eq!((&told["rows"], &told["rows_read"], &told["bytes_read"]), (&2.into(), &2.into(), &12.into()));
    assert_eq!(told["table"], "public.t");
    let phase = |name: &str| told["phases"][name].as_f64().unwrap();
    let parts = [phase("read_s"), phase("encode_s"), phase("wait_s")];
    assert!(parts.iter().all(|part| *part > 0.0), "a part of the load took no time: {told}");
    assert!(parts.iter().sum::<f64>() <= phase("load_s"), "time was booked twice: {told}");
    assert!(told["server_version"].as_str().is_some_and(|version| !version.is_empty()), "{told}");
    assert!(told["peak_rss_bytes"].as_u64().unwrap() > 1_000_000, "{told}");

    let bad = database.file("bad.csv", "a,b\n3,z\nfour,z\n");
    let output = howdah(&database, &["load", &bad, "--table", "t", "--report", "json"]).guarded_output();
    assert_eq!(output.status.code(), Some(1));
    let told = report(&output);
    assert_eq!((&told["outcome"], &told["rows"]), (&"failed".into(), &0.into()));
    assert_eq!(told["error"]["sqlstate"], "22P02");
    assert_eq!(
        (&told["error"]["location"]["file"], &told["error"]["location"]["line"]),
        (&bad.into(), &3.into())
    );
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");

    let mut child = load(&database, &["--report", "json"]);
    feed_for_ever(child.stdin.take().unwrap());
    until(&database, &BACKENDS.replace("count(*)", "count(*) > 0"), "t");
    let output = stop(child, Signal::TERM, "JSON");
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(report(&output)["outcome"], "cancelled");
}

#[test]
fn the_memory_of_the_program_that_started_it_is_not_counted() {
    let database = Database::new();
    // Linux begins the peak of a child with what its parent had.
    let large = std::hint::black_box(vec![1_u8; 400 << 20]);
    let file = database.file("t.csv", "a\n1\n");
    let output = howdah(&database, &["load", &file, "--table", "t", "--report", "json"]).guarded_output();
    let peak = report(&output)["peak_rss_bytes"].as_u64().unwrap();
    assert!((1_000_000..large.len() as u64).contains(&peak), "{peak}");
}

const STREAM: &str = "id,price,day,at,note\n1,1.50,2024-01-31,2024-01-31 10:00:00,first\n2,,2024-02-29,,\n";

fn feed(mut child: Child, bytes: &[u8]) -> Output {
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.guarded_output()
}

#[test]
fn a_stream_into_a_new_table_gets_the_types_of_its_values() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(STREAM.as_bytes()).unwrap();
    for (bytes, jobs) in
        [(STREAM.as_bytes().to_vec(), "1"), (STREAM.into(), "2"), (gzip.finish().unwrap(), "2")]
    {
        let database = Database::new();
        let output = feed(load(&database, &["--jobs", jobs]), &bytes);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "COPY 2\n");
        let types = "SELECT string_agg(format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute \
                     WHERE attrelid = 't'::regclass AND attnum > 0";
        assert_eq!(database.sql(types), "bigint, numeric, date, timestamp without time zone, text");
        assert_eq!(
            database.sql("SELECT * FROM t ORDER BY id"),
            "1|1.50|2024-01-31|2024-01-31 10:00:00|first\n2||2024-02-29||"
        );
        assert_eq!(database.sql(HIDDEN), "0");
    }
}
