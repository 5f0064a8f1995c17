//! Every byte of ten small files, flipped and cut off: rows or an error, in bounded time and memory.
#![expect(clippy::disallowed_methods, reason = "a test is free to start threads")]

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ::parquet::basic::{Compression, Encoding};
use ::parquet::file::properties::{EnabledStatistics, WriterVersion};
use arrow_array::builder::{FixedSizeBinaryBuilder, Int32Builder, ListBuilder, StringViewBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{BooleanArray, DictionaryArray, Float32Array, Int32Array, StructArray};
use arrow_ipc::CompressionType;
use arrow_schema::{DataType, Field};

use super::*;

/// No damaged file of a kilobyte may make more of it.
const MOST_MEMORY: u64 = 512 << 20;

/// Together, on a machine that does other things too.
const MOST_TIME: Duration = Duration::from_secs(60);

fn properties(compression: Compression, encoding: Encoding, version: WriterVersion) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(encoding == Encoding::RLE_DICTIONARY)
        .set_encoding(if encoding == Encoding::RLE_DICTIONARY { Encoding::PLAIN } else { encoding })
        .set_writer_version(version)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by(String::new())
        .build()
}

fn text() -> RecordBatch {
    let texts = (0..40).map(|at| (at % 7 > 0).then(|| format!("text {}", at % 5)));
    batch(vec![("t", Arc::new(StringArray::from_iter(texts)))])
}

fn numbers() -> RecordBatch {
    let numbers = (0..60).map(|at| (at % 11 > 0).then_some(at * 37 - 500));
    batch(vec![("n", Arc::new(Int32Array::from_iter(numbers)))])
}

fn nested() -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for at in 0..20 {
        match at % 4 {
            0 => lists.append_null(),
            some => lists.append_value((0..some).map(Some)),
        }
    }
    let flags: ArrayRef = Arc::new(BooleanArray::from_iter((0..20).map(|at| Some(at % 3 == 0))));
    let flags = StructArray::from(vec![(Arc::new(Field::new("b", DataType::Boolean, true)), flags)]);
    batch(vec![("l", Arc::new(lists.finish())), ("s", Arc::new(flags))])
}

fn fixed() -> RecordBatch {
    let mut bytes = FixedSizeBinaryBuilder::new(4);
    (0..20_u8).for_each(|at| bytes.append_value([at, 1, 2, 3]).unwrap());
    let floats = Float32Array::from_iter_values((0..20_u8).map(f32::from));
    batch(vec![("f", Arc::new(floats)), ("x", Arc::new(bytes.finish()))])
}

fn dictionary() -> RecordBatch {
    let words = (0..30).map(|at| (at % 9 > 0).then_some(["a", "bb", "ccc"][at % 3]));
    batch(vec![("d", Arc::new(DictionaryArray::<Int8Type>::from_iter(words)))])
}

fn views() -> RecordBatch {
    let mut views = StringViewBuilder::new();
    (0..12).for_each(|at| views.append_value(format!("a value too long to stand in a view: {at}")));
    batch(vec![("v", Arc::new(views.finish())), ("n", Arc::new(Int32Array::from_iter_values(0..12)))])
}

fn files() -> Vec<(&'static str, BatchFormat, Vec<u8>)> {
    use BatchFormat::{Arrow, Parquet};
    use Encoding::{
        BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY, PLAIN,
        RLE_DICTIONARY,
    };
    use WriterVersion::{PARQUET_1_0, PARQUET_2_0};
    let ipc = |codec| IpcWriteOptions::default().try_with_compression(codec).unwrap();
    vec![
        ("plain", Parquet, parquet(&numbers(), properties(Compression::UNCOMPRESSED, PLAIN, PARQUET_1_0))),
        (
            "snappy dictionary",
            Parquet,
            parquet(&text(), properties(Compression::SNAPPY, RLE_DICTIONARY, PARQUET_1_0)),
        ),
        (
            "gzip deltas",
            Parquet,
            parquet(
                &numbers(),
                properties(Compression::GZIP(Default::default()), DELTA_BINARY_PACKED, PARQUET_2_0),
            ),
        ),
        (
            "zstd lengths",
            Parquet,
            parquet(
                &text(),
                properties(Compression::ZSTD(Default::default()), DELTA_LENGTH_BYTE_ARRAY, PARQUET_1_0),
            ),
        ),
        (
            "lz4 prefixes",
            Parquet,
            parquet(&text(), properties(Compression::LZ4_RAW, DELTA_BYTE_ARRAY, PARQUET_2_0)),
        ),
        (
            "plain prefixes",
            Parquet,
            parquet(&text(), properties(Compression::UNCOMPRESSED, DELTA_BYTE_ARRAY, PARQUET_1_0)),
        ),
        (
            "brotli nested",
            Parquet,
            parquet(
                &nested(),
                properties(Compression::BROTLI(Default::default()), RLE_DICTIONARY, PARQUET_2_0),
            ),
        ),
        (
            "fixed",
            Parquet,
            parquet(&fixed(), properties(Compression::UNCOMPRESSED, BYTE_STREAM_SPLIT, PARQUET_1_0)),
        ),
        ("arrow file with a dictionary", Arrow, arrow_file(&[dictionary()], ipc(None))),
        ("arrow file of views", Arrow, arrow_file(&[views()], ipc(Some(CompressionType::ZSTD)))),
        ("arrow stream", Arrow, arrow_stream(&[nested(), nested()], ipc(Some(CompressionType::LZ4_FRAME)))),
    ]
}

/// Rows, or why there are none.
fn read(format: BatchFormat, bytes: &[u8]) -> Result<usize, Error> {
    let batches = open(&[memory("x", bytes)], format)?;
    let (mut state, mut rows) = (BatchWorker::default(), 0);
    while let Some(batch) = batches.next(&mut state)? {
        rows += batch.rows.num_rows();
    }
    Ok(rows)
}

/// The most memory that the process had so far, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

#[derive(Default)]
struct Tally {
    whole: usize,
    errors: usize,
}

impl Tally {
    /// Reads `file` with every byte changed by each of `masks`, and cut off at every length.
    fn damage(&mut self, name: &str, format: BatchFormat, file: &[u8], masks: &[u8]) {
        let mut damaged = file.to_vec();
        for at in 0..file.len() {
            for mask in masks {
                damaged[at] = file[at] ^ mask;
                self.judge(&format!("{name}, byte {at} ^ {mask:#x}"), read(format, &damaged));
            }
            damaged[at] = file[at];
            let cut = read(format, &file[..at]);
            // The end of a stream may be lost between two messages, the end of a file may not.
            assert!(cut.is_err() || name == "arrow stream", "{name} was read without its end, {at} bytes");
            self.judge(&format!("{name}, {at} bytes"), cut);
        }
    }

    fn judge(&mut self, what: &str, result: Result<usize, Error>) {
        match result {
            Ok(_) => self.whole += 1,
            Err(error) => {
                self.errors += 1;
                assert_eq!(error.kind(), crate::ErrorKind::Source, "{what}: {error}");
                assert!(error.to_string().contains("cannot read x"), "{what}: {error}");
            }
        }
    }
}

/// What `damage` tallies, in bounded time and memory.
fn bounded(damage: impl FnOnce() -> Tally + Send + 'static) -> Tally {
    // The peak so far is that of other tests.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let started = Instant::now();
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let _ = sender.send(damage());
    });
    let tally = match receiver.recv_timeout(MOST_TIME) {
        Ok(tally) => tally,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("a damaged file hangs its reader"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(reader.join().unwrap_err()),
    };
    println!("{} read, {} refused, {:?}", tally.whole, tally.errors, started.elapsed());
    assert!(peak() < MOST_MEMORY, "{} MiB", peak() >> 20);
    tally
}

#[test]
fn no_damaged_file_panics_hangs_or_takes_much_memory() {
    let tally = bounded(|| {
        let mut tally = Tally::default();
        for (name, format, file) in files() {
            let rows = read(format, &file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(rows > 0, "{name}");
            assert!(file.len() < 4096, "{name}: {} bytes take too long", file.len());
            tally.damage(name, format, &file, &[0x01, 0x80, 0xFF]);
        }
        tally
    });
    assert!(tally.errors > 10_000 && tally.whole > 100, "{} read, {} refused", tally.whole, tally.errors);
}

#[test]
fn small_files_of_other_writers_may_be_damaged_too() {
    let Some(data) = howdah_testkit::real_data() else { return };
    let largest = howdah_testkit::knob("HOWDAH_DAMAGE_BYTES", 1500);
    let tally = bounded(move || {
        let mut tally = Tally::default();
        for entry in std::fs::read_dir(data.join("parquet-testing/data")).unwrap() {
            let path = entry.unwrap().path();
            let file = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            if file.len() < largest && read(BatchFormat::Parquet, &file).is_ok() {
                tally.damage(&path.to_string_lossy(), BatchFormat::Parquet, &file, &[0x01, 0xFF]);
            }
        }
        tally
    });
    assert!(tally.errors > 10_000, "{} refused", tally.errors);
}

#[test]
fn batches_that_lie_over_each_other_are_refused() {
    let file = arrow_file(&[numbers(), numbers(), numbers()], IpcWriteOptions::default());
    // A block in the footer is three numbers: let the second and third batch be the first, with all that follows it.
    let tail = file.len() - 10;
    let length = u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap());
    let footer = arrow_ipc::root_as_footer(&file[tail - length as usize..tail]).unwrap();
    let blocks: Vec<[u8; 24]> = footer.recordBatches().unwrap().iter().map(|block| block.0).collect();
    let at = |block: &[u8; 24]| file.windows(24).rposition(|bytes| bytes == block).unwrap();
    let mut lying = file.clone();
    for block in &blocks {
        let mut longer = blocks[0];
        let body = i64::from_le_bytes(longer[16..].try_into().unwrap()) + 400;
        longer[16..].copy_from_slice(&body.to_le_bytes());
        lying[at(block)..at(block) + 24].copy_from_slice(&longer);
    }
    let message = open(&[memory("x", &lying)], BatchFormat::Arrow).err().unwrap().to_string();
    assert!(message.contains("its messages claim"), "{message}");
}

#[test]
fn rows_that_a_row_group_claims_and_lacks_are_missed() {
    let file = parquet(
        &numbers(),
        properties(Compression::UNCOMPRESSED, Encoding::PLAIN, WriterVersion::PARQUET_1_0),
    );
    // 60 rows stand in the page header, in the row group, in its column and in the file: 120 as a signed number.
    let at: Vec<usize> =
        file.iter().enumerate().filter(|(_, byte)| **byte == 120).map(|(at, _)| at).collect();
    let tail = file.len() - 8;
    let footer = tail - u32::from_le_bytes(file[tail..tail + 4].try_into().unwrap()) as usize;
    let mut lying = file.clone();
    at.into_iter().filter(|at| (footer..tail).contains(at)).for_each(|at| lying[at] = 122);
    let message = read(BatchFormat::Parquet, &lying).unwrap_err().to_string();
    assert!(message.contains("row group 0: it claims 61 rows and has 60"), "{message}");
}
