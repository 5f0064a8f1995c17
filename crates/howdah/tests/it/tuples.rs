//! Binary COPY files: what the server wrote, a table takes again.

use howdah::LoadOptions;
use howdah::options::{Format, Mode, OnError, WritePath};
use howdah::report::CopyFormat;
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

/// A table of odd types, and what `COPY … TO` makes of it.
fn copied(database: &Database, rows: usize) -> String {
    database.sql(&format!(
        "CREATE TABLE source (id bigint, a numeric[], b jsonb, c interval, d text, e inet, f tsvector);
         INSERT INTO source SELECT n, ARRAY[n, NULL, 0.5], jsonb_build_object('n', n), make_interval(secs => n),
                repeat('x', n % 1000), '10.0.0.1', to_tsvector('a b') FROM generate_series(1, {rows}) n;
         INSERT INTO source (id) VALUES (0)"
    ));
    let path = database.path("source.bin");
    database.sql(&format!("\\copy source TO '{path}' (FORMAT binary)"));
    path
}

fn binary(file: &str, table: &str) -> LoadOptions {
    options(file, table).format(Format::Binary)
}

#[test]
fn what_the_server_wrote_a_table_takes_again_over_any_number_of_connections() {
    let database = Database::new();
    let file = copied(&database, 20_000);
    let wanted = database.sql("SELECT count(*), sum(hashtextextended(source::text, 0)) FROM source");
    for jobs in [1, 3] {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (LIKE source)");
        let report = load(&database, &binary(&file, "t").jobs(jobs));
        assert_eq!((report.rows, report.copy_format), (20_001, Some(CopyFormat::Binary)));
        assert_eq!(database.sql("SELECT count(*), sum(hashtextextended(t::text, 0)) FROM t"), wanted);
    }
    // Known by its content.
    database.sql("TRUNCATE t");
    assert_eq!(load(&database, &options(&file, "t")).rows, 20_001);
}

#[test]
fn a_wrong_row_is_named_and_kept_apart() {
    let database = Database::new();
    let file = copied(&database, 50);
    database.sql("CREATE TABLE t (LIKE source, CHECK (id <> 7))");
    let error = try_load(&database, &binary(&file, "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().row), (Some("23514"), Some(6)));
    let rejects = database.path("bad.jsonl");
    let tolerant = binary(&file, "t").on_error(OnError::Ignore).rejects(rejects.clone());
    let report = load(&database, &tolerant);
    assert_eq!((report.rows, report.rows_rejected), (50, 1));
    let line: serde_json::Value =
        serde_json::from_str(std::fs::read_to_string(&rejects).unwrap().trim()).unwrap();
    assert_eq!((line["row"].as_u64(), line["raw_base64"].is_string()), (Some(6), true));
    let again = LoadOptions::new(&rejects).format(Format::Rejects);
    assert!(try_load(&database, &again).unwrap_err().message().contains("no text"));
}

#[test]
fn a_key_decides_in_the_modes_that_match_rows() {
    let database = Database::new();
    let file = copied(&database, 50);
    database.sql("CREATE TABLE t (LIKE source, PRIMARY KEY (id)); INSERT INTO t (id, d) VALUES (3, 'old')");
    let report = load(&database, &binary(&file, "t").mode(Mode::Upsert));
    assert_eq!((report.rows_inserted, report.rows_updated), (50, 1));
    assert_eq!(database.sql("TABLE t EXCEPT TABLE source"), "");
}

#[test]
fn columns_may_be_named_and_what_does_not_fit_is_said() {
    let database = Database::new();
    database.sql("CREATE TABLE two (a int, b text); INSERT INTO two VALUES (1, 'x')");
    let path = database.path("two.bin");
    database.sql(&format!("\\copy two TO '{path}' (FORMAT binary)"));
    database.sql("CREATE TABLE t (b text, c int DEFAULT 7, a int)");
    let columns = ["a", "b"];
    load(&database, &binary(&path, "t").column_list(columns));
    assert_eq!(database.sql("TABLE t"), "x|7|1");
    let message = |given: LoadOptions| try_load(&database, &given).unwrap_err().message().to_owned();
    assert_eq!(message(binary(&path, "t")), "row field count is 2, expected 3");
    assert!(message(binary(&path, "new")).contains("do not say the types"));
    let by_text = binary(&path, "two").write_path(WritePath::CopyText);
    assert!(message(by_text).contains("copy-binary only"));
}
