//! What stands at the ends of lines and of files: delimiters with nothing behind them, empty lines; and headers that come again.

use howdah::options::{Mode, OnError, WritePath};
use howdah::source::PIECE_BYTES;
use howdah_testkit::Database;

use crate::common::{load, options, try_load};

#[test]
fn empty_lines_at_the_end_are_no_records_and_their_number_is_said() {
    let database = Database::new();
    database.sql("CREATE TABLE kept (id int, name text)");
    for (csv, said) in [
        ("id,name\n1,Ann\n\n", "1 empty line at its end"),
        ("id,name\n1,Ann\n\n\n\n", "3 empty lines at its end"),
        ("id,name\r\n1,Ann\r\n\r\n\r\n", "2 empty lines at its end"),
        ("id;name\n1;\"Ann\"\n\n", "1 empty line at its end"),
    ] {
        let file = database.file("t.csv", csv);
        for (table, path) in
            [("made", WritePath::CopyBinary), ("kept", WritePath::CopyBinary), ("kept", WritePath::CopyCsv)]
        {
            database.sql("DROP TABLE IF EXISTS made; TRUNCATE kept");
            for jobs in [1, 2] {
                let wanted = options(&file, table).jobs(jobs).write_path(path);
                let (report, notices) = try_load(&database, &wanted).unwrap();
                let told: Vec<&String> =
                    notices.iter().filter(|notice| notice.contains("empty line")).collect();
                assert_eq!((report.rows_read, told.len()), (1, 1), "{csv:?}: {notices:?}");
                assert!(told[0].ends_with(&format!("t.csv: not loaded: {said}")), "{told:?}");
            }
            assert_eq!(database.sql(&format!("SELECT DISTINCT id, name FROM {table}")), "1|Ann", "{csv:?}");
        }
    }
}

#[test]
fn a_limit_and_rejects_do_not_count_empty_lines_and_many_inputs_get_one_note() {
    let database = Database::new();
    let file = database.file("a.csv", "id,name\n1,Ann\n\n\n");
    let rejects = database.path("a.rejects.jsonl");
    let tolerant = options(&file, "t").on_error(OnError::Ignore).rejects(rejects);
    let report = load(&database, &tolerant);
    assert_eq!((report.rows, report.rows_rejected), (1, 0));
    assert_eq!(load(&database, &options(&file, "t").limit(2)).rows, 1);
    let other = database.file("b.csv", "id,name\n2,Bob\n\n");
    let mut wanted = options(&file, "many");
    wanted.input.paths.push(other.into());
    let (report, notices) = try_load(&database, &wanted).unwrap();
    assert_eq!(report.rows, 2);
    assert_eq!(notices, ["not loaded: 3 empty lines at the ends of 2 inputs"]);
}

#[test]
fn empty_lines_elsewhere_are_what_they_were() {
    let database = Database::new();
    // Of one column each is a record, as for COPY.
    let file = database.file("t.csv", "name\nAnn\n\n\n");
    assert_eq!(load(&database, &options(&file, "one")).rows, 3);
    assert_eq!(database.sql("SELECT count(*), count(name) FROM one"), "3|1");
    // Between others of several columns, one is a bad record.
    let error =
        try_load(&database, &options(&database.file("t.csv", "id,name\n1,Ann\n\n2,Bob\n"), "t")).unwrap_err();
    assert_eq!(error.location().unwrap().line, Some(3));
    assert!(error.detail().unwrap().contains("the line is empty"), "{error:?}");
    // In quotes that stay open there is no end of a line.
    let error =
        try_load(&database, &options(&database.file("t.csv", "id,name\n1,\"Ann\n\n"), "t")).unwrap_err();
    assert_eq!((error.sqlstate(), error.location().unwrap().line), (Some("22P04"), Some(2)), "{error:?}");
}

#[test]
fn empty_lines_are_found_wherever_the_pieces_are_cut() {
    let database = Database::new();
    let row = "1,Ann\n";
    for line_end in ["\n", "\r\n"] {
        for room in PIECE_BYTES - 4..PIECE_BYTES + 3 {
            let mut csv = String::from("id,name\n");
            while csv.len() + 2 * row.len() < room {
                csv.push_str(row);
            }
            let name = "x".repeat(room - csv.len() - "2,\n".len());
            let rows = csv.lines().count() as u64;
            csv.push_str(&format!("2,{name}\n"));
            let csv = csv.replace('\n', line_end) + &line_end.repeat(4);
            let wanted = options(&database.file("t.csv", csv), "t").mode(Mode::Replace).jobs(2);
            let (report, notices) = try_load(&database, &wanted).unwrap();
            assert_eq!(report.rows, rows, "{room}");
            assert!(notices.iter().any(|notice| notice.contains("4 empty lines")), "{room}: {notices:?}");
        }
    }
}

#[test]
fn a_delimiter_at_the_end_of_every_line_makes_no_column() {
    let database = Database::new();
    database.sql("CREATE TABLE kept (id int, name text)");
    let note = "nothing stands behind the last delimiter of a record: field 3 is no column (map[\"3\"]=COLUMN makes it one)";
    for (csv, table) in [
        ("id,name,\n1,Ann,\n2,Bob,\n", "made"),
        ("id,name,\n1,Ann,\n2,Bob,\n", "kept"),
        ("1,Ann,\n2,Bob,\n", "kept"),
    ] {
        let file = database.file("t.csv", csv);
        for jobs in [1, 2] {
            let (report, notices) = try_load(&database, &options(&file, table).jobs(jobs)).unwrap();
            assert_eq!(report.rows, 2);
            assert!(notices.contains(&note.to_owned()), "{csv:?}: {notices:?}");
        }
        assert_eq!(
            database.sql(&format!("SELECT DISTINCT * FROM {table} ORDER BY 1")),
            "1|Ann\n2|Bob",
            "{csv:?}"
        );
        database.sql("TRUNCATE kept");
    }
    // A value there is none that is lost without a word.
    let rows: String = (0..100_000).map(|id| format!("{id},Ann,\n")).collect();
    let file = database.file("late.csv", format!("id,name,\n{rows}7,Ann,late\n"));
    let error = try_load(&database, &options(&file, "late")).unwrap_err();
    assert_eq!(error.location().unwrap().line, Some(100_002));
    assert!(error.detail().unwrap().contains("field 3 has a value"), "{error:?}");
    let mapped = options(&file, "late").map([("3", "note")]);
    assert_eq!(load(&database, &mapped).rows, 100_001);
    assert_eq!(database.sql("SELECT max(note), count(note) FROM late"), "late|1");
    // Rejected records load again once they are corrected.
    let rejects = database.path("late.rejects.jsonl");
    let tolerant = options(&file, "tolerant").on_error(OnError::Ignore).rejects(rejects.clone());
    assert_eq!(load(&database, &tolerant).rows_rejected, 1);
    let corrected = std::fs::read_to_string(&rejects).unwrap().replace("7,Ann,late", "7,Ann,");
    assert_eq!(load(&database, &options(&database.file("c.rejects.jsonl", corrected), "tolerant")).rows, 1);
    // One that is not is rejected again, and its value is not left out in silence.
    let again = try_load(&database, &options(&rejects, "tolerant")).unwrap_err();
    assert!(again.detail().unwrap().contains("field 3 has a value"), "{again:?}");
}

#[test]
fn a_header_that_comes_again_is_named() {
    let database = Database::new();
    let file = database.file("t.csv", "id,name\n1,Ann\nid,name\n2,Bob\n");
    let (report, notices) = try_load(&database, &options(&file, "made")).unwrap();
    assert_eq!(report.rows, 3);
    assert!(notices.iter().any(|notice| notice.starts_with("line 3 is the header once more")), "{notices:?}");
    database.sql("CREATE TABLE kept (id int, name text)");
    let error = try_load(&database, &options(&file, "kept")).unwrap_err();
    assert_eq!(error.location().unwrap().line, Some(3));
}
