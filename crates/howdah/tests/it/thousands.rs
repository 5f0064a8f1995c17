//! Numbers in groups of three digits, and nothing that only looks like one.

use howdah::options::{OnError, Thousands, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// The paths that do not pass the input's bytes on.
const PATHS: [WritePath; 8] = [
    WritePath::CopyBinary,
    WritePath::CopyText,
    WritePath::Insert,
    WritePath::InsertAutocommit,
    WritePath::InsertPrepared,
    WritePath::Values,
    WritePath::ValuesPrepared,
    WritePath::Unnest,
];

fn grouped(database: &Database, csv: &str, mark: &str, decimal_comma: bool) -> LoadOptions {
    let mut wanted = options(&database.file("input.csv", csv), "t");
    wanted.input.dialect.delimiter = Some(b';'.into());
    wanted.input.decimal_comma = decimal_comma;
    wanted.thousands(Thousands::parse(mark).unwrap())
}

fn types(database: &Database) -> String {
    database.sql(
        "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = 't'::regclass AND attnum > 0",
    )
}

#[test]
fn numbers_in_groups_are_those_that_psql_reads_without_their_separators() {
    let database = Database::new();
    // `_` stands for the separator, `~` for the decimal sign.
    let template = "i;b;n;f;s\n1_234;-12_345_678;1_234~50;-1_000~25;1_234~50\n\
                    \"32_767\";\"9_223_372_036_854_775_807\";\"1_000_000\";1_000e3;a_b\n\
                    7;;~5;NaN;1_2\n";
    for (mark, decimal_comma) in [
        (",", false),
        (".", true),
        ("'", false),
        ("’", true),
        (" ", false),
        ("\u{a0}", true),
        ("\u{202f}", false),
    ] {
        let decimal = if decimal_comma { "," } else { "." };
        let written = template.replace('_', mark).replace('~', decimal);
        let converted = template.replace('_', "").replace('~', ".");
        let file = database.file("converted.csv", converted);
        for write_path in PATHS {
            database.sql(
                "DROP TABLE IF EXISTS t, twin; DROP DOMAIN IF EXISTS price; CREATE DOMAIN price AS numeric(12,2);
                 CREATE TABLE t (i smallint, b bigint, n price, f float8, s text); CREATE TABLE twin (LIKE t)",
            );
            let wanted = grouped(&database, &written, mark, decimal_comma).write_path(write_path);
            assert_eq!(load(&database, &wanted).rows, 3, "{mark:?} {write_path:?}");
            database.sql(&format!("\\copy twin FROM '{file}' (FORMAT csv, HEADER, DELIMITER ';')"));
            // Texts stay as they are.
            let texts = "SELECT string_agg(s, ' ') FROM t";
            let expected = "1_234~50 a_b 1_2".replace('_', mark).replace('~', decimal);
            assert_eq!(database.sql(texts), expected);
            database.sql("UPDATE t SET s = ''; UPDATE twin SET s = ''");
            assert!(database.binary_rows("t") == database.binary_rows("twin"), "{mark:?} {write_path:?}");
        }
    }
}

#[test]
fn a_new_table_gets_numbers_where_all_groups_are_whole() {
    let database = Database::new();
    let csv = "amount;whole;share;not;zip;at\n\
               1.682,97;1.000.000;0,5;1.5;01.234;2024-01-01 00:00:00.5\n\
               12,00;7;1,5;1.234;1;2024-01-02 00:00:00\n";
    load(&database, &grouped(&database, csv, ".", true));
    let expected = "numeric bigint double precision text text timestamp without time zone";
    assert_eq!(types(&database), expected);
    assert_eq!(
        database.sql("SELECT sum(amount), sum(whole), sum(share), min(\"not\") FROM t"),
        "1694.97|1000007|2|1.234"
    );
}

#[test]
fn quoted_and_unquoted_numbers_read_the_same_beside_commas() {
    let database = Database::new();
    let file = database.file("t.csv", "id,amount\n1,\"1,234.50\"\n2,\"1,000.00\"\n3,7.25\n");
    load(&database, &options(&file, "t").thousands(Thousands::Comma));
    assert_eq!(types(&database), "bigint numeric");
    assert_eq!(database.sql("SELECT sum(amount) FROM t"), "2241.75");
}

#[test]
fn other_groups_are_refused_with_their_place_and_load_when_they_are_mended() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text)");
    let wanted = grouped(&database, "n;s\n1,000;a\n1,5;b\n12,34;c\n2,500;d\n", ",", false);
    let error = try_load(&database, &wanted).unwrap_err();
    assert_eq!(error.message(), "invalid input syntax for type integer: \"1,5\"");
    assert_eq!((error.kind(), error.location().unwrap().line), (ErrorKind::Data, Some(3)));
    assert_eq!((error.sqlstate(), error.column()), (Some("22P02"), Some("n")));
    assert!(error.detail().unwrap().contains("in groups of three digits"), "{error:?}");

    let rejects = database.path("t.rejects.jsonl");
    let report = load(&database, &wanted.on_error(OnError::Ignore).rejects(rejects.clone()));
    assert_eq!((report.rows, report.rows_rejected), (2, 2));
    let corrected = std::fs::read_to_string(&rejects).unwrap();
    assert!(corrected.contains("\"thousands\":\",\""), "{corrected}");
    let corrected = corrected.replace("1,5;", "1,005;").replace("12,34;", "12,034;");
    assert_eq!(load(&database, &options(&database.file("c.rejects.jsonl", corrected), "t")).rows, 2);
    assert_eq!(database.sql("SELECT string_agg(n::text, ' ' ORDER BY s) FROM t"), "1000 1005 12034 2500");
}

#[test]
fn a_mark_has_one_meaning() {
    let database = Database::new();
    let file = database.file("t.csv", "a;b\n1;2\n");
    let mut quoted = options(&file, "t").thousands(Thousands::Apostrophe);
    quoted.input.dialect.quote = Some(b'\'');
    for (wanted, says) in [
        (options(&file, "t").thousands(Thousands::Comma).decimal_comma(true), "a comma cannot mean both"),
        (options(&file, "t").thousands(Thousands::Point), "thousands=\".\" needs decimal_comma=true"),
        (quoted, "needs another quote than the apostrophe"),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains(says), "{error}");
    }
    // Apostrophes that separate thousands are no quotes.
    let file = database.file("u.csv", "a;b\n'1'000;2\n1'000;3\n2'500;4\n");
    let report = load(&database, &options(&file, "u").thousands(Thousands::Apostrophe));
    assert_eq!(report.rows, 3);
    assert_eq!(database.sql("SELECT min(a), sum(b) FROM u"), "'1'000|9");
}
