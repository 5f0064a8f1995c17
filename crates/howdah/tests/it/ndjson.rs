//! JSON as an input: what lands is what the server's own `json_populate_record` makes of every line, and what it refuses is
//! refused.

use howdah::options::{HeaderOption, OnError, OnNul};
use howdah::report::CopyFormat;
use howdah_testkit::{Database, knob, real_data};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{load, options, try_load};

const TYPES: &str = "
CREATE TYPE mood AS ENUM ('sad', 'so so');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN positives AS positive[];
CREATE DOMAIN given AS text NOT NULL;
CREATE TYPE part AS (name varchar(4), \"Odd \"\"Key\" int[], made given);
CREATE TYPE place AS (name text, n numeric(6,2), parts part[], doc jsonb);
CREATE DOMAIN home AS place;
";

const COLUMNS: &str = "i int, b bigint, d double precision, n numeric(8,2), t text, v varchar(5), ok boolean, day date,
    at timestamptz, u uuid, j jsonb, ints int[], grid int[][], words text[], docs jsonb[], boxes box[], m mood,
    pos positive, many positives, p place, ps place[], h home, r int4range, iv interval, by bytea";

fn names() -> Vec<&'static str> {
    COLUMNS
        .split(',')
        .filter_map(|column| column.split_whitespace().next())
        .filter(|name| *name != "2)")
        .collect()
}

/// Loads `lines` by us and, line by line, by the server; rows and refusals must be the same.
fn same_as_the_server(database: &Database, lines: &[String], jobs: usize) -> Result<(), TestCaseError> {
    let file = database.file("lines.ndjson", lines.join("\n") + "\n");
    let rejects = database.path("rejects.jsonl");
    let _ = std::fs::remove_file(&rejects);
    database.sql(&format!(
        "TRUNCATE by_us, by_server, refused; TRUNCATE lines RESTART IDENTITY;
         \\copy lines (line) FROM '{file}' (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')
         SELECT judge();"
    ));
    load(
        database,
        &options(&file, "by_us")
            .on_error(OnError::Ignore)
            .rejects(rejects.clone())
            .jobs(jobs)
            .column_list(names()),
    );
    let mut refused: Vec<(u64, String)> = std::fs::read_to_string(&rejects)
        .unwrap_or_default()
        .lines()
        .map(|line| {
            let reject: serde_json::Value = serde_json::from_str(line).unwrap();
            (reject["line"].as_u64().unwrap(), reject["reason"].to_string())
        })
        .collect();
    refused.sort();
    let by_server = database.sql("SELECT n FROM refused ORDER BY n");
    let by_server: Vec<u64> = by_server.lines().map(|line| line.parse().unwrap()).collect();
    let by_us: Vec<u64> = refused.iter().map(|(line, _)| *line).collect();
    if by_us != by_server {
        let odd = by_us.iter().chain(&by_server).find(|n| by_us.contains(n) != by_server.contains(n));
        let odd = odd.copied().unwrap_or(1);
        let at = usize::try_from(odd).unwrap() - 1;
        let why = refused.iter().find(|(line, _)| *line == odd);
        let server = database.sql(&format!("SELECT why FROM refused WHERE n = {odd}"));
        return Err(TestCaseError::fail(format!("line {odd}: {}\nus: {why:?}\nserver: {server}", lines[at])));
    }
    let (ours, theirs) = (database.binary_rows("by_us"), database.binary_rows("by_server"));
    if ours != theirs {
        let differ = database.sql(
            "(SELECT 'us', t::text FROM by_us t EXCEPT ALL SELECT 'us', t::text FROM by_server t) UNION ALL
             (SELECT 'server', t::text FROM by_server t EXCEPT ALL SELECT 'server', t::text FROM by_us t) LIMIT 4",
        );
        return Err(TestCaseError::fail(format!("rows differ:\n{differ}")));
    }
    Ok(())
}

fn set_up(database: &Database) {
    database.sql(&format!(
        "{TYPES} CREATE TABLE by_us ({COLUMNS}); CREATE TABLE by_server ({COLUMNS});
         CREATE TABLE lines (n bigint GENERATED ALWAYS AS IDENTITY, line text); CREATE TABLE refused (n bigint, why text);
         CREATE FUNCTION judge() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE l record;
         BEGIN
             FOR l IN SELECT * FROM lines WHERE trim(line) <> '' ORDER BY n LOOP
                 BEGIN
                     INSERT INTO by_server SELECT r.* FROM json_populate_record(null::by_server, l.line::json) r;
                 EXCEPTION WHEN OTHERS THEN
                     INSERT INTO refused VALUES (l.n, SQLSTATE || ' ' || SQLERRM);
                 END;
             END LOOP;
             RETURN (SELECT count(*) FROM refused);
         END $$"
    ));
}

/// A string as some writer or other spells it.
fn spelled(text: &str, style: u8) -> String {
    let mut out = String::from("\"");
    for (at, c) in text.chars().enumerate() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '/' if style & 1 == 1 => out.push_str("\\/"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if style & 2 == 2 && at % 3 == 0 => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

fn string() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        3 => "\\PC{0,8}",
        1 => "[a-z\"\\\\{},()\t]{0,6}",
        1 => "[0-9]{1,6}",
        1 => proptest::sample::select(&[
            "2024-02-29", "2024-01-01T10:00:00+02:00", "NULL", "null", "t", "", " ", "{1,2}", "{{1},{2}}", "sad", "so so",
            "(1,2),(3,4)", "[1,5)", "1 day 02:00", "\\x00ff", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "(x,1.5,,)", "infinity",
        ][..]).prop_map(str::to_owned),
    ];
    (text, any::<u8>()).prop_map(|(text, style)| spelled(&text, style))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "-?(0|[1-9][0-9]{0,3})",
        1 => "-?[1-9][0-9]{4,25}",
        2 => "-?(0|[1-9][0-9]{0,2})\\.[0-9]{1,6}",
        1 => "[1-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,2}",
        1 => Just("-0".to_owned()),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => string(),
        4 => number(),
        1 => proptest::sample::select(&["true", "false", "null"][..]).prop_map(str::to_owned),
    ]
}

fn space() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&["", "", "", " ", "  ", "\t"][..])
}

fn list(element: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (proptest::collection::vec(element, 0..4), space()).prop_map(|(elements, space)| {
        format!("[{space}{}{space}]", elements.join(&format!("{space},{space}")))
    })
}

/// Some of the members, in any order, some of them twice.
fn object(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let count = members.len();
    let one = (0..count).prop_flat_map(move |at| {
        let (name, value) = members[at].clone();
        (value, space(), any::<u8>()).prop_map(move |(value, space, style)| {
            let key = spelled(name, style & 2 & (style >> 4));
            format!("{key}{space}:{space}{value}{space}")
        })
    });
    (proptest::collection::vec(one, 0..=count), space())
        .prop_map(|(members, space)| format!("{{{space}{}}}", members.join(",")))
        .boxed()
}

fn anything() -> BoxedStrategy<String> {
    scalar()
        .prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                list(inner.clone()),
                object(vec![
                    ("a", inner.clone().boxed()),
                    ("name", inner.clone().boxed()),
                    ("é\"", inner.boxed())
                ]),
            ]
        })
        .boxed()
}

/// Mostly what the column takes.
fn value_for(name: &str) -> BoxedStrategy<String> {
    let fixed = |list: &'static [&'static str]| {
        proptest::sample::select(list).prop_map(|text| spelled(text, 0)).boxed()
    };
    let ints = || list(prop_oneof![6 => number(), 1 => Just("null".to_owned())]);
    let part = || {
        object(vec![
            ("name", string().boxed()),
            ("Odd \"Key", ints().boxed()),
            ("made", string().boxed()),
            ("made", string().boxed()),
            ("more", anything()),
        ])
    };
    let place = || {
        object(vec![
            ("name", scalar().boxed()),
            ("n", number().boxed()),
            ("parts", list(prop_oneof![5 => part(), 1 => Just("null".to_owned())]).boxed()),
            ("doc", anything()),
        ])
    };
    let fitting = match name {
        "i" | "b" | "d" | "n" | "pos" => number().boxed(),
        "ok" => proptest::sample::select(&["true", "false", "\"yes\"", "\"f\""][..])
            .prop_map(str::to_owned)
            .boxed(),
        "day" => fixed(&["2024-02-29", "0001-01-01", "infinity", "2024-02-30", "Jan 8 1999"]),
        "at" => fixed(&["2024-01-01T10:00:00Z", "2024-01-01 10:00:00.123456+05:30", "now and then"]),
        "u" => fixed(&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", "x"]),
        "m" => fixed(&["sad", "so so", "glad"]),
        "r" => fixed(&["[1,5)", "empty", "[5,1]"]),
        "iv" => fixed(&["1 day", "P1Y2M", "often"]),
        "by" => fixed(&["\\x00ff", "abc", "\\xg"]),
        "ints" | "many" => ints().boxed(),
        "grid" => list(prop_oneof![8 => ints().boxed(), 1 => anything()]).boxed(),
        "words" => list(scalar()).boxed(),
        "docs" => list(anything()).boxed(),
        "boxes" => list(
            proptest::sample::select(&["\"(1,2),(3,4)\"", "\"(0,0),(1,1)\"", "null"][..])
                .prop_map(str::to_owned),
        )
        .boxed(),
        "p" | "h" => place(),
        "ps" => list(prop_oneof![5 => place(), 1 => Just("null".to_owned())]).boxed(),
        _ => anything(),
    };
    prop_oneof![30 => fitting, 1 => anything(), 1 => Just("null".to_owned())].boxed()
}

fn record() -> BoxedStrategy<String> {
    object(names().into_iter().map(|name| (name, value_for(name))).collect())
}

#[test]
fn random_objects_land_as_the_server_reads_them_or_are_refused_by_both() {
    let database = Database::new();
    set_up(&database);
    let cases = u32::try_from(knob("HOWDAH_JSON_CASES", 12)).unwrap();
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&(proptest::collection::vec(record(), 1..120), 1_usize..3), |(lines, jobs)| {
            same_as_the_server(&database, &lines, jobs)
        })
        .unwrap();
}

#[test]
fn what_is_no_json_and_what_no_text_can_hold_is_refused_as_the_server_refuses_it() {
    let database = Database::new();
    set_up(&database);
    let lines = [
        r#"{"i":1,"t":"\u0000"}"#,
        r#"{"i":2,"t":"a\ud800b"}"#,
        r#"{"i":3,"t":"\ude00"}"#,
        r#"{"i":4,"t":"\ud800\ud800"}"#,
        r#"{"i":5,"t":"\ud83d\ude00 \u00e9 \/ \b"}"#,
        r#"{"i":6,"words":["\u0000"]}"#,
        r#"{"i":7,"p":{"name":"\udc00"}}"#,
        r#"{"i":8,"j":"\u0000"}"#,
        r#"{"i":9,"j":{"x":"\ud800"}}"#,
        r#"{"i":10,}"#,
        r#"{"i":11"#,
        r#"{"i":12}}"#,
        r#"{"i":13} {"i":14}"#,
        r#"["i"]"#,
        r#""i""#,
        "nonsense",
        r#"{"i":017}"#,
        r#"{"i":1e3}"#,
        r#"{"i":1.0}"#,
        r#"{"i":"17"}"#,
        r#"{"i":true}"#,
        r#"{"i":[1]}"#,
        r#"{"i":{"a":1}}"#,
        r#"{"t":1.50,"v":true}"#,
        r#"{"t":[1, {"a" : null}],"v":[ ]}"#,
        r#"{"n":123456789012345678901234567890}"#,
        r#"{"d":123456789012345678901234567890.1234567890}"#,
        r#"{"j":123456789012345678901234567890.12345678901234567890}"#,
        r#"{"j":"text","t":"\"quoted\""}"#,
        r#"{"j":null,"t":null}"#,
        r#"{"i":1,"i":2,"i":3}"#,
        r#"{"i":"x","i":4}"#,
        r#"{"\u0069":18}"#,
        "{}",
        r#"{"ints":"{1,2}","p":"(x,1,,)","grid":[[1,2],[3,4]],"words":["a",["b"]]}"#,
        r#"{"grid":[[1,2],[3]]}"#,
        r#"{"grid":[[1,2],3]}"#,
        r#"{"grid":[[],[]],"ints":[]}"#,
        r#"{"ints":[[[[[[[1]]]]]]]}"#,
        r#"{"ints":{"a":1}}"#,
        r#"{"ints":5}"#,
        r#"{"p":[1]}"#,
        r#"{"p":5}"#,
        r#"{"p":{}}"#,
        r#"{"p":{"parts":[{}]}}"#,
        r#"{"p":{"parts":[{"made":"x","Odd \"Key":[1,null]},null]},"ps":[{"name":"a\"b\\c,(d)"},{"n":1.005}]}"#,
        r#"{"pos":-1}"#,
        r#"{"many":[1,2]}"#,
        r#"{"many":[1,-2]}"#,
        r#"{"boxes":["(1,2),(3,4)",null]}"#,
        r#"{"docs":["x",{"a":["\"",null]},3]}"#,
        "\u{feff}{\"i\":1}",
        "{\"t\":\"tab\there\"}",
        "{\"i\":\u{a0}1}",
    ];
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    same_as_the_server(&database, &lines, 1).unwrap();
    // Of all that is refused, the place and the reason.
    database.sql("CREATE TABLE t (i int, t text)");
    let file = database.file("bad.ndjson", "{\"i\":1}\n\n{\"i\":2,\"t\":\"x\",}\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), (Some("22P02"), "invalid input syntax for type json"));
    assert_eq!(error.detail(), Some("expected a key in quotes at offset 24, found '}'"));
    let place = error.location().unwrap();
    assert_eq!((place.line, place.byte_offset), (Some(3), Some(9)));
    let file = database.file("bad.ndjson", "{\"i\":1,\"t\":\"\\u0000\"}\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.column()), (Some("22P05"), Some("t")));
    load(&database, &options(&file, "t").on_nul(OnNul::Strip));
    assert_eq!(database.sql("SELECT i, t = '' FROM t"), "1|t");
}

#[test]
fn a_json_column_keeps_what_stands_in_the_file() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, j json, js json[], d json)");
    let file = database.file(
        "t.json",
        "{\"n\":1,\"j\":{\"b\" : 1.50, \"a\":\"\\u0041\\/\\u0000\"},\"js\":[ {\"x\" :1}],\"d\":\"\\u0041\"}\n",
    );
    let report = load(&database, &options(&file, "t"));
    assert_eq!(report.copy_format, Some(CopyFormat::Binary));
    assert_eq!(
        database.sql("SELECT j, js[1], d FROM t"),
        "{\"b\" : 1.50, \"a\":\"\\u0041\\/\\u0000\"}|{\"x\" :1}|\"\\u0041\""
    );
}

#[test]
fn real_files_land_as_json_populate_recordset_reads_them() {
    let Some(data) = real_data() else { return };
    let database = Database::new();
    for (name, rows) in [("movies.json", 3201), ("flights-20k.json", 20_000)] {
        let path = data.join("vega").join(name).to_string_lossy().into_owned();
        database.sql("DROP TABLE IF EXISTS made, twin");
        let report = load(&database, &options(&path, "made").jobs(2));
        assert_eq!((report.rows, report.copy_format), (rows, Some(CopyFormat::Binary)), "{name}");
        database.sql(&format!(
            "CREATE TABLE twin (LIKE made); \\set content `cat '{path}'`\n
             INSERT INTO twin SELECT * FROM json_populate_recordset(null::twin, :'content')"
        ));
        assert!(database.binary_rows("made") == database.binary_rows("twin"), "{name} differs");
    }
}

#[test]
fn lines_of_objects_are_known_whatever_the_file_is_called() {
    let database = Database::new();
    let lines = "{\"id\": 1, \"name\": \"a\"}\n{\"id\": 2, \"name\": \"b\"}\n";
    for name in ["events.log", "events", "events.txt"] {
        let file = database.file(name, lines);
        database.sql("DROP TABLE IF EXISTS t");
        assert_eq!(load(&database, &options(&file, "t")).rows, 2);
        assert_eq!(database.sql("SELECT string_agg(id || name, ',' ORDER BY id) FROM t"), "1a,2b");
    }
    // That is said, where neither the name nor the user does.
    let (_, notices) =
        try_load(&database, &options(&database.file("e.log", lines), "t").dry_run(true)).unwrap();
    assert!(
        notices.contains(&"format: ndjson, by its first line; format=csv reads it otherwise".into()),
        "{notices:?}"
    );
    let pretty = database.file("pretty", "{\n  \"id\": 3,\n  \"name\": \"c\"\n}\n");
    load(&database, &options(&pretty, "t"));
    assert_eq!(database.sql("SELECT name FROM t WHERE id = 3"), "c");
    // A file that is called CSV is one, and so is one of which fields are spoken.
    let log = database.file("events.log", lines);
    for wanted in [
        options(&database.file("events.csv", lines), "u"),
        options(&log, "u").column_list(["a", "b"]),
        options(&log, "u").header(HeaderOption::No),
    ] {
        let (report, notices) = try_load(&database, &wanted.dry_run(true)).unwrap();
        assert_eq!(report.plan.unwrap().dialect.format, "csv");
        assert!(notices.iter().any(|notice| notice.ends_with("format=ndjson reads objects")), "{notices:?}");
    }
    let (_, notices) =
        try_load(&database, &options(&log, "u").format(howdah::options::Format::Csv).dry_run(true)).unwrap();
    assert!(!notices.iter().any(|notice| notice.contains("ndjson")), "{notices:?}");
    // Two columns of JSON are no object.
    let two = database.file("two.txt", "{\"a\":1}\t{\"b\":2}\n{\"a\":3}\t{\"b\":4}\n");
    let (report, _) = try_load(&database, &options(&two, "u").dry_run(true)).unwrap();
    assert_eq!(report.plan.unwrap().dialect.format, "csv");
}
