//! The gate of the cutter: wherever an input is cut and however many threads take the pieces, the records are those of
//! the slow reference reader, and so are the faults: what is rejected depends on the input alone.

use std::io::Write;
use std::sync::{Arc, Mutex};

use howdah::source::Progress;
use howdah::source::Span;
use howdah::source::text::split::value;
use howdah::source::{Cutter, Dialect, Family, Input, PIECE_BYTES, Splitter};
use howdah_testkit::{knob, real_data};

use crate::reference::{self, Fault, Grammar, Reading, Record, hostile};

pub(crate) fn fast_dialect(slow: &reference::Dialect) -> Arc<Dialect> {
    Arc::new(Dialect {
        family: if slow.format == Grammar::Csv { Family::Csv } else { Family::Text },
        delimiter: slow.delimiter.into(),
        quote: slow.quote,
        escape: slow.escape,
        null: slow.null.clone(),
        default: None,
    })
}

pub(crate) fn open(bytes: &[u8], dialect: &Arc<Dialect>, target: usize) -> Cutter {
    Cutter::new(vec![Input::memory("test", bytes.into())], dialect.clone(), Progress::new(), target)
}

/// What one piece holds, in terms of the whole input, and which piece it is.
type Read = (u64, Vec<Reading>);

fn read_piece(cutter: &Mutex<Cutter>, dialect: &Dialect) -> Option<Read> {
    let piece = cutter.lock().unwrap().cut(Vec::new()).unwrap()?;
    let base = usize::try_from(piece.origin.byte_offset).unwrap();
    let place = |span: Span| {
        (base + span.start..base + span.end, piece.origin.first_line + u64::from(span.lines_before))
    };
    let mut splitter = Splitter::of(&piece, dialect);
    let (mut fields, mut scratch, mut readings) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        readings.push(match splitter.next_record(&mut fields) {
            Ok(None) => return Some((piece.ordinal, readings)),
            Err(fault) => {
                let (raw, line) = place(fault.span);
                Err(Fault { message: fault.reason.as_str(), raw, line })
            }
            Ok(Some(span)) => {
                let (raw, line) = place(span);
                let value = |field| value(field, piece.bytes(), dialect, &mut scratch).map(<[u8]>::to_vec);
                Ok(Record { fields: fields.iter().copied().map(value).collect(), raw, line })
            }
        });
    }
}

/// Reads a file in pieces of `target` bytes on `workers` threads.
pub(crate) fn read_fast(cutter: Cutter, dialect: &Arc<Dialect>, workers: usize) -> Vec<Reading> {
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
    pieces.into_iter().flat_map(|(_, readings)| readings).collect()
}

fn expect_same(name: &str, bytes: &[u8], slow: &reference::Dialect, targets: &[usize], workers: usize) {
    expect_cuts(name, bytes, slow, targets.iter().map(|target| (*target, workers)));
}

/// Reads a file with each size of pieces and number of workers.
fn expect_cuts(
    name: &str,
    bytes: &[u8],
    slow: &reference::Dialect,
    cuts: impl Iterator<Item = (usize, usize)>,
) {
    let expected = reference::read(bytes, slow);
    let dialect = fast_dialect(slow);
    for (target, workers) in cuts {
        let found = read_fast(open(bytes, &dialect, target), &dialect, workers);
        if found == expected {
            continue;
        }
        let at = found.iter().zip(&expected).position(|(a, b)| a != b);
        let at = at.unwrap_or(found.len().min(expected.len()));
        panic!(
            "{name}, pieces of {target} bytes, {workers} workers, {slow:?}: record {at}\n found {:?}\n  want {:?}\n input {:?}",
            found.get(at),
            expected.get(at),
            String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]),
        );
    }
}

/// Whether to cut at every place: minutes instead of seconds.
pub(crate) fn whole() -> bool {
    knob("HOWDAH_HOSTILE", 0) > 0
}

fn every_cut(bytes: &[u8]) -> Vec<usize> {
    (1..=bytes.len() + 1).collect()
}

#[test]
fn hostile_files_give_the_reference_records_wherever_they_are_cut() {
    let handwritten = hostile::handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    let seed = knob("HOWDAH_SEED", 20_261) as u64;
    let count = if whole() { 5_000 } else { 400 };
    println!("seed {seed}, {count} files");
    for (n, (slow, bytes)) in hostile::files(seed, count).into_iter().chain(handwritten).enumerate() {
        // A byte order mark is dropped before the records; the reference knows none.
        if bytes.starts_with(b"\xEF\xBB\xBF") {
            continue;
        }
        let name = format!("hostile file {n}");
        expect_same(&name, &bytes, &slow, &every_cut(&bytes), 1);
        // Over the files, every number from 2 to 16.
        let workers = if whole() { (2..=16).collect() } else { vec![2, 16, 2 + n % 15] };
        for workers in workers {
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
    let expected = reference::read(&bytes, &slow);
    for compressed in [two_members, zstd::encode_all(bytes.as_slice(), 3).unwrap()] {
        let dialect = fast_dialect(&slow);
        assert_eq!(read_fast(open(&compressed, &dialect, 100), &dialect, 2), expected);
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

#[test]
fn real_files_give_the_reference_records() {
    let Some(data) = real_data() else { return };
    for folder in ["csv-spectrum/csvs", "openflights", "vega", "userdata"] {
        for entry in std::fs::read_dir(data.join(folder)).unwrap() {
            let path = entry.unwrap().path();
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
            if whole() && bytes.len() < 64 * 1024 {
                let cuts = every_cut(&bytes).into_iter().map(|target| (target, 1 + target % 16));
                expect_cuts(&name, &bytes, &slow, cuts);
            }
        }
    }
}

#[test]
fn lines_are_skipped_and_records_limited_exactly() {
    let bytes = b"junk \" line\r\nmore\nh1,h2\n1,\"a\nb\"\n2,c\n3,d\n";
    let dialect = fast_dialect(&reference::Dialect::csv());
    for target in 1..60 {
        let cutter = open(bytes, &dialect, target).skipping_lines(2).limited(Some(2), true);
        let records: Vec<Record> = read_fast(cutter, &dialect, 1).into_iter().map(Result::unwrap).collect();
        let lines: Vec<u64> = records.iter().map(|record| record.line).collect();
        assert_eq!(lines, [3, 4, 6], "pieces of {target} bytes");
        assert_eq!(records[1].fields[1].as_deref(), Some(&b"a\nb"[..]));
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_field() {
    let dialect = fast_dialect(&reference::Dialect::csv());
    let first = read_fast(open(b"\xEF\xBB\xBFa,b\n1,2\n", &dialect, PIECE_BYTES), &dialect, 1).swap_remove(0);
    let first = first.unwrap();
    assert_eq!((first.fields[0].as_deref(), first.raw), (Some(&b"a"[..]), 3..6));
}
