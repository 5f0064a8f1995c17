//! `howdah doctor --app`: a small service writes while the doctor watches, and what it could do better is found; one that writes
//! as it should is left alone.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};
use serde_json::Value;

use super::{doctor, find, ids, looked};

const CANARY: &str = "canary-91b4f7";

/// A server that counts statements and plans, with a table to write to.
fn counting() -> OwnServer {
    let server = OwnServer::with(
        Settings::new()
            .with("shared_preload_libraries", "pg_stat_statements")
            .with("pg_stat_statements.track_planning", "on")
            .with("fsync", "off"),
    );
    server.sql(
        "CREATE SCHEMA \"Tools\"; CREATE EXTENSION pg_stat_statements SCHEMA \"Tools\";
         CREATE TABLE events (id int, note text, at timestamptz); CREATE TABLE customers (id int PRIMARY KEY, n int);
         INSERT INTO customers SELECT n, 0 FROM generate_series(1, 100) n",
    );
    server
}

/// A service that writes until it is dropped.
struct Service(Child);

impl Service {
    /// One session sends `first`, and then `statements` again and again: in them `{n}` is another number each time.
    fn of(server: &OwnServer, conninfo: &str, first: &str, statements: &str) -> Service {
        let mut child = Command::new(server.bin_dir().join("psql"))
            .args(["-qXAt", "-d", conninfo])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let (first, statements) = (first.to_owned(), statements.to_owned());
        std::thread::spawn(move || {
            let mut sent = input.write_all(format!("{first}\n").as_bytes());
            let mut n = 0_u64;
            // It ends when psql is gone.
            while sent.is_ok() {
                n += 1;
                sent = input.write_all(format!("{}\n", statements.replace("{n}", &n.to_string())).as_bytes());
            }
        });
        Service(child)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is found while `statements` come, after `first`.
fn found_while(server: &OwnServer, first: &str, statements: &str) -> Value {
    let conninfo = server.conninfo();
    server.sql("TRUNCATE events; SELECT \"Tools\".pg_stat_statements_reset()");
    let _service = Service::of(server, &conninfo, first, statements);
    until("the service writes", || {
        server
            .sql("SELECT sum(calls) > 20 FROM \"Tools\".pg_stat_statements WHERE query ~ '^(PREPARE|INSERT)'")
            == "t"
    });
    looked(&conninfo, &["--app", "--watch=2"])
}

/// The findings on programs.
fn of_programs(report: &Value) -> Vec<&str> {
    ids(report).into_iter().filter(|id| id.starts_with("app.")).collect()
}

#[test]
fn what_a_service_could_do_better_is_found() {
    let server = counting();
    let row = "INSERT INTO events VALUES ({n}, 'note {n}', now());";
    let many = |rows: usize| {
        let row = "({n}, 'note', now())";
        format!("INSERT INTO events VALUES {};", vec![row; rows].join(", "))
    };
    let prepare =
        "PREPARE put AS INSERT INTO events SELECT * FROM unnest($1::int[], $2::text[], $3::timestamptz[]);";
    let batch = "EXECUTE put(array_fill({n}, array[500]), array_fill('x'::text, array[500]), array_fill(now(), array[500]));";
    let shapes = (1..=24).map(many).collect::<Vec<_>>().join("\n");
    let in_transaction = format!("BEGIN;\n{}\nCOMMIT;", vec![row; 50].join("\n"));
    let returning = in_transaction.replace("now());", "now()) RETURNING id;");
    let looking_up = "SELECT n FROM customers WHERE id = {n} % 100;";
    let upsert = "INSERT INTO customers SELECT c, 1 FROM generate_series(1, 100) c ON CONFLICT (id) DO UPDATE SET n = excluded.n + {n};";
    for (first, statements, expected, left_alone, evidence) in [
        (
            "",
            row.to_owned(),
            "app.commit-per-row",
            "app.one-row-statements",
            "INSERT INTO events VALUES ($1, $2, now())",
        ),
        (
            "",
            in_transaction,
            "app.one-row-statements",
            "app.commit-per-row",
            "statements a second bring a row each at most",
        ),
        ("", returning, "app.one-row-statements", "app.commit-per-row", "100 % of them have RETURNING"),
        (
            "",
            row.to_owned(),
            "app.unprepared",
            "app.lookup-before-insert",
            "INSERT INTO events VALUES ($1, $2, now())",
        ),
        (
            "",
            format!("{looking_up}\n{row}"),
            "app.lookup-before-insert",
            "app.values-shapes",
            "SELECT n FROM customers WHERE",
        ),
        ("", shapes, "app.values-shapes", "app.commit-per-row", "with 1 to 24 rows of VALUES"),
        (
            "CREATE INDEX IF NOT EXISTS customers_n ON customers (n);",
            upsert.to_owned(),
            "app.upsert-rewrites",
            "app.commit-per-row",
            "0 % of them without touching an index",
        ),
    ] {
        let report = found_while(&server, first, &statements);
        let finding = find(&report, expected).unwrap_or_else(|| panic!("{expected}: {report:#}"));
        assert!(finding["evidence"].to_string().contains(evidence), "{expected}: {finding:#}");
        assert_eq!(finding["basis"], "counted");
        assert!(find(&report, left_alone).is_none(), "{left_alone}: {report:#}");
        // A saved report gives the same findings.
        let saved = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(saved.path(), report.to_string()).unwrap();
        let again = doctor(&["--facts", saved.path().to_str().unwrap(), "--report", "json"]);
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(again["findings"], report["findings"]);
    }
    // Whoever writes many rows at once, prepared, could not do better.
    let report = found_while(&server, prepare, batch);
    assert_eq!(of_programs(&report), Vec::<&str>::new(), "{:#}", report["findings"]);
    let sent = &report["facts"]["watched"]["programs"]["statements"]["seen"]["statements"][0];
    assert_eq!((&sent["kind"], &sent["table"]), (&"insert".into(), &"events".into()), "{sent:#}");
    // And nobody writes.
    let report = looked(&server.conninfo(), &["--app", "--watch=1"]);
    assert_eq!(of_programs(&report), Vec::<&str>::new(), "{:#}", report["findings"]);
    assert_eq!(report["not_seen"], Value::Array(Vec::new()), "{:#}", report["not_seen"]);
}

#[test]
fn transactions_that_wait_and_sessions_that_come_and_go_are_found() {
    let server = counting();
    let conninfo = server.conninfo();
    let mut idle = Command::new(server.bin_dir().join("psql"))
        .args(["-qXAt", "-d", &conninfo])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    idle.stdin.as_mut().unwrap().write_all(b"BEGIN; INSERT INTO events VALUES (1);\n").unwrap();
    until("it is idle", || {
        server.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") == "1"
    });
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                server.sql("SELECT 1");
            }
        });
        let report = looked(&conninfo, &["--app", "--watch=5"]);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        report
    });
    for (id, evidence) in
        [("app.chatty-transaction", "100 % ("), ("app.connections", "sessions a second begin, ")]
    {
        let finding = find(&report, id).unwrap_or_else(|| panic!("{id}: {report:#}"));
        assert!(finding["evidence"].to_string().contains(evidence), "{finding:#}");
    }
    // It is said once.
    assert!(find(&report, "watch.program").is_none(), "{report:#}");
    idle.kill().unwrap();
    idle.wait().unwrap();
}

#[test]
fn what_a_role_cannot_see_and_what_nobody_counts_is_said() {
    let server = counting();
    server.sql(
        "CREATE ROLE blind LOGIN PASSWORD 'role-password-55d'; CREATE DATABASE bare;
         GRANT INSERT ON events TO blind",
    );
    let conninfo = server.conninfo();
    let blind = format!("{conninfo} user=blind password=role-password-55d");
    let shown_by = |report: &Value, what: &str| -> String {
        let gaps = report["not_seen"].as_array().unwrap();
        let gap = gaps.iter().find(|gap| gap["what"] == what).unwrap_or_else(|| panic!("{what}: {gaps:#?}"));
        gap["shown_by"].as_str().unwrap().to_owned()
    };
    let _service = Service::of(&server, &conninfo, "", "INSERT INTO events VALUES ({n}, 'note', now());");
    // Not even the schema: counters tell what they can.
    let report = looked(&blind, &["--app", "--watch=3"]);
    assert_eq!(of_programs(&report), ["app.commit-per-row"]);
    let grant = shown_by(&report, "what statements programs send");
    assert_eq!(grant, "GRANT USAGE ON SCHEMA \"Tools\" TO blind;");
    server.sql(&grant);
    let report = looked(&blind, &["--app", "--watch=3"]);
    assert_eq!(of_programs(&report), ["app.commit-per-row"]);
    for id in ["app.one-row-statements", "app.values-shapes"] {
        assert!(!report["fine"].to_string().contains(id), "{id}");
    }
    let grant = shown_by(&report, "what statements other roles send");
    assert_eq!(grant, "GRANT pg_monitor TO blind;");
    server.sql(&grant);
    let report = looked(&blind, &["--app", "--watch=1"]);
    assert!(find(&report, "app.commit-per-row").is_some(), "{report:#}");
    // Another database has no extension.
    let bare = looked(&format!("{conninfo} dbname=bare"), &["--app", "--watch=1"]);
    let create = shown_by(&bare, "what statements programs send");
    assert_eq!(create, "CREATE EXTENSION pg_stat_statements;");
    // And another server has not loaded it.
    let other = looked(&super::server().conninfo(), &["--app", "--watch=1"]);
    assert!(shown_by(&other, "what statements programs send").contains("shared_preload_libraries"));
}

#[test]
fn no_literal_of_a_statement_is_in_a_report() {
    let server = counting();
    let conninfo = server.conninfo();
    let statements = format!(
        "INSERT INTO events VALUES ({{n}}, '{CANARY}-value', now()) /* {CANARY}-comment */;
         /* {CANARY}-before */ UPDATE customers SET n = {{n}} WHERE '{CANARY}-where' <> '' AND id = 1;
         ALTER ROLE other PASSWORD '{CANARY}-password';
         CREATE TEMP TABLE x AS SELECT '{CANARY}-made' AS a FROM customers; DROP TABLE x;
         COPY events (note) FROM STDIN (NULL '{CANARY}-null');\n{CANARY}-row\n\\.
         SELECT '{CANARY}-selected' FROM customers WHERE id = 2; SET app.token = '{CANARY}-token';
         DO $$ BEGIN PERFORM '{CANARY}-do'; END $$;"
    );
    server.sql("CREATE ROLE other");
    let _service = Service::of(&server, &conninfo, "", &statements);
    until("all of it came", || server.sql("SELECT count(*) > 0 FROM events WHERE note LIKE '%row'") == "t");
    for form in ["json", "text", "markdown"] {
        let done = doctor(&["-w", "-v", "-d", &conninfo, "--app", "--watch=1", "--report", form]);
        assert_eq!(done.status.code(), Some(0));
        let shown = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(form != "json" || shown.contains("\"table\":\"events\""), "{shown}");
        let at = shown.find("canary");
        assert!(at.is_none(), "{form}: …{}", &shown[at.unwrap_or(0).saturating_sub(100)..][..160]);
    }
}

#[test]
fn it_watches_ten_seconds_unless_it_is_told_otherwise() {
    for wrong in [&["--app", "--list"][..], &["--app", "--facts", "x.json"], &["--app", "--watch=no"]] {
        assert_eq!(doctor(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let said = String::from_utf8(doctor(&["-w", "-d", &super::server().conninfo(), "--app"]).stderr).unwrap();
    assert!(said.contains("watching for 10 s"), "{said}");
}
