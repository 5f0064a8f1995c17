//! Records of JSON are the same wherever the input is cut, in each of its forms, good or bad.

use std::ops::Range;
use std::sync::Arc;

use howdah::options::{DialectOptions, Format};
use howdah::source::Progress;
use howdah::source::{Cutter, Dialect, FaultReason, Input, Splitter};
use proptest::prelude::*;

/// Where a record lies in the input, the line it starts on, and what is wrong with it where there is none.
type Found = (Range<usize>, u64, Option<FaultReason>);

fn read(text: &[u8], format: Format, target: usize) -> Vec<Found> {
    let dialect = Arc::new(Dialect::resolve(format, &DialectOptions::default()).unwrap());
    let input = Input::memory("test", text.into());
    let mut cutter = Cutter::new(vec![input], dialect.clone(), Progress::new(), target);
    let mut found = Vec::new();
    while let Some(piece) = cutter.cut(Vec::new()).unwrap() {
        let base = usize::try_from(piece.origin.byte_offset).unwrap();
        let mut splitter = Splitter::of(&piece, &dialect);
        loop {
            let (span, fault) = match splitter.next_record(&mut Vec::new()) {
                Ok(None) => break,
                Ok(Some(span)) => (span, None),
                Err(fault) => (fault.span, Some(fault.reason)),
            };
            let line = piece.origin.first_line + u64::from(span.lines_before);
            found.push((base + span.start..base + span.end, line, fault));
        }
    }
    found
}

/// Cuts `text` everywhere; the records of the whole.
fn read_everywhere(text: &[u8], format: Format) -> Vec<Found> {
    let whole = read(text, format, text.len() + 1);
    for target in 1..=text.len() {
        let found = read(text, format, target);
        assert_eq!(found, whole, "pieces of {target} bytes of {:?}", String::from_utf8_lossy(text));
    }
    let mut from = 0;
    for (range, line, _) in &whole {
        assert!(range.start >= from && range.end >= range.start, "records in order: {whole:?}");
        assert!(text[from..range.start].iter().all(|byte| b" \t\r\n,[]".contains(byte)), "nothing is lost");
        assert_eq!(*line, 1 + text[..range.start].iter().filter(|byte| **byte == b'\n').count() as u64);
        from = range.end;
    }
    assert!(text[from..].iter().all(|byte| b" \t\r\n,[]".contains(byte)), "nothing is lost");
    whole
}

fn shown<'t>(text: &'t str, found: &[Found]) -> Vec<&'t str> {
    found.iter().map(|(range, ..)| &text[range.clone()]).collect()
}

const RECORDS: [&str; 6] = [
    r#"{"a":1}"#,
    r#"{ "a" : "x]},[{\\" , "b":[1,{"c":2}] }"#,
    "{}",
    r#"{"\"":"\\\"{"}"#,
    r#"{"é":"😀","n":null}"#,
    r#"{"deep":[[[[{"a":[]}]]]]}"#,
];

#[test]
fn each_form_gives_its_records_wherever_it_is_cut() {
    for text in [RECORDS.join("\n"), RECORDS.join("\r\n\r\n") + "\n", RECORDS.join("\n\n")] {
        for format in [Format::Json, Format::Ndjson] {
            assert_eq!(shown(&text, &read_everywhere(text.as_bytes(), format)), RECORDS);
        }
    }
    for text in [
        format!("[{}]", RECORDS.join(",")),
        format!(" [ {} ]\n", RECORDS.join(" ,\n")),
        RECORDS.concat(),
        format!("{}\n", RECORDS.join(" ")),
    ] {
        assert_eq!(shown(&text, &read_everywhere(text.as_bytes(), Format::Json)), RECORDS, "{text}");
    }
    let pretty = "{\n  \"a\": 1,\n  \"b\": {\n  }\n}\n{\n}\n";
    assert_eq!(
        shown(pretty, &read_everywhere(pretty.as_bytes(), Format::Json)),
        ["{\n  \"a\": 1,\n  \"b\": {\n  }\n}", "{\n}"]
    );
}

#[test]
fn an_array_that_is_cut_off_says_so_wherever_it_is_cut() {
    let whole = format!("[{}]", RECORDS.join(" , "));
    for end in 1..whole.len() {
        if !whole.is_char_boundary(end) {
            continue;
        }
        let found = read_everywhere(&whole.as_bytes()[..end], Format::Json);
        assert!(found.iter().any(|(_, _, fault)| fault.is_some()), "{end} bytes: {found:?}");
    }
}

#[test]
fn lines_are_skipped_and_records_limited_in_every_form() {
    for (text, lines) in [
        ("junk {\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", [2, 3]),
        ("junk {\n[{\"a\":1},\n\n{\"a\":2},{\"a\":3}]\n", [2, 4]),
        ("junk {\n{\n\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", [2, 4]),
    ] {
        for target in 1..60 {
            let dialect = Arc::new(Dialect::resolve(Format::Json, &DialectOptions::default()).unwrap());
            let input = Input::memory("test", text.as_bytes().into());
            let mut cutter = Cutter::new(vec![input], dialect.clone(), Progress::new(), target)
                .skipping_lines(1)
                .limited(Some(2), false);
            let mut found = Vec::new();
            while let Some(piece) = cutter.cut(Vec::new()).unwrap() {
                let mut splitter = Splitter::of(&piece, &dialect);
                while let Some(span) = splitter.next_record(&mut Vec::new()).unwrap() {
                    found.push(piece.origin.first_line + u64::from(span.lines_before));
                }
            }
            assert_eq!(found, lines, "pieces of {target} bytes of {text:?}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_the_input_is_its_records_do_not_depend_on_the_pieces(
        parts in proptest::collection::vec(proptest::sample::select(
            &["{", "}", "[", "]", ",", "\"", "\\", "\n", " ", "{\"a\":1}", "\"x\"", ":", "1", "{}", "\r\n", ",\n", "é"][..]
        ), 0..40)
    ) {
        let text = parts.concat();
        read_everywhere(text.as_bytes(), Format::Json);
        read_everywhere(text.as_bytes(), Format::Ndjson);
    }
}
