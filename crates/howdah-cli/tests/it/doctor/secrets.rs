//! A report is made to be shown: what must not be in it is put wherever it could come from.

use std::io::Write;
use std::process::{Command, Stdio};

use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};

use super::doctor;

const CANARY: &str = "canary-52d8e1";

#[test]
fn no_secret_statement_literal_or_value_is_in_a_report() {
    let server = OwnServer::with(Settings::new().with("archive_mode", "on"));
    server.sql(&format!(
        "ALTER SYSTEM SET archive_command = 'cp %p /{CANARY}-archive/%f';
         ALTER SYSTEM SET primary_conninfo = 'host=nowhere password={CANARY}-primary';
         ALTER SYSTEM SET log_line_prefix = '{CANARY}-prefix';
         SELECT pg_reload_conf();
         ALTER ROLE current_user SET \"app.token\" = '{CANARY}-token';
         CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END /* {CANARY}-body */';
         CREATE TABLE t (id int, a text DEFAULT random()::text || '{CANARY}-default' CHECK (a <> '{CANARY}-check'),
                         g text GENERATED ALWAYS AS (a || '{CANARY}-generated') STORED);
         CREATE INDEX partial ON t (id) WHERE a = '{CANARY}-predicate';
         CREATE INDEX partial_too ON t (id) WHERE a = '{CANARY}-predicate';
         CREATE INDEX term ON t ((a || '{CANARY}-expression'));
         CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.a <> '{CANARY}-when') EXECUTE FUNCTION f('{CANARY}-argument');
         COMMENT ON TABLE t IS '{CANARY}-comment';
         INSERT INTO t SELECT 1, '{CANARY}-value' FROM generate_series(1, 100); ANALYZE t;
         SELECT pg_switch_wal()"
    ));
    let mut child = Command::new(server.bin_dir().join("psql"))
        .args(["-X", "-q", "-d", &format!("{} application_name={CANARY}-name", server.conninfo())])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let statements = format!("BEGIN;\nLOCK TABLE t; \nSELECT '{CANARY}-statement';\n");
    child.stdin.as_mut().unwrap().write_all(statements.as_bytes()).unwrap();
    until("the session holds the table", || {
        server.sql(&format!("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%{CANARY}-statement%' AND state LIKE 'idle%'"))
            == "1"
    });
    until("archiving has failed", || server.sql("SELECT failed_count > 0 FROM pg_stat_archiver") == "t");
    for form in ["json", "text", "markdown"] {
        let done = doctor(&["-w", "-v", "-d", &server.conninfo(), "--table", "t", "--report", form]);
        assert_eq!(done.status.code(), Some(0));
        let shown = [done.stdout, done.stderr].concat();
        let shown = String::from_utf8(shown).unwrap();
        for found in ["partial_too", "wal.archive", "table.locked", "trigger.row", "column.generated"] {
            assert!(shown.replace('\\', "").contains(found), "{found}: {shown}");
        }
        let at = shown.find("canary");
        assert!(at.is_none(), "{form}: …{}", &shown[at.unwrap_or(0).saturating_sub(100)..][..160]);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}
