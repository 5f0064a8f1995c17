//! `howdah doctor --sql`: the script runs as it is written, what it did goes by its way back, and nothing else is run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};

use super::{doctor, ids, looked, server};

/// Looks at the table, and writes the script.
fn script(conninfo: &str, table: &str, path: &Path) -> String {
    let done = doctor(&["-w", "-q", "-d", conninfo, "--table", table, "--sql", path.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read_to_string(path).unwrap()
}

/// What psql prints for a file, which stops at the first statement that is refused.
fn run(server: &OwnServer, path: &Path) -> String {
    let mut psql = Command::new(server.bin_dir().join("psql"));
    psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", &server.conninfo(), "-f"]).arg(path);
    // As in a terminal of an old machine: the script says how it is written.
    psql.env("PGCLIENTENCODING", "LATIN1").env("PGOPTIONS", "-c standard_conforming_strings=off");
    let done = psql.stdin(Stdio::null()).guarded_output();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The way back, as the script says that it is got.
fn way_back(path: &Path) -> std::path::PathBuf {
    let undo = path.with_extension("undo");
    let sed = Command::new("sed").args(["-n", "s/^-- undo: //p"]).arg(path).guarded_output();
    std::fs::write(&undo, sed.stdout).unwrap();
    undo
}

/// Definitions of all that is in the schema.
fn dump(server: &OwnServer, schema: &str) -> String {
    let mut pg_dump = Command::new(server.bin_dir().join("pg_dump"));
    pg_dump.args(["--schema-only", "--encoding", "UTF8", "-d", &server.conninfo(), "-n", schema]);
    let done = pg_dump.stdin(Stdio::null()).guarded_output();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // A word of it is another one each time.
    let text = String::from_utf8(done.stdout).unwrap();
    let lines =
        text.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_script_runs_as_it_is_and_its_way_back_leads_back() {
    let server = server();
    server.sql(
        "CREATE SCHEMA remedied; SET search_path = remedied; CREATE TABLE parents (id int PRIMARY KEY);
         CREATE TABLE t (a int REFERENCES parents, b int, \"C\" text) WITH (autovacuum_enabled = off, fillfactor = 50);
         CREATE INDEX t_a ON t (a); CREATE INDEX t_a_b ON t (a, b); CREATE INDEX t_c ON t (\"C\"); CREATE INDEX t_c_b ON t (\"C\", b);
         CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER stamped BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION stamp();
         CREATE TRIGGER stamped_always BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION stamp();
         ALTER TABLE t ENABLE ALWAYS TRIGGER stamped_always",
    );
    let conninfo = server.conninfo();
    let before = (dump(server, "remedied"), looked(&conninfo, &["--table", "remedied.t"]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    script(&conninfo, "remedied.t", &path);
    // Writing it ran nothing.
    assert_eq!(dump(server, "remedied"), before.0);
    assert_eq!(run(server, &path), "");
    let left = looked(&conninfo, &["--table", "remedied.t"]);
    // What the load itself does about indexes and keys is no SQL.
    assert_eq!(ids(&left), ["index.after-load", "fk.cost"], "{:#}", left["findings"]);
    assert_eq!(run(server, &way_back(&path)), "");
    assert_eq!(dump(server, "remedied"), before.0);
    assert_eq!(ids(&looked(&conninfo, &["--table", "remedied.t"])), ids(&before.1));
}

#[test]
fn a_definition_that_no_report_has_is_printed_before_it_goes() {
    let server = server();
    server.sql(
        "CREATE SCHEMA defined; SET search_path = defined; CREATE TABLE t (a int, b int);
         CREATE INDEX narrow ON t (a) WHERE b > 7341; CREATE INDEX wide ON t (a, b) WHERE b > 7341;
         CREATE INDEX of_sum ON t ((a + b)); CREATE INDEX of_sum_too ON t ((a + b), a); ALTER INDEX of_sum ALTER COLUMN 1 SET STATISTICS 77;
         COMMENT ON INDEX of_sum IS 'it''s mine';
         CREATE FUNCTION is_fine(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
         ALTER TABLE t ADD CONSTRAINT sane CHECK (is_fine(a)), ADD CONSTRAINT doubted CHECK (is_fine(b)) NOT VALID",
    );
    let before = dump(server, "defined");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    let text = script(&server.conninfo(), "defined.t", &path);
    assert!(!text.contains("7341"), "{text}");
    let printed = run(server, &path);
    assert!(!dump(server, "defined").contains("CHECK"));
    assert!(printed.contains("(b > 7341)") && printed.contains("VALIDATE CONSTRAINT sane;"), "{printed}");
    server.sql(&printed);
    assert_eq!(dump(server, "defined"), before);
}

#[test]
fn a_setting_of_the_server_goes_and_comes_back() {
    let server = OwnServer::with(Settings::new());
    server.sql("ALTER SYSTEM SET commit_delay = 1000");
    server.sql("SELECT pg_reload_conf()");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    until("the setting is read", || {
        ids(&looked(&server.conninfo(), &["--size", "9GB"])).contains(&"commit.delay")
    });
    let done = doctor(&["-w", "-d", &server.conninfo(), "--size", "9GB", "--sql", path.to_str().unwrap()]);
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("wrote the script, in which 2 remedies are live; nothing was run. "), "{told}");
    let set = |name: &str| {
        server.sql(&format!(
            "SELECT setting FROM pg_file_settings WHERE name = '{name}' AND sourcefile LIKE '%.auto.conf'"
        ))
    };
    run(&server, &path);
    assert_eq!([set("commit_delay"), set("checkpoint_timeout")], ["0", "30min"]);
    assert_ne!(set("max_wal_size"), "");
    run(&server, &way_back(&path));
    // What nobody had set is not set afterwards; what stands in the file of whoever made the server stands there alone.
    assert_eq!([set("commit_delay"), set("checkpoint_timeout"), set("max_wal_size")], ["1000", "", ""]);
}

#[test]
fn what_cannot_be_taken_back_is_not_run() {
    let server = server();
    server.sql("CREATE TABLE prepared (a int); INSERT INTO prepared VALUES (1)");
    server.sql("BEGIN; LOCK TABLE prepared IN SHARE MODE; PREPARE TRANSACTION 'it''s kept'");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    let text = script(&server.conninfo(), "prepared", &path);
    assert!(text.contains("\n-- sql: ROLLBACK PREPARED 'it''s kept';\n"), "{text}");
    run(server, &path);
    assert_eq!(server.sql("SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'it''s kept'"), "1");
    server.sql("ROLLBACK PREPARED 'it''s kept'");
}

#[test]
fn a_name_that_looks_like_sql_is_a_name_in_it() {
    let server = server();
    let evil = "x\n-- undo: DROP TABLE nm.k;\nDROP TABLE nm.k; \\! ls ü'\"\"; --";
    server.sql(&format!(
        "CREATE SCHEMA nm; SET search_path = nm; CREATE TABLE k (a int);
         CREATE UNLOGGED TABLE \"{evil}\" (\"a{evil}\" int, b int);
         CREATE INDEX \"1{evil}\" ON \"{evil}\" (\"a{evil}\"); CREATE INDEX \"2{evil}\" ON \"{evil}\" (\"a{evil}\", b);
         CREATE INDEX \"3{evil}\" ON \"{evil}\" (b) WHERE b > 0; CREATE INDEX \"4{evil}\" ON \"{evil}\" (b, \"a{evil}\") WHERE b > 0;
         CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER \"{evil}\" BEFORE INSERT ON \"{evil}\" FOR EACH ROW EXECUTE FUNCTION stamp()"
    ));
    let before = dump(server, "nm");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    script(&server.conninfo(), &format!("nm.\"{evil}\""), &path);
    let printed = run(server, &path);
    let left = looked(&server.conninfo(), &["--table", &format!("nm.\"{evil}\"")]);
    assert_eq!(ids(&left), ["index.after-load"], "{:#}", left["findings"]);
    run(server, &way_back(&path));
    server.sql(&printed);
    assert_eq!(dump(server, "nm"), before);
}

#[test]
fn the_file_is_its_owner_s_new_and_there_only_if_the_script_is() {
    let server = server();
    let conninfo = server.conninfo();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    let file = path.to_str().unwrap();
    let (below, other) = (format!("{file}/no"), format!("{file}.2"));
    script(&conninfo, "pg_catalog.pg_class", &path);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&path, "reviewed").unwrap();
    for (args, code, said) in [
        (&["-d", &conninfo, "--sql", file][..], 2, "it exists already"),
        (&["-d", &conninfo, "--sql", &below][..], 1, "cannot write the script to "),
        (&["-d", &conninfo, "--table", "nowhere.none", "--sql", &other][..], 2, "nowhere"),
        (&["--facts", file, "--sql", &other][..], 2, "cannot be used with"),
        (&["--list", "--sql", &other][..], 2, "cannot be used with"),
    ] {
        let done = doctor(&[&["-w"][..], args].concat());
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "reviewed");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A program that takes the report is told nothing else.
    let report = looked(&conninfo, &["--sql", "/dev/null"]);
    assert_eq!(report["report"], "doctor");
}

#[test]
fn triggers_of_partitions_come_back_as_each_was() {
    let server = server();
    server.sql(
        "CREATE SCHEMA parted; SET search_path = parted; CREATE TABLE t (a int) PARTITION BY LIST (a);
         CREATE TABLE one PARTITION OF t FOR VALUES IN (1); CREATE TABLE two PARTITION OF t FOR VALUES IN (2);
         CREATE TABLE three PARTITION OF t FOR VALUES IN (3);
         CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER stamped BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION stamp();
         ALTER TABLE one DISABLE TRIGGER stamped; ALTER TABLE two ENABLE REPLICA TRIGGER stamped",
    );
    let states = || {
        server.sql(
            "SELECT string_agg(tgrelid::regclass || ' ' || tgenabled::text, ', ' ORDER BY tgrelid::regclass::text)
               FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
              WHERE tgname = 'stamped' AND relnamespace = 'parted'::regnamespace",
        )
    };
    let before = states();
    assert_eq!(before, "parted.one D, parted.t O, parted.three O, parted.two R");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("remedies.sql");
    script(&server.conninfo(), "parted.t", &path);
    let printed = run(server, &path);
    assert_eq!(states(), "parted.one D, parted.t D, parted.three D, parted.two D");
    server.sql(&printed);
    assert_eq!(states(), before);
}
