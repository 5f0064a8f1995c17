//! xml: stored as psql's `\copy` stores it, judged by the server alone. The embedded PostgreSQL is built without libxml, Debian's
//! with it: the test runs itself again with that one.

use std::path::PathBuf;
use std::process::Command;

use howdah::options::{HeaderOption, OnError};
use howdah_testkit::Database;
use howdah_testkit::require::missing;

use crate::common::{load, options};

const COLUMNS: &str = "n int, x xml, xs xml[], d document";

/// One a line: xml, the same in an array; a domain over xml takes the first.
const GOOD: [(&str, &str); 6] = [
    ("<a>ä</a>", "{<a/>,NULL}"),
    ("plain content, no document", "{}"),
    ("<?xml version=\"1.0\"?><a>encoding</a>", "{}"),
    ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\" standalone=\"yes\"?><a>ä</a>", "{}"),
    ("  <a/>\n<b/>", "{\"<?xml version='1.0' encoding='KOI8-R'?><ж/>\"}"),
    ("", "{\"\"}"),
];

fn csv(rows: &[(&str, &str)]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |(n, (xml, array)): (usize, &(&str, &str))| {
        format!("{n},{},{},{}\n", quoted(xml), quoted(array), quoted(xml))
    };
    rows.iter().enumerate().map(line).collect()
}

#[test]
fn xml_is_stored_as_psql_stores_it() {
    let database = Database::new();
    if database.try_sql("SELECT '<a/>'::xml").is_err() {
        return again_with_libxml(&database, "xml_is_stored_as_psql_stores_it");
    }
    let file = database.file("good.csv", csv(&GOOD));
    database.sql("CREATE DOMAIN document AS xml");
    for columns in [COLUMNS, "n int, x xml, xs text, d document"] {
        database.sql("DROP TABLE IF EXISTS by_us, by_psql");
        database.sql(&format!("CREATE TABLE by_us ({columns}); CREATE TABLE by_psql ({columns})"));
        database.sql(&format!("\\copy by_psql FROM '{file}' (FORMAT csv)"));
        load(&database, &options(&file, "by_us").header(HeaderOption::No));
        // What is sent has its declaration rewritten: the text shows what is stored.
        let stored = |table: &str| {
            database.sql(&format!("SELECT n, x::text, xs::text, d::text FROM {table} ORDER BY n"))
        };
        assert_eq!(stored("by_us"), stored("by_psql"), "{columns}");
        assert_eq!(database.binary_rows("by_us"), database.binary_rows("by_psql"), "{columns}");
    }
}

#[test]
fn a_broken_document_costs_only_its_row() {
    let database = Database::new();
    if database.try_sql("SELECT '<a/>'::xml").is_err() {
        return again_with_libxml(&database, "a_broken_document_costs_only_its_row");
    }
    database.sql("CREATE TABLE t (n int, x xml, xs text, d text)");
    let file = database.file("bad.csv", csv(&[("<a/>", ""), ("<a>", ""), ("a & b", ""), ("<b/>", "")]));
    let rejects = database.path("rejects.jsonl");
    let tolerant = options(&file, "t").header(HeaderOption::No).on_error(OnError::Ignore).rejects(&rejects);
    load(&database, &tolerant);
    assert_eq!(database.sql("SELECT string_agg(n::text, ' ' ORDER BY n) FROM t"), "0 3");
    let said = std::fs::read_to_string(rejects).unwrap();
    assert_eq!(said.lines().count(), 2);
    assert!(
        said.lines().all(|line| line.contains("\"2200N\"") && line.contains("\"column\":\"x\"")),
        "{said}"
    );
}

fn again_with_libxml(database: &Database, test: &str) {
    let debian = ["18", "17", "16", "15"].map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let Some(programs) = debian.iter().find(|path| PathBuf::from(path).join("initdb").exists()) else {
        return missing("libxml", "there is no PostgreSQL with libxml in /usr/lib/postgresql");
    };
    assert!(!database.bin_dir().starts_with(programs), "Debian's PostgreSQL has libxml");
    let own = std::env::current_exe().unwrap();
    let test = format!("xml::{test}");
    let run = Command::new(own).args(["--exact", &test]).env("HOWDAH_PG_BIN", programs).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}
