//! `howdah doctor --measure`: what costs time is found first, with its share; nothing that it does stays, however it ends.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use howdah_testkit::secrets::Guarded;
use howdah_testkit::waiting::until;
use howdah_testkit::{OwnServer, Settings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{doctor, find, ids, looked, server};

/// Enough for a few rounds of small tables.
pub(super) const SHORT: [&str; 5] = ["--measure", "--seconds", "6", "--bytes", "1GiB"];

pub(super) fn measured(conninfo: &str, table: &str) -> Value {
    measured_with(conninfo, &["--table", table])
}

/// What is measured with `args`. Other tests have the machine as well, and write to the log of the same server: what had too
/// little of either gets more of both.
pub(super) fn measured_with(conninfo: &str, args: &[&str]) -> Value {
    let measured = |[seconds, bytes]: [&str; 2]| {
        let room = ["--measure", "--allow-busy", "--seconds", seconds, "--bytes", bytes];
        looked(conninfo, &[&room[..], args].concat())
    };
    let first = measured([SHORT[2], SHORT[4]]);
    let is_short = |report: &Value| {
        let mut left_out = report["trials"]["not_measured"].as_array().unwrap().iter();
        left_out
            .any(|left_out| left_out["why"].as_str().unwrap().starts_with("time and log had room for fewer"))
    };
    let roomier = [["30", "4GiB"], ["90", "8GiB"]];
    roomier.into_iter().fold(first, |report, room| if is_short(&report) { measured(room) } else { report })
}

/// Whether two runs of the same table are so far apart, in a quarter of the rounds, that nobody can tell shares of its time:
/// other programs have the machine.
pub(super) fn is_too_loud(report: &Value) -> bool {
    let runs = report["trials"]["table"]["runs"].as_array().unwrap();
    let seconds = |round: &Value, variant: &str| {
        let run = runs.iter().find(|run| run["round"] == *round && run["variant"] == variant)?;
        run["seconds"].as_f64()
    };
    let mut apart: Vec<f64> = runs
        .iter()
        .filter(|run| run["variant"] == "whole" && run["round"] != 0)
        .filter_map(|run| {
            let (first, last) = (seconds(&run["round"], "whole")?, seconds(&run["round"], "whole_again")?);
            Some((first - last).abs() / f64::midpoint(first, last))
        })
        .collect();
    apart.sort_by(f64::total_cmp);
    apart.get(apart.len() * 3 / 4).is_none_or(|noise| *noise > 0.4)
}

/// What measuring could leave behind anywhere, or move in the schema.
pub(super) fn traces(server: &OwnServer, schema: &str) -> String {
    let schema = schema.replace('\'', "''");
    server.statistics(&format!(
        "WITH n AS (SELECT oid FROM pg_namespace WHERE nspname = '{schema}' OR nspname LIKE '%howdah\\_doctor%')
         SELECT string_agg(t, E'\\n' ORDER BY t) FROM (
             SELECT 'n ' || nspname FROM pg_namespace WHERE oid IN (SELECT oid FROM n)
             UNION ALL SELECT 'r ' || oid::regclass || relnatts FROM pg_class
                 WHERE relnamespace IN (SELECT oid FROM n) OR relname LIKE '%howdah\\_doctor\\_%' AND relpersistence <> 't' AND relname <> 'howdah_doctor_row'
             UNION ALL SELECT 'f ' || oid::regprocedure FROM pg_proc
                 WHERE pronamespace IN (SELECT oid FROM n) OR proname LIKE '%howdah\\_doctor%'
             UNION ALL SELECT 'c ' || conname || conrelid::regclass FROM pg_constraint WHERE connamespace IN (SELECT oid FROM n)
             UNION ALL SELECT 's ' || schemaname || sequencename || coalesce(last_value, 0) FROM pg_sequences WHERE schemaname = '{schema}'
             UNION ALL SELECT 't ' || tgname || tgenabled::text FROM pg_trigger
                 WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace IN (SELECT oid FROM n))
             UNION ALL SELECT 'w ' || relname || n_tup_ins || ' ' || n_tup_upd || ' ' || n_tup_del FROM pg_stat_user_tables
                 WHERE schemaname = '{schema}') AS x (t)"
    ))
}

#[test]
fn what_costs_time_is_found_first_and_what_does_not_is_said() {
    let server = server();
    server.sql(
        "CREATE SCHEMA costs; SET search_path = costs;
         CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents SELECT generate_series(0, 99);
         CREATE TABLE words (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, parent int REFERENCES parents, body int[],
             sum bigint GENERATED ALWAYS AS (id * 2) STORED, CHECK (id > 0)) WITH (fillfactor = 90);
         INSERT INTO words (parent, body) SELECT n % 100, array(SELECT (n * 7919 + m * 104729) % 1000003 FROM generate_series(1, 60) m)
           FROM generate_series(1, 20000) n;
         CREATE INDEX words_body ON words USING gin (body) WITH (fastupdate = off);
         CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM 1; RETURN NEW; END';
         CREATE TRIGGER stamp BEFORE INSERT ON words FOR EACH ROW EXECUTE FUNCTION slow(); ANALYZE parents, words",
    );
    let before = traces(server, "costs");
    let report = measured(&server.conninfo(), "costs.words");
    assert_eq!(traces(server, "costs"), before);
    assert_eq!(report["measured"], true);
    if is_too_loud(&report) {
        return;
    }
    // The index of arrays takes nearly all of the time, and its finding is one, not two.
    assert_eq!(ids(&report)[0], "index.gin", "{report:#}");
    let gin = &report["findings"][0];
    assert_eq!(gin["basis"], "measured");
    assert!(gin["cost"]["low"].as_f64().unwrap() > 0.0, "{gin:#}");
    assert!(gin["cost"]["median"].as_f64().unwrap() > 0.2, "{gin:#}");
    assert!(gin["cost"]["median"].as_f64() <= gin["cost"]["high"].as_f64());
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| {
        finding["id"] != "index.cost" || !finding["title"].as_str().unwrap().contains("words_body")
    }));
    // Every run is there: whole, again, bare, unlogged, as text and as CSV, and without each of seven.
    let table = &report["trials"]["table"];
    let runs = table["runs"].as_array().unwrap();
    let of = |round: u64| runs.iter().filter(|run| run["round"] == round).count();
    assert_eq!((of(0), of(1)), (13, 13), "{:#}", report["trials"]["not_measured"]);
    assert!(table["rows"].as_u64().unwrap() >= 100);
    let names: Vec<String> = runs[..13].iter().map(|run| run["variant"].to_string()).collect();
    for variant in [
        r#""whole""#,
        r#""whole_again""#,
        r#""bare""#,
        r#""unlogged""#,
        r#""text""#,
        r#""csv""#,
        r#"{"without":{"index":"words_pkey"}}"#,
        r#"{"without":{"index":"words_body"}}"#,
        r#"{"without":{"foreign_key":"words_parent_fkey"}}"#,
        r#"{"without":{"trigger":"stamp"}}"#,
        r#"{"without":"checks"}"#,
        r#"{"without":{"generated":"sum"}}"#,
    ] {
        assert!(names.iter().any(|name| name == variant), "{variant}: {names:?}");
    }
    // One more copy showed what becomes of a row among many, as far as there was time.
    let pieces = table["growth"]["pieces"].as_array().unwrap();
    let rows = pieces.iter().map(|piece| piece["rows"].as_u64().unwrap()).sum::<u64>();
    assert!((1..=20_000).contains(&rows), "{pieces:?}");
    assert!(report["trials"]["network"]["round_trips"].as_array().unwrap().len() >= 5);
    assert!(report["trials"]["network"]["upload"].as_f64().unwrap() > 1e6);
    assert_eq!(report["trials"]["client"]["seconds"].as_array().unwrap().len(), 5);
    assert!(report["trials"]["commit"]["local"].as_array().unwrap().len() >= 5);

    // What the remedies come to together was measured as such.
    let together = &report["prescription"];
    let without: Vec<&str> =
        together["without"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(without.contains(&"index words_body"), "{together:#}");
    assert!(together["saved"]["low"].as_f64().unwrap() > 0.0, "{together:#}");
    assert!(together["saved"]["median"].as_f64().unwrap() > 0.2, "{together:#}");
    assert!(together["then"]["median"].as_f64() > together["now"]["median"].as_f64(), "{together:#}");

    // Saved and judged again it says the same, and so does a text for people.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("measured.json");
    std::fs::write(&path, report.to_string()).unwrap();
    let again = doctor(&["-q", "--facts", path.to_str().unwrap(), "--report", "json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, report);
    let text = doctor(&["--facts", path.to_str().unwrap(), "--rows", "40_000_000"]);
    let text = String::from_utf8(text.stdout).unwrap();
    let first = text.lines().find(|line| line.starts_with("- index.gin")).unwrap();
    assert!(first.contains(") of the time: costs.words_body takes many keys of each row"), "{text}");
    assert!(text.contains("\nmeasured: ") && text.contains("\nto come: 40,000,000 rows in "), "{text}");
    assert!(text.contains("\nwith all of it done: ") && text.contains(" fine. Measured for "), "{text}");
}

#[test]
fn a_foreign_key_and_a_trigger_that_cost_come_before_what_does_not() {
    let server = server();
    server.sql(
        "CREATE SCHEMA keyed; SET search_path = keyed;
         CREATE TABLE parents (a int, b text, PRIMARY KEY (a, b)); INSERT INTO parents SELECT n, 'p' || n FROM generate_series(1, 5000) n;
         CREATE TABLE children (id int, a int, b text, FOREIGN KEY (a, b) REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO children SELECT n, 1 + n % 5000, 'p' || 1 + n % 5000 FROM generate_series(1, 20000) n;
         INSERT INTO children VALUES (0, NULL, 'no such'); ANALYZE parents, children",
    );
    let report = measured(&server.conninfo(), "keyed.children");
    if is_too_loud(&report) {
        return;
    }
    let key = find(&report, "fk.cost").unwrap();
    assert_eq!((&key["basis"], &key["severity"]), (&"measured".into(), &"costs".into()), "{report:#}");
    // A query for each row, even if the checks are put off to the end: which they are not for us.
    assert!(key["cost"]["low"].as_f64().unwrap() > 0.0, "{key:#}");
    assert!(key["cost"]["median"].as_f64().unwrap() > 0.2, "{key:#}");
    assert_eq!(server.sql("SELECT count(*) FROM keyed.children"), "20001");
}

#[test]
fn wide_values_that_pglz_compresses_are_measured_and_the_catalog_shows_those_that_stay_wide() {
    let server = server();
    server.sql(
        "CREATE SCHEMA wide; SET search_path = wide; CREATE TABLE t (id int PRIMARY KEY, \"Body\" text, note text) WITH (fillfactor = 50);
         ALTER TABLE t ALTER \"Body\" SET COMPRESSION pglz;
         INSERT INTO t SELECT n, string_agg(md5((n * 625 + m)::text), ''), 'short' FROM generate_series(1, 400) n, generate_series(1, 625) m GROUP BY n;
         CREATE TABLE small (body text); INSERT INTO small SELECT repeat('much of the same ', 200) FROM generate_series(1, 1000); ANALYZE t, small",
    );
    let look = |table: &str| looked(&server.conninfo(), &["--table", table]);
    assert_eq!(find(&look("wide.t"), "column.toast").unwrap()["basis"], "known");
    assert!(find(&look("wide.small"), "column.toast").is_none());
    // What compresses well is seen in a copy only, and can be tried all the same.
    let tried = measured_with(&server.conninfo(), &["--table", "wide.small", "--try", "column.toast"]);
    assert!(tried["trials"]["table"]["runs"].is_array(), "{:#}", tried["trials"]["not_measured"]);
    // Partitions store values as they do, whatever is said of their parent.
    server.sql(
        "SET search_path = wide; CREATE TABLE parted (id int, body text) PARTITION BY LIST (id); CREATE TABLE one PARTITION OF parted FOR VALUES IN (1);
         ALTER TABLE ONLY parted ALTER body SET STORAGE EXTERNAL",
    );
    let uses_pglz = || look("wide.parted")["facts"]["table"]["columns"]["seen"][1]["uses_pglz"].clone();
    assert_eq!(uses_pglz(), true);
    server.sql("ALTER TABLE wide.one ALTER body SET STORAGE EXTERNAL");
    assert_eq!(uses_pglz(), false);
    let before = traces(server, "wide");
    let report = measured(&server.conninfo(), "wide.t");
    assert_eq!(traces(server, "wide"), before);
    let runs = report["trials"]["table"]["runs"].as_array();
    let runs = runs.unwrap_or_else(|| panic!("{:#}", report["trials"]["not_measured"]));
    let of = |variant: Value| runs.iter().filter(|run| run["variant"] == variant).count();
    let way = |way: &str| of(json!({"without": {way: ["Body"]}}));
    assert!(way("compression") >= 4, "{:#}", report["trials"]["not_measured"]);
    assert!(of(json!({"without": "free_room"})) >= 4);
    let has_lz4 = server
        .sql("SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        == "t";
    assert_eq!(way("pglz") >= 4, has_lz4, "{:#}", report["trials"]["not_measured"]);
    if is_too_loud(&report) {
        return;
    }
    let toast = find(&report, "column.toast").unwrap();
    assert_eq!(toast["basis"], "measured", "{toast:#}");
    assert!(toast["cost"]["low"].as_f64().unwrap() > 0.0, "{toast:#}");
    assert!(toast["cost"]["median"].as_f64().unwrap() > 0.1, "{toast:#}");
    let ways = toast["remedies"].as_array().unwrap();
    assert_eq!(ways.len(), 1 + usize::from(has_lz4));
    // Its remedy ends it, and the way back leads back.
    let undo = |remedy: &Value| remedy["undo"].as_str().unwrap().to_owned();
    let before = server.sql("SELECT attname, attstorage, attcompression FROM pg_attribute WHERE attrelid = 'wide.t'::regclass ORDER BY 1");
    for remedy in ways {
        server.sql(remedy["action"]["text"][0].as_str().unwrap());
        let without = looked(&server.conninfo(), &["--table", "wide.t"]);
        assert_eq!(without["facts"]["table"]["columns"]["seen"][1]["uses_pglz"], false, "{remedy:#}");
        server.sql(&undo(remedy));
        let after = server.sql("SELECT attname, attstorage, attcompression FROM pg_attribute WHERE attrelid = 'wide.t'::regclass ORDER BY 1");
        assert_eq!(after, before, "{remedy:#}");
    }
}

#[test]
fn a_baseline_shows_whether_it_helped() {
    let server = server();
    server.sql(
        "CREATE SCHEMA helped; SET search_path = helped; CREATE TABLE t (id int, body int[]);
         INSERT INTO t SELECT n, array(SELECT (n * 7919 + m * 104729) % 1000003 FROM generate_series(1, 60) m)
           FROM generate_series(1, 20000) n;
         CREATE INDEX slow ON t USING gin (body) WITH (fastupdate = off); ANALYZE t",
    );
    let folder = tempfile::tempdir().unwrap();
    let before = folder.path().join("before.json");
    std::fs::write(&before, measured(&server.conninfo(), "helped.t").to_string()).unwrap();
    server.sql("DROP INDEX helped.slow");
    let conninfo = server.conninfo();
    let args = ["-w", "-d", &conninfo, "--table", "helped.t", "--baseline", before.to_str().unwrap()];
    let report = measured_with(&conninfo, &args[3..]);
    let since = &report["comparison"];
    assert_eq!(since["rate"]["differs"], true, "{since:#}");
    assert!(since["rate"]["table"]["low"].as_f64().unwrap() > 1.0, "{since:#}");
    assert!(since["rate"]["table"]["median"].as_f64().unwrap() > 1.5, "{since:#}");
    // What only one of the two runs came upon is there too.
    let gone = since["gone"].as_array().unwrap();
    assert!(gone.iter().any(|it| it.as_str().unwrap().starts_with("index.gin: helped.slow ")), "{since:#}");
    let text = doctor(&args);
    let text = String::from_utf8(text.stdout).unwrap();
    let mut gone = text.lines().filter(|line| line.starts_with("gone since the baseline: "));
    assert!(gone.any(|line| line.contains(" index.gin: helped.slow ")), "{text}");
    // Offline, and of another table.
    let facts = folder.path().join("now.json");
    std::fs::write(&facts, report.to_string()).unwrap();
    let offline = doctor(&["--facts", facts.to_str().unwrap(), "--baseline", before.to_str().unwrap(), "-q"]);
    let offline = String::from_utf8(offline.stdout).unwrap();
    assert!(offline.starts_with("since the baseline: "), "{offline}");
    let other = doctor(&["-w", "-d", &conninfo, "--baseline", before.to_str().unwrap()]);
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn names_are_names_whatever_is_in_them() {
    let server = server();
    // A line end and a tab in them: they are escapes in what is shown, and not in what is run.
    server.sql(
        &r#"CREATE SCHEMA "a ""b';--"; SET search_path = "a ""b';--";
         CREATE TABLE "p';" ("k""1" int PRIMARY KEY); INSERT INTO "p';" SELECT generate_series(1, 10);
         CREATE TABLE "t'"";x" ("gone" int, "c';--" int CHECK ("c';--" > 0), "f""" int REFERENCES "p';", "g " int GENERATED ALWAYS AS ("c';--" + 1) STORED);
         ALTER TABLE "t'"";x" DROP COLUMN "gone";
         CREATE UNIQUE INDEX "i"";" ON "t'"";x" ("c';--") INCLUDE ("f""") WHERE "c';--" > 0;
         CREATE INDEX "e';" ON "t'"";x" (("f""" + 1), "c';--" DESC);
         CREATE FUNCTION "fn'"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER "tr';" AFTER INSERT ON "t'"";x" REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION "fn'"();
         INSERT INTO "t'"";x" SELECT n, 1 + n % 10 FROM generate_series(1, 20000) n; ANALYZE "t'"";x""#
            .replace("t'", "t'\n").replace("i\"\"", "i\t\"\""),
    );
    let before = traces(server, "a \"b';--");
    let report = measured(&server.conninfo(), "\"a \"\"b';--\".\"t'\n\"\";x\"");
    assert_eq!(report["trials"]["not_measured"], Value::Array(vec![]));
    let runs = report["trials"]["table"]["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["round"] == 0).count(), 12);
    assert_eq!(traces(server, "a \"b';--"), before);
}

#[test]
fn a_role_measures_what_it_may_and_says_what_it_may_not() {
    let server = server();
    server.sql(
        "CREATE ROLE guest LOGIN PASSWORD 'guest-31c'; CREATE SCHEMA lent; SET search_path = lent;
         CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents SELECT generate_series(1, 10);
         CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES parents); INSERT INTO t SELECT n, 1 + n % 10 FROM generate_series(1, 20000) n;
         CREATE TABLE none (id int); CREATE TABLE few (id int); INSERT INTO few SELECT generate_series(1, 999);
         CREATE TABLE closed (id int); INSERT INTO closed SELECT generate_series(1, 5000);
         CREATE VIEW seen AS SELECT * FROM t; ANALYZE parents, t, few, closed;
         GRANT USAGE ON SCHEMA lent TO guest; GRANT SELECT ON t, few, none, seen TO guest; GRANT INSERT ON t TO guest",
    );
    let guest = format!("{} user=guest password=guest-31c", server.conninfo());
    // It may make no schema and no table in that one: temporary ones, which are not logged.
    let report = measured(&guest, "lent.t");
    let left_out: Vec<&str> = report["trials"]["not_measured"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left_out| left_out["what"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["the log", "how a table's growth slows rows down", "several connections"]);
    let files = report["trials"]["log"]["files"].as_array().unwrap();
    assert!(files.len() == 4 && files.iter().all(|file| file["looks"].as_u64() > Some(0)), "{files:?}");
    assert!(report["trials"]["table"]["runs"].as_array().unwrap().len() >= 20);
    server.sql("GRANT CREATE ON SCHEMA lent TO guest");
    let report = measured(&guest, "lent.t");
    assert_eq!(report["trials"]["not_measured"], Value::Array(vec![]));
    for (table, why) in [
        ("lent.few", "999 were found, and 1000 are needed"),
        ("lent.none", "0 were found, and 1000 are needed"),
        ("lent.seen", "it is no table"),
        ("lent.closed", "the role may not"),
    ] {
        let report = measured(&guest, table);
        let left_out = &report["trials"]["not_measured"][0];
        assert!(left_out["why"].as_str().unwrap().contains(why), "{table}: {left_out}");
        assert!(report["trials"].get("table").is_none_or(Value::is_null));
        assert!(report["trials"]["commit"].is_object());
    }
}

#[test]
fn no_value_of_a_row_is_in_a_report() {
    const CANARY: &str = "canary-90ab";
    let server = server();
    server.sql(&format!(
        "CREATE SCHEMA telling; SET search_path = telling; CREATE TABLE told (a text UNIQUE, b text); CREATE INDEX ON told (b) WHERE b <> '{CANARY}-predicate';
         INSERT INTO told SELECT '{CANARY}-' || n, '{CANARY}-b' FROM generate_series(1, 3000) n;
         CREATE TABLE doubted (LIKE told); INSERT INTO doubted SELECT * FROM told;
         ALTER TABLE doubted ADD CHECK (b <> '{CANARY}-b') NOT VALID; ANALYZE told, doubted"
    ));
    for table in ["telling.told", "telling.doubted"] {
        for form in ["json", "text", "markdown"] {
            let args = ["-w", "-d", &server.conninfo(), "--allow-busy", "--table", table, "--report", form];
            let done = doctor(&[&SHORT[..], &args].concat());
            let shown = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            assert_eq!(done.status.code(), Some(0), "{shown}");
            assert!(!shown.contains("canary"), "{table} {form}: {shown}");
            // Rows that are there break a CHECK that was never validated, which copies are without.
            assert!(!shown.contains("SQLSTATE"), "{table} {form}: {shown}");
        }
    }
}

#[test]
fn a_partitioned_table_is_measured_as_one_and_that_is_said() {
    let server = server();
    server.sql(
        "CREATE SCHEMA split; SET search_path = split;
         CREATE TABLE whole (id int, at int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
         CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (100);
         CREATE INDEX ON whole (at); INSERT INTO whole SELECT n, n % 100 FROM generate_series(1, 5000) n; ANALYZE whole",
    );
    let before = traces(server, "split");
    let report = measured(&server.conninfo(), "split.whole");
    let said = report["trials"]["not_measured"].to_string();
    assert!(said.contains("the copy is not partitioned"), "{said}");
    let runs = report["trials"]["table"]["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["round"] == 0).count(), 8, "{said}");
    assert_eq!(traces(server, "split"), before);
}

/// A server whose log others read.
fn replicating() -> OwnServer {
    let server = OwnServer::with(Settings::new().with("wal_level", "logical"));
    server.sql(
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t SELECT n, n FROM generate_series(1, 20000) n; ANALYZE;
         CREATE PUBLICATION everything FOR ALL TABLES",
    );
    server.sql("SELECT pg_create_logical_replication_slot('watching', 'test_decoding')");
    server
}

#[test]
fn subscribers_of_all_tables_are_sent_nothing() {
    let server = replicating();
    let report = measured(&server.conninfo(), "t");
    assert_eq!(
        report["trials"]["not_measured"][0]["why"],
        "a logical replication slot would hand the messages on"
    );
    assert!(report["trials"]["table"]["runs"].as_array().unwrap().len() >= 15);
    let sent = "SELECT count(*) FROM pg_logical_slot_get_changes('watching', NULL, NULL) WHERE data !~ '^(BEGIN|COMMIT)'";
    assert_eq!(server.sql(sent), "0");
    server.sql("INSERT INTO t VALUES (0, 0)");
    assert_eq!(server.sql(sent), "1");
}

/// A session that sleeps, which the server counts as work.
struct Busy(Child);

impl Busy {
    fn new(server: &OwnServer) -> Busy {
        let mut psql = Command::new(server.bin_dir().join("psql"));
        psql.args(["-X", "-q", "-d", &server.conninfo(), "-c", "SELECT pg_sleep(600)"]);
        Busy(psql.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn refused(conninfo: &str, args: &[&str], said: &str) {
    let done = doctor(&[&["-w", "-d", conninfo, "--measure"], args].concat());
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{text}");
    assert!(text.contains(said) && text.contains("hint: "), "{text}");
    assert!(done.stdout.is_empty());
}

#[test]
fn it_does_not_measure_where_that_does_harm_unless_somebody_says_so() {
    let server = OwnServer::start();
    server.sql(
        "CREATE TABLE made (what text); CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 2000);
         CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO made VALUES (tg_tag); END';
         CREATE EVENT TRIGGER watching ON ddl_command_end EXECUTE FUNCTION note()",
    );
    let conninfo = server.conninfo();
    refused(&conninfo, &["--table", "t"], "the event trigger watching would fire");
    assert_eq!(server.sql("SELECT count(*) FROM made"), "0");
    let report = looked(&conninfo, &[&SHORT[..], &["--table", "t", "--allow-event-triggers"]].concat());
    assert!(report["trials"]["table"].is_object());
    // What it noted was rolled back too.
    assert_eq!(server.sql("SELECT count(*) FROM made"), "0");
    server.sql("DROP EVENT TRIGGER watching");

    let cores = std::thread::available_parallelism().unwrap().get();
    let busy: Vec<Busy> = (0..=cores).map(|_| Busy::new(&server)).collect();
    let active =
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'";
    until("others are at work", || server.sql(active) == (cores + 1).to_string());
    refused(&conninfo, &["--table", "t"], "sessions of others are at work");
    assert!(measured(&conninfo, "t")["trials"]["table"].is_object());
    drop(busy);
}

/// Ends measurements of the table `t` with `args`, by one signal after the other, once the query `busy` says `t`. Nothing stays.
pub(super) fn end_in_the_middle(server: &OwnServer, args: &[&str], busy: &str) {
    let before = traces(server, "public");
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let child = Command::new(env!("CARGO_BIN_EXE_howdah"))
            .args(["doctor", "-w", "-d", &server.conninfo(), "--allow-busy", "--table", "t", "--measure"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("it is at work", || server.sql(busy) == "t");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let done = child.guarded_output();
        match signal {
            Signal::INT => {
                assert_eq!(done.status.code(), Some(130));
                let text = String::from_utf8_lossy(&done.stderr).into_owned();
                assert!(text.contains("stopped on request"), "{text}");
            }
            Signal::TERM => assert_eq!(done.status.code(), Some(143)),
            _ => assert_eq!(done.status.signal(), Some(9)),
        }
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        until("its sessions are over", || server.sql(sessions) == "0");
        assert_eq!(traces(server, "public"), before);
        assert_eq!(server.sql("SELECT count(*) FROM pg_class WHERE relname LIKE '%howdah%'"), "0");
    }
}

#[test]
fn however_it_is_ended_nothing_stays() {
    let server = OwnServer::start();
    server.sql(
        "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p SELECT generate_series(1, 100);
         CREATE TABLE t (id bigserial PRIMARY KEY, p int REFERENCES p, a text);
         INSERT INTO t (p, a) SELECT 1 + n % 100, repeat('x', 100) FROM generate_series(1, 50000) n; ANALYZE",
    );
    let copying = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'COPY howdah_doctor_%copy%' AND state = 'active'";
    end_in_the_middle(&server, &["--seconds", "600", "--bytes", "100GiB"], copying);
}
