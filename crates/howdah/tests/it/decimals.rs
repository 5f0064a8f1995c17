//! Numbers with decimal commas, and nothing that only looks like one.

use howdah::options::{OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

const CSV: &str =
    "n;f;r;s;at\n1,50;-0,25;1e3;a,b.c;2024-01-01 00:00:00.5\n\"12\";1,5e2;;\"1,5\";\nNaN;0;,5;1.5;\n";

fn with_commas(database: &Database, csv: &str, table: &str) -> LoadOptions {
    let mut wanted = options(&database.file("input.csv", csv), table);
    wanted.input.dialect.delimiter = Some(b';'.into());
    wanted.input.decimal_comma = true;
    wanted
}

#[test]
fn commas_are_points_in_numeric_columns_alone() {
    let database = Database::new();
    let expected = "1.50|-0.25|1000|a,b.c|2024-01-01 00:00:00.5\n12|150||1,5|\nNaN|0|0.5|1.5|";
    for write_path in [WritePath::CopyBinary, WritePath::CopyText] {
        database.sql(
            "DROP TABLE IF EXISTS t; DROP DOMAIN IF EXISTS price; CREATE DOMAIN price AS numeric(6,2);
             CREATE TABLE t (n price, f float8, r float4, s text, at timestamp)",
        );
        let wanted = with_commas(&database, CSV, "t").write_path(write_path);
        assert_eq!(load(&database, &wanted).rows, 3);
        assert_eq!(database.sql("TABLE t").replace("12.00|", "12|"), expected);
    }
}

#[test]
fn a_new_table_gets_numbers_where_commas_are_decimal_points() {
    let database = Database::new();
    let csv = "amount;share;version;at;whole\n1,50;0,5;1.5;2024-01-01 00:00:00.5;1\n-2,00;1;1.6;2024-01-02 00:00:00;2\n";
    load(&database, &with_commas(&database, csv, "t"));
    let types = "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute
                 WHERE attrelid = 't'::regclass AND attnum > 0";
    assert_eq!(database.sql(types), "numeric double precision text timestamp without time zone bigint");
    assert_eq!(database.sql("SELECT sum(amount), sum(share), min(version) FROM t"), "-0.50|1.5|1.5");
}

#[test]
fn a_point_is_refused_and_not_taken_for_a_decimal_point() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n numeric, s text)");
    let wanted = with_commas(&database, "n;s\n1,5;a\n1.234;b\n1.234,5;c\n2,5;d\n", "t");
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.message(), "invalid input syntax for type numeric: \"1.234\"");
    assert_eq!((error.kind(), error.location().unwrap().line), (ErrorKind::Data, Some(3)));

    let rejects = database.path("t.rejects.jsonl");
    let report = load(&database, &wanted.on_error(OnError::Ignore).rejects(rejects.clone()));
    assert_eq!((report.rows, report.rows_rejected), (2, 2));
    // Corrected, they are read with commas again.
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("1.234", "1234");
    assert!(corrected.contains("\"decimal\":\",\""), "{corrected}");
    let corrected = database.file("corrected.rejects.jsonl", corrected.replace("1234;", "1234,0;"));
    assert_eq!(load(&database, &options(&corrected, "t")).rows, 2);
    assert_eq!(database.sql("SELECT string_agg(n::text, ' ' ORDER BY s) FROM t"), "1.5 1234.0 1234.5 2.5");
}

#[test]
fn a_comma_cannot_be_delimiter_and_decimal_point() {
    let database = Database::new();
    let wanted = options(&database.file("a.csv", "a\n1\n"), "t").decimal_comma(true);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.message().contains("decimal_comma=true"), "{error}");
}
