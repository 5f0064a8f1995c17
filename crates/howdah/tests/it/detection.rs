//! How records are written is found out where nobody says it: what arrives is what psql's `\copy` stores when it is told.

use howdah::options::{HeaderOption, OnError};
use howdah::{ErrorKind, Report};
use howdah_testkit::{Database, quoted_field, real_data};

use crate::common::{load, options, try_load};

/// Values that need every kind of care; no record of them is like another in any delimiter.
const ROWS: &[[&str; 3]] = &[
    ["id", "name", "note"],
    ["1", "Ann", "plain"],
    ["2", "O'Neil, Bob", "semi;colon"],
    ["3", "say \"hi\"", "a|b"],
    ["4", "", "two\nlines"],
    ["5", "tab\there", "back\\slash \\\" both"],
    ["6", "Zoë", ", ; | '"],
];

fn written(delimiter: char, quote: char, escape: char, all: bool, eol: &str) -> String {
    let mut text = String::new();
    for (line, row) in ROWS.iter().enumerate() {
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                text.push(delimiter);
            }
            let special = |c: char| c == delimiter || c == quote || matches!(c, '\n' | '"' | '\'');
            if !value.contains(special) && !(all && (at > 0 || line == 0)) {
                text.push_str(value);
                continue;
            }
            text.push_str(&quoted_field(value, quote, escape));
        }
        text.push_str(eol);
    }
    text
}

fn guessed(report: &Report) -> Vec<&'static str> {
    report.plan.as_ref().unwrap().dialect.guessed.clone()
}

#[test]
fn every_dialect_loads_as_psql_loads_it_when_told() {
    let database = Database::new();
    for delimiter in [',', ';', '\t', '|'] {
        for (quote, escape) in [('"', '"'), ('"', '\\'), ('\'', '\''), ('\'', '\\')] {
            for (all, eol) in [(false, "\n"), (true, "\n"), (false, "\r\n"), (true, "\r")] {
                let text = written(delimiter, quote, escape, all, eol);
                let file = database.file("made.csv", &text);
                database.sql("DROP TABLE IF EXISTS made, twin");
                let (report, notices) =
                    try_load(&database, &options(&file, "made")).unwrap_or_else(|error| {
                        panic!("{delimiter:?} {quote} {escape} {all} {eol:?}: {error:?}\n{text}")
                    });
                let dialect = &report.plan.as_ref().unwrap().dialect;
                assert_eq!(
                    (dialect.delimiter.clone(), dialect.quote, dialect.escape),
                    (Some(delimiter.to_string()), Some(quote), Some(escape)),
                    "{text}"
                );
                let said = notices.iter().any(|notice| notice.starts_with("format: csv, delimiter "));
                assert_eq!(said, (delimiter, quote, escape) != (',', '"', '"'), "{notices:?}");
                database.sql("CREATE TABLE twin (LIKE made)");
                let quoted = |c: char| format!("'{}'", c.to_string().replace('\'', "''"));
                database.sql(&format!(
                    r"\copy twin FROM '{file}' (FORMAT csv, HEADER, DELIMITER E'{delimiter}', QUOTE {}, ESCAPE {})",
                    quoted(quote),
                    quoted(escape)
                ));
                assert!(database.binary_rows("made") == database.binary_rows("twin"), "{text}");
            }
        }
    }
}

#[test]
fn the_options_that_are_given_go_before_the_guess() {
    let database = Database::new();
    let file = database.file("t.csv", "a;b\n1;2\n3;4\n");
    let mut wanted = options(&file, "t");
    wanted.input.dialect.delimiter = Some(b','.into());
    let (report, notices) = try_load(&database, &wanted).unwrap();
    let is_said = notices.iter().any(|notice| notice.starts_with("format:"));
    assert!(guessed(&report).is_empty() && !is_said, "{notices:?}");
    assert_eq!(database.sql("SELECT \"a;b\" FROM t LIMIT 1"), "1;2");
}

#[test]
fn an_existing_table_settles_what_would_be_ambiguous() {
    let database = Database::new();
    let file = database.file("t.csv", "1,5;2,5\n2,5;3,5\n4,5;5,5\n");
    let error = try_load(&database, &options(&file, "t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.detail().unwrap().contains("1 │ 5;2 │ 5 (3 fields)"), "{error:?}");
    assert!(error.hint().unwrap().contains(r#"delimiter=";""#), "{error:?}");

    database.sql("CREATE TABLE two (a text, b text); CREATE TABLE three (a text, b text, c text)");
    load(&database, &options(&file, "two"));
    load(&database, &options(&file, "three"));
    assert_eq!(database.sql("SELECT a FROM two LIMIT 1; SELECT b FROM three LIMIT 1"), "1,5\n5;2");
    // A column of text is one, whatever stands in it.
    database.sql("CREATE TABLE one (line text)");
    load(&database, &options(&database.file("lines.csv", "x;y\nz;w\nv;u\n"), "one"));
    assert_eq!(database.sql("SELECT string_agg(line, ' ') FROM one"), "x;y z;w v;u");
}

#[test]
fn a_header_that_names_the_tables_columns_outweighs_bad_records() {
    let database = Database::new();
    database.sql("CREATE TABLE t (b int, a int)");
    let file = database.file("t.csv", "a;b\n1;2\nx\n3;4;5\n6\n7;8\n");
    let rejects = database.path("t.rejects.jsonl");
    let wanted = options(&file, "t").on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 3));
    // The reject file remembers what was guessed: nothing is guessed again.
    let corrected = std::fs::read_to_string(&rejects).unwrap();
    let corrected: String =
        corrected.lines().filter(|line| line.contains("3;4;5")).map(|line| line.to_owned() + "\n").collect();
    let corrected = database.file("m.rejects.jsonl", corrected.replace("3;4;5", "3;4"));
    let report = load(&database, &options(&corrected, "t"));
    assert_eq!((report.rows, guessed(&report)), (1, vec![]));
    assert_eq!(database.sql("SELECT string_agg(a || '-' || b, ' ' ORDER BY a) FROM t"), "1-2 3-4 7-8");
}

#[test]
fn decimal_commas_find_the_delimiter_that_is_none() {
    let database = Database::new();
    let file = database.file("t.csv", "1,5;2,5\n2,5;3,5\n4,5;5,5\n");
    load(&database, &options(&file, "t").decimal_comma(true));
    assert_eq!(database.sql("SELECT sum(column1), sum(column2) FROM t"), "8.5|11.5");
}

#[test]
fn large_files_lose_nothing_to_the_look_ahead() {
    let database = Database::new();
    for (rows, name) in [(3, "small"), (200_000, "large")] {
        let text: String =
            std::iter::once("a;b\n".to_owned()).chain((0..rows).map(|n| format!("{n};x,{n}\n"))).collect();
        let file = database.file("t.csv", &text);
        let wanted = options(&file, name).skip_lines(0);
        assert_eq!(load(&database, &wanted).rows, rows);
        assert_eq!(database.sql(&format!("SELECT sum(a) FROM {name}")), (rows * (rows - 1) / 2).to_string());
    }
    let file = database.file("t.csv", "made by x\n\na;b\n1;2\n3;4\n");
    assert_eq!(load(&database, &options(&file, "skipped").skip_lines(2)).rows, 2);
    assert_eq!(database.sql("SELECT sum(a), sum(b) FROM skipped"), "4|6");
}

#[test]
fn a_pipe_loses_nothing_to_the_look_ahead() {
    let database = Database::new();
    let pipe = database.path("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let rows: String = (0..100_000).map(|n| format!("{n}|x,{n}\n")).collect();
            std::fs::write(pipe, format!("a|b\n{rows}"))
        }
    });
    let report = load(&database, &options(&pipe, "t"));
    writer.join().unwrap().unwrap();
    assert_eq!((report.rows, guessed(&report)), (100_000, vec!["delimiter"]));
    assert_eq!(database.sql("SELECT count(DISTINCT a), min(b) FROM t"), "100000|x,0");
}

#[test]
fn real_files_are_read_as_they_are_written() {
    let Some(data) = real_data() else { return };
    let database = Database::new();
    let mut count = 0;
    for folder in ["vega", "userdata", "csv-spectrum/csvs", "openflights", "parquet-testing/data"] {
        let entries = std::fs::read_dir(data.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.filter(|path| path.extension().is_some_and(|e| e == "csv" || e == "dat")) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut wanted = options(&path.to_string_lossy(), "made");
            // Files of openflights have no header, and some of their records are bad.
            if folder == "openflights" {
                wanted.columns.header = HeaderOption::No;
                wanted.input.dialect.null = Some("\\N".into());
            }
            wanted.target.dry_run = true;
            wanted.tolerance.on_error = OnError::Ignore;
            wanted.tolerance.rejects = Some(database.path(&format!("{name}.rejects.jsonl")).into());
            let report = load(&database, &wanted);
            let dialect = &report.plan.as_ref().unwrap().dialect;
            assert_eq!(
                (dialect.delimiter.as_deref(), dialect.quote, dialect.escape),
                (Some(","), Some('"'), Some('"')),
                "{name}"
            );
            count += 1;
        }
    }
    assert!(count > 20, "only {count} files were found");
}

#[test]
fn what_stands_for_null_is_guessed_said_and_overridable() {
    let database = Database::new();
    let file = database.file("t.csv", "id,score,country\n1,NULL,NA\n2,3.5,DE\n3,4,FR\n4,NULL,CH\n5,7,AT\n");
    let (report, notices) = try_load(&database, &options(&file, "guessed")).unwrap();
    assert!(
        notices.iter().any(|notice| notice.contains("null \"NULL\" (guessed; null overrides)")),
        "{notices:?}"
    );
    assert_eq!(report.plan.unwrap().dialect.guessed, ["null"]);
    assert_eq!(
        database.sql("SELECT count(*) FILTER (WHERE score IS NULL), sum(score), min(country) FILTER (WHERE id = 1) FROM guessed"),
        "2|14.5|NA"
    );
    let mut told = options(&file, "told");
    told.input.dialect.null = Some(String::new());
    let (_, notices) = try_load(&database, &told).unwrap();
    assert!(notices.iter().any(|notice| notice.contains(r#"null="NULL""#)), "{notices:?}");
    assert_eq!(database.sql("SELECT count(*) FROM told WHERE score = 'NULL'"), "2");
}
