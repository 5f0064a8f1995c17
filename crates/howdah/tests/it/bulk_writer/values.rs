//! Values of every kind into columns of every type, with the server's input functions as the oracle.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use howdah::{BulkWriter, Literal, Uuid, Value};
use howdah_testkit::Database;

use super::{run, target};

const UUID: [u8; 16] =
    [0xa0, 0xee, 0xbc, 0x99, 0x9c, 0xb, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0xa, 0x11];

/// Values with their literals: a column stores what its type reads from them.
fn literals() -> Vec<(Box<dyn Value>, &'static str)> {
    vec![
        (Box::new(true), "true"),
        (Box::new(false), "false"),
        (Box::new(-7_i8), "-7"),
        (Box::new(300_i16), "300"),
        (Box::new(70_000_i32), "70000"),
        (Box::new(5_000_000_000_i64), "5000000000"),
        (Box::new(i64::MIN), "-9223372036854775808"),
        (Box::new(200_u8), "200"),
        (Box::new(60_000_u16), "60000"),
        (Box::new(4_000_000_000_u32), "4000000000"),
        (Box::new(1_u64), "1"),
        (Box::new(u64::MAX), "18446744073709551615"),
        (Box::new(i128::MIN), "-170141183460469231731687303715884105728"),
        (Box::new(2_usize), "2"),
        (Box::new(1.5_f32), "1.5"),
        (Box::new(2.0_f64), "2"),
        (Box::new(0.1_f64), "0.1"),
        (Box::new(-0.0_f64), "-0"),
        (Box::new(1e300_f64), "1e+300"),
        (Box::new(1e-300_f64), "1e-300"),
        (Box::new(f64::NAN), "NaN"),
        (Box::new(f64::NEG_INFINITY), "-Infinity"),
        (Box::new(-f32::NAN), "NaN"),
        (Box::new(""), ""),
        (Box::new("x"), "x"),
        (Box::new(" 42 "), " 42 "),
        (Box::new("  1.2345  ".to_owned()), "  1.2345  "),
        (Box::new(Cow::Borrowed("2026-02-30")), "2026-02-30"),
        (Box::new("2026-01-02 03:04:05.678+02"), "2026-01-02 03:04:05.678+02"),
        (Box::new(Some("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")), "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
        (Box::new("{1,NULL,3}"), "{1,NULL,3}"),
        (Box::new("[2]={1}"), "[2]={1}"),
        (Box::new("{\"a\": [1, \"ü\"]}"), "{\"a\": [1, \"ü\"]}"),
        (Box::new("(1,\"a b\")"), "(1,\"a b\")"),
        (Box::new("(1,2)"), "(1,2)"),
        (Box::new("08:00:2b:01:02:03"), "08:00:2b:01:02:03"),
        (Box::new("happy"), "happy"),
        (Box::new("[1,5)"), "[1,5)"),
        (Box::new("1 day 02:03"), "1 day 02:03"),
        (Box::new("\\x00ff"), "\\x00ff"),
        (Box::new("abcdef"), "abcdef"),
        (Box::new("grüße\n\t\"'\\"), "grüße\n\t\"'\\"),
        (Box::new(Rc::new("ok")), "ok"),
        (Box::new(Arc::<str>::from("on")), "on"),
        (Box::new(Literal(Ipv4Addr::LOCALHOST)), "127.0.0.1"),
        (Box::new(Literal("12:00")), "12:00"),
    ]
}

/// All that have a way of reading their own.
const TYPES: &[&str] = &[
    "bool",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "numeric(6,2)",
    "text",
    "varchar(4)",
    "char(3)",
    "bytea",
    "uuid",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "money",
    "oid",
    "name",
    "inet",
    "jsonb",
    "json",
    "int4[]",
    "text[]",
    "int4range",
    "mood",
    "pair",
    "short",
    "macaddr",
    "point",
    "tsvector",
];

#[test]
fn a_value_is_what_the_server_reads_of_its_literal() {
    let database = Database::new();
    database.sql(
        "CREATE TYPE mood AS ENUM ('happy', 'x', 'true', '2'); CREATE TYPE pair AS (a int, b text);
         CREATE DOMAIN short AS varchar(3)",
    );
    let values = literals();
    let quoted: Vec<String> =
        values.iter().map(|(_, text)| format!("'{}'", text.replace('\'', "''"))).collect();
    let mut problems: Vec<String> = Vec::new();
    for (number, of_type) in TYPES.iter().enumerate() {
        let verdicts = database.sql(&format!(
            "CREATE TABLE t{number} (n int, v {of_type}); CREATE TABLE w{number} (n int, v {of_type});
             CREATE TEMP TABLE l AS SELECT n - 1 AS n, x, (pg_input_error_info(x, '{of_type}')).sql_error_code
               FROM unnest(ARRAY[{}]) WITH ORDINALITY AS l(x, n);
             SELECT coalesce(sql_error_code, 'ok') FROM l ORDER BY n;
             DO $$ DECLARE r record; BEGIN
               FOR r IN SELECT * FROM l WHERE sql_error_code IS NULL LOOP
                 EXECUTE format('INSERT INTO w{number} VALUES (%s, %L)', r.n, r.x);
               END LOOP; END $$",
            quoted.join(", ")
        ));
        let verdicts: Vec<&str> = verdicts.split('\n').collect();
        assert_eq!(verdicts.len(), values.len());
        let mut wrong = Vec::new();
        let counted = run(async {
            let mut bulk = BulkWriter::start(&target(&database), &format!("t{number}"), None).await?;
            let shape = bulk.shape().clone();
            for (n, ((value, text), verdict)) in values.iter().zip(&verdicts).enumerate() {
                let (mut row, mut open) = (Vec::new(), Vec::new());
                let refusal = shape.encode(&(n, value), &mut row, &mut open).err();
                let said = refusal.as_ref().map_or("ok", |error| error.sqlstate().unwrap_or("no SQLSTATE"));
                // The server judges JSON, and what is open.
                let is_left_to_it = refusal.is_none() && (of_type.starts_with("json") || !open.is_empty());
                if said != *verdict && !is_left_to_it {
                    wrong.push(format!("{text:?}: {said}, not {verdict}"));
                } else if *verdict == "ok" {
                    bulk.write(&(n, value)).await?;
                } else if refusal.is_some() {
                    assert!(row.is_empty() && open.is_empty(), "a refused row leaves something behind");
                }
            }
            bulk.finish().await
        });
        if let Err(error) = counted {
            wrong.push(format!("{error:?}"));
        } else if database.binary_rows(&format!("t{number}")) != database.binary_rows(&format!("w{number}")) {
            wrong.push(database.sql(&format!(
                "SELECT 'only ours', * FROM (SELECT t::text FROM t{number} t EXCEPT ALL SELECT w::text FROM w{number} w) o
                 UNION ALL SELECT 'only theirs', * FROM
                   (SELECT w::text FROM w{number} w EXCEPT ALL SELECT t::text FROM t{number} t) o"
            )));
        } else if database.sql(&format!("SELECT count(*) FROM w{number}")) == "0" {
            wrong.push("no value at all".to_owned());
        }
        if !wrong.is_empty() {
            problems.push(format!("{of_type}: {}", wrong.join("; ")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What a column of that type holds after one value was written into it, or the SQLSTATE of the refusal.
fn stored(database: &Database, of_type: &str, value: &dyn Value) -> String {
    database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (v {of_type})"));
    let written = run(async {
        let mut bulk = BulkWriter::start(&target(database), "t", None).await?;
        bulk.write(&(value,)).await?;
        bulk.finish().await
    });
    match written {
        Ok(_) => database.sql("SET timezone = 'UTC'; SELECT coalesce(v::text, 'NULL') FROM t"),
        Err(error) => error.sqlstate().unwrap_or_default().to_owned(),
    }
}

#[test]
fn bytes_uuids_moments_and_documents_go_where_they_have_a_meaning() {
    let database = Database::new();
    database.sql("CREATE DOMAIN key AS uuid NOT NULL; CREATE DOMAIN at AS timestamptz NOT NULL");
    let moment = UNIX_EPOCH + Duration::new(1_767_323_045, 678_901_999);
    let before = UNIX_EPOCH - Duration::from_nanos(1);
    let far = UNIX_EPOCH + Duration::from_secs(300_000 * 31_556_952);
    let json = serde_json::json!({"b": 1, "a": [null, "ü\u{1}"]});
    let (uuid, text) = (Uuid(UUID), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    let bytes = vec![0_u8, 0xff];
    let cases: &[(&str, &dyn Value, &str)] = &[
        ("bytea", &bytes, "\\x00ff"),
        ("bytea", &Bytes::from_static(b"ab"), "\\x6162"),
        ("bytea", &[1_u8, 2], "\\x0102"),
        ("bytea", &uuid, "\\xa0eebc999c0b4ef8bb6d6bb9bd380a11"),
        ("uuid", &uuid, text),
        ("uuid", &UUID, text),
        ("key", &uuid, text),
        ("text", &uuid, text),
        ("text", &bytes, "42804"),
        ("uuid", &bytes, "42804"),
        ("int4", &bytes, "42804"),
        ("int4", &uuid, "22P02"),
        ("timestamptz", &moment, "2026-01-02 03:04:05.678901+00"),
        ("timestamptz", &before, "1969-12-31 23:59:59.999999+00"),
        ("timestamptz(0)", &moment, "2026-01-02 03:04:06+00"),
        ("at", &moment, "2026-01-02 03:04:05.678901+00"),
        ("text", &moment, "2026-01-02 03:04:05.678901+00"),
        ("timestamptz", &far, "22008"),
        ("timestamp", &moment, "42804"),
        ("date", &moment, "42804"),
        ("jsonb", &json, r#"{"a": [null, "ü\u0001"], "b": 1}"#),
        ("json", &json, r#"{"b":1,"a":[null,"ü\u0001"]}"#),
        ("text", &json, r#"{"b":1,"a":[null,"ü\u0001"]}"#),
        ("jsonb", &serde_json::Value::Null, "null"),
        ("int4", &json, "42804"),
        ("float8", &0.1_f32, "0.10000000149011612"),
        ("float4", &0.1_f64, "0.1"),
        ("float4", &1e300_f64, "22003"),
        ("text", &"a\0b", "22021"),
        ("jsonb", &"a\0b", "22021"),
        ("text", &None::<Uuid>, "NULL"),
        ("bytea", &None::<Vec<u8>>, "NULL"),
        ("key", &None::<Uuid>, "23502"),
    ];
    for (of_type, value, wanted) in cases {
        assert_eq!(stored(&database, of_type, *value), *wanted, "{of_type}");
    }
}

#[test]
fn slices_and_vectors_are_arrays_of_their_values() {
    let database = Database::new();
    database.sql("CREATE DOMAIN sure AS int NOT NULL; CREATE TYPE pair AS (a int, b text)");
    let words = vec![Some("NULL".to_owned()), None, Some("a\"b\\c, {d}".to_owned()), Some(String::new())];
    let moment = vec![UNIX_EPOCH];
    let empty: [i64; 0] = [];
    let cases: &[(&str, &dyn Value, &str)] = &[
        ("int8[]", &vec![1_i64, -2], "{1,-2}"),
        ("int2[]", &[Some(1_i32), None], "{1,NULL}"),
        ("int2[]", &[70_000_i32], "22003"),
        ("text[]", &words, r#"{"NULL",NULL,"a\"b\\c, {d}",""}"#),
        ("varchar(1)[]", &["ab"], "22001"),
        ("float8[]", &[0.5_f64, f64::NAN], "{0.5,NaN}"),
        ("bool[]", &[true, false], "{t,f}"),
        ("uuid[]", &[Uuid(UUID)], "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"),
        ("bytea[]", &vec![vec![0_u8, 0xff]], r#"{"\\x00ff"}"#),
        ("timestamptz[]", &moment, r#"{"1970-01-01 00:00:00+00"}"#),
        ("timestamp[]", &moment, "42804"),
        ("jsonb[]", &[serde_json::json!({"a": "b"})], r#"{"{\"a\": \"b\"}"}"#),
        ("pair[]", &["(1,x)"], r#"{"(1,x)"}"#),
        ("sure[]", &[None::<i32>], "23502"),
        ("int4[]", &empty, "{}"),
        ("int4", &[1_i32], "42804"),
        ("text", &["a"], "42804"),
    ];
    for (of_type, value, wanted) in cases {
        assert_eq!(stored(&database, of_type, *value), *wanted, "{of_type}");
    }
}
