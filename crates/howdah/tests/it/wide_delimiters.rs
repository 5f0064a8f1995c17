//! Delimiters of several bytes: read as the same records with a delimiter of one byte are, which COPY judges.

use howdah::LoadOptions;
use howdah::options::{Delimiter, OnError, WritePath};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// Records whose values hold pieces of the delimiter, quotes and line ends; `\u{1}` stands for the delimiter.
const RECORDS: &str = "\
    id\u{1}name\u{1}note\n\
    1\u{1}Ann\u{1}\n\
    2\u{1}\"a \"\"quote\"\" and\na line\"\u{1}|~,\n\
    3\u{1}\"\"\u{1}\" |\"\n\
    4\u{1}~x\"y\"z\u{1}, ,\n";

fn with(file: &str, table: &str, delimiter: &str) -> LoadOptions {
    let mut wanted = options(file, table);
    wanted.input.dialect.delimiter = Some(Delimiter::new(delimiter).unwrap());
    wanted
}

#[test]
fn records_are_those_that_a_delimiter_of_one_byte_gives() {
    let database = Database::new();
    let judge = database.file("judge.csv", RECORDS);
    database.sql("CREATE TABLE judge (id int, name text, note text)");
    database.sql(&format!(r"\copy judge FROM '{judge}' (FORMAT csv, HEADER, DELIMITER E'\x01')"));
    for (n, (delimiter, escape)) in
        [("||", b'"'), ("~|~", b'"'), ("§", b'"'), ("\t|\t|", b'"'), ("::", b'\\')].into_iter().enumerate()
    {
        let table = format!("t{n}");
        database.sql(&format!("CREATE TABLE {table} (LIKE judge)"));
        let text = RECORDS.replace('\u{1}', delimiter);
        let text = if escape == b'"' { text } else { text.replace("\"\"quote\"\"", "\\\"quote\\\"") };
        for line_end in ["\n", "\r\n"] {
            database.sql(&format!("TRUNCATE {table}"));
            // A line end within quotes is a value's.
            let text = text.replace('\n', line_end).replace(&format!("and{line_end}"), "and\n");
            let mut wanted = with(&database.file("wide.csv", &text), &table, delimiter);
            wanted.input.dialect.escape = Some(escape);
            assert_eq!(load(&database, &wanted).rows, 4, "{delimiter:?}");
            let unlike = database.sql(&format!("TABLE {table} EXCEPT ALL TABLE judge"));
            assert_eq!(unlike, "", "{delimiter:?} {line_end:?}");
        }
    }
    // What stands in the middle of one is no delimiter, and the first that fits is one.
    let file = database.file("odd.csv", "a|||b\n");
    database.sql("CREATE TABLE odd (x text, y text)");
    load(&database, &with(&file, "odd", "||").header(howdah::options::HeaderOption::No));
    assert_eq!(database.sql("SELECT x, y FROM odd"), "a||b");
}

#[test]
fn rejects_keep_it_and_their_corrected_file_is_loaded_with_it() {
    let database = Database::new();
    database.sql("CREATE TABLE t (id int, name text)");
    let (file, rejects) = (
        database.file("t.csv", "id||name\n1||Ann\nx||\"B||b\"\n3||Eve||more\n"),
        database.path("r.rejects.jsonl"),
    );
    let mut wanted = with(&file, "t", "||");
    wanted.tolerance.on_error = OnError::Ignore;
    wanted.tolerance.rejects = Some(rejects.clone().into());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (1, 2));
    let kept = std::fs::read_to_string(&rejects).unwrap();
    assert!(kept.contains(r#""delimiter":"||""#), "{kept}");
    std::fs::write(&rejects, kept.replace("x||", "2||").replace("Eve||more", "Eve")).unwrap();
    assert_eq!(load(&database, &LoadOptions::new(&rejects)).rows, 2);
    assert_eq!(database.sql("SELECT id, name FROM t ORDER BY id"), "1|Ann\n2|B||b\n3|Eve");
}

#[test]
fn doubled_characters_are_found_where_nothing_else_fits_and_what_copy_cannot_take_is_said() {
    let database = Database::new();
    for (n, (text, delimiter)) in [
        ("id||name||at\n1||Ann||x\n2||Ben||y\n", "||"),
        ("id||name\n1||Ann\n2||Ben\n3||Eve\n", "||"),
        ("1::Toy Story (1995)::Animation|Comedy\n2::Heat::Action\n3::Sabrina::Drama|Romance\n", "::"),
        // A column that is empty here and there, and one that always is beside a delimiter that stands alone.
        ("id|x|name\n1||Ann\n2||Ben\n3||Eve\n", "|"),
        ("1||Ann|x\n2||Ben|y\n3||Eve|z\n", "|"),
        ("id,address\n1,fe80::1\n2,fe80::2\n3,fe80::3\n", ","),
        ("fe80::1\nfe80::2\nfe80::3\n", ","),
    ]
    .into_iter()
    .enumerate()
    {
        let report = load(&database, &options(&database.file("t.csv", text), &format!("t{n}")));
        assert_eq!(report.plan.unwrap().dialect.delimiter.as_deref(), Some(delimiter), "{text:?}");
    }
    // One pair of colons means something where a table of two columns waits for it.
    database.sql("CREATE TABLE pairs (id int, name text)");
    let pairs = database.file("t.csv", "id::name\n1::Ann\n2::Ben\n3::Eve\n");
    load(&database, &options(&pairs, "pairs"));
    assert_eq!(database.sql("SELECT string_agg(id || name, ' ' ORDER BY id) FROM pairs"), "1Ann 2Ben 3Eve");
    let file = database.file("t.csv", "1||2\n");
    database.sql("CREATE TABLE t (a int, b int)");
    let passed = with(&file, "t", "||").write_path(WritePath::CopyCsv);
    let error = try_load(&database, &passed).unwrap_err();
    assert_eq!(error.detail(), Some("COPY's delimiter is one byte"), "{error:?}");
    for (delimiter, says) in
        [("|\"", "delimiter cannot contain the quote character"), ("NA", "null cannot contain the delimiter")]
    {
        let mut wanted = with(&file, "t", delimiter);
        wanted.input.dialect.null = Some("NA".into());
        assert_eq!(try_load(&database, &wanted).unwrap_err().message(), says);
    }
}
