//! CSV passed on to COPY: what psql's `\copy` stores of the same file, on any number of connections, and errors that lead
//! back to file and line.

use howdah::options::{DialectOptions, Format, HeaderOption, Mode, OnError, OnNul, Thousands, WritePath};
use howdah::report::CopyFormat;
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

fn passed_on(file: &str, table: &str) -> LoadOptions {
    options(file, table).write_path(WritePath::CopyCsv).mode(Mode::Append)
}

#[test]
fn every_dialect_stores_what_psql_stores() {
    let database = Database::new();
    database.sql("CREATE TABLE by_psql (n int, s text DEFAULT 'd', x text); CREATE TABLE by_us (LIKE by_psql INCLUDING DEFAULTS)");
    let bytes = |delimiter: u8, quote: u8, escape: u8| {
        DialectOptions::default().delimiter(delimiter).quote(quote).escape(escape)
    };
    let null = |null: &str| bytes(b',', b'"', b'"').null(null);
    let forced = |force_null: &[&str], force_not_null: &[&str], dialect: DialectOptions| {
        LoadOptions::default()
            .force_null(force_null.iter().copied())
            .force_not_null(force_not_null.iter().copied())
            .dialect(dialect)
    };
    let plain = |dialect: DialectOptions| forced(&[], &[], dialect);
    let default = bytes(b',', b'"', b'"').default_marker("-");
    let is_16 = database.sql("SHOW server_version_num").as_str() >= "160000";
    let cases: Vec<(&str, LoadOptions, &str)> = vec![
        ("n,s,x\n1,\"a,\"\"b\n\nc\",\n2,\"\",\\.\n\\N3,x,", plain(null("\\N3")), "HEADER, NULL '\\N3'"),
        (
            "1;'it\\'s';'\\\\'\n2;;''\n",
            plain(bytes(b';', b'\'', b'\\')),
            "DELIMITER ';', QUOTE '''', ESCAPE '\\'",
        ),
        ("1\t\"\"\t\n2\tNA\t\"NA\"\n", plain(null("NA").delimiter(b'\t')), "DELIMITER E'\\t', NULL 'NA'"),
        ("1,\"\",\n2,,\"\"\n", forced(&["s"], &["x"], null("")), "FORCE_NULL (s), FORCE_NOT_NULL (x)"),
        ("1,\"\",\n2,,\"\"\n", forced(&["*"], &[], null("")), "FORCE_NULL (n, s, x)"),
        ("1,a\u{2028}\"\r\nb\",ü\r\n2,\"\r\",\"\n\"\r\n", plain(null("")), "NULL ''"),
        ("1,a,b\r2,\"\r\",c\r", plain(null("")), "NULL ''"),
        ("1,-,\"-\"\n2,a,b\n", plain(default), "DEFAULT '-'"),
    ];
    for (content, asked, psql) in cases {
        if psql.starts_with("DEFAULT") && !is_16 {
            continue;
        }
        let file = database.file("f.csv", content);
        database.sql(&format!("TRUNCATE by_psql, by_us;\n\\copy by_psql FROM '{file}' (FORMAT csv, {psql})"));
        let header = if psql.contains("HEADER") { HeaderOption::Yes } else { HeaderOption::No };
        let asked = asked.header(header);
        let report = load(
            &database,
            &asked
                .paths([file])
                .table(howdah::name::TableName::parse("by_us").unwrap())
                .write_path(WritePath::CopyCsv)
                .mode(Mode::Append),
        );
        assert_eq!(
            (report.write_path, report.copy_format),
            (Some(WritePath::CopyCsv), Some(CopyFormat::Csv))
        );
        assert!(database.binary_rows("by_us") == database.binary_rows("by_psql"), "{content:?} {psql}");
    }
}

#[test]
fn files_with_other_line_ends_encodings_and_no_last_line_end_follow_each_other() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text)");
    let contents: [&[u8]; 4] = [b"n,s\n1,a", b"n,s\r\n2,\"b\n\"\r\n", b"n,s\r3,c\r", b"n,s\n4,d\n5,e"];
    let files: Vec<String> = (0..4).map(|n| database.file(&format!("f{n}.csv"), contents[n])).collect();
    let latin = database.file("latin.csv", b"n,s\n6,\xfc\n");
    for jobs in [1, 2] {
        database.sql("TRUNCATE t");
        let asked = passed_on("", "t").paths(files.clone()).jobs(jobs);
        assert_eq!(load(&database, &asked).rows, 5);
        let encoding = howdah::options::Encoding::named("LATIN1").unwrap();
        load(&database, &passed_on(&latin, "t").encoding(encoding));
        let found = database.sql("SELECT string_agg(n || replace(s, E'\\n', '|'), ' ' ORDER BY n) FROM t");
        assert_eq!(found, "1a 2b| 3c 4d 5e 6ü");
    }
}

#[test]
fn pieces_and_connections_lose_no_row() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text); CREATE TABLE by_psql (LIKE t)");
    let text = "x, \"\"y\"\"\n".repeat(70_000);
    let content: String = (0..40).map(|n| format!("{n},\"{text}{n}\"\n")).collect();
    let file = database.file("long.csv", format!("n,s\n{content}"));
    database.sql(&format!("\\copy by_psql FROM '{file}' (FORMAT csv, HEADER)"));
    for jobs in [1, 3] {
        database.sql("TRUNCATE t");
        let report = load(&database, &passed_on(&file, "t").jobs(jobs));
        assert_eq!((report.rows, report.rows_read, report.jobs), (40, 40, jobs));
        assert!(database.binary_rows("t") == database.binary_rows("by_psql"));
    }
    // A new table's types are found as ever.
    let created = passed_on(&file, "new").mode(Mode::Create).limit(3);
    assert_eq!(load(&database, &created).rows, 3);
    assert_eq!(database.sql("SELECT pg_typeof(n), count(*) OVER () FROM new LIMIT 1"), "bigint|3");
}

#[test]
fn an_error_leads_to_the_record_s_first_line_whatever_stands_in_quotes() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int UNIQUE, s text CHECK (s <> 'no'))");
    for (line_end, inside) in [("\n", "\n"), ("\r\n", "\r\n"), ("\r\n", "\n"), ("\r", "\r"), ("\n", "\r")] {
        let rows: Vec<String> = (0..20_000)
            .map(|n| if n % 3 == 0 { format!("{n},\"a{inside}{inside}b\"") } else { format!("{n},a") })
            .collect();
        for (bad, sqlstate) in [("x,a", "22P02"), ("17,a", "23505"), ("-1,no", "23514"), ("-1", "22P04")] {
            for at in [0, 4, 19_999] {
                let mut rows = rows.clone();
                bad.clone_into(&mut rows[at]);
                let content = format!("n,s{line_end}{}{line_end}", rows.join(line_end));
                // Of two rows with one key the later is the bad one.
                let expected =
                    content.rfind(&format!("{line_end}{bad}{line_end}")).map(|found| found + line_end.len());
                let file = database.file("bad.csv", &content);
                let error = try_load(&database, &passed_on(&file, "t")).unwrap_err();
                let location = error.location().unwrap();
                let place = location.byte_offset.map(|offset| usize::try_from(offset).unwrap());
                assert_eq!(
                    (error.sqlstate(), place),
                    (Some(sqlstate), expected),
                    "{line_end:?} {inside:?} {bad} {at}"
                );
                assert!(
                    error.kind() == ErrorKind::Data
                        && error.visible().unwrap().starts_with("nothing was changed")
                );
            }
        }
    }
}

#[test]
fn an_input_that_cannot_be_passed_on_is_refused_with_the_path_that_takes_it() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int PRIMARY KEY, s text)");
    let file = database.file("t.csv", "n,s\n1,a\n");
    let other = database.file("other.csv", "s,n\na,2\n");
    let usual = || passed_on(&file, "t");
    for wanted in [
        usual().on_error(OnError::Ignore),
        usual().on_nul(OnNul::Strip),
        usual().decimal_comma(true),
        usual().thousands(Thousands::Space),
        usual().booleans([("ja", "nein")]),
        usual().format(Format::Text),
        usual().file_column("s"),
        usual().skip_columns(["s"]),
        usual().mode(Mode::Upsert),
        usual().paths([file.clone(), other]),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().contains("write_path=copy-csv"), "{error}");
        assert!(error.hint().unwrap().contains("copy-binary"), "{error:?}");
    }
    assert_eq!(database.sql("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_backslash_and_a_dot_end_no_data_in_silence() {
    let database = Database::new();
    database.sql("CREATE TABLE t (s text)");
    let file = database.file("t.csv", "a\n\\.\nb\n");
    let asked = passed_on(&file, "t").header(HeaderOption::No);
    if database.sql("SHOW server_version_num").as_str() >= "180000" {
        assert_eq!(load(&database, &asked).rows, 3);
        assert_eq!(database.sql("SELECT string_agg(s, ' ') FROM t"), "a \\. b");
    } else {
        let error = try_load(&database, &asked).unwrap_err();
        assert_eq!(error.location().unwrap().line, Some(2));
        assert!(error.hint().unwrap().contains("copy-binary"), "{error:?}");
    }
}

#[test]
fn a_dry_run_judges_values_and_shows_the_statement() {
    let database = Database::new();
    database.sql("CREATE TABLE t (n int, s text)");
    let good = database.file("good.csv", "1;a\n");
    let dialect = DialectOptions::default().delimiter(b';');
    let dry = |file: &str| passed_on(file, "t").dry_run(true).dialect(dialect.clone());
    let statements = load(&database, &dry(&good)).plan.unwrap().statements;
    assert!(statements.iter().any(|sql| sql.contains("FORMAT csv, DELIMITER ';'")), "{statements:?}");
    let bad = database.file("bad.csv", "1;a\nx;b\n");
    assert_eq!(try_load(&database, &dry(&bad)).unwrap_err().location().unwrap().line, Some(2));
}
