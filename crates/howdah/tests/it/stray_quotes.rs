//! A stray quote costs its own record: what is read and what is rejected is what a slow reader says that applies the rule line
//! by line, wherever the input is cut and however many connections load it.

use std::fmt::Write;

use howdah::options::{HeaderOption, Mode, OnError};
use howdah::source::{PIECE_BYTES, Widths};
use howdah::{LoadOptions, Report};
use howdah_testkit::{Database, Rng, knob};
use serde_json::Value;

use crate::common::{load, options, try_load};
use crate::cutting::{fast_dialect, open, read_fast, whole};
use crate::reference::strays::read_confined;
use crate::reference::{self, Grammar, Reading, hostile};

fn widths(usual: Option<usize>) -> Option<Widths> {
    Some(Widths { usual, ..Widths::default() })
}

/// Compares what is read of `bytes` with the slow reader's, for every size of pieces in `targets`.
#[track_caller]
fn expect_same(
    bytes: &[u8],
    slow: &reference::Dialect,
    width: Option<usize>,
    targets: &[usize],
    workers: usize,
) {
    let expected = read_confined(bytes, slow, width);
    let dialect = fast_dialect(slow);
    for &target in targets {
        let cutter = open(bytes, &dialect, target).confining_stray_quotes(widths(width));
        let found = read_fast(cutter, &dialect, workers);
        let differ = || found.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(found.len());
        assert!(
            found == expected,
            "pieces of {target} bytes, {workers} workers, {width:?} fields, {slow:?}, record {}:\n{:?}\n{:?}\n{:?}",
            differ(),
            found.get(differ()),
            expected.get(differ()),
            String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]),
        );
    }
}

#[test]
fn hostile_files_are_read_as_the_slow_reader_reads_them_wherever_they_are_cut() {
    let seed = knob("HOWDAH_SEED", 20_263) as u64;
    println!("seed {seed}");
    let handwritten = hostile::handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    let count = if whole() { 5_000 } else { 400 };
    for (n, (slow, bytes)) in hostile::files(seed, count).into_iter().chain(handwritten).enumerate() {
        if slow.format != Grammar::Csv || bytes.starts_with(b"\xEF\xBB\xBF") {
            continue;
        }
        let width = [None, Some(1), Some(2), Some(3)][n % 4];
        let every: Vec<usize> = (1..=bytes.len() + 1).collect();
        expect_same(&bytes, &slow, width, &every, 1);
        expect_same(&bytes, &slow, width, &[1, 7, 64], 2 + n % 7);
    }
}

/// A value that is quoted: it begins with a letter, so that behind a quote that is closed by mistake stands text.
fn quoted(rng: &mut Rng, eol: &str) -> String {
    let mut value = format!("\"{}", rng.one_of(&["a", "Ü", "x y"]));
    for _ in 0..rng.within(0..4) {
        value += rng.one_of(&["b", ",", "\"\"", eol, "\n", ", c"]);
    }
    value + "\""
}

fn record(rng: &mut Rng, number: usize, eol: &str) -> String {
    let mut record = number.to_string();
    for _ in 1..4 {
        record.push(',');
        match rng.within(0..5) {
            0 => {}
            1 => record += "\"\"",
            2 => record += &quoted(rng, eol),
            _ => record += rng.one_of(&["plain", "5 in", "z"]),
        }
    }
    record
}

/// Records of four fields; the first is their number.
fn records(rng: &mut Rng, count: usize, eol: &str) -> Vec<String> {
    (0..count).map(|number| record(rng, number, eol)).collect()
}

/// Puts a quote anywhere into `record`.
fn spoil(rng: &mut Rng, record: &mut String) {
    let places: Vec<usize> = (0..=record.len()).filter(|at| record.is_char_boundary(*at)).collect();
    record.insert(rng.one_of(&places), '"');
}

fn good(readings: &[Reading]) -> Vec<&Vec<Option<Vec<u8>>>> {
    readings.iter().filter_map(|reading| reading.as_ref().ok()).map(|record| &record.fields).collect()
}

#[test]
fn a_stray_quote_at_any_place_costs_at_most_its_own_record() {
    let seed = knob("HOWDAH_SEED", 20_264) as u64;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let slow = reference::Dialect::csv();
    for _ in 0..if whole() { 10_000 } else { 300 } {
        let eol = rng.one_of(&["\n", "\r\n"]);
        let whole = records(&mut rng, 12, eol);
        // The line end of the file has to be seen in record 1.
        let mut lines = vec![format!("n,a,b,c")];
        lines.extend(whole);
        let clean = lines.join(eol) + eol;
        let clean = reference::read(clean.as_bytes(), &slow);
        assert_eq!(clean.len(), lines.len());
        let spoilt = usize::try_from(rng.within(1..lines.len() as u64)).unwrap();
        spoil(&mut rng, &mut lines[spoilt]);
        let text = lines.join(eol) + rng.one_of(&[eol, ""]);
        let found = read_confined(text.as_bytes(), &slow, Some(4));
        let mut left = good(&found).into_iter().peekable();
        for (n, record) in clean.iter().enumerate().filter(|(n, _)| *n != spoilt) {
            let fields = &record.as_ref().unwrap().fields;
            assert!(left.any(|found| found == fields), "record {n} is lost:\n{text}");
        }
        for workers in [1, 2, 4] {
            expect_same(text.as_bytes(), &slow, Some(4), &[1, 16, 100, 1000], workers);
            expect_same(text.as_bytes(), &slow, None, &[5, 30], workers);
        }
    }
}

#[test]
fn wide_delimiters_and_escapes_are_read_in_the_same_way() {
    use howdah::source::{Delimiter, Dialect};
    let dialect = std::sync::Arc::new(Dialect {
        delimiter: Delimiter::new("||").unwrap(),
        escape: b'\\',
        ..Dialect::default()
    });
    let text = b"a||b\n1||\"x\n\\\"||\"\n2||\"y\n3||z\n4||\"b\n\\\\\"\n5||\"u\"||\"\nv\"\n6||w\n";
    for target in 1..text.len() + 1 {
        let cutter = open(text, &dialect, target).confining_stray_quotes(widths(Some(2)));
        let found = read_fast(cutter, &dialect, 2);
        let bad: Vec<u64> =
            found.iter().filter_map(|reading| reading.as_ref().err()).map(|f| f.line).collect();
        let numbers: Vec<_> = good(&found)
            .into_iter()
            .filter(|fields| fields.len() == 2)
            .map(|fields| String::from_utf8_lossy(fields[0].as_ref().unwrap()).into_owned())
            .collect();
        assert_eq!(
            (bad, numbers),
            (vec![4, 8, 9], ["a", "1", "3", "4", "6"].map(String::from).to_vec()),
            "{target}"
        );
    }
}

#[test]
fn a_stray_quote_before_megabytes_without_one_leaves_pieces_as_they_are() {
    let mut text = b"a,b\n1,\"x\n".to_vec();
    while text.len() < 9 * PIECE_BYTES {
        text.extend_from_slice(b"2,yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n");
    }
    let slow = reference::Dialect::csv();
    let dialect = fast_dialect(&slow);
    let mut cutter = open(&text, &dialect, PIECE_BYTES).confining_stray_quotes(widths(Some(2)));
    let mut total = 0;
    while let Some(piece) = cutter.cut(Vec::new()).unwrap() {
        assert!(piece.bytes().len() <= PIECE_BYTES);
        total += piece.bytes().len();
    }
    assert_eq!(total, text.len());
    expect_same(&text, &slow, Some(2), &[PIECE_BYTES, 100_003], 4);
}

/// Lines and records that were rejected, in the input's order.
fn rejects(path: &str) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut rejects: Vec<(u64, String)> = text
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            (value["line"].as_u64().unwrap(), value["raw"].as_str().unwrap().to_owned())
        })
        .collect();
    rejects.sort();
    rejects
}

fn tolerant(database: &Database, file: &str) -> LoadOptions {
    let mut wanted = options(file, "t").on_error(OnError::Ignore).rejects(database.path("rejects.jsonl"));
    wanted.input.dialect = wanted.input.dialect.delimiter(b',').quote(b'"').escape(b'"');
    wanted.columns.header = HeaderOption::Yes;
    wanted
}

fn adds_up(report: &Report, rejects: &[(u64, String)]) {
    assert_eq!(report.rows_rejected, rejects.len() as u64);
    assert_eq!(report.rows_read, report.rows + report.rows_rejected);
}

#[test]
fn a_load_keeps_the_line_of_the_quote_and_loads_what_stands_behind() {
    let database = Database::new();
    for (text, rows, bad) in [
        // Never closed; closed by the next quote; at the end of the file.
        ("1,x\n2,\"y\n3,z\n", "1|x 3|z", vec![(3, "2,\"y")]),
        ("1,x\n2,\"y\n3,\"z\"\n4,\"u\nv\"\n", "1|x 3|z 4|u/v", vec![(3, "2,\"y")]),
        ("1,x\n2,y\"\n", "1|x", vec![(3, "2,y\"")]),
        ("1,x\n2,6\"\n3,7\"\n4,z\n", "1|x 4|z", vec![(3, "2,6\""), (4, "3,7\"")]),
        // Another number of fields.
        ("1,\"x\n2\",y,z\n3,z\n", "3|z", vec![(2, "1,\"x"), (3, "2\",y,z")]),
        // Over several lines, and as it should be.
        ("1,\"x\n\n2,\"\"\"\n3,z\n", "1|x//2,\" 3|z", vec![]),
        // No quote is read as one where it is the whole line's.
        ("1,\"x\"y\n2,z\n", "1|xy 2|z", vec![]),
    ] {
        database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (a int, b text)");
        let file = database.file("data.csv", format!("a,b\n{text}"));
        for jobs in [1, 2] {
            database.sql("TRUNCATE t");
            let _ = std::fs::remove_file(database.path("rejects.jsonl"));
            let report = load(&database, &tolerant(&database, &file).jobs(jobs));
            let found = rejects(&database.path("rejects.jsonl"));
            adds_up(&report, &found);
            let found: Vec<(u64, &str)> = found.iter().map(|(line, raw)| (*line, &**raw)).collect();
            let loaded = database
                .sql("SELECT string_agg(a || '|' || translate(b, E'\\n', '/'), ' ' ORDER BY a) FROM t");
            assert_eq!((&*loaded, found), (rows, bad.clone()), "{text:?}");
            let dry = load(&database, &tolerant(&database, &file).jobs(jobs).dry_run(true));
            assert_eq!((dry.rows_read, dry.rows_rejected), (report.rows_read, report.rows_rejected));
        }
    }
}

#[test]
fn generated_files_are_loaded_as_the_slow_reader_reads_them() {
    let database = Database::new();
    let mut rng = Rng::new(knob("HOWDAH_SEED", 20_265) as u64);
    let slow = reference::Dialect::csv();
    for (count, eol) in [(40, "\n"), (40, "\r\n"), (60_000, "\n"), (60_000, "\r\n")] {
        let mut lines = records(&mut rng, count, eol);
        for _ in 0..count / 20 {
            let spoilt = usize::try_from(rng.within(0..count as u64)).unwrap();
            spoil(&mut rng, &mut lines[spoilt]);
        }
        let text = format!("n,a,b,c{eol}{}{eol}", lines.join(eol));
        let expected = read_confined(text.as_bytes(), &slow, Some(4));
        let (mut kept, mut bad) = (String::new(), Vec::new());
        for reading in &expected[1..] {
            match reading {
                Ok(record) if record.fields.len() == 4 => {
                    let _ = write!(kept, "{}{eol}", &text[record.raw.clone()]);
                }
                Ok(record) => bad.push((record.line, text[record.raw.clone()].to_owned())),
                Err(fault) => bad.push((fault.line, text[fault.raw.clone()].to_owned())),
            }
        }
        assert!(bad.len() >= count / 30, "{} rejects", bad.len());
        let ddl = "n text, a text, b text, c text";
        database.sql(&format!(
            "DROP TABLE IF EXISTS t, by_psql; CREATE TABLE t ({ddl}); CREATE TABLE by_psql ({ddl})"
        ));
        let kept = database.file("kept.csv", kept);
        database.sql(&format!(r"\copy by_psql FROM '{kept}' (FORMAT csv)"));
        let file = database.file("data.csv", &text);
        for jobs in [1, 2, 4, 8] {
            database.sql("TRUNCATE t");
            let report = load(&database, &tolerant(&database, &file).jobs(jobs));
            let found = rejects(&database.path("rejects.jsonl"));
            adds_up(&report, &found);
            assert!(found == bad, "{jobs} connections, {count} records: other rejects");
            assert!(
                database.binary_rows("t") == database.binary_rows("by_psql"),
                "the rows differ from psql's"
            );
        }
    }
}

#[test]
fn a_new_table_several_files_and_a_limit_go_by_the_same_records() {
    let database = Database::new();
    let one = database.file("one.csv", "id,name\n1,\"a\n2,b\n3,c\n");
    let two = database.file("two.csv", "name,id,more\nd,4,\"x\ny\"\ne\",5,z\nf,6,\"\n");
    let mut wanted = tolerant(&database, &one).mode(Mode::Replace);
    wanted.input.paths = vec![one.into(), two.into()];
    for jobs in [1, 4] {
        let report = load(&database, &wanted.clone().jobs(jobs));
        let found: Vec<String> = rejects(&database.path("rejects.jsonl"))
            .into_iter()
            .map(|(line, raw)| format!("{line}:{raw}"))
            .collect();
        adds_up(&report, &rejects(&database.path("rejects.jsonl")));
        assert_eq!(found, ["2:1,\"a", "4:e\",5,z", "5:f,6,\""]);
        assert_eq!(database.sql("SELECT pg_typeof(id), sum(id) FROM t GROUP BY 1"), "bigint|9");
    }
    wanted.input.limit = Some(3);
    let report = load(&database, &wanted);
    assert_eq!((report.rows, report.rows_rejected), (2, 1));
}

#[test]
fn the_line_is_mended_in_the_reject_file_and_loaded_again() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a int, b text)");
    let file = database.file("data.csv", "a,b\r\n1,\"x\r\n2,y\r\n");
    let path = database.path("bad.rejects.jsonl");
    load(&database, &tolerant(&database, &file).rejects(path.clone()));
    let text = std::fs::read_to_string(&path).unwrap();
    let mended = text.replace(r#"1,\"x"#, r#"1,\"x\""#);
    assert_ne!(mended, text);
    std::fs::write(&path, mended).unwrap();
    load(&database, &LoadOptions::new(&*path));
    assert_eq!(database.sql("SELECT * FROM t ORDER BY a"), "1|x\n2|y");
}

#[test]
fn an_error_names_the_line_on_which_the_quote_was_opened() {
    let database = Database::new();
    database.sql("CREATE TABLE t (a text, b text, c text)");
    for (text, line, message) in [
        ("a,b,c\n1,\"x\n\ny\",\"z\n2,b,c\n", 4, "unterminated CSV quoted field"),
        ("a,b,c\n1,b,c\n2,\"x,c\n3,\"y\",c\n4,b,\"c\"\n", 3, "unterminated CSV quoted field"),
        ("a,b,c\n1,b,c\n2,\"x,c\n3,y\",c,d\n", 3, "extra data"),
    ] {
        let file = database.file("data.csv", text);
        for dry_run in [false, true] {
            let error = try_load(&database, &options(&file, "t").dry_run(dry_run)).unwrap_err();
            assert!(error.message().contains(message), "{error:?}");
            assert_eq!(error.location().unwrap().line, Some(line), "{error:?}");
        }
    }
}

#[test]
fn a_quote_that_takes_rows_into_the_header_is_an_error_whatever_is_to_become_of_bad_records() {
    let database = Database::new();
    database.sql("CREATE TABLE there (id text, name text); CREATE TABLE numbers (a int, b int)");
    for (text, field) in [
        // Never closed; closed by a good field's; behind text; first.
        ("id,\"name\n1,a\n2,b\n", 2),
        ("id,\"name\n1,\"a\"\n2,b\n", 2),
        ("id,name\"\n1,a\n2,b\"\n3,c\n", 2),
        ("\"id,name\n1,a\n2,b\n", 1),
    ] {
        let file = database.file("data.csv", text);
        for table in ["there", "made"] {
            for on_error in [OnError::Stop, OnError::Ignore] {
                for (header, columns) in [
                    (HeaderOption::Auto, None),
                    (HeaderOption::Yes, None),
                    (HeaderOption::Yes, Some(vec!["id".to_owned(), "name".to_owned()])),
                ] {
                    let mut wanted = tolerant(&database, &file).on_error(on_error);
                    wanted.target.table = options(&file, table).target.table;
                    wanted.columns.header = header;
                    wanted.columns.column_list = columns;
                    let error = try_load(&database, &wanted).unwrap_err();
                    let says = (error.message(), error.location().and_then(|at| at.line));
                    assert_eq!(says, ("unterminated CSV quoted field", Some(1)), "{text:?}: {wanted:?}");
                    let detail =
                        format!("field {field} of record 1 opens a quote that its line does not close");
                    assert_eq!(error.detail().unwrap(), detail, "{text:?}: {wanted:?}");
                }
            }
        }
    }
    assert_eq!(database.sql("SELECT to_regclass('made'), count(*) FROM there"), "|0");
    // A first row is one that can be left out, and a name may go over several lines.
    let mut wanted = tolerant(&database, &database.file("rows.csv", "\"1,2\n3,4\n"));
    wanted.target.table = options("", "numbers").target.table;
    wanted.columns.header = HeaderOption::Auto;
    assert_eq!(load(&database, &wanted).rows, 1);
    let wide = database.file("wide.csv", "id,\"the\nname\"\n1,a\n");
    assert_eq!(load(&database, &options(&wide, "wide")).rows, 1);
    assert_eq!(database.sql("SELECT \"the\nname\" FROM wide"), "a");
}
