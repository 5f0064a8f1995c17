//! The cutter and splitter of JSON on any bytes, cut anywhere: the same records, in order, with nothing but punctuation between
//! them; and of an array that serde_json takes, its elements.
#![no_main]

use std::ops::Range;
use std::sync::Arc;

use howdah::source::Progress;
use howdah::options::{DialectOptions, Format};
use howdah::source::{Cutter, Dialect, Input, Splitter};
use howdah_fuzz::write_seed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: write_seeds(), |data: &[u8]| {
    let [target, bytes @ ..] = data else { return };
    // Compressed input and a byte order mark are another story; what is not text is refused later.
    if std::str::from_utf8(bytes).is_err() || bytes.starts_with(b"\xEF\xBB\xBF") {
        return;
    }
    let whole = read(bytes, bytes.len() + 1);
    assert_eq!(read(bytes, usize::from(*target) + 1), whole);
    let mut from = 0;
    for (range, _) in &whole {
        assert!(bytes[from..range.start].iter().all(|byte| b" \t\r\n,[]".contains(byte)), "nothing is lost");
        from = range.end;
    }
    assert!(bytes[from..].iter().all(|byte| b" \t\r\n,[]".contains(byte)), "nothing is lost");
    if let Ok(elements) = serde_json::from_slice::<Vec<serde_json::Value>>(bytes) {
        let found: Vec<serde_json::Value> = whole
            .iter()
            .map(|(range, good)| {
                assert!(good, "a good array has no fault");
                serde_json::from_slice(&bytes[range.clone()]).expect("an element is a value")
            })
            .collect();
        assert_eq!(found, elements);
    }
});

/// The records, and whether each is one.
fn read(bytes: &[u8], target: usize) -> Vec<(Range<usize>, bool)> {
    let dialect = Dialect::resolve(Format::Json, &DialectOptions::default()).expect("JSON has no options");
    let dialect = Arc::new(dialect);
    let mut cutter =
        Cutter::new(vec![Input::memory("fuzz", bytes.into())], dialect.clone(), Progress::new(), target);
    let mut found = Vec::new();
    while let Some(piece) = cutter.cut(Vec::new()).expect("memory can be read") {
        let base = usize::try_from(piece.origin.byte_offset).expect("small");
        let mut splitter = Splitter::of(&piece, &dialect);
        loop {
            let (span, good) = match splitter.next_record(&mut Vec::new()) {
                Ok(None) => break,
                Ok(Some(span)) => (span, true),
                Err(fault) => (fault.span, false),
            };
            found.push((base + span.start..base + span.end, good));
        }
    }
    found
}

fn write_seeds() {
    for (n, seed) in [
        "{\"a\":1}\n{\"a\":\"x\"}\n",
        "[{\"a\":[1,{\"b\":null}]}, {\"c\":\"\\\"]\"}]",
        "{\n \"a\": {}\n}\n{\"b\":2}",
        "[[],7,\"x\",null]",
    ]
    .iter()
    .enumerate()
    {
        write_seed("json", &n.to_string(), &[&[7], seed.as_bytes()].concat());
    }
}
