//! What the reference reader must say about files whose reading is known, so that it can be the measure for others.

use crate::reference::{self, Dialect, Fault, Grammar, Record, hostile};

/// All records of `bytes`, or the first fault.
fn read(bytes: &[u8], dialect: &Dialect) -> Result<Vec<Record>, Fault> {
    reference::read(bytes, dialect).into_iter().collect()
}

const NULL: Option<&str> = None;

#[track_caller]
fn reads(dialect: &Dialect, input: &str, expected: &[&[Option<&str>]]) {
    let records = read(input.as_bytes(), dialect).expect("no fault");
    let fields: Vec<Vec<Option<String>>> = records.iter().map(decoded).collect();
    let expected: Vec<Vec<Option<String>>> =
        expected.iter().map(|record| record.iter().map(|field| field.map(String::from)).collect()).collect();
    assert_eq!(fields, expected, "{input:?}");
}

fn decoded(record: &Record) -> Vec<Option<String>> {
    let text = |field: &Vec<u8>| String::from_utf8(field.clone()).expect("UTF-8");
    record.fields.iter().map(|field| field.as_ref().map(text)).collect()
}

#[track_caller]
fn fails(dialect: &Dialect, input: &str, message: &'static str, line: u64) {
    let fault = read(input.as_bytes(), dialect).expect_err("a fault");
    assert_eq!((fault.message, fault.line), (message, line), "{input:?}");
}

#[test]
fn csv_quotes_toggle_anywhere_and_only_unquoted_fields_are_null() {
    let csv = Dialect::csv();
    reads(&csv, "ab\"c,d\"e\n", &[&[Some("abc,de")]]);
    reads(&csv, "a,b\nc,d", &[&[Some("a"), Some("b")], &[Some("c"), Some("d")]]);
    reads(&csv, ",\"\",\"a\"\"b\"\n", &[&[NULL, Some(""), Some("a\"b")]]);
    reads(&csv, "\"\"\"\"\n", &[&[Some("\"")]]);
    reads(&csv, " \"a\" ,b\n", &[&[Some(" a "), Some("b")]]);
    reads(&csv, "\"a\nb\"\n", &[&[Some("a\nb")]]);
    reads(&csv, "\n\na\n", &[&[NULL], &[NULL], &[Some("a")]]);
    reads(&csv, "", &[]);
    reads(&csv, "a\n\\.\n", &[&[Some("a")], &[Some("\\.")]]);
    let named = Dialect { null: b"NA".to_vec(), ..Dialect::csv() };
    reads(&named, "NA,\"NA\",N\"A\",,NAN\n", &[&[NULL, Some("NA"), Some("NA"), Some(""), Some("NAN")]]);
}

#[test]
fn csv_escapes_other_than_the_quote_count_only_inside_quotes() {
    let csv = Dialect { escape: b'\\', ..Dialect::csv() };
    reads(&csv, "\"a\\\"b\"\n", &[&[Some("a\"b")]]);
    reads(&csv, "\"a\\\\\"\n", &[&[Some("a\\")]]);
    reads(&csv, "\"a\\n\"\n", &[&[Some("a\\n")]]);
    reads(&csv, "a\\,b\\\"c\n\"\n", &[&[Some("a\\"), Some("b\\c\n")]]);
    // Two quotes leave and enter again, and stand for nothing.
    reads(&csv, "\"a\"\"b\"\n", &[&[Some("ab")]]);
    fails(&csv, "\"a\\\"\n", "unterminated CSV quoted field", 1);
    let delimiter = Dialect { escape: b',', ..Dialect::csv() };
    reads(&delimiter, "\"a,\"b\",c\n", &[&[Some("a\"b"), Some("c")]]);
}

#[test]
fn the_first_line_end_decides_and_others_are_faults() {
    let csv = Dialect::csv();
    for end in ["\n", "\r", "\r\n"] {
        reads(&csv, &format!("a{end}{end}b"), &[&[Some("a")], &[NULL], &[Some("b")]]);
        reads(&csv, &format!("\"\r\"{end}\"\n\"{end}"), &[&[Some("\r")], &[Some("\n")]]);
    }
    fails(&csv, "a\nb\rc\n", "unquoted carriage return found in data", 2);
    fails(&csv, "a\r\nb\rc\r\n", "unquoted carriage return found in data", 2);
    fails(&csv, "a\r\nb\n", "unquoted newline found in data", 2);
    fails(&csv, "a\rb\r\n", "unquoted newline found in data", 3);
    fails(&Dialect::text(), "a\nb\r\n", "literal carriage return found in data", 2);
    fails(&Dialect::text(), "a\r\nb\n", "literal newline found in data", 2);
}

#[test]
fn an_open_quote_at_the_end_is_a_fault_of_the_record_that_opened_it() {
    let csv = Dialect::csv();
    fails(&csv, "a\n\"b\nc\n", "unterminated CSV quoted field", 2);
    assert_eq!(places(&csv, "a\nb\n\"c\nd\n"), [(0..1, 1, ""), (2..3, 2, ""), (4..9, 3, OPEN)]);
}

const OPEN: &str = "unterminated CSV quoted field";

/// Where each record or fault lies, on which line it starts, and what is wrong with it.
fn places<'f>(dialect: &Dialect, input: &'f str) -> Vec<(std::ops::Range<usize>, u64, &'f str)> {
    let place = |reading: reference::Reading| match reading {
        Ok(record) => (record.raw, record.line, ""),
        Err(fault) => (fault.raw, fault.line, fault.message),
    };
    reference::read(input.as_bytes(), dialect).into_iter().map(place).collect()
}

#[test]
fn behind_a_fault_reading_goes_on_where_the_line_ends() {
    const CR: &str = "unquoted carriage return found in data";
    const LF: &str = "unquoted newline found in data";
    let csv = Dialect::csv();
    assert_eq!(places(&csv, "a\nb\rc\rd\n\re"), [(0..1, 1, ""), (2..7, 2, CR), (8..10, 3, CR)]);
    assert_eq!(
        places(&csv, "a\r\nb\nc\rd\r\ne\rf\n"),
        [(0..1, 1, ""), (3..4, 2, LF), (5..8, 3, CR), (10..13, 4, CR)]
    );
    assert_eq!(places(&csv, "a\rb\nc\r\nd"), [(0..1, 1, ""), (2..5, 2, LF), (6..8, 3, LF)]);
    // A quote opened behind the fault still takes line ends along.
    assert_eq!(places(&csv, "a\nb\r\"c\n\"\nd"), [(0..1, 1, ""), (2..8, 2, CR), (9..10, 4, "")]);
    let escape = Dialect { escape: b'\\', ..csv };
    assert_eq!(places(&escape, "\"a\\\"\nb\n"), [(0..7, 1, OPEN)]);
    let text = Dialect::text();
    let marker = "end-of-copy marker is not alone on its line";
    assert_eq!(places(&text, "a\\.b\nc\n\\.\nd\n"), [(0..4, 1, marker), (5..6, 2, "")]);
}

#[test]
fn text_escapes_are_postgresql_s() {
    let text = Dialect::text();
    reads(&text, "\\b\\f\\n\\r\\t\\v\\\\\\q\n", &[&[Some("\u{8}\u{c}\n\r\t\u{b}\\q")]]);
    reads(&text, "\\101\\60\\1012\\8\n", &[&[Some("A0A28")]]);
    reads(&text, "\\x41\\x4a4\\x9g\\xg\\x\n", &[&[Some("AJ4\tgxgx")]]);
    reads(&text, "a\\\tb\t\\N\t\\\\N\t\\Nx\n", &[&[Some("a\tb"), NULL, Some("\\N"), Some("Nx")]]);
    reads(&text, "a\\\nb\nc\n", &[&[Some("a\nb")], &[Some("c")]]);
    reads(&text, "a\\", &[&[Some("a")]]);
    assert_eq!(read(br"\777\x80", &text).expect("no fault")[0].fields, [Some(vec![0xFF, 0x80])]);
}

#[test]
fn the_end_marker_of_text_ends_the_data_and_stands_alone() {
    const NOT_ALONE: &str = "end-of-copy marker is not alone on its line";
    let text = Dialect::text();
    reads(&text, "a\n\\.\nb\rc", &[&[Some("a")]]);
    reads(&text, "\\.\r\n", &[]);
    reads(&text, "\\\\.\n", &[&[Some("\\.")]]);
    fails(&text, "a\n\\.", NOT_ALONE, 2);
    fails(&text, "a\\.\n", NOT_ALONE, 1);
    fails(&text, "\\.a\n", NOT_ALONE, 1);
    fails(&text, "a\r\n\\.\n", "end-of-copy marker does not match previous newline style", 2);
}

#[test]
fn records_say_where_they_lie_and_on_which_line_they_start() {
    let places = |input: &'static str| -> Vec<(std::ops::Range<usize>, u64)> {
        places(&Dialect::csv(), input).into_iter().map(|(raw, line, _)| (raw, line)).collect()
    };
    assert_eq!(places("a\n\"b\n\nc\"\n\nd"), [(0..1, 1), (2..8, 2), (9..9, 5), (10..11, 6)]);
    assert_eq!(places("a\r\n\"b\r\nc\"\r\nd\r\n"), [(0..1, 1), (3..9, 2), (11..12, 4)]);
    assert_eq!(places("a\r\"b\rc\"\rd"), [(0..1, 1), (2..7, 2), (8..9, 4)]);
    assert_eq!(places("\"a\nb\"\nc"), [(0..5, 1), (6..7, 3)]);
}

#[test]
fn hostile_files_are_the_same_for_a_seed_and_reach_every_fault_and_dialect() {
    let files = hostile::files(1, 3000);
    assert_eq!(files, hostile::files(1, 3000));
    let mut files: Vec<(Dialect, Vec<u8>)> = files;
    files.extend(hostile::handwritten().into_iter().map(|(dialect, file)| (dialect, file.to_vec())));
    let mut messages: Vec<&str> = Vec::new();
    let mut whole = 0;
    for (dialect, file) in &files {
        match read(file, dialect) {
            Ok(_) => whole += 1,
            Err(fault) => messages.push(fault.message),
        }
    }
    messages.sort_unstable();
    messages.dedup();
    assert_eq!(messages.len(), 7, "{messages:?}");
    assert!(whole * 2 > files.len(), "most files should be read to their end: {whole} of {}", files.len());
    for dialect in hostile::dialects() {
        assert!(files.iter().any(|(used, _)| *used == dialect));
        assert!(dialect.format == Grammar::Text || dialect.delimiter != dialect.quote);
    }
}
