//! `howdah doctor --watch`: what sessions that write wait for is seen, and who may not see it is told so.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use howdah_testkit::OwnServer;
use howdah_testkit::waiting::until;

use super::{doctor, find, ids, looked};

/// A session that stays as it is until it is dropped.
struct Session(Child);

impl Session {
    /// Runs `sql` and waits for its end.
    fn after(server: &OwnServer, sql: &str) -> Session {
        let mut session = Session::with(server, sql);
        let mut lines = BufReader::new(session.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "done"), "{sql}");
        session
    }

    /// Runs `sql` and does not wait for its end.
    fn with(server: &OwnServer, sql: &str) -> Session {
        let mut psql = Command::new(server.bin_dir().join("psql"));
        psql.args(["-qXAt", "-d", &server.conninfo()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = psql.spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{sql};\n\\echo done").unwrap();
        Session(child)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_holds_up_sessions_that_write_is_found() {
    let server = OwnServer::start();
    server.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)");
    let conninfo = server.conninfo();
    let quiet = looked(&conninfo, &["--watch=1"]);
    assert!(!ids(&quiet).iter().any(|id| id.starts_with("watch.")), "{quiet:#}");
    assert_eq!(quiet["facts"]["watched"]["writers"]["seen"], serde_json::json!([]), "{quiet:#}");

    let _idle = Session::after(&server, "BEGIN; UPDATE t SET n = 2 WHERE id = 1");
    let waiting: Vec<Session> = (0..2)
        .map(|n| {
            Session::with(
                &server,
                &format!("BEGIN; INSERT INTO t VALUES ({}, 0); DELETE FROM t WHERE id = 1", n + 2),
            )
        })
        .collect();
    until("both wait", || {
        server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "2"
    });
    let report = looked(&conninfo, &["--watch=6"]);
    let watched = &report["facts"]["watched"];
    assert!(watched["seconds"].as_f64().unwrap() >= 6.0, "{watched:#}");
    // Counters are late, and so they are read later: what a second brings is told by the time between the readings.
    let counted = watched["work"]["seen"]["seconds"].as_f64().unwrap();
    assert!(counted > watched["seconds"].as_f64().unwrap() + 1.0, "{watched:#}");
    let locks = find(&report, "watch.locks").unwrap_or_else(|| panic!("{report:#}"));
    assert!(locks["evidence"][0].as_str().unwrap().starts_with("67 % ("), "{locks:#}");
    assert_eq!(locks["basis"], "counted");

    // Who may not see others is told what shows them.
    server.sql("CREATE ROLE blind LOGIN PASSWORD 'role-password-77a'");
    let blind = looked(&format!("{conninfo} user=blind password=role-password-77a"), &["--watch=1"]);
    assert!(find(&blind, "watch.locks").is_none());
    let gaps = blind["not_seen"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "what sessions of other roles wait for");
    assert_eq!(gap.unwrap_or_else(|| panic!("{blind:#}"))["shown_by"], "GRANT pg_monitor TO blind;");

    // A server that waits for a lock does not notice that its client is gone.
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
    drop(waiting);
    until("they are gone", || {
        server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0"
    });
    let done = doctor(&["-w", "-d", &conninfo, "--watch=4"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("\nwatched: 4 s, ") && text.contains("idle in transaction 100 % ("), "{text}");
    assert!(text.contains("\n- watch.program: transactions stand still"), "{text}");
    assert!(String::from_utf8(done.stderr).unwrap().contains("watching for 4 s"));

    // A saved report gives the same findings.
    let saved = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(saved.path(), report.to_string()).unwrap();
    let again = doctor(&["--facts", saved.path().to_str().unwrap(), "--report", "json"]);
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["findings"], report["findings"]);
}
