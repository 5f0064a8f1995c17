//! Dates in the user's own format are the days that were meant, or they are refused.

use howdah::options::{DateFormat, OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

fn dated(format: &str, wanted: LoadOptions) -> LoadOptions {
    wanted.date_format(DateFormat::parse(format).unwrap())
}

#[test]
fn days_are_what_psql_stores_under_the_datestyle_that_means_them() {
    let database = Database::new();
    let csv = "d,at,zoned,s\n3/12/2024,03/12/2024,4/12/2024,1/2/2024\n\"29/02/2024\",,1/1/1999,x\n";
    let file = database.file("t.csv", csv);
    for (format, style) in [("%d/%m/%Y", "DMY"), ("%m/%d/%Y", "MDY")] {
        let csv = if style == "MDY" { csv.replace("29/02", "02/29") } else { csv.to_owned() };
        std::fs::write(&file, csv).unwrap();
        for write_path in [WritePath::CopyBinary, WritePath::CopyText] {
            database.sql(
                "DROP TABLE IF EXISTS made, twin; CREATE TABLE made (d date, at timestamp, zoned timestamptz, s text);
                 CREATE TABLE twin (LIKE made)",
            );
            load(&database, &dated(format, options(&file, "made").write_path(write_path)));
            database.sql(&format!(
                "SET DateStyle = 'ISO, {style}';\n\\copy twin FROM '{file}' (FORMAT csv, HEADER)"
            ));
            assert!(database.binary_rows("made") == database.binary_rows("twin"), "{format}");
            // Texts stay as they are.
            assert_eq!(database.sql("SELECT s FROM made ORDER BY 1 LIMIT 1"), "1/2/2024");
        }
    }
}

#[test]
fn a_new_table_s_columns_are_dates_where_every_value_is_in_the_format() {
    let database = Database::new();
    let csv = "a;b;c;d;e;n\n31.12.2024;1.1.2024;2024-01-01;1.1.2024 x;;1,5\n1.2.2024;x;2024-01-02;;;2,5\n";
    let mut wanted = dated("%d.%m.%Y", options(&database.file("t.csv", csv), "t"));
    wanted.input.decimal_comma = true;
    load(&database, &wanted);
    let types = "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute
                 WHERE attrelid = 't'::regclass AND attnum > 0";
    assert_eq!(database.sql(types), "date text text text text double precision");
    assert_eq!(database.sql("SELECT max(a), sum(n) FROM t"), "2024-12-31|4");

    let csv = "at,zoned,n\n1/2/2024 07:05,1/2/2024 07:05,20240101\n";
    load(&database, &dated("%d/%m/%Y %H:%M", options(&database.file("u.csv", csv), "u")));
    assert_eq!(
        database.sql(&types.replace("'t'", "'u'")),
        "timestamp without time zone timestamp without time zone bigint"
    );
    // Digits alone make no column of numbers one of dates; declared, they are.
    let plain = dated("%Y%m%d", options(&database.file("v.csv", "n,m\n20240101,1\n"), "v"));
    load(&database, &plain);
    assert_eq!(database.sql(&types.replace("'t'", "'v'")), "bigint bigint");
    let declared = options(&database.path("v.csv"), "w").types([("n", "date")]);
    load(&database, &dated("%Y%m%d", declared));
    assert_eq!(database.sql("SELECT n FROM w"), "2024-01-01");
}

#[test]
fn a_day_in_another_format_is_a_bad_record_and_not_another_day() {
    let database = Database::new();
    database.sql("CREATE TABLE t (d date, n int)");
    let file = database.file("t.csv", "d,n\n01.02.2024,1\n2024-02-01,2\n31.02.2024,3\nnow,4\n05.06.2024,5\n");
    let wanted = dated("%d.%m.%Y", options(&file, "t"));
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(
        (error.kind(), error.column(), error.location().unwrap().line),
        (ErrorKind::Data, Some("d"), Some(3))
    );
    assert_eq!(error.message(), "invalid input syntax for type date: \"2024-02-01\"");
    assert!(error.detail().unwrap().contains("%d.%m.%Y"), "{error:?}");

    let rejects = database.path("t.rejects.jsonl");
    let wanted = wanted.on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 3));
    // Corrected, they are read in the same format.
    let corrected = std::fs::read_to_string(&rejects).unwrap();
    let corrected = corrected
        .replace("2024-02-01,2", "02.02.2024,2")
        .replace("31.02", "29.02")
        .replace("now", "4.4.2024");
    assert_eq!(load(&database, &options(&database.file("m.rejects.jsonl", corrected), "t")).rows, 3);
    assert_eq!(
        database.sql("SELECT string_agg(d::text, ' ' ORDER BY n) FROM t"),
        "2024-02-01 2024-02-02 2024-02-29 2024-04-04 2024-06-05"
    );
}
