//! Random statements on random rows: no column that was called NOT NULL is ever null.

use howdah_codegen::describe;
use howdah_testkit::{Database, Rng, knob};

use super::in_transaction;

const TABLES: u64 = 3;

/// Tables with an `a` that is NOT NULL or not, a `b` that takes null, and a few rows.
fn schema(rng: &mut Rng) -> String {
    let mut sql = String::new();
    for table in 0..TABLES {
        let limit = rng.one_of(&["", "NOT NULL"]);
        sql.push_str(&format!("CREATE TABLE t{table} (id int PRIMARY KEY, a int {limit}, b int);\n"));
        for id in 0..rng.within(0..6) {
            let a = if limit.is_empty() { value(rng) } else { "1".to_owned() };
            sql.push_str(&format!("INSERT INTO t{table} VALUES ({id}, {a}, {});\n", value(rng)));
        }
    }
    sql
}

fn value(rng: &mut Rng) -> String {
    if rng.once_in(3) { "NULL".to_owned() } else { rng.within(0..4).to_string() }
}

/// A column of one of the relations `r0`, `r1`, ….
fn column(rng: &mut Rng, relations: u64) -> String {
    format!("r{}.{}", rng.within(0..relations), rng.one_of(&["id", "a", "b"]))
}

fn expression(rng: &mut Rng, relations: u64) -> String {
    let (one, other) = (column(rng, relations), column(rng, relations));
    match rng.within(0..9) {
        0 => format!("{one} + {other}"),
        1 => format!("coalesce({one}, {other})"),
        2 => format!("CASE WHEN {one} IS NULL THEN {other} ELSE {one} END"),
        3 => format!("CASE WHEN {one} = {other} THEN {one} ELSE 0 END"),
        4 => format!("(SELECT max(id) FROM t0 WHERE id = {one})"),
        5 => format!("{one} IN (SELECT {} FROM t1)", rng.one_of(&["id", "b"])),
        _ => one,
    }
}

fn condition(rng: &mut Rng, relations: u64) -> String {
    let (one, other) = (column(rng, relations), column(rng, relations));
    match rng.within(0..7) {
        0 => format!("{one} IS NOT NULL"),
        1 => format!("{one} = 1 OR {other} = 2"),
        2 => format!("NOT ({one} = 3 AND {other} = 1)"),
        3 => format!("({one} = {other}) IS NOT FALSE"),
        4 => format!("{one} IS DISTINCT FROM {other}"),
        5 => "true".to_owned(),
        _ => format!("{one} = {other}"),
    }
}

fn relation(rng: &mut Rng) -> String {
    let table = rng.within(0..TABLES);
    match rng.within(0..5) {
        0 => format!("(SELECT id, b AS a, a AS b FROM t{table} WHERE b = a OR id > 1)"),
        1 => format!("(SELECT id, a, b FROM t{table} UNION ALL SELECT a, id, id FROM t0)"),
        2 => format!(
            "(SELECT max(id) AS id, a, count(*)::int AS b FROM t{table} GROUP BY {})",
            rng.one_of(&["a", "ROLLUP (a)"])
        ),
        _ => format!("t{table}"),
    }
}

fn statement(rng: &mut Rng) -> String {
    let relations = 1 + rng.within(0..4);
    let mut from = format!("{} AS r0", relation(rng));
    for next in 1..relations {
        let kind = rng.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT JOIN", "FULL JOIN"]);
        // FULL JOIN takes nothing but equality.
        let on = match kind {
            "FULL JOIN" => format!("{} = r{next}.{}", column(rng, next), rng.one_of(&["id", "a", "b"])),
            _ => condition(rng, next + 1),
        };
        from = format!("({from} {kind} {} AS r{next} ON {on})", relation(rng));
    }
    let list: Vec<String> = (0..4).map(|_| expression(rng, relations)).collect();
    format!("SELECT {} FROM {from} WHERE {}", list.join(", "), condition(rng, relations))
}

#[test]
fn no_column_called_not_null_is_null_in_random_rows() {
    let seed = knob("HOWDAH_SEED", 20) as u64;
    let mut rng = Rng::new(seed);
    let mut called = 0;
    for _ in 0..knob("HOWDAH_NULLABILITY_ROUNDS", 30) {
        let database = Database::new();
        let schema = schema(&mut rng);
        database.sql(&schema);
        in_transaction(&database, async |connection| {
            let client = connection.client();
            client.batch_execute("set local jit = off; set local statement_timeout = '2s'").await.unwrap();
            for _ in 0..20 {
                let sql = statement(&mut rng);
                let described = describe::describe(client, &sql, &[]).await;
                let described = described.unwrap_or_else(|error| panic!("{sql}: {error}"));
                client.batch_execute("savepoint one").await.unwrap();
                let rows = client.simple_query(&sql).await;
                client.batch_execute("rollback to savepoint one").await.unwrap();
                let rows = rows.unwrap_or_default();
                for (index, column) in
                    described.columns.iter().enumerate().filter(|(_, column)| !column.nullable)
                {
                    called += 1;
                    let is_null = rows.iter().any(|row| match row {
                        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(index).is_none(),
                        _ => false,
                    });
                    assert!(!is_null, "column {index} ({}), seed {seed}:\n{schema}{sql}", column.because);
                }
            }
        });
    }
    assert!(called > 0);
}
