//! Types that nearly all values of a column fit, where the others may be rejected.

use howdah::options::{Inference, OnError, WritePath};
use howdah::{ErrorKind, LoadOptions};
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// 1,000 rows of an amount, a day and a code, but for these `(row, record)`s.
fn rows(others: &[(usize, &str)]) -> String {
    let record = |row: usize| match others.iter().find(|(at, _)| *at == row) {
        Some((_, record)) => format!("{row},{record}\n"),
        None => format!("{row},{}.50,2024-01-{:02},{row}\n", row * 3, row % 28 + 1),
    };
    let records: String = (1..=1000).map(record).collect();
    format!("id,amount,day,code\n{records}")
}

fn mostly(database: &Database, csv: &str, table: &str) -> LoadOptions {
    options(&database.file("t.csv", csv), table)
        .infer(Inference::Mostly)
        .on_error(OnError::Ignore)
        .rejects(database.path("t.rejects.jsonl"))
}

fn types(database: &Database, table: &str) -> String {
    database.sql(&format!(
        "SELECT string_agg(format_type(atttypid, -1), ' ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = '{table}'::regclass AND attnum > 0"
    ))
}

#[test]
fn few_values_that_do_not_fit_are_rejected_and_said() {
    let database = Database::new();
    // A zero in front would be lost in an integer: such a value is none, whatever the server would read.
    let csv = rows(&[
        (100, "abc,2024-01-01,1"),
        (200, "1.50,2024-13-01,2"),
        (201, "n/a,2024-01-01,2"),
        (300, "1.50,2024-01-01,007"),
        (301, ",,"),
        (999, "1e3,2024-01-01,3"),
    ]);
    for (table, write_path) in
        [("a", WritePath::CopyBinary), ("b", WritePath::CopyText), ("c", WritePath::Insert)]
    {
        for jobs in [1, 3] {
            database.sql(&format!("DROP TABLE IF EXISTS {table}"));
            let wanted = mostly(&database, &csv, table).write_path(write_path).jobs(jobs);
            let (report, notices) = try_load(&database, &wanted).unwrap();
            assert_eq!(types(&database, table), "bigint numeric date bigint");
            assert_eq!((report.rows, report.rows_rejected), (995, 5), "{write_path:?}");
            let said: Vec<&String> = notices.iter().filter(|said| said.contains("rejected (")).collect();
            assert_eq!(
                said,
                [
                    "amount: numeric; 3 of 999 values are not: they are rejected (line 101 'abc' is the first)",
                    "day: date; 1 of 999 values is not: it is rejected (line 201 '2024-13-01')",
                    "code: bigint; 1 of 999 values is not: it is rejected (line 301 '007')",
                ]
            );
            let columns = report.plan.unwrap().columns;
            assert_eq!(columns[1].because.as_ref().unwrap().to_string(), *said[0]);
            let expected = "SELECT count(*), bool_or(id IN (100, 200, 201, 300, 999)) FROM ";
            assert_eq!(database.sql(&format!("{expected}{table}")), "995|f");
        }
    }
    // Mended, they are in the table.
    let mended = std::fs::read_to_string(database.path("t.rejects.jsonl")).unwrap();
    let mended = mended.replace(",abc,", ",1,").replace(",n/a,", ",2,").replace("-13-", "-12-");
    let report = load(&database, &options(&database.file("m.rejects.jsonl", mended), "c"));
    assert_eq!((report.rows, database.sql("SELECT count(*) FROM c")), (5, "1000".to_owned()));
}

#[test]
fn a_dry_run_counts_what_a_load_would_reject() {
    let database = Database::new();
    let csv = rows(&[(100, "abc,2024-01-01,1"), (300, "1.50,2024-01-01,007")]);
    let (report, notices) = try_load(&database, &mostly(&database, &csv, "t").dry_run(true)).unwrap();
    assert_eq!((report.rows_read, report.rows_rejected), (1000, 2), "{notices:?}");
    assert!(
        notices.iter().any(|said| said.starts_with("amount: numeric; 1 of 1,000 values is not")),
        "{notices:?}"
    );
    assert_eq!(database.sql("SELECT to_regclass('t') IS NULL"), "t");
}

#[test]
fn more_values_or_fewer_rows_leave_the_column_text() {
    let database = Database::new();
    let many: Vec<(usize, &str)> = (1..=11).map(|row| (row * 7, "x,2024-01-01,1")).collect();
    assert_eq!(load(&database, &mostly(&database, &rows(&many), "t")).rows, 1000);
    assert_eq!(types(&database, "t"), "bigint text date bigint");
    let few = "n\n1\nx\n".to_owned() + &"2\n".repeat(97);
    assert_eq!(load(&database, &mostly(&database, &few, "u")).rows, 99);
    assert_eq!(types(&database, "u"), "text");
    assert_eq!(load(&database, &mostly(&database, &(few + "2\n"), "v")).rows_rejected, 1);
    assert_eq!(types(&database, "v"), "bigint");
    // A type that all values fit goes before a narrower one that most fit.
    let wide = "n\n1.5\n".to_owned() + &"2\n".repeat(200);
    assert_eq!(load(&database, &mostly(&database, &wide, "w")).rows_rejected, 0);
    assert_eq!(types(&database, "w"), "double precision");
}

#[test]
fn it_needs_leave_to_reject_and_values_to_look_at() {
    let database = Database::new();
    let wanted = mostly(&database, &rows(&[]), "t");
    let json = database.file("t.ndjson", "{\"n\":1}\n");
    for (wanted, says) in [
        (wanted.clone().on_error(OnError::Stop), "infer=mostly needs on_error=ignore"),
        (wanted.clone().paths([json]), "infer=mostly is not for JSON"),
        (wanted.clone().write_path(WritePath::Landing), "infer=mostly does not go with write_path=landing"),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.message().starts_with(says), "{error}");
    }
    // A table that exists has its types.
    database.sql("CREATE TABLE t (id int, amount text, day date, code text)");
    assert_eq!(load(&database, &wanted).rows, 1000);
}
