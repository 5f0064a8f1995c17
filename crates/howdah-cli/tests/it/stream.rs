//! `howdah stream` against a real server: from pipes and growing files, stopped, killed, with bad records and lost connections.

mod bad_records;
mod resumed;
mod rotated;
mod state_table;
mod stray_quotes;

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::Database;
use howdah_testkit::faults::{FaultProxy, Harm};
use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::{PATIENCE, until as until_true, until_handled, until_read};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn howdah(database: &Database, args: &[&str]) -> Command {
    howdah_by(database, &database.conninfo(), args)
}

/// The same by another way to the server.
fn howdah_by(database: &Database, conninfo: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for name in
        ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS", "PGAPPNAME"]
    {
        command.env_remove(name);
    }
    command.args(args).args(["-w", "-d", conninfo]).current_dir(database.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `howdah stream --table t` with these further arguments.
fn stream(database: &Database, args: &[&str]) -> Child {
    howdah(database, &[&["stream", "--table", "t"], args].concat()).spawn().unwrap()
}

/// What becomes of a stream of `bytes` that ends.
fn streamed(database: &Database, args: &[&str], bytes: impl AsRef<[u8]>) -> Output {
    let mut child = stream(database, args);
    // A stream that ends early does not read everything.
    let _ = child.stdin.take().unwrap().write_all(bytes.as_ref());
    child.guarded_output()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no report: {}", said(output)))
}

/// Waits until the database answers `expected` to `query`.
fn until(database: &Database, query: &str, expected: &str) {
    database.until(query, expected);
}

fn append(path: &str, bytes: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes.as_bytes()).unwrap();
}

/// Sends the signal and waits for the end.
fn stop(mut child: Child, signal: Signal) -> Output {
    // What a test waits for may have been there before the stream could hear.
    if signal != Signal::KILL {
        until_handled(&child, signal);
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("not stopped after {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.guarded_output()
}

const TYPES: &str =
    "(id int, name text, born date, price numeric(10,2), at timestamptz, doc jsonb, tags text[])";

#[test]
fn csv_from_a_pipe_is_stored_as_psql_stores_it() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {TYPES}; CREATE TABLE expected {TYPES}"));
    let mut csv = "id,name,born,price,at,doc,tags\n".to_owned();
    csv.push_str(
        "1,Ada,1815-12-10,1.5,2024-01-31 10:00:00+02,\"{\"\"a\"\": [1, null]}\",\"{x,\"\"y z\"\"}\"\n",
    );
    csv.push_str("2,\"two\nlines, and a \"\"quote\"\"\",,,,,\n3,\"\",January 8 1999,1e3,now,1,{}\n");
    for id in 4..3000 {
        csv.push_str(&format!("{id},name {id},2024-02-29,{id}.25,2024-02-29 12:00:00,\"[{id}]\",{{{id}}}\n"));
    }
    // `now` is another now for each of the two.
    let csv = csv.replace(",now,", ",epoch,");
    let file = database.file("all.csv", &csv);
    database.sql(&format!(r"\copy expected FROM '{file}' (FORMAT csv, HEADER)"));
    let without_end = csv.trim_end();
    let done = streamed(&database, &[], without_end);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "COPY 2999\n");
    assert!(database.binary_rows("t") == database.binary_rows("expected"), "other bytes than psql's");
}

#[test]
fn values_in_an_input_s_own_spelling_are_those_of_a_load() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, amount numeric, paid boolean, at date, s text)");
    let csv = "n;amount;paid;at;s\n1.234;-1.682,97;ja;31.12.2024;1.682,97\n\"12\";0,5;Nein;1.2.2025;ja\n1.5;1;ja;1.1.2025;\n";
    let options =
        ["--decimal", ",", "--thousands", ".", "--booleans", "ja,nein", "--date-format", "%d.%m.%Y"];
    let done = streamed(
        &database,
        &[&options[..], &["--on-error", "ignore", "--rejects", "bad.jsonl"]].concat(),
        csv,
    );
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert_eq!(
        database.sql("SELECT * FROM t ORDER BY n DESC"),
        "1234|-1682.97|t|2024-12-31|1.682,97\n12|0.5|f|2025-02-01|ja"
    );
    let kept = std::fs::read_to_string(database.path("bad.jsonl")).unwrap();
    assert!(kept.contains("invalid input syntax for type integer: \\\"1.5\\\""), "{kept}");
}

#[test]
fn objects_from_a_pipe_are_stored_as_json_populate_record_reads_them() {
    let database = Database::new();
    database.sql(&format!("CREATE TABLE t {TYPES}; CREATE TABLE expected {TYPES}"));
    let lines = [
        r#"{"id": 1, "name": "Ada \"L\"\n", "born": "1815-12-10", "doc": {"a": [1, "ü"]}, "tags": ["x", "y z", null]}"#,
        r#"{"id": 2, "price": 12.50, "doc": "text", "name": "caf\u00e9 \ud83d\ude00"}"#,
        "",
        r#"{"at": "2024-01-31T10:00:00Z", "id": 3, "tags": []}"#,
    ];
    let done = streamed(&database, &[], lines.join("\n"));
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let literal = line.replace('\'', "''");
        database.sql(&format!(
            "INSERT INTO expected SELECT * FROM json_populate_record(NULL::expected, '{literal}')"
        ));
    }
    assert!(database.binary_rows("t") == database.binary_rows("expected"), "{}", database.sql("TABLE t"));
}

#[test]
fn a_line_is_committed_while_the_pipe_stays_open_and_half_a_record_waits_for_its_other_half() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let mut child = stream(&database, &[]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a,b\n1,x\n2,\"in quo").unwrap();
    until(&database, "SELECT string_agg(a::text, ',') FROM t", "1");
    stdin.write_all(b"tes\nand on\"\n3,").unwrap();
    until(&database, "SELECT string_agg(a::text, ',' ORDER BY a) FROM t", "1,2");
    assert_eq!(database.sql("SELECT b FROM t WHERE a = 2"), "in quotes\nand on");
    stdin.write_all(b"last").unwrap();
    drop(stdin);
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT b FROM t WHERE a = 3"), "last");
}

#[test]
fn a_file_is_followed_through_growth_rotation_and_truncation() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let log = database.path("log.csv");
    let child = stream(&database, &["--follow", &log, "--header=false"]);
    let all = "SELECT string_agg(n::text, ',' ORDER BY n) FROM t";
    append(&log, "1\n2\n3");
    until(&database, all, "1,2");
    append(&log, "0\n");
    until(&database, all, "1,2,30");
    std::fs::rename(&log, database.path("log.csv.1")).unwrap();
    append(&database.path("log.csv.1"), "40\n");
    append(&log, "50\n60\n");
    until(&database, all, "1,2,30,40,50,60");
    std::fs::write(&log, "70\n").unwrap();
    until(&database, all, "1,2,30,40,50,60,70");
    append(&log, "80");
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
    assert!(said(&done).contains("was cut off: it is read from its start"), "{}", said(&done));
    assert!(said(&done).contains("the last 2 bytes were not written"), "{}", said(&done));
    assert_eq!(database.sql(all), "1,2,30,40,50,60,70");
}

#[test]
fn a_signal_ends_the_reading_and_everything_read_is_written() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let database = Database::new();
        database.sql("CREATE TABLE t (a int, b text)");
        let mut child = stream(&database, &["--report", "json"]);
        let mut stdin = child.stdin.take().unwrap();
        let feeding = thread::spawn(move || {
            let rows = "17,some words\n".repeat(500);
            while stdin.write_all(rows.as_bytes()).is_ok() {
                thread::sleep(Duration::from_millis(2));
            }
        });
        until(&database, "SELECT count(*) > 1000 FROM t", "t");
        // As `timeout` does: to the program, and to its group.
        kill_process(Pid::from_child(&child), signal).unwrap();
        let done = stop(child, signal);
        feeding.join().unwrap();
        assert_eq!(done.status.code(), Some(code), "{}", said(&done));
        let told = report(&done);
        assert_eq!(told["outcome"], "stopped");
        assert_eq!(told["rows"], told["rows_read"]);
        assert_eq!(database.sql("SELECT count(*) FROM t"), told["rows"].to_string());
    }
}

#[test]
fn a_stream_that_waits_for_its_first_record_stops_at_once() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int)");
    let mut child = stream(&database, &[]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"not yet a reco").unwrap();
    until_read(&stdin);
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));

    let mut child = stream(&database, &["--follow", "not-there-yet.csv"]);
    let mut words = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(words.any(|line| line.contains("waiting for not-there-yet.csv")));
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(143), "{:?}", words.collect::<Vec<_>>());

    let mut child = stream(&database, &[]);
    let stdin = child.stdin.take();
    until_handled(&child, Signal::TERM);
    let done = stop(child, Signal::TERM);
    drop(stdin);
    assert_eq!(done.status.code(), Some(143), "{}", said(&done));
}

/// Lines with the numbers `from..to`.
fn numbers(from: u32, to: u32) -> String {
    (from..to).map(|n| format!("{n}\n")).collect()
}

#[test]
fn a_failure_before_the_first_row_changes_nothing_and_says_so() {
    let database = Database::new();
    let done = streamed(&database, &[], "a\n1\n");
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    assert!(said(&done).contains("table \"t\" does not exist"), "{}", said(&done));
    assert!(said(&done).contains("CREATE TABLE first"), "{}", said(&done));
    database.sql("CREATE TABLE t (n int)");
    let done = streamed(&database, &[], "x\n1\n");
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("now: nothing was changed"), "{}", said(&done));
    let done = streamed(&database, &["--format", "parquet"], "x\n1\n");
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    let done = streamed(&database, &[], "");
    assert_eq!((done.status.code(), &*done.stdout), (Some(0), &b"COPY 0\n"[..]), "{}", said(&done));
}

#[test]
fn connections_that_break_cost_no_row_and_give_none_twice() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let mut child = stream(&database, &["--report", "json", "--header=false"]);
    let mut stdin = child.stdin.take().unwrap();
    let kill = "SELECT count(pg_terminate_backend(pid)) >= 0 FROM pg_stat_activity \
                WHERE application_name = 'howdah' AND datname = current_database()";
    for round in 0..20 {
        let _ = stdin.write_all(numbers(round * 1000, (round + 1) * 1000).as_bytes());
        if round == 0 {
            // Until there is a writer, a lost connection is one that did not come about.
            until(&database, "SELECT count(*) FROM t", "1000");
        }
        thread::sleep(Duration::from_millis(20));
        database.sql(kill);
    }
    drop(stdin);
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "20000|20000");
    let told = report(&done);
    assert_eq!(told["rows"], 20_000);
    assert!(told["writer"]["reconnections"].as_u64().unwrap() > 0, "{told}");
}

/// Waits until so many connections were attempted since there were `before`.
fn until_attempted(proxy: &FaultProxy, before: u64, times: u64) {
    until_true("connections are attempted", || proxy.connections() >= before + times);
}

#[test]
fn a_server_that_was_away_for_seconds_gets_every_row_once() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let proxy = FaultProxy::start(database.tcp_address());
    let conninfo = proxy.conninfo(&database.conninfo());
    let args = ["stream", "--table", "t", "--header=false", "--report", "json"];
    let mut child = howdah_by(&database, &conninfo, &args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(numbers(0, 1000).as_bytes()).unwrap();
    until(&database, "SELECT count(*) FROM t", "1000");
    proxy.go_away(Harm::Close);
    let before = proxy.connections();
    stdin.write_all(numbers(1000, 2000).as_bytes()).unwrap();
    until_attempted(&proxy, before, 5);
    assert_eq!(database.sql("SELECT count(*) FROM t"), "1000");
    proxy.come_back();
    drop(stdin);
    let done = child.guarded_output();
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql("SELECT count(*), count(DISTINCT n) FROM t"), "2000|2000");
    assert!(report(&done)["writer"]["reconnections"].as_u64().unwrap() > 0);
}

#[test]
fn a_stop_while_the_server_is_away_names_what_was_not_written() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let proxy = FaultProxy::start(database.tcp_address());
    let conninfo = proxy.conninfo(&database.conninfo());
    let args = ["stream", "--table", "t", "--header=false", "--retry-for", "1s", "--metrics", "m.prom"];
    let mut child = howdah_by(&database, &conninfo, &args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\n2\n").unwrap();
    // Rows are in before the answer that says so has passed the proxy.
    until_true("the stream knows that its rows are in", || {
        let metrics = std::fs::read_to_string(database.path("m.prom")).unwrap_or_default();
        metrics.contains("howdah_stream_rows_committed_total{table=\"t\"} 2\n")
    });
    proxy.go_away(Harm::Close);
    let before = proxy.connections();
    stdin.write_all(b"3\n").unwrap();
    until_read(&stdin);
    until_attempted(&proxy, before, 1);
    let done = stop(child, Signal::TERM);
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    assert!(
        said(&done).contains("now: 2 rows committed; all records before byte 4 are settled"),
        "{}",
        said(&done)
    );
}

#[test]
fn columns_with_values_of_their_own_keep_them() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, name text, at timestamptz DEFAULT 'epoch', \
         twice text GENERATED ALWAYS AS (name || name) STORED)",
    );
    let done = streamed(&database, &[], "{\"name\": \"a\"}\n{\"name\": \"b\"}\n");
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(
        said(&done).contains("the first record has no key for id, at: always the default"),
        "{}",
        said(&done)
    );
    let rows = "SELECT count(*) FROM t WHERE at = 'epoch' AND twice = name || name AND id IS NOT NULL";
    assert_eq!(database.sql(rows), "2");
    let done = streamed(&database, &["--columns", "name", "--header=false", "--format", "csv"], "c\n");
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(database.sql(rows), "3");
}

#[test]
fn the_report_has_a_loads_keys_and_the_writers_figures_and_metrics_are_kept_in_a_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let done = streamed(&database, &["--report", "json", "--metrics", "m.prom", "-q"], "n\n1\n2\n");
    assert_eq!((done.status.code(), said(&done)), (Some(0), String::new()));
    let told = report(&done);
    for key in
        "report_format outcome table rows rows_read rows_rejected rejects_path bytes_read elapsed_s rows_per_s durability \
                client_cpu_s peak_rss_bytes server_version load_id offset plan writer error"
            .split_whitespace()
    {
        assert!(told.get(key).is_some(), "{key} is missing in {told}");
    }
    assert_eq!((&told["outcome"], &told["rows"], &told["offset"]), (&"loaded".into(), &2.into(), &6.into()));
    assert!(told["writer"]["latency_ms"]["p99"].as_f64().unwrap() > 0.0, "{told}");
    let metrics = std::fs::read_to_string(database.path("m.prom")).unwrap();
    assert!(metrics.contains("howdah_stream_rows_committed_total{table=\"t\"} 2\n"), "{metrics}");
}

#[test]
fn figures_of_two_streams_do_not_go_into_one_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let mut first = howdah(&database, &["stream", "--table", "t", "--header=false", "--metrics", "m.prom"]);
    let mut first = first.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = first.stdin.take().unwrap();
    input.write_all(b"1\n").unwrap();
    database.until("SELECT count(*) FROM t", "1");
    let second = streamed(&database, &["--header=false", "--metrics", "./m.prom"], "2\n");
    assert_eq!(second.status.code(), Some(2), "{}", said(&second));
    assert!(said(&second).contains("another stream's are there"), "{}", said(&second));
    drop(input);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    // Once the first has ended, the file is free.
    let third = streamed(&database, &["--header=false", "--metrics", "m.prom"], "3\n");
    assert_eq!(third.status.code(), Some(0), "{}", said(&third));
    assert_eq!(database.sql("SELECT sum(n) FROM t"), "4");
}

#[test]
fn what_is_no_file_is_not_exchanged_for_one_and_a_lost_result_is_not_called_a_failure() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int)");
    let fifo = database.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let log = database.file("log.csv", "n\n1\n");
    for args in [vec!["--metrics", &*fifo], vec!["--follow", &*log, "--state", &*fifo]] {
        let done = streamed(&database, &args, "n\n1\n");
        assert!(matches!(done.status.code(), Some(1 | 2)), "{}", said(&done));
        assert!(said(&done).contains("is not a regular file"), "{}", said(&done));
        assert!(!std::fs::metadata(&fifo).unwrap().is_file());
    }
    let target = database.file("target", "");
    std::os::unix::fs::symlink(&target, database.path("link")).unwrap();
    assert_eq!(streamed(&database, &["--metrics", "link"], "n\n2\n").status.code(), Some(0));
    assert!(std::fs::read_to_string(target).unwrap().contains("howdah_stream_rows_committed_total"));
    let mut command = howdah(&database, &["stream", "--table", "t", "--header=false"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"3\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_stream_says_that_triggers_may_drop_what_it_counts() {
    let database = Database::new();
    database.sql(
        "CREATE TABLE t (n int);
         CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER drops BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION drops()",
    );
    let done = streamed(&database, &["--header=false"], "1\n2\n");
    assert!(said(&done).contains("note: triggers or rules of public.t may drop rows"), "{}", said(&done));
}

#[test]
fn paths_into_objects_are_columns_also_where_the_first_record_has_nothing_there() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, who bigint, org text)");
    let lines =
        "{\"id\":1,\"actor\":{\"id\":7}}\n{\"id\":2,\"org\":{\"login\":\"x\"}}\n{\"id\":3,\"actor\":[7]}\n";
    let args =
        ["--map", "actor.id=who", "--map", "org.login=org", "--on-error", "ignore", "--rejects", "bad.jsonl"];
    let done = streamed(&database, &args, lines);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert_eq!(database.sql("TABLE t ORDER BY id"), "1|7|\n2||x");
    assert!(
        said(&done).contains("no record that was looked at has \"org.login\": NULL until one has it"),
        "{}",
        said(&done)
    );
    let bad = std::fs::read_to_string(database.path("bad.jsonl")).unwrap();
    assert!(bad.contains("the path actor.id leads into an array"), "{bad}");
}
