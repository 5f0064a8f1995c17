//! States of a table.

use serde_json::{Value, json};

use super::connections::why;
use super::measuring::measured;
use super::{find, looked, server, statements};

/// A state: what makes it, the table, the finding, a part of its evidence, and which of its remedies to run.
struct State {
    made_by: &'static str,
    table: &'static str,
    id: &'static str,
    evidence: &'static str,
    remedy: usize,
}

const fn state(
    made_by: &'static str,
    table: &'static str,
    id: &'static str,
    evidence: &'static str,
    remedy: usize,
) -> State {
    State { made_by, table, id, evidence, remedy }
}

const STATES: &[State] = &[
    state(
        "CREATE TABLE covered (a int, b int, c int, d int); CREATE INDEX ON covered (a, b); CREATE INDEX covered_a ON covered (a); \
         CREATE INDEX ON covered (b) WHERE a > 0; CREATE INDEX ON covered (b); CREATE INDEX ON covered (c DESC)",
        "covered",
        "index.duplicate",
        "0 scans",
        0,
    ),
    state(
        // What is printed as an escape is run as printed, and means this name.
        "CREATE TABLE veiled (a int, b int); CREATE INDEX \"x\ny\" ON veiled (a); CREATE INDEX ON veiled (a, b)",
        "veiled",
        "index.duplicate",
        "0 scans",
        0,
    ),
    state(
        "CREATE TABLE split (a int, b int) PARTITION BY LIST (a); CREATE TABLE split_rest PARTITION OF split DEFAULT; \
         CREATE INDEX split_a ON split (a); CREATE INDEX ON split (a, b)",
        "split",
        "index.duplicate",
        "0 scans",
        0,
    ),
    state(
        "CREATE TABLE stamped (a int); CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
         CREATE TRIGGER \"Stamp\" BEFORE INSERT ON stamped FOR EACH ROW EXECUTE FUNCTION stamp()",
        "stamped",
        "trigger.row",
        "BEFORE INSERT on public.stamped, calls stamp()",
        0,
    ),
    state(
        "CREATE TABLE counted (a int); CREATE FUNCTION tally() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
         CREATE TRIGGER tally AFTER INSERT ON counted REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION tally()",
        "counted",
        "trigger.statement",
        "AFTER INSERT",
        0,
    ),
    state(
        "CREATE TABLE parents (id int PRIMARY KEY); CREATE TABLE \"Order\" (parent int REFERENCES parents ON DELETE CASCADE)",
        "\"Order\"",
        "fk.cost",
        "parent → public.parents (id)",
        1,
    ),
    state(
        "CREATE TABLE late (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)",
        "late",
        "fk.deferred",
        "condeferred",
        0,
    ),
    state(
        "CREATE TABLE targets (id int PRIMARY KEY); CREATE TABLE referring (target int REFERENCES targets)",
        "targets",
        "fk.referencing",
        "referring_target_fkey on (target)",
        0,
    ),
    state("CREATE UNLOGGED TABLE fleeting (a int)", "fleeting", "table.unlogged", "not crash-safe", 0),
    state(
        "CREATE TABLE unattended (a int) WITH (autovacuum_enabled = off)",
        "unattended",
        "table.autovacuum",
        "autovacuum_enabled = off",
        0,
    ),
    state(
        "CREATE TABLE keyed (id uuid PRIMARY KEY DEFAULT gen_random_uuid())",
        "keyed",
        "index.random-key",
        "its default is gen_random_uuid()",
        0,
    ),
    state(
        "CREATE TABLE parted (a int) PARTITION BY RANGE (a)",
        "parted",
        "table.partitions",
        "pg_inherits",
        0,
    ),
    state(
        "CREATE TABLE numbered (id serial); SELECT setval('numbered_id_seq', 2147483000)",
        "numbered",
        "column.numbers-end",
        "public.numbered_id_seq of 2,147,483,646, type integer",
        0,
    ),
    state(
        "CREATE SEQUENCE short MAXVALUE 100; CREATE TABLE ended (id bigint DEFAULT nextval('short')); \
         ALTER SEQUENCE short OWNED BY ended.id; SELECT setval('short', 95)",
        "ended",
        "column.numbers-end",
        "public.short of 99",
        0,
    ),
    state(
        "CREATE TABLE broken (a int); CREATE INDEX broken_a ON broken (a); \
         UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken_a'::regclass",
        "broken",
        "index.invalid",
        "not indisvalid",
        0,
    ),
    state(
        "CREATE TABLE words (a int[]); CREATE INDEX words_a ON words USING gin (a)",
        "words",
        "index.gin",
        "fastupdate on",
        2,
    ),
    state(
        "CREATE FUNCTION is_fine(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END'; \
         CREATE TABLE checked (a int CHECK (is_fine(a)), b int CHECK (b > 0))",
        "checked",
        "constraint.check",
        "conbin",
        0,
    ),
    state(
        "CREATE TABLE loose (a int) WITH (fillfactor = 50)",
        "loose",
        "table.fillfactor",
        "100 % more pages than needed",
        0,
    ),
    state(
        "CREATE TABLE unknown (a int); INSERT INTO unknown VALUES (1)",
        "unknown",
        "table.analyze",
        "1 rows",
        1,
    ),
    state(
        "CREATE TABLE computed (a int, b int GENERATED ALWAYS AS (a + 1) STORED)",
        "computed",
        "column.generated",
        "attgenerated = s",
        usize::MAX,
    ),
    state(
        "CREATE TABLE rooms (n int, EXCLUDE USING btree (n WITH =))",
        "rooms",
        "constraint.exclusion",
        "indisexclusion, method btree",
        usize::MAX,
    ),
];

#[test]
fn a_state_of_a_table_is_found_and_its_remedy_ends_it() {
    let server = server();
    for State { made_by, table, id, evidence, remedy } in STATES {
        server.sql(made_by);
        let args = ["--table", table, "--rows", "1000"];
        let report = looked(&server.conninfo(), &args);
        let finding = find(&report, id).unwrap_or_else(|| panic!("{id}: {:#}", report["findings"]));
        assert!(finding["evidence"].to_string().contains(evidence), "{id}: {finding:#}");
        assert!(!finding["remedies"][0]["undo"].as_str().unwrap().is_empty());
        // uuidv7() is new in PostgreSQL 18: before, whoever makes the rows has to make the keys.
        let is_made_elsewhere =
            *id == "index.random-key" && server.sql("SHOW server_version_num").as_str() < "180000";
        if *remedy == usize::MAX || is_made_elsewhere {
            continue;
        }
        server.sql(&statements(finding, *remedy));
        let report = looked(&server.conninfo(), &args);
        assert!(find(&report, id).is_none(), "{id}: {:#}", report["findings"]);
    }
}

#[test]
fn what_was_dropped_comes_back_by_the_undo() {
    let server = server();
    server.sql(
        "CREATE TABLE owners (id int, kind int, PRIMARY KEY (id, kind)); CREATE INDEX owners_kind ON owners (kind, id); \
         CREATE INDEX owners_again ON owners (kind); \
         CREATE TABLE pets (owner int, kind int, FOREIGN KEY (owner, kind) REFERENCES owners MATCH FULL ON UPDATE SET NULL)",
    );
    for (table, id, remedy, definition) in [
        (
            "pets",
            "fk.cost",
            1,
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'pets'::regclass",
        ),
        ("owners", "index.duplicate", 0, "SELECT pg_get_indexdef(to_regclass('owners_again'))"),
    ] {
        let before = server.sql(definition);
        let report = looked(&server.conninfo(), &["--table", table]);
        let finding = find(&report, id).unwrap();
        server.sql(&statements(finding, remedy));
        assert_eq!(server.sql(definition), "");
        server.sql(finding["remedies"][remedy]["undo"].as_str().unwrap());
        assert_eq!(server.sql(definition), before);
    }
}

#[test]
fn only_what_another_index_covers_is_a_duplicate() {
    let server = server();
    server.sql(
        "CREATE TABLE several (a int, b text, c int);
         CREATE UNIQUE INDEX u ON several (a); CREATE INDEX same ON several (a); CREATE INDEX other_order ON several (a DESC);
         CREATE INDEX other_class ON several (b text_pattern_ops); CREATE INDEX plain_b ON several (b);
         CREATE INDEX few ON several (c) WHERE a = 1; CREATE INDEX others ON several (c) WHERE a = 2;
         CREATE INDEX wide ON several (c) INCLUDE (a); CREATE INDEX term ON several ((a + 1)); CREATE INDEX term_too ON several ( (a + 1), c)",
    );
    let report = looked(&server.conninfo(), &["--table", "several"]);
    let titles: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["id"] == "index.duplicate")
        .map(|finding| finding["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["public.same is covered by u", "public.term is covered by term_too"]);
}

#[test]
fn in_which_order_rows_come_to_an_expression_is_seen() {
    let server = server();
    server.sql(
        "CREATE SCHEMA terms; SET search_path = terms; CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 5000);
         CREATE INDEX scattered ON t (md5(id::text)); CREATE INDEX ordered ON t ((id + 1)); CREATE INDEX plain ON t (id); ANALYZE t",
    );
    let report = looked(&server.conninfo(), &["--table", "terms.t"]);
    let indexes = report["facts"]["table"]["indexes"]["seen"].as_array().unwrap();
    let correlation = |name: &str| {
        let index = indexes.iter().find(|index| index["name"] == name);
        index.unwrap_or_else(|| panic!("{indexes:?}"))["correlation"].as_f64()
    };
    assert!(correlation("scattered").unwrap().abs() < 0.1, "{indexes:?}");
    assert_eq!((correlation("ordered"), correlation("plain")), (Some(1.0), None));
}

#[test]
fn a_publication_needs_to_find_rows() {
    let server = server();
    server.sql("CREATE TABLE published (a int); CREATE PUBLICATION p FOR TABLE published");
    let severity = || {
        let report = looked(&server.conninfo(), &["--table", "published"]);
        find(&report, "repl.identity").map(|finding| (finding["severity"].clone(), statements_of(finding)))
    };
    let (fails, remedy) = severity().unwrap();
    assert_eq!(fails, "fails");
    server.sql(&remedy);
    assert_eq!(severity().unwrap().0, "notice");
    server.sql("ALTER TABLE published ADD PRIMARY KEY (a), REPLICA IDENTITY DEFAULT");
    assert!(severity().is_none());
}

fn statements_of(finding: &serde_json::Value) -> String {
    match finding["remedies"][0]["action"]["kind"].as_str() {
        Some("sql") => statements(finding, 0),
        _ => String::new(),
    }
}

#[test]
fn a_table_whose_rows_hold_nothing_to_load_is_not_measured_and_why_is_said() {
    let server = server();
    server.sql(
        "CREATE SCHEMA nothing; SET search_path = nothing; CREATE TABLE bare (); CREATE TABLE gone (a int);
         INSERT INTO gone SELECT generate_series(1, 2000); ALTER TABLE gone DROP COLUMN a;
         CREATE TABLE made (a int GENERATED ALWAYS AS (1) STORED);
         INSERT INTO made SELECT FROM generate_series(1, 2000)",
    );
    for (table, says) in [
        ("nothing.bare", "it has no columns, so that its rows hold nothing to load"),
        ("nothing.gone", "it has no columns, so that its rows hold nothing to load"),
        ("nothing.made", "all its columns are generated, so that its rows hold nothing to load"),
        ("pg_catalog.pg_attribute", "it is a catalog of PostgreSQL's own, into which nobody loads"),
    ] {
        let report = measured(&server.conninfo(), table);
        assert_eq!(why(&report, &format!("the table {table}")), says, "{report:#}");
    }
}

#[test]
fn indexes_are_better_built_again_for_many_rows_and_not_for_few() {
    let server = server();
    server.sql(
        "CREATE TABLE sets (a int, b int); CREATE INDEX sets_a ON sets (a); CREATE INDEX sets_b ON sets (b)",
    );
    let found = |rows: &str| {
        let report = looked(&server.conninfo(), &["--table", "sets", "--rows", rows]);
        find(&report, "index.after-load").map(|finding| finding["evidence"].to_string())
    };
    let evidence = found("5_000_000").unwrap();
    assert!(evidence.contains("sets_a, sets_b") && evidence.contains(" times as fast"), "{evidence}");
    assert_eq!(found("1000"), None);
}

/// The constraints of `table`, which can be measured, that are left out.
fn left_out(table: &str) -> Vec<Value> {
    let report = measured(&server().conninfo(), table);
    assert!(report["trials"]["table"]["runs"].is_array(), "{table}: {:#}", report["trials"]);
    let mut left_out = report["trials"]["not_measured"].as_array().unwrap().clone();
    left_out.retain(|it| it["what"].as_str().unwrap().contains("constraint"));
    left_out
}

/// A constraint that is left out because of the rows that are there.
fn not_valid(name: &str) -> Value {
    json!({ "what": format!("constraint {name}"), "why": "it is NOT VALID, and rows that are there may break it" })
}

#[test]
fn neither_checks_that_rows_break_nor_empty_pages_are_an_obstacle() {
    let server = server();
    server.sql(
        "CREATE TABLE already_broken (id int PRIMARY KEY, n int); INSERT INTO already_broken SELECT n, n FROM generate_series(1, 5000) n;
         ALTER TABLE already_broken ADD CONSTRAINT negative CHECK (n < 0) NOT VALID; ANALYZE already_broken",
    );
    // Larger than what is read of a table. The second was never counted.
    for (table, gone, count) in [
        ("queue", "id <= 57000", "ANALYZE queue"),
        ("uncounted", "id <= 57000", ""),
        ("sparse", "id % 47 <> 0", "ANALYZE sparse"),
    ] {
        server.sql(&format!(
            "CREATE TABLE {table} (id int PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
             INSERT INTO {table} SELECT n, repeat('x', 400) FROM generate_series(1, 60000) n;
             DELETE FROM {table} WHERE {gone}; {count}"
        ));
        assert!(left_out(table).is_empty(), "{table}");
    }
    assert_eq!(left_out("already_broken"), [not_valid("negative")]);
}

#[test]
fn neither_rows_without_a_value_nor_virtual_columns_are_an_obstacle() {
    let server = server();
    if server.sql("SHOW server_version_num").as_str() < "180000" {
        return; // Both are new in PostgreSQL 18.
    }
    server.sql(
        "CREATE TABLE lacking (id int PRIMARY KEY, n int); INSERT INTO lacking SELECT n, nullif(n, 5) FROM generate_series(1, 5000) n;
         ALTER TABLE lacking ADD CONSTRAINT filled NOT NULL n NOT VALID, ADD CONSTRAINT idle CHECK (n < 0) NOT ENFORCED; ANALYZE lacking;
         CREATE TABLE computed_late (id int PRIMARY KEY, n int GENERATED ALWAYS AS (id + 1) VIRTUAL);
         INSERT INTO computed_late SELECT generate_series(1, 5000); ANALYZE computed_late",
    );
    // Nobody asks for what is not enforced.
    assert_eq!(left_out("lacking"), [not_valid("filled")]);
    assert!(left_out("computed_late").is_empty());
}
