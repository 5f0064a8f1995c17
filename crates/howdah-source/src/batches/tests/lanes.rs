use std::io::{Cursor, Read, Write};
use std::slice;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatchIterator, StringArray};
use arrow_ipc::writer::IpcWriteOptions;

use super::*;
use crate::batches::limits::{BATCH_BYTES, BATCH_ROWS};

type Outline = (u64, Arc<str>, Option<u64>, u64, usize);

/// What must not depend on the number of workers: ordinals, places and first rows.
fn outline(batches: &[Batch]) -> Vec<Outline> {
    let outline = batches.iter().map(|batch| {
        let place = &batch.place;
        (batch.ordinal, place.source.clone(), place.row_group, batch.first_row, batch.rows.num_rows())
    });
    outline.collect()
}

fn ids(batches: &[Batch]) -> Vec<i64> {
    texts(batches, "id").iter().map(|id| id.parse().unwrap()).collect()
}

#[test]
fn every_row_comes_once_and_in_its_place_however_many_lanes_there_are() {
    let plain = IpcWriteOptions::default;
    let three = [numbered(50_000, 9_000), numbered(59_000, 1), numbered(59_001, 5_000)];
    let inputs = |format| match format {
        BatchFormat::Parquet => vec![
            memory("a", &grouped(&numbered(0, 43_210), 10_000)),
            memory("b", &grouped(&numbered(43_210, 20_791), 100_000)),
        ],
        BatchFormat::Arrow => vec![
            memory("a", &arrow_file(&[numbered(0, 20_000), numbered(20_000, 30_000)], plain())),
            memory("b", &arrow_stream(&three, plain())),
            memory("c", &arrow_file(&[numbered(64_001, 0)], plain())),
        ],
    };
    for format in [BatchFormat::Parquet, BatchFormat::Arrow] {
        let mut first = None;
        for lanes in 1..=4 {
            let batches = open(&inputs(format), format).unwrap();
            assert_eq!(batches.rows().is_some(), format == BatchFormat::Parquet);
            let taken = take(&batches, lanes).unwrap();
            assert_eq!(ids(&taken), (0..64_001).collect::<Vec<_>>(), "{format:?}, {lanes} lanes");
            assert!(taken.windows(2).all(|two| two[0].ordinal < two[1].ordinal));
            assert!(taken.iter().all(|batch| batch.rows.num_rows() as u64 <= BATCH_ROWS));
            let outline = outline(&taken);
            assert_eq!(*first.get_or_insert_with(|| outline.clone()), outline, "{format:?}, {lanes} lanes");
        }
    }
}

#[test]
fn the_place_of_a_row_is_counted_from_its_row_group() {
    let batches = open(&[memory("a", &grouped(&numbered(0, 12_000), 10_000))], BatchFormat::Parquet).unwrap();
    let outline = outline(&take(&batches, 1).unwrap());
    let places: Vec<_> =
        outline.iter().map(|(_, _, group, first, rows)| (group.unwrap(), *first, *rows)).collect();
    assert_eq!(places, [(0, 0, 4096), (0, 4096, 4096), (0, 8192, 1808), (1, 0, 2000)]);
}

#[test]
fn the_last_row_group_keeps_all_lanes_busy() {
    let batches = open(&[memory("a", &grouped(&numbered(0, 20_000), 20_000))], BatchFormat::Parquet).unwrap();
    let (mut one, mut other) = (BatchWorker::default(), BatchWorker::default());
    let first = batches.next(&mut one).unwrap().unwrap();
    let second = batches.next(&mut other).unwrap().unwrap();
    assert_eq!((first.ordinal, second.ordinal), (0, 1));
    assert_eq!((first.first_row, second.first_row), (0, 4096));
}

#[test]
fn wide_rows_come_few_at_a_time() {
    let texts = (0..200).map(|at| "x".repeat(20_000 + at));
    let rows = batch(vec![("text", Arc::new(StringArray::from_iter_values(texts)))]);
    let plain = IpcWriteOptions::default();
    let inputs = [
        (BatchFormat::Parquet, memory("a", &grouped(&rows, 1000))),
        (BatchFormat::Arrow, memory("a", &arrow_file(slice::from_ref(&rows), plain.clone()))),
        (BatchFormat::Arrow, memory("a", &arrow_stream(slice::from_ref(&rows), plain))),
    ];
    for (format, input) in inputs {
        let taken = take(&open(&[input], format).unwrap(), 2).unwrap();
        assert_eq!(taken.iter().map(|batch| batch.rows.num_rows()).sum::<usize>(), 200);
        let most = taken.iter().map(|batch| batch.rows.num_rows()).max().unwrap();
        assert!(most > 1 && most as u64 * 20_000 <= BATCH_BYTES, "{most} rows");
    }
}

#[test]
fn a_limit_is_the_same_rows_on_any_number_of_lanes() {
    let files: Vec<Input> =
        (0..3).map(|at| memory("a", &grouped(&numbered(at * 15_000, 15_000), 10_000))).collect();
    let reader = |first| {
        let rows = numbered(first, 9_000);
        let schema = rows.schema();
        Input::record_batches("rows", Box::new(RecordBatchIterator::new([Ok(rows)], schema)))
    };
    for limit in [0, 1, 4096, 10_000, 26_000, 45_000, 47_000, 60_000] {
        for lanes in [1, 3] {
            let mut inputs = files.clone();
            inputs.extend([reader(45_000), reader(54_000)]);
            let mut batches = open(&inputs, BatchFormat::Parquet).unwrap();
            batches.limited(Some(limit));
            let expected: Vec<i64> = (0..i64::try_from(limit.min(63_000)).unwrap()).collect();
            assert_eq!(ids(&take(&batches, lanes).unwrap()), expected, "{limit} rows, {lanes} lanes");
        }
        let mut batches = open(&files, BatchFormat::Parquet).unwrap();
        batches.limited(Some(limit));
        assert_eq!(batches.rows(), Some(limit.min(45_000)));
    }
}

#[test]
fn columns_that_are_not_needed_are_not_read() {
    let noise = |at: i64| format!("{:x}", at.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()));
    let text = StringArray::from_iter_values((0..100_000).map(noise));
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
    let rows = batch(vec![("noise", Arc::new(text)), ("id", id.clone()), ("again", id)]);
    let progress = Progress::new();
    let file = parquet(&rows, WriterProperties::builder().set_dictionary_enabled(false).build());
    let input = memory("a", &file);
    let mut batches = Batches::open(&[input], options(BatchFormat::Parquet), &progress).unwrap();
    batches.project(&[2, 1]);
    let taken = take(&batches, 2).unwrap();
    let names: Vec<_> = taken[0].rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "again"], "in the order of the schema");
    assert_eq!(ids(&taken), (0..100_000).collect::<Vec<_>>());
    let read = progress.bytes_read();
    assert!((1_600_000..1_800_000).contains(&read), "{read} of {}", file.len());
    assert_eq!(batches.schema().fields().len(), 3);
}

#[test]
fn columns_are_projected_in_every_format() {
    let rows = [numbered(0, 10), numbered(10, 10)];
    let compressed =
        IpcWriteOptions::default().try_with_compression(Some(arrow_ipc::CompressionType::ZSTD)).unwrap();
    let reader = {
        let schema = rows[0].schema();
        Input::record_batches("rows", Box::new(RecordBatchIterator::new(rows.clone().map(Ok), schema)))
    };
    for input in [
        memory("a", &arrow_file(&rows, compressed.clone())),
        memory("b", &arrow_stream(&rows, compressed)),
        reader,
    ] {
        let mut batches = open(&[input], BatchFormat::Arrow).unwrap();
        batches.project(&[1]);
        let taken = take(&batches, 1).unwrap();
        assert_eq!(taken[0].rows.num_columns(), 1);
        assert_eq!(texts(&taken, "text")[12], "row 12");
    }
    let mut batches = open(&[memory("a", &grouped(&numbered(0, 10), 5))], BatchFormat::Parquet).unwrap();
    batches.project(&[]);
    let rows: usize = take(&batches, 1).unwrap().iter().map(|batch| batch.rows.num_rows()).sum();
    assert_eq!(rows, 10, "rows without columns are still rows");
}

#[test]
fn pipes_and_compressed_files_are_read_as_they_come() {
    let file = arrow_file(&[numbered(0, 5_000), numbered(5_000, 5_000)], IpcWriteOptions::default());
    let stream = arrow_stream(&[numbered(0, 10_000)], IpcWriteOptions::default());
    let grouped = grouped(&numbered(0, 10_000), 3_000);
    let gzip = |bytes: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    };
    let piped = |bytes: &[u8]| {
        let reader: Box<dyn Read + Send> = Box::new(Cursor::new(bytes.to_vec()));
        Input::reader("pipe", reader)
    };
    for (format, input) in [
        (BatchFormat::Arrow, piped(&file)),
        (BatchFormat::Arrow, piped(&stream)),
        (BatchFormat::Parquet, piped(&grouped)),
        (BatchFormat::Arrow, memory("a", &gzip(&file))),
        (BatchFormat::Arrow, memory("a", &gzip(&stream))),
        (BatchFormat::Parquet, memory("a", &gzip(&grouped))),
    ] {
        let is_rewindable = input.is_rewindable();
        let batches = open(slice::from_ref(&input), format).unwrap();
        assert_eq!(ids(&take(&batches, 2).unwrap()), (0..10_000).collect::<Vec<_>>());
        if !is_rewindable {
            let message = open(&[input], format).err().unwrap().to_string();
            assert!(message.contains("pipe can be read only once"), "{message}");
        }
    }
}

#[test]
fn a_format_that_was_not_meant_is_named() {
    let parquet = grouped(&numbered(0, 10), 10);
    for (format, bytes, expected) in [
        (BatchFormat::Parquet, &b"id,name\n1,a\n"[..], "it is not a Parquet file"),
        (BatchFormat::Parquet, &[], "it is not a Parquet file"),
        (BatchFormat::Parquet, b"PAR1", "which is no Parquet file"),
        (BatchFormat::Parquet, &parquet[..parquet.len() - 1], "it is cut off"),
        (BatchFormat::Arrow, b"FEA1....", "Feather file of version 1"),
        (BatchFormat::Arrow, b"", "it is empty"),
        (BatchFormat::Arrow, b"ARROW1\0\0", "which is no Arrow file"),
        (BatchFormat::Arrow, b"id,name\n1,a\n", "cannot read x"),
    ] {
        let message = open(&[memory("x", bytes)], format).err().unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may start threads")]
fn a_request_to_stop_is_heard_though_no_row_ever_comes() {
    let nothing = numbered(0, 0);
    let endless = std::iter::repeat_with({
        let nothing = nothing.clone();
        move || Ok(nothing.clone())
    });
    let input = Input::record_batches("rows", Box::new(RecordBatchIterator::new(endless, nothing.schema())));
    let progress = Progress::new();
    let batches = Batches::open(&[input], options(BatchFormat::Arrow), &progress).unwrap();
    let stopper = std::thread::spawn({
        let progress = progress.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            progress.cancel();
        }
    });
    let error = batches.next(&mut BatchWorker::default()).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
    stopper.join().unwrap();
}

#[test]
fn parts_are_row_groups_until_they_hold_enough_and_their_rows_are_all_rows_once() {
    let input = |name: &str, rows, groups| memory(name, &grouped(&numbered(0, rows), groups));
    let inputs = [input("a", 10, 3), input("b", 0, 3), input("c", 2, 5)];
    let batches = Arc::new(open(&inputs, BatchFormat::Parquet).unwrap());
    let parts = batches.parts(5);
    let told: Vec<_> = parts.iter().map(|part| (part.input, part.row_groups.clone(), part.rows)).collect();
    let expected =
        [(0, Some(0..2), Some(6)), (0, Some(2..4), Some(4)), (1, None, Some(0)), (2, Some(0..1), Some(2))];
    assert_eq!(told, expected);
    for part in &parts {
        let reader = batches.part(part);
        let mut rows = 0;
        while let Some(batch) = reader.next().unwrap() {
            rows += batch.rows.num_rows() as u64;
        }
        assert_eq!(Some(rows), part.rows, "{part:?}");
    }
}
