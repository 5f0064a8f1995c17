//! The gate of the cutter: wherever an input is cut and however many threads take the pieces, the records are those of
//! the slow reference reader.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod reference;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use howdah::Control;
use howdah::source::split::value;
use howdah::source::{Cutter, Dialect, Family, Input, PIECE_BYTES, Splitter};
use reference::{Grammar, Record, hostile};

fn fast_dialect(slow: &reference::Dialect) -> Arc<Dialect> {
    Arc::new(Dialect {
        family: if slow.format == Grammar::Csv { Family::Csv } else { Family::Text },
        delimiter: slow.delimiter,
        quote: slow.quote,
        escape: slow.escape,
        null: slow.null.clone(),
        default: None,
    })
}

fn open(bytes: &[u8], dialect: &Arc<Dialect>, target: usize) -> Cutter {
    Cutter::new(vec![Input::memory("test", bytes.into())], dialect.clone(), Control::new(), target)
}

/// The records of one piece in terms of the whole input; and the fault's line, where there is one.
type Read = (u64, Vec<Record>, Option<u64>);

fn read_piece(cutter: &Mutex<Cutter>, dialect: &Dialect) -> Option<Read> {
    let piece = cutter.lock().unwrap().cut(Vec::new()).unwrap()?;
    let base = usize::try_from(piece.origin.byte_offset).unwrap();
    let line = |lines_before: u32| piece.origin.first_line + u64::from(lines_before);
    let mut splitter = Splitter::new(piece.bytes(), dialect, piece.eol);
    let (mut fields, mut scratch, mut records) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match splitter.next_record(&mut fields) {
            Ok(None) => return Some((piece.ordinal, records, None)),
            Err(fault) => return Some((piece.ordinal, records, Some(line(fault.span.lines_before)))),
            Ok(Some(span)) => records.push(Record {
                fields: fields
                    .iter()
                    .map(|field| value(*field, piece.bytes(), dialect, &mut scratch).map(<[u8]>::to_vec))
                    .collect(),
                raw: base + span.start..base + span.end,
                line: line(span.lines_before),
            }),
        }
    }
}

/// Reads a file in pieces of `target` bytes on `workers` threads.
fn read_fast(cutter: Cutter, dialect: &Arc<Dialect>, workers: usize) -> (Vec<Record>, Option<u64>) {
    let cutter = Mutex::new(cutter);
    let mut pieces: Vec<Read> = if workers == 1 {
        std::iter::from_fn(|| read_piece(&cutter, dialect)).collect()
    } else {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| std::iter::from_fn(|| read_piece(&cutter, dialect)).collect::<Vec<_>>())
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    };
    pieces.sort_by_key(|(ordinal, ..)| *ordinal);
    let mut records = Vec::new();
    for (_, mut more, fault) in pieces {
        records.append(&mut more);
        if fault.is_some() {
            return (records, fault);
        }
    }
    (records, None)
}

fn expect_same(name: &str, bytes: &[u8], slow: &reference::Dialect, targets: &[usize], workers: usize) {
    let (records, fault) = reference::read_to_fault(bytes, slow);
    let expected = (records, fault.map(|fault| fault.line));
    let dialect = fast_dialect(slow);
    for &target in targets {
        let found = read_fast(open(bytes, &dialect, target), &dialect, workers);
        if found == expected {
            continue;
        }
        let at = found.0.iter().zip(&expected.0).position(|(a, b)| a != b);
        let at = at.unwrap_or(found.0.len().min(expected.0.len()));
        panic!(
            "{name}, pieces of {target} bytes, {workers} workers, {slow:?}: record {at}\n found {:?}\n  want {:?}\nfaults {:?} and {:?}\n input {:?}",
            found.0.get(at),
            expected.0.get(at),
            found.1,
            expected.1,
            String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]),
        );
    }
}

fn every_cut(bytes: &[u8]) -> Vec<usize> {
    (1..=bytes.len() + 1).collect()
}

#[test]
fn hostile_files_give_the_reference_records_wherever_they_are_cut() {
    let handwritten = hostile::handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    for (n, (slow, bytes)) in hostile::files(20_261, 400).into_iter().chain(handwritten).enumerate() {
        // A byte order mark is dropped before the records; the reference knows none.
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            continue;
        }
        let name = format!("hostile file {n}");
        expect_same(&name, &bytes, &slow, &every_cut(&bytes), 1);
        for workers in [2, 16] {
            expect_same(&name, &bytes, &slow, &[1, 7, 64], workers);
        }
    }
}

#[test]
fn a_record_larger_than_a_piece_stays_whole() {
    let mut bytes = b"a,b\n1,\"".to_vec();
    bytes.resize(3 * PIECE_BYTES, b'\n');
    bytes.extend_from_slice(b"\"\"end\"\n2,x\n");
    let targets = [1000, PIECE_BYTES, 10 * PIECE_BYTES];
    expect_same("large record", &bytes, &reference::Dialect::csv(), &targets, 4);
}

#[test]
fn compressed_and_plain_give_the_same_records() {
    let bytes = b"a,b\n\"1\n2\",x\n".repeat(500);
    let slow = reference::Dialect::csv();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let two_members = [gzip(&bytes[..999]), gzip(&bytes[999..])].concat();
    let (expected, _) = reference::read_to_fault(&bytes, &slow);
    for compressed in [two_members, zstd::encode_all(bytes.as_slice(), 3).unwrap()] {
        let dialect = fast_dialect(&slow);
        assert_eq!(read_fast(open(&compressed, &dialect, 100), &dialect, 2), (expected.clone(), None));
    }
}

#[test]
fn a_truncated_gzip_file_is_an_error_and_not_its_end() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&b"a,b\n".repeat(1000)).unwrap();
    let whole = encoder.finish().unwrap();
    let mut cutter = open(&whole[..whole.len() - 10], &fast_dialect(&reference::Dialect::csv()), PIECE_BYTES);
    let error = loop {
        match cutter.cut(Vec::new()) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the truncated file was taken for a whole one"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("cannot read"), "{error}");
}

/// Real files; skipped where they are not at hand.
#[test]
fn real_files_give_the_reference_records() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let mut files = 0;
    for folder in ["csv-spectrum/csvs", "openflights", "vega", "userdata"] {
        for entry in std::fs::read_dir(data.join(folder)).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.extension().is_some_and(|ending| ending == "csv" || ending == "dat") {
                continue;
            }
            let name = path.display().to_string();
            let bytes = std::fs::read(&path).unwrap();
            let mut slow = reference::Dialect::csv();
            if folder == "openflights" {
                (slow.escape, slow.null) = (b'\\', br"\N".to_vec());
            }
            let targets: Vec<usize> =
                if bytes.len() < 2000 { every_cut(&bytes) } else { vec![PIECE_BYTES, 100_003] };
            expect_same(&name, &bytes, &slow, &targets, 1);
            expect_same(&name, &bytes, &slow, &[bytes.len() / 16 + 1], 16);
            files += 1;
        }
    }
    if files == 0 {
        println!("skipped: no real files at {}", data.display());
    }
}

#[test]
fn lines_are_skipped_and_records_limited_exactly() {
    let bytes = b"junk \" line\r\nmore\nh1,h2\n1,\"a\nb\"\n2,c\n3,d\n";
    let dialect = fast_dialect(&reference::Dialect::csv());
    for target in 1..60 {
        let cutter = open(bytes, &dialect, target).skipping_lines(2).limited(Some(2), true);
        let (records, fault) = read_fast(cutter, &dialect, 1);
        let lines: Vec<u64> = records.iter().map(|record| record.line).collect();
        assert_eq!((lines, fault), (vec![3, 4, 6], None), "pieces of {target} bytes");
        assert_eq!(records[1].fields[1].as_deref(), Some(&b"a\nb"[..]));
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_field() {
    let dialect = fast_dialect(&reference::Dialect::csv());
    let (records, _) = read_fast(open(b"\xEF\xBB\xBFa,b\n1,2\n", &dialect, PIECE_BYTES), &dialect, 1);
    assert_eq!(records[0].fields[0].as_deref(), Some(&b"a"[..]));
    assert_eq!(records[0].raw, 3..6);
}
