//! What the tests of batches share: small inputs written in memory, and readers with any number of workers.

mod damage;
mod lanes;
mod real_files;
mod union_by_name;

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::{Batch, BatchFormat, BatchOptions, BatchWorker, Batches};
use crate::Progress;
use crate::error::Error;
use crate::open::Input;

/// Reads Parquet or Arrow, keys of directories too.
pub(super) fn options(format: BatchFormat) -> BatchOptions {
    BatchOptions { format, same_name: |one, other| one.to_lowercase() == other.to_lowercase(), hive: true }
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// `count` rows from `first` on: a number, and a text that says it.
pub(super) fn numbered(first: i64, count: i64) -> RecordBatch {
    let ids = first..first + count;
    let texts = StringArray::from_iter_values(ids.clone().map(|id| format!("row {id}")));
    batch(vec![("id", Arc::new(Int64Array::from_iter_values(ids))), ("text", Arc::new(texts))])
}

pub(super) fn parquet(rows: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), rows.schema(), options).unwrap();
    writer.write(rows).unwrap();
    writer.into_inner().unwrap()
}

/// A Parquet file whose row groups have `rows_per_group` rows.
pub(super) fn grouped(rows: &RecordBatch, rows_per_group: usize) -> Vec<u8> {
    parquet(rows, WriterProperties::builder().set_max_row_group_row_count(Some(rows_per_group)).build())
}

pub(super) fn arrow_file(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

pub(super) fn arrow_stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

pub(super) fn memory(name: &str, bytes: &[u8]) -> Input {
    Input::memory(name, Arc::from(bytes))
}

pub(super) fn open(inputs: &[Input], format: BatchFormat) -> Result<Batches, Error> {
    Batches::open(inputs, options(format), &Progress::new())
}

/// Everything that so many workers take, in the order of the ordinals.
pub(super) fn take(batches: &Batches, lanes: usize) -> Result<Vec<Batch>, Error> {
    let lane = || {
        let (mut state, mut taken) = (BatchWorker::default(), Vec::new());
        while let Some(batch) = batches.next(&mut state)? {
            taken.push(batch);
        }
        Ok::<_, Error>(taken)
    };
    let mut taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let taken = threads.into_iter().map(|thread| thread.join().unwrap());
        taken.collect::<Result<Vec<_>, Error>>()
    })?;
    let mut taken: Vec<Batch> = taken.drain(..).flatten().collect();
    taken.sort_by_key(|batch| batch.ordinal);
    Ok(taken)
}

/// The values of the column `name`, as text; NULL is an empty string.
pub(super) fn texts(batches: &[Batch], name: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for batch in batches {
        let column = batch.rows.column_by_name(name).unwrap();
        let column = arrow_cast::cast(column, &arrow_schema::DataType::Utf8).unwrap();
        let column = column.as_any().downcast_ref::<StringArray>().unwrap();
        texts.extend(column.iter().map(|text| text.unwrap_or_default().to_owned()));
    }
    texts
}
