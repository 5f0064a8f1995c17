//! ServerTypes and origins of columns.

use howdah_codegen::describe::{self, ServerTypes};
use howdah_testkit::Database;
use serde_json::json;

use super::in_transaction;

const SCHEMA: &str = r#"
    create schema "Shop";
    create type mood as enum ('sad', 'it''s "fine"');
    comment on type mood is 'how it is';
    create domain "Shop".price as numeric(10,2) not null;
    create type part as (price "Shop".price, code varchar(3), moods mood[]);
    create type whole as (parts part[], "left" part);
    create type span as range (subtype = timestamp, multirange_type_name = spans);
    create table t (
        id bigint primary key, amount numeric(10,2), amounts numeric(10,2)[], c char(3), i interval day to second(3),
        "one Mood" mood, parts whole, s spans, p "Shop".price, x "char");
    create view v as select id, mood.* from t cross join lateral (select "one Mood") mood"#;

#[test]
fn types_are_read_with_all_that_they_are_made_of() {
    let database = Database::new();
    database.sql(SCHEMA);
    let (written, definitions) = in_transaction(&database, async |connection| {
        let client = connection.client();
        let described = describe::describe(client, "select * from t", &[]).await.unwrap();
        let oids: Vec<u32> = described.columns.iter().map(|column| column.oid).collect();
        let types = ServerTypes::read(client, &oids).await.unwrap();
        assert_eq!(types.reference(20).unwrap().sql, "bigint");
        assert_eq!(types.reference(oids[2]).unwrap().sql, "numeric[]");
        assert_eq!(types.reference(1), None);
        let written: Vec<String> = described.columns.into_iter().map(|column| column.ty.sql).collect();
        (written, serde_json::to_value(types.definitions()).unwrap())
    });
    let expected = [
        "bigint",
        "numeric(10,2)",
        "numeric(10,2)[]",
        "character(3)",
        "interval day to second(3)",
        "public.mood",
        "public.whole",
        "public.spans",
        // The server sends a domain as the type below it.
        "numeric(10,2)",
        r#""char""#,
    ];
    assert_eq!(written, expected);
    let of = |schema: &str, name: &str, sql: &str| json!({"schema": schema, "name": name, "sql": sql});
    let array = |schema: &str, name: &str, sql: &str| json!({"schema": schema, "name": name, "array": true, "sql": sql});
    assert_eq!(
        definitions,
        json!([
            {"schema": "Shop", "name": "price", "kind": "domain", "not_null": true,
             "base": of("pg_catalog", "numeric", "numeric(10,2)")},
            {"schema": "public", "name": "mood", "kind": "enum", "labels": ["sad", "it's \"fine\""],
             "comment": "how it is"},
            {"schema": "public", "name": "part", "kind": "composite", "fields": [
                {"name": "price", "type": of("Shop", "price", r#""Shop".price"#)},
                {"name": "code", "type": of("pg_catalog", "varchar", "character varying(3)")},
                {"name": "moods", "type": array("public", "mood", "public.mood[]")}]},
            {"schema": "public", "name": "span", "kind": "range",
             "subtype": of("pg_catalog", "timestamp", "timestamp without time zone")},
            {"schema": "public", "name": "spans", "kind": "multirange",
             "range": of("public", "span", "public.span")},
            {"schema": "public", "name": "whole", "kind": "composite", "fields": [
                {"name": "parts", "type": array("public", "part", "public.part[]")},
                {"name": "left", "type": of("public", "part", "public.part")}]},
        ])
    );
}

#[test]
fn types_are_written_alike_on_every_search_path() {
    let database = Database::new();
    database.sql(SCHEMA);
    in_transaction(&database, async |connection| {
        let client = connection.client();
        for path in ["public", "''", r#""Shop", public"#] {
            client.batch_execute(&format!("set local search_path = {path}")).await.unwrap();
            let sql = r#"select "one Mood", p, c, array[p] from public.t"#;
            let described = describe::describe(client, sql, &[]).await.unwrap();
            let written: Vec<&str> = described.columns.iter().map(|column| column.ty.sql.as_str()).collect();
            let expected = ["public.mood", "numeric(10,2)", "character(3)", r#""Shop".price[]"#];
            assert_eq!(written, expected, "{path}");
        }
    });
}

#[test]
fn a_column_names_the_table_that_it_shows() {
    let database = Database::new();
    database.sql(SCHEMA);
    let sql = r#"select t.id as other, v."one Mood", t.id + 1, current_date from t, v"#;
    let described =
        in_transaction(&database, async |connection| describe::describe(connection.client(), sql, &[]).await);
    let origins: Vec<Option<String>> = described
        .unwrap()
        .columns
        .into_iter()
        .map(|column| column.origin.map(|one| format!("{}.{}.{}", one.schema, one.table, one.column)))
        .collect();
    let expected = [Some("public.t.id"), Some("public.v.one Mood"), None, None];
    assert_eq!(origins, expected.map(|one| one.map(str::to_owned)));
}
