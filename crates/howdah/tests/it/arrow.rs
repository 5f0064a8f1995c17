//! Rows that have types already: what Parquet and Arrow files hold is what the table holds.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int16Array, Int64Array, RecordBatch, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use howdah::options::{Allowed, Mode, OnError, WritePath};
use howdah_testkit::Database;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::common::{load, options, try_load};

/// A Parquet file with row groups of `group` rows.
fn parquet(database: &Database, name: &str, rows: &RecordBatch, group: usize) -> String {
    let path = database.path(name);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    path
}

/// An Arrow file, or stream, of batches of `size` rows.
fn arrow(database: &Database, name: &str, rows: &RecordBatch, size: usize) -> String {
    let path = database.path(name);
    let file = File::create(&path).unwrap();
    let slices = (0..rows.num_rows()).step_by(size.max(1));
    let slices = slices.map(|start| rows.slice(start, size.min(rows.num_rows() - start)));
    if name.ends_with(".arrows") {
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &rows.schema()).unwrap();
        slices.for_each(|slice| writer.write(&slice).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &rows.schema()).unwrap();
        slices.for_each(|slice| writer.write(&slice).unwrap());
        writer.finish().unwrap();
    }
    path
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Three rows of many types, the last of them NULL.
fn many_types() -> RecordBatch {
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    words.append("one").unwrap();
    words.append("it's \"two\"\n").unwrap();
    words.append_null();
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None, Some(-3)]);
    lists.append_value([]);
    lists.append_null();
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![Some(i64::MAX), None, None]));
    let structs = StructArray::new(
        vec![Field::new("big", DataType::Int64, true)].into(),
        vec![inner],
        Some(vec![true, true, false].into()),
    );
    batch(vec![
        ("small", Arc::new(Int16Array::from(vec![Some(i16::MIN), Some(7), None]))),
        ("big", Arc::new(Int64Array::from(vec![Some(i64::MAX), Some(-1), None]))),
        ("huge", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
        ("single", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::NAN), None]))),
        ("double", Arc::new(Float64Array::from(vec![Some(1e300), Some(-0.0), None]))),
        (
            "money",
            Arc::new(
                Decimal128Array::from(vec![Some(-1_234_500), Some(1), None])
                    .with_precision_and_scale(20, 4)
                    .unwrap(),
            ),
        ),
        ("yes", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("héllo\tworld\\"), Some(""), None]))),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), Some(b""), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(19_000), Some(-100_000), None]))),
        ("clock", Arc::new(Time64MicrosecondArray::from(vec![Some(86_399_999_999), Some(0), None]))),
        (
            "local",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_600_000_000_123_456), Some(-1), None])),
        ),
        (
            "instant",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(1_600_000_000_000_000), Some(0), None])
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        ("word", Arc::new(words.finish())),
        ("list", Arc::new(lists.finish())),
        ("nested", Arc::new(structs)),
    ])
}

#[test]
fn every_type_makes_a_column_that_holds_the_same_values() {
    let database = Database::new();
    let rows = many_types();
    let files = [
        parquet(&database, "t.parquet", &rows, 2),
        arrow(&database, "t.arrow", &rows, 2),
        arrow(&database, "t.arrows", &rows, 2),
    ];
    let wanted_types = "small smallint, big bigint, huge numeric(20,0), single real, double double precision, \
                        money numeric(20,4), yes boolean, text text, bytes bytea, day date, \
                        clock time without time zone, local timestamp without time zone, \
                        instant timestamp with time zone, word text, list integer[], nested jsonb";
    let wanted = "-32768|9223372036854775807|18446744073709551615|0.1|1e+300|-123.4500|t|héllo\tworld\\|\\x00ff|\
                  2022-01-08|23:59:59.999999|2020-09-13 12:26:40.123456|2020-09-13 12:26:40+00|one|{1,NULL,-3}|\
                  {\"big\": 9223372036854775807}";
    for (at, file) in files.iter().enumerate() {
        let table = format!("t{at}");
        assert_eq!(load(&database, &options(file, &table)).rows, 3, "{file}");
        let types = database.sql(&format!(
            "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
               FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ));
        assert_eq!(types, wanted_types, "{file}");
        let first = database.sql(&format!("SET timezone = 'UTC'; SELECT * FROM {table} WHERE small < 0"));
        assert_eq!(first.lines().last().unwrap(), wanted, "{file}");
        let second = database.sql(&format!(
            "SET timezone = 'UTC'; SELECT word || single || double || day || local || list::text || nested::text FROM {table} WHERE small = 7"
        ));
        let second = second.trim_start_matches("SET\n");
        assert_eq!(
            second, "it's \"two\"\nNaN-01696-03-171969-12-31 23:59:59.999999{}{\"big\": null}",
            "{file}"
        );
        let nulls = database.sql(&format!("SELECT num_nulls(VARIADIC array_agg(v)) FROM {table} t, jsonb_each_text(to_jsonb(t)) e(k, v) WHERE small IS NULL"));
        assert_eq!(nulls, "16", "{file}");
    }
}

#[test]
fn every_write_path_stores_the_same_rows() {
    let database = Database::new();
    let file = parquet(&database, "t.parquet", &many_types(), 2);
    load(&database, &options(&file, "t"));
    let wanted = database.binary_rows("t");
    for path in WritePath::ALL.into_iter().filter(|path| *path != WritePath::CopyCsv) {
        database.sql("DROP TABLE IF EXISTS by_path; CREATE TABLE by_path (LIKE t)");
        let given = options(&file, "by_path").write_path(path);
        assert_eq!(load(&database, &given).rows, 3, "{}", path.name());
        assert_eq!(database.binary_rows("by_path"), wanted, "{}", path.name());
    }
    let given = options(&file, "by_path").write_path(WritePath::CopyCsv);
    assert!(try_load(&database, &given).unwrap_err().message().contains("copy-csv is for text"));
}

#[test]
fn strings_are_read_as_postgresql_reads_them() {
    let database = Database::new();
    let literals = ["2024-02-29 12:00+02", "Feb 3 2021 5:00 pm PST", "epoch", "infinity", "1999-01-08"];
    let text = literals.join("\n");
    let csv = database.file("t.txt", format!("{text}\n"));
    database.sql(&format!(
        "CREATE TABLE by_psql (v timestamptz); CREATE TABLE t (v timestamptz);\n\\copy by_psql FROM '{csv}'"
    ));
    let rows = batch(vec![("v", Arc::new(StringArray::from(literals.to_vec())))]);
    load(&database, &options(&parquet(&database, "t.parquet", &rows, 2), "t"));
    assert_eq!(database.binary_rows("t"), database.binary_rows("by_psql"));
}

#[test]
fn every_row_of_many_row_groups_arrives_once_over_any_number_of_connections() {
    let database = Database::new();
    let numbers: Vec<i64> = (0..50_000).collect();
    let rows = batch(vec![("n", Arc::new(Int64Array::from(numbers)))]);
    let files = [
        parquet(&database, "many.parquet", &rows, 7_001),
        parquet(&database, "one.parquet", &rows, 100_000),
        arrow(&database, "n.arrow", &rows, 999),
        arrow(&database, "n.arrows", &rows, 999),
    ];
    for file in &files {
        for jobs in [1, 2, 4] {
            let given = options(file, "n").jobs(jobs).mode(Mode::Replace);
            let report = load(&database, &given);
            assert_eq!((report.rows, report.rows_read), (50_000, 50_000), "{file}, {jobs}");
            let sums = database.sql("SELECT count(*), count(DISTINCT n), min(n), max(n) FROM n");
            assert_eq!(sums, "50000|50000|0|49999", "{file}, {jobs}");
        }
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_by_row_group_and_row_and_nothing_is_changed() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n smallint, s text)");
    let numbers: Vec<i64> = (0..10).map(|n| if n == 7 { 70_000 } else { n }).collect();
    let words: Vec<String> = (0..10).map(|n| format!("w{n}")).collect();
    let rows =
        batch(vec![("n", Arc::new(Int64Array::from(numbers))), ("s", Arc::new(StringArray::from(words)))]);
    let file = parquet(&database, "t.parquet", &rows, 3);
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    let at = error.location().unwrap();
    assert_eq!((&*at.source, at.row_group, at.row, at.line), (&*file, Some(2), Some(1), None));
    assert_eq!((error.column(), error.sqlstate()), (Some("n"), Some("22003")));
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn refused_rows_are_kept_as_json_and_load_again_once_corrected() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n smallint CHECK (n <> 4), s text)");
    let numbers: Vec<i64> = (0..10).map(|n| if n == 7 { 70_000 } else { n }).collect();
    let words: Vec<String> = (0..10).map(|n| format!("w\"{n}")).collect();
    let rows =
        batch(vec![("n", Arc::new(Int64Array::from(numbers))), ("s", Arc::new(StringArray::from(words)))]);
    let file = parquet(&database, "t.parquet", &rows, 3);
    let rejects = database.path("bad.jsonl");
    let tolerant = options(&file, "t").on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &tolerant);
    assert_eq!((report.rows, report.rows_rejected), (8, 2));
    let text = std::fs::read_to_string(&rejects).unwrap();
    let mut lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["row_group"].as_u64());
    let place = |line: &serde_json::Value| (line["row_group"].as_u64(), line["row"].as_u64());
    assert_eq!([place(&lines[0]), place(&lines[1])], [(Some(1), Some(1)), (Some(2), Some(1))]);
    assert_eq!(lines[0]["sqlstate"], "23514");
    assert_eq!(lines[1]["raw"], r#"{"n":70000,"s":"w\"7"}"#);
    let corrected = database
        .file("corrected.rejects.jsonl", text.replace("70000", "17").replace("\\\"n\\\":4", "\\\"n\\\":14"));
    let again = howdah::LoadOptions::new(corrected);
    assert_eq!(load(&database, &again).rows, 2);
    assert_eq!(database.sql("SELECT string_agg(n || s, ',' ORDER BY n) FROM t WHERE n > 9"), "14w\"4,17w\"7");
}

#[test]
fn what_would_be_lost_is_refused_unless_it_is_allowed_by_name() {
    let database = Database::new();
    let nanos = TimestampNanosecondArray::from(vec![1_600_000_000_000_000_000, 1_600_000_000_000_000_999]);
    let cases: [(&str, ArrayRef, &str, Allowed, &str); 3] = [
        (
            "timestamp",
            Arc::new(nanos),
            "nanoseconds",
            Allowed { nanoseconds: true, ..Allowed::default() },
            "2020-09-13 12:26:40",
        ),
        (
            "numeric(5,1)",
            Arc::new(Decimal128Array::from(vec![10, 125]).with_precision_and_scale(10, 2).unwrap()),
            "decimals",
            Allowed { decimals: true, ..Allowed::default() },
            "1.3",
        ),
        (
            "integer",
            Arc::new(Float64Array::from(vec![1.0, 2.5])),
            "floats",
            Allowed { floats: true, ..Allowed::default() },
            "2",
        ),
    ];
    for (r#type, array, name, allow, stored) in cases {
        database.sql(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (v {type})"));
        let exact = parquet(&database, "exact.parquet", &batch(vec![("v", array.slice(0, 1))]), 10);
        assert_eq!(load(&database, &options(&exact, "t")).rows, 1, "{name}");
        let lossy = parquet(&database, "lossy.parquet", &batch(vec![("v", array.clone())]), 10);
        let error = try_load(&database, &options(&lossy, "t")).unwrap_err();
        let told = format!("{error:?}");
        assert!(told.contains(&format!("allow_loss={name}")), "{told}");
        assert_eq!(database.sql("SELECT count(*) FROM t"), "1", "{name}");
        // What is kept apart is not rounded either when it is loaded again as it is.
        let tolerant = |file: &str, rejects: &str| {
            options(file, "t").on_error(OnError::Ignore).rejects(database.path(rejects))
        };
        let report = load(&database, &tolerant(&lossy, "bad.rejects.jsonl"));
        assert_eq!((report.rows, report.rows_rejected), (1, 1), "{name}");
        let kept = database.path("bad.rejects.jsonl");
        let report = load(&database, &tolerant(&kept, "worse.rejects.jsonl"));
        assert_eq!((report.rows, report.rows_rejected), (0, 1), "{name}");
        for again in [kept, database.path("worse.rejects.jsonl")] {
            database.sql("DELETE FROM t WHERE v = (SELECT max(v) FROM t)");
            assert_eq!(load(&database, &options(&again, "t").allow_loss(allow)).rows, 1, "{name}");
            assert_eq!(database.sql("SELECT max(v) FROM t"), stored, "{name}");
        }
        database.sql("DELETE FROM t");
        load(&database, &options(&lossy, "t").allow_loss(allow));
        let lines = database.sql("SELECT v FROM t ORDER BY v");
        assert_eq!(lines.lines().last(), Some(stored), "{name}");
    }
}

#[test]
fn types_between_which_there_is_no_way_are_named_before_the_first_row() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a inet, b boolean)");
    let rows =
        batch(vec![("a", Arc::new(Int64Array::from(vec![1]))), ("b", Arc::new(Date32Array::from(vec![1])))]);
    let error = try_load(&database, &options(&parquet(&database, "t.parquet", &rows, 10), "t")).unwrap_err();
    for part in ["2 columns do not fit", "\"a\"", "\"b\"", "inet", "boolean"] {
        assert!(error.message().contains(part), "{error:?}");
    }
}

#[test]
fn columns_are_matched_renamed_and_left_out_by_name() {
    let database = Database::new();
    database.sql("CREATE TABLE t (b text, a bigint, src text, k int GENERATED ALWAYS AS IDENTITY)");
    let rows = batch(vec![
        ("A", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("junk", Arc::new(Int64Array::from(vec![0, 0, 0]))),
        ("name", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
    ]);
    let file = parquet(&database, "t.parquet", &rows, 2);
    let given = options(&file, "t").map([("name", "b")]).skip_columns(["junk"]).file_column("src").limit(2);
    assert_eq!(load(&database, &given).rows, 2);
    assert_eq!(database.sql("SELECT b, a, src, k FROM t ORDER BY k"), format!("x|1|{file}|1\ny|2|{file}|2"));
    let missing = try_load(&database, &options(&file, "t")).unwrap_err();
    assert!(missing.message().contains("not columns of public.t: junk, name"), "{missing:?}");
}

#[test]
fn a_key_decides_in_the_modes_that_match_rows() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id bigint PRIMARY KEY, v text NOT NULL); INSERT INTO t VALUES (1, 'old'), (9, 'stays')");
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2, 2, 3]))),
        ("v", Arc::new(StringArray::from(vec![Some("new"), Some("a"), Some("b"), None]))),
    ]);
    let file = parquet(&database, "t.parquet", &rows, 2);
    let rejects = database.path("bad.jsonl");
    let given = options(&file, "t").mode(Mode::Upsert).on_error(OnError::Ignore).rejects(rejects);
    let report = load(&database, &given);
    assert_eq!((report.rows_inserted, report.rows_updated, report.rows_rejected), (1, 1, 1));
    assert_eq!(database.sql("SELECT * FROM t ORDER BY id"), "1|new\n2|b\n9|stays");
}

#[test]
fn a_row_that_only_the_table_refuses_when_it_is_applied_is_read_again() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id bigint PRIMARY KEY, v int CHECK (v < 100))");
    let values: Vec<i32> = (0..5_000).map(|n| if n == 4_321 { 100 } else { n % 100 }).collect();
    let ids: Vec<i64> = (0..5_000).collect();
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from(ids))),
        ("v", Arc::new(arrow_array::Int32Array::from(values))),
    ]);
    for file in [parquet(&database, "t.parquet", &rows, 1_000), arrow(&database, "t.arrow", &rows, 300)] {
        database.sql("TRUNCATE t");
        let rejects = database.path("bad.jsonl");
        let given = options(&file, "t").mode(Mode::Upsert).on_error(OnError::Ignore).rejects(rejects.clone());
        let report = load(&database, &given);
        assert_eq!((report.rows, report.rows_rejected), (4_999, 1));
        let line: serde_json::Value =
            serde_json::from_str(std::fs::read_to_string(&rejects).unwrap().trim()).unwrap();
        assert_eq!(line["raw"], r#"{"id":4321,"v":100}"#);
        let row = line["row"].as_u64().unwrap();
        assert_eq!(line["row_group"].as_u64().map_or(row, |group| 1_000 * group + row), 4_321);
    }
}
