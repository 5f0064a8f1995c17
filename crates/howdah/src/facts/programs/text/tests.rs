//! Texts as programs write them, and as somebody might write them who wants a literal to be shown.

use super::*;

fn read(text: &str) -> StatementText {
    StatementText::read(text).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn what_a_statement_does_and_to_which_table_is_read() {
    for (text, kind, schema, table) in [
        ("INSERT INTO events (a) VALUES ($1)", StatementKind::Insert, None, "events"),
        (
            "insert into Shop . \"Order \"\"x\"\"\" values ($1)",
            StatementKind::Insert,
            Some("shop"),
            "Order \"x\"",
        ),
        ("/* a */ UPDATE ONLY events SET a = $1", StatementKind::Update, None, "events"),
        ("DELETE FROM s.events WHERE a = $1", StatementKind::Delete, Some("s"), "events"),
        ("MERGE INTO events USING x ON x.a = events.a", StatementKind::Merge, None, "events"),
        ("COPY s.events (a, b) FROM STDIN WITH (FORMAT binary)", StatementKind::Copy, Some("s"), "events"),
        ("COPY events FROM STDIN (DELIMITER ';')", StatementKind::Copy, None, "events"),
        (
            "select (select max(b) from inner_one) from events e where a = $1",
            StatementKind::Select,
            None,
            "events",
        ),
        ("PREPARE p (int) AS INSERT INTO events VALUES ($1)", StatementKind::Insert, None, "events"),
        (
            "WITH x AS (SELECT a FROM other) INSERT INTO events SELECT a FROM x",
            StatementKind::Insert,
            None,
            "events",
        ),
    ] {
        let found = read(text);
        assert_eq!((found.kind, found.schema.as_deref(), &*found.table), (kind, schema, table), "{text}");
    }
    for text in [
        "",
        "SELECT $1",
        "SELECT * FROM unnest($1)",
        "SELECT a FROM (SELECT b FROM c) d",
        "COPY events TO STDOUT",
        "BEGIN",
        "SET a = $1",
        "ALTER ROLE a PASSWORD 'secret'",
        "EXPLAIN SELECT a FROM b",
        "CREATE TABLE a AS SELECT b FROM c",
        "INSERT",
        "DECLARE c CURSOR FOR SELECT a FROM b",
    ] {
        assert_eq!(StatementText::read(text), None, "{text}");
    }
}

#[test]
fn a_text_with_a_literal_is_not_shown() {
    for text in [
        "INSERT INTO t VALUES ('canary')",
        "INSERT INTO t VALUES (E'it\\'canary')",
        "INSERT INTO t VALUES ($$canary$$)",
        "INSERT INTO t VALUES ($c$canary$c$)",
        "INSERT INTO t VALUES (U&'canary')",
        "INSERT INTO t VALUES (B'101')",
        "INSERT INTO t VALUES (42)",
        "INSERT INTO t VALUES (.5)",
        "INSERT INTO t VALUES (true)",
        "INSERT INTO t VALUES ($1, 'canary",
        "INSERT INTO t VALUES ($1, \"canary",
        "INSERT INTO t VALUES ($1canary)",
        "UPDATE t SET a = 'canary' WHERE b = $1",
        "COPY t FROM STDIN (NULL 'canary')",
    ] {
        let found = read(text);
        assert_eq!((&*found.table, found.text.as_deref(), found.tuples), ("t", None, 0), "{text}");
    }
    for (text, shown) in [
        (
            "INSERT INTO t VALUES ($1) /* canary /* 'x' */ 7 */ RETURNING a",
            "INSERT INTO t VALUES ($1) RETURNING a",
        ),
        ("-- canary\nSELECT a FROM t1\n WHERE b = $1 -- 'canary", "SELECT a FROM t1 WHERE b = $1"),
        ("SELECT a FROM t WHERE b IN ($1 /*, ... */)", "SELECT a FROM t WHERE b IN ($1 )"),
        ("UPDATE t SET a = $1::text[] /* canary", "UPDATE t SET a = $1::text[]"),
    ] {
        assert_eq!(read(text).text.as_deref(), Some(shown), "{text}");
    }
}

#[test]
fn rows_of_values_are_counted_and_one_is_shown() {
    let of = |text: &str| {
        let found = read(text);
        (found.tuples, found.text.unwrap())
    };
    assert_eq!(of("INSERT INTO t VALUES ($1, now())"), (1, "INSERT INTO t VALUES ($1, now())".into()));
    assert_eq!(
        of("INSERT INTO t (a, b) VALUES ($1, f($2)), ($3, f($4)),($5, f($6)) ON CONFLICT DO NOTHING"),
        (3, "INSERT INTO t (a, b) VALUES ($1, f($2)), … ON CONFLICT DO NOTHING".into())
    );
    assert_eq!(of("INSERT INTO t SELECT a FROM (VALUES ($1), ($2)) v(a)").0, 0);
    let long = format!("INSERT INTO t ({}) VALUES ($1)", "a, ".repeat(400));
    assert_eq!(of(&long).1.chars().count(), MOST + 1);
}

#[test]
fn conflicts_and_returned_rows_are_known() {
    for (tail, on_conflict, returns) in [
        ("", ConflictAction::Fails, false),
        ("RETURNING id", ConflictAction::Fails, true),
        ("ON CONFLICT (a) DO NOTHING", ConflictAction::DoNothing, false),
        ("ON CONFLICT (a) WHERE b DO UPDATE SET b = excluded.b RETURNING a", ConflictAction::DoUpdate, true),
        (
            "ON CONFLICT (a) DO UPDATE SET b = $2 WHERE t.b <> excluded.b",
            ConflictAction::DoUpdateWhere,
            false,
        ),
        ("ON CONFLICT (a) DO", ConflictAction::Fails, false),
    ] {
        let found = read(&format!("INSERT INTO t VALUES ($1) {tail}"));
        assert_eq!((found.on_conflict, found.returns), (on_conflict, returns), "{tail}");
    }
}
