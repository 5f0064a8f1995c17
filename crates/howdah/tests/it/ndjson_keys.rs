//! Keys of JSON as columns: of new and existing tables, of files and streams, in every form of the input, mode and write path.

use std::io::Write;

use howdah::options::{ColumnNames, HeaderOption, Mode, OnError, Thousands, WritePath};
use howdah::report::CopyFormat;
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

#[test]
fn lines_arrays_and_objects_over_several_lines_give_the_same_rows() {
    let database = Database::new();
    let records: Vec<String> = (0..30_000)
        .map(|n| format!("{{\"n\": {n}, \"t\": \"a,]}}\\\"[{n}\", \"x\": {{\"y\": [{n}, null]}}}}"))
        .collect();
    let pretty = records.iter().map(|record| record.replace(", ", ",\n  ") + "\n").collect::<String>();
    let expected = "30000|449985000|30000";
    for (name, text) in [
        ("lines", records.join("\n")),
        ("windows", records.join("\r\n")),
        ("list", format!("[{}]\n", records.join(",\n"))),
        ("one_line", format!("[{}]", records.join(","))),
        ("pretty", pretty.clone()),
        ("pretty_list", format!("[\n{}]", pretty.replace("}\n", "},\n").trim_end_matches(",\n"))),
        ("side_by_side", records.concat()),
    ] {
        let (report, notices) =
            try_load(&database, &options(&database.file("a.json", text), name).jobs(2)).unwrap();
        let found =
            database.sql(&format!("SELECT count(*), sum(n), count(DISTINCT x #>> '{{y,0}}') FROM {name}"));
        assert_eq!((found.as_str(), report.rows), (expected, 30_000), "{name}");
        let format = report.plan.unwrap().dialect.format;
        let is_said = notices.iter().any(|notice| notice.contains(format));
        assert_eq!(is_said, format != "ndjson", "{name}: {notices:?}");
        assert_eq!(database.sql(&format!("SELECT t FROM {name} WHERE n = 7")), "a,]}\"[7", "{name}");
    }
}

fn columns(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT attname || ':' || format_type(atttypid, atttypmod) FROM pg_attribute
          WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
    ))
}

#[test]
fn a_new_table_has_the_keys_of_the_whole_file_with_their_types() {
    let database = Database::new();
    let mut lines = String::new();
    for n in 0..40_000 {
        lines.push_str(&format!("{{\"id\":{n},\"at\":\"2024-01-01T10:00:00Z\",\"Zip Code\":\"01234\",\"doc\":{{\"a\":1}},\"mix\":1}}\n"));
    }
    lines.push_str("{\"late\":true,\"id\":1.5,\"mix\":{\"b\":\"x\"},\"doc\":\"just text\"}\n");
    let file = database.file("events.ndjson", &lines);
    for jobs in [1, 2] {
        let table = format!("t{jobs}");
        let report = load(&database, &options(&file, &table).jobs(jobs));
        assert_eq!((report.rows, report.copy_format), (40_001, Some(CopyFormat::Binary)));
        assert_eq!(
            columns(&database, &table),
            "id:double precision\nat:timestamp with time zone\nZip Code:text\ndoc:jsonb\nmix:jsonb\nlate:boolean"
        );
        assert_eq!(
            database.sql(&format!("SELECT doc, mix, at, late FROM {table} WHERE id = 1.5")),
            "\"just text\"|{\"b\": \"x\"}||t"
        );
    }
    let some = options(&file, "chosen")
        .column_list(["late", "Zip Code"])
        .map([("Zip Code", "zip")])
        .types([("zip", "varchar(5)")])
        .file_column("source");
    load(&database, &some);
    assert_eq!(columns(&database, "chosen"), "late:boolean\nzip:character varying(5)\nsource:text");
    assert_eq!(
        database.sql(
            "SELECT count(*), count(zip), count(late), bool_and(source LIKE '%events.ndjson') FROM chosen"
        ),
        "40001|40000|1|t"
    );
    let friendly = options(&file, "few").column_names(ColumnNames::Snake).limit(2).skip_columns(["mix"]);
    load(&database, &friendly);
    assert_eq!(columns(&database, "few"), "id:bigint\nat:timestamp with time zone\nzip_code:text\ndoc:jsonb");
    assert_eq!(database.sql("SELECT count(*) FROM few"), "2");
    let typo = options(&file, "typo").column_list(["lat"]);
    assert!(try_load(&database, &typo).unwrap_err().message().contains("which no record has"));
}

#[test]
fn keys_match_columns_as_a_header_does_and_strangers_are_named() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id serial, \"Name\" text, n int DEFAULT 7, gen int GENERATED ALWAYS AS (n + 1) STORED)");
    let file = database.file("t.json", "[{\"ID\":5,\"name\":\"a\"},{\"name\":\"b\"}]");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    // The second record has no id, and a serial is not null.
    assert_eq!(error.sqlstate(), Some("23502"), "{error:?}");
    let file = database.file("t.json", "[{\"name\":\"a\"},{\"name\":\"b\"}]");
    load(&database, &options(&file, "t"));
    assert_eq!(database.sql("SELECT id, \"Name\", n, gen FROM t ORDER BY id"), "1|a|7|8\n2|b|7|8");
    let file = database.file("t.json", "{\"name\":\"c\",\"Other\":1,\"more\":2}\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.message(), "not columns of public.t: \"Other\", more", "{error:?}");
    assert!(error.hint().unwrap().contains("skip_columns="), "{error:?}");
    let skipping = options(&file, "t").skip_columns(["Other"]).map([("more", "n")]);
    load(&database, &skipping);
    assert_eq!(database.sql("SELECT \"Name\", n FROM t WHERE id = 3"), "c|2");
    // A stranger behind the first piece, where the first fills the table.
    database.sql("CREATE TABLE full_one (a int, b int)");
    let lines = "{\"a\":1,\"b\":2}\n".repeat(60_000) + "{\"a\":1,\"c\":2}\n";
    let file = database.file("long.ndjson", &lines);
    let error = try_load(&database, &options(&file, "full_one")).unwrap_err();
    assert_eq!((error.message(), error.location().unwrap().line), ("unknown key \"c\"", Some(60_001)));
    let tolerant =
        options(&file, "full_one").on_error(OnError::Ignore).rejects(database.path("strangers.jsonl"));
    assert_eq!(load(&database, &tolerant).rows_rejected, 1);
    // Late keys of a file find their columns.
    database.sql("CREATE TABLE wide (a int, b int, c int, d int DEFAULT 3)");
    load(&database, &options(&file, "wide"));
    assert_eq!(database.sql("SELECT count(*), count(c), min(d), max(d) FROM wide"), "60001|1|3|3");
    for empty in ["", "\n", "[]", "[ ]\n"] {
        let file = database.file("empty.json", empty);
        assert_eq!(load(&database, &options(&file, "wide")).rows, 0, "{empty:?}");
        let error = try_load(&database, &options(&file, "nowhere")).unwrap_err();
        assert!(error.message().contains("the input is empty"), "{error:?}");
    }
    let file = database.file("empty.json", "{}\n");
    assert_eq!(load(&database, &options(&file, "full_one")).rows, 1);
}

#[test]
fn files_in_different_forms_and_with_different_keys_load_together() {
    let database = Database::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"[{\"b\":\"x\",\"a\":1.5}]").unwrap();
    let files = [
        database.file("1.ndjson", "{\"a\":1}\n{\"a\":2}\n"),
        database.file("2.json.gz", gzip.finish().unwrap()),
        database.file("3.json", "\u{feff}{\n\"c\":true\n}\n"),
        database.file("4.jsonl", ""),
    ];
    for existing in [false, true] {
        if existing {
            database.sql("TRUNCATE t");
        }
        let wanted = options(&files[0], "t").paths(files.to_vec()).file_column("f");
        assert_eq!(load(&database, &wanted).rows, 4);
        assert_eq!(columns(&database, "t"), "a:double precision\nb:text\nc:boolean\nf:text");
        assert_eq!(
            database.sql("SELECT a, b, c, substring(f from '[0-9][.a-z]+$') FROM t ORDER BY f, a"),
            "1|||1.ndjson\n2|||1.ndjson\n1.5|x||2.json.gz\n||t|3.json"
        );
    }
}

/// Loads `text` through a pipe.
fn piped(
    database: &Database,
    name: &str,
    text: &str,
    wanted: &LoadOptions,
) -> Result<howdah::Report, howdah::Error> {
    let pipe = database.path(&format!("{name}.json"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = {
        let (pipe, text) = (pipe.clone(), text.to_owned());
        // The reader may end first.
        std::thread::spawn(move || drop(std::fs::write(pipe, text)))
    };
    let done = try_load(database, &wanted.clone().paths([pipe]));
    writer.join().unwrap();
    done.map(|(report, _)| report)
}

#[test]
fn a_stream_is_loaded_by_the_keys_of_its_first_piece() {
    let database = Database::new();
    let lines =
        "{\"n\":1,\"s\":\"12\",\"at\":\"2024-01-01\",\"d\":{\"x\":1},\"m\":1}\n{\"n\":2.5,\"m\":\"x\"}\n";
    let report = piped(&database, "one", lines, &options("-", "made")).unwrap();
    assert_eq!(report.rows, 2);
    assert_eq!(columns(&database, "made"), "n:double precision\ns:text\nat:date\nd:jsonb\nm:text");
    assert_eq!(database.sql("SELECT * FROM made ORDER BY n"), "1|12|2024-01-01|{\"x\": 1}|1\n2.5||||x");
    database.sql("CREATE TABLE there (id serial, n int, late int, kept int DEFAULT 4)");
    let long = "{\"n\":1}\n".repeat(100_000);
    let report =
        piped(&database, "two", &(long.clone() + "{\"n\":2,\"late\":5}\n"), &options("-", "there")).unwrap();
    assert_eq!(report.rows, 100_001);
    assert_eq!(database.sql("SELECT count(late), min(kept), max(id) FROM there"), "1|4|100001");
    let error =
        piped(&database, "three", &(long + "{\"n\":2,\"kept\":5}\n"), &options("-", "there")).unwrap_err();
    assert_eq!(error.message(), "unknown key \"kept\"");
}

#[test]
fn keys_find_the_columns_that_were_made_for_them() {
    let database = Database::new();
    let long = "x".repeat(70);
    let lines = format!("{{\"ctid\":1,\"\":2,\"{long}\":3}}\n{{\"ctid\":4,\"\":5,\"{long}\":6}}\n");
    let file = database.file("t.ndjson", &lines);
    load(&database, &options(&file, "t"));
    for wanted in [options(&file, "t"), options(&file, "t").on_error(OnError::Ignore)] {
        let report = load(&database, &wanted);
        assert_eq!((report.rows, report.rows_rejected), (2, 0));
    }
    assert_eq!(piped(&database, "pipe", &lines, &options("-", "t")).unwrap().rows, 2);
    let whole = "SELECT count(*) FROM t WHERE t::text IN ('(1,2,3)', '(4,5,6)')";
    assert_eq!(database.sql(whole), "8");
}

#[test]
fn every_write_path_and_mode_stores_the_same() {
    let database = Database::new();
    database.sql("CREATE TYPE pair AS (a int, b text)");
    let text = "{\"id\":1,\"t\":\"x\",\"a\":[1,null],\"p\":{\"a\":1,\"b\":\"q\\\"\"},\"j\":\"s\",\"ps\":[{\"b\":\"\\\\\"}]}\n{\"id\":2,\"a\":[[1],[2]],\"j\":[1]}\n";
    let file = database.file("t.ndjson", text);
    let ddl = "id int PRIMARY KEY, t text, a int[], p pair, j jsonb, ps pair[]";
    for path in WritePath::ALL {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t ({ddl})"));
        let wanted = options(&file, "t").write_path(path);
        if path == WritePath::CopyCsv {
            assert!(try_load(&database, &wanted).unwrap_err().message().contains("JSON"));
            continue;
        }
        assert_eq!(load(&database, &wanted).rows, 2, "{path:?}");
        assert_eq!(
            database.sql("SELECT * FROM t ORDER BY id"),
            "1|x|{1,NULL}|(1,\"q\"\"\")|\"s\"|{\"(,\\\"\\\\\\\\\\\")\"}\n2||{{1},{2}}||[1]|",
            "{path:?}"
        );
    }
    for mode in [Mode::Append, Mode::Truncate, Mode::Replace, Mode::Upsert] {
        database.sql(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t ({ddl}); INSERT INTO t (id, t) VALUES (3, 'old')"
        ));
        load(&database, &options(&file, "t").mode(mode));
        let expected = if matches!(mode, Mode::Append | Mode::Upsert) { "3" } else { "2" };
        assert_eq!(database.sql("SELECT count(*) FROM t"), expected, "{mode:?}");
    }
    // A key that no record has leaves its column alone.
    database.sql("DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, t text, kept text); INSERT INTO t VALUES (1, 'old', 'kept')");
    let file = database.file("up.ndjson", "{\"id\":1,\"t\":\"new\"}\n");
    load(&database, &options(&file, "t").mode(Mode::Update));
    assert_eq!(database.sql("SELECT * FROM t"), "1|new|kept");
}

#[test]
fn options_about_csv_are_refused_by_name() {
    let database = Database::new();
    let file = database.file("t.json", "{}");
    let mut delimited = options(&file, "t");
    delimited.input.dialect.delimiter = Some(b';'.into());
    for (wanted, says) in [
        (delimited, "delimiter is not for JSON"),
        (options(&file, "t").header(HeaderOption::No), "header is not for JSON"),
        (options(&file, "t").decimal_comma(true), "decimal_comma=true is not for JSON"),
        (options(&file, "t").thousands(Thousands::Comma), "thousands is not for JSON"),
        (options(&file, "t").booleans([("ja", "nein")]), "booleans is not for JSON"),
        (options(&file, "t").force_null(["*"]), "force_null is not for JSON"),
    ] {
        assert_eq!(try_load(&database, &wanted).unwrap_err().message(), says);
    }
}
