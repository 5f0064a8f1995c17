//! `howdah doctor --measure` with several connections: they need a table that all of them see, and it goes however they end.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};
use serde_json::Value;

use super::measuring::{end_in_the_middle, measured, traces};
use super::{doctor, looked, server};

/// The numbers of connections in a round.
fn tried(report: &Value) -> Vec<u64> {
    let runs = report["trials"]["connections"]["runs"].as_array();
    let runs = runs.unwrap_or_else(|| panic!("{:#}", report["trials"]["not_measured"]));
    let mut tried: Vec<u64> =
        runs.iter().filter(|run| run["round"] == 0).map(|run| run["connections"].as_u64().unwrap()).collect();
    tried.sort_unstable();
    tried
}

/// Why something was not measured.
pub(super) fn why(report: &Value, what: &str) -> String {
    let left_out = report["trials"]["not_measured"].as_array().unwrap();
    let found = left_out.iter().find(|left_out| left_out["what"] == what);
    found.map(|found| found["why"].as_str().unwrap().to_owned()).unwrap_or_default()
}

#[test]
fn several_connections_lead_the_rows_into_one_table_and_it_goes() {
    let server = server();
    server.sql(
        "CREATE SCHEMA shared; SET search_path = shared;
         CREATE TYPE mood AS ENUM ('well', 'ill');
         CREATE TABLE t (gone int, id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a varchar(40) COLLATE \"C\" NOT NULL, b numeric(9, 2)[],
             m mood DEFAULT 'well', twice bigint GENERATED ALWAYS AS (id * 2) STORED, CHECK (id > 0)) WITH (fillfactor = 80);
         ALTER TABLE t DROP COLUMN gone;
         INSERT INTO t (a, b) SELECT 'row ' || n, ARRAY[n, n / 3.0] FROM generate_series(1, 20000) n;
         CREATE TABLE howdah_load_00000000000000d1 (left_by_a_load_that_died int); ANALYZE t",
    );
    let before = traces(server, "shared");
    let report = measured(&server.conninfo(), "shared.t");
    assert_eq!(tried(&report), [1, 1, 2, 4]);
    let after = traces(server, "shared");
    // All that went is what a load had left.
    let of_load = |line: &&str| line.contains("howdah_load_00000000000000d1");
    let expected: Vec<&str> = before.lines().filter(|line| !of_load(line)).collect();
    assert_eq!(after.lines().collect::<Vec<_>>(), expected);
    assert!(before.lines().any(|line| of_load(&line)));
    // Either it is a finding, or it makes no difference.
    let is_finding = super::find(&report, "load.connections").is_some();
    let made_none = report["no_difference"].as_array().unwrap().iter();
    let mut made_none = made_none.filter(|it| it["what"].as_str().unwrap().ends_with("instead of one"));
    assert_eq!(made_none.next().is_some(), !is_finding, "{:#}", report["trials"]["connections"]);
}

#[test]
fn what_the_role_or_the_rows_do_not_allow_is_said() {
    let server = server();
    server.sql(
        "CREATE ROLE visitor LOGIN PASSWORD 'visitor-31c' CONNECTION LIMIT 2; CREATE SCHEMA visited; SET search_path = visited;
         CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 50000);
         CREATE TABLE few (id int); INSERT INTO few SELECT generate_series(1, 2000); ANALYZE t, few;
         GRANT USAGE ON SCHEMA visited TO visitor; GRANT SELECT ON t, few TO visitor",
    );
    let visitor = format!("{} user=visitor password=visitor-31c", server.conninfo());
    const WHAT: &str = "several connections";
    assert_eq!(why(&measured(&visitor, "visited.few"), WHAT), "the rows are too few to be shared out");
    // One of its two connections looks on.
    server.sql("GRANT CREATE ON SCHEMA visited TO visitor");
    assert_eq!(why(&measured(&visitor, "visited.t"), WHAT), "the server gives no second connection");
    server.sql("ALTER ROLE visitor CONNECTION LIMIT -1; REVOKE CREATE ON SCHEMA visited FROM visitor");
    assert_eq!(
        why(&measured(&visitor, "visited.t"), WHAT),
        "the role may make no table in the schema visited"
    );
}

/// A subscriber that wants rows before their transaction is over.
struct Impatient(Child);

impl Impatient {
    fn new(server: &OwnServer, file: &File) -> Impatient {
        let mut receiver = Command::new(server.bin_dir().join("pg_recvlogical"));
        receiver.args(["-d", &server.conninfo(), "--slot", "watching", "--start", "-F", "1", "-f", "-"]);
        receiver.args(["-o", "stream-changes=1", "-o", "skip-empty-xacts=1"]);
        let receiver = receiver.stdout(file.try_clone().unwrap()).stderr(Stdio::null()).spawn().unwrap();
        until("somebody subscribes", || {
            server.sql("SELECT count(*) FROM pg_replication_slots WHERE active") == "1"
        });
        Impatient(receiver)
    }
}

impl Drop for Impatient {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_subscriber_that_does_not_wait_for_commits_is_sent_no_row_of_a_copy() {
    let server = OwnServer::with(
        Settings::new().with("wal_level", "logical").with("logical_decoding_work_mem", "8MB"),
    );
    server.sql("CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 400000); ANALYZE");
    server.sql("SELECT pg_create_logical_replication_slot('watching', 'test_decoding')");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sent");
    let receiver = Impatient::new(&server, &File::create(&path).unwrap());
    let much = ["--measure", "--seconds", "8", "--bytes", "1GiB", "--allow-busy", "--table", "t"];
    assert_eq!(tried(&looked(&server.conninfo(), &much)), [1, 1, 2]);
    server.sql("INSERT INTO t VALUES (-7)");
    let sent = || std::fs::read_to_string(&path).unwrap();
    until("what was committed arrives", || sent().contains("id[integer]:-7"));
    assert_eq!(
        sent().lines().filter(|line| !line.starts_with("BEGIN") && !line.starts_with("COMMIT")).count(),
        1,
        "{}",
        sent()
    );
    // It would have been sent more of them.
    let mut psql = Command::new(server.bin_dir().join("psql"));
    psql.args(["-X", "-q", "-d", &server.conninfo()]).stdin(Stdio::piped());
    let mut psql = psql.spawn().unwrap();
    let many = "BEGIN; INSERT INTO t SELECT generate_series(1, 200000);\n";
    psql.stdin.as_mut().unwrap().write_all(many.as_bytes()).unwrap();
    until("rows of an open transaction arrive", || sent().contains("streaming change"));
    drop(psql.stdin.take());
    psql.wait().unwrap();
    drop(receiver);

    server.sql("ALTER SYSTEM SET logical_decoding_work_mem = '64kB'; SELECT pg_reload_conf()");
    until("the setting holds", || server.sql("SHOW logical_decoding_work_mem") == "64kB");
    let refused = why(&measured(&server.conninfo(), "t"), "the table public.t");
    assert!(refused.starts_with("a logical replication slot could be handed rows"), "{refused}");
}

#[test]
fn however_it_is_ended_the_table_of_several_connections_goes() {
    let server = OwnServer::start();
    server.sql(
        "CREATE TABLE t (id bigint, a text); INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 60000) n; ANALYZE",
    );
    let copying = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'COPY \"public\".\"howdah_load_%' AND state = 'active'";
    end_in_the_middle(&server, &["--seconds", "16", "--bytes", "8GiB"], copying);
}

#[test]
fn a_report_says_how_many_connections_pay() {
    let server = server();
    server.sql("CREATE SCHEMA paying; CREATE TABLE paying.t (id int, a text); INSERT INTO paying.t SELECT n, 'a' FROM generate_series(1, 20000) n; ANALYZE paying.t");
    // What is made for it is made although the role's transactions are read-only.
    let read_only = format!("{} options='-c default_transaction_read_only=on'", server.conninfo());
    let mut report = measured(&read_only, "paying.t");
    // Made to be a server of many cores.
    for run in report["trials"]["connections"]["runs"].as_array_mut().unwrap() {
        run["seconds"] = (1.0 / run["connections"].as_f64().unwrap()).into();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("measured.json");
    std::fs::write(&path, report.to_string()).unwrap();
    let text = doctor(&["--facts", path.to_str().unwrap()]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains(
            "\n. load.connections, 75 % (75 to 75) of the time: 4 connections are faster than one\n"
        ),
        "{text}"
    );
    assert!(text.contains("howdah load … --jobs 4\n"), "{text}");
}
