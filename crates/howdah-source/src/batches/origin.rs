//! One input of Arrow batches, opened: what its columns are, which parts it can be read in, and the reader of a part.

use parking_lot::Mutex;
use std::io::Read;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::arrow::{self, ArrowFile, ArrowStream};
use super::decoder::{decoded, reason};
use super::limits::{PIPED_PARQUET_BYTES, rows_per_batch};
use super::parquet::{self, ParquetFile};
use super::{BatchFormat, BatchPlace};
use crate::Progress;
use crate::error::{Error, ErrorKind};
use crate::open::Input;
use crate::open::blob::Blob;
use crate::open::decompress;

/// One input.
pub(super) struct ScanInput {
    pub(super) name: Arc<str>,
    content: Content,
}

enum Content {
    Parquet(ParquetFile),
    File(ArrowFile),
    Stream {
        input: Input,
        schema: SchemaRef,
        opened: Mutex<Option<ArrowStream>>,
        columns: Vec<usize>,
    },
    Reader {
        schema: SchemaRef,
        reader: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
        columns: Vec<usize>,
    },
}

/// A part of an input that is read in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Of a Parquet file.
    RowGroup(usize),
    /// Of an Arrow file.
    Message(usize),
    /// All of a stream.
    Whole,
}

/// A part, and what its metadata say of it.
#[derive(Debug, Clone)]
pub(super) struct PartInfo {
    pub(super) part: Part,
    /// `None`: nobody knows before it was read.
    pub(super) rows: Option<u64>,
    /// Rows of a batch; `None`: by the size of what is read.
    pub(super) batch_rows: Option<u64>,
    /// The first row, counted from the start of the row group, or of the file where it has none.
    pub(super) first_row: u64,
}

impl ScanInput {
    /// Opens `input`, which is `blob` if it can be read at any place.
    ///
    /// # Errors
    /// The input cannot be read, or is of another format.
    pub(super) fn open(
        input: &Input,
        blob: Option<Blob>,
        format: BatchFormat,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let name = input.name.clone();
        let content = match input.take_batches()? {
            Some(reader) => Ok(Content::reader(reader)),
            None => Content::open(input, blob, format, progress)?,
        };
        let content = content.map_err(|reason| cannot_read(&name, None, &reason))?;
        Ok(ScanInput { name, content })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        match &self.content {
            Content::Parquet(file) => file.schema(),
            Content::File(file) => file.schema(),
            Content::Stream { schema, .. } | Content::Reader { schema, .. } => schema,
        }
    }

    /// Reads only `columns` from here on.
    ///
    /// # Errors
    /// The input cannot be read again.
    pub(super) fn project(&mut self, wanted: &[usize]) -> Result<(), Error> {
        match &mut self.content {
            Content::Parquet(_) => Ok(()),
            Content::File(file) => {
                file.project(wanted).map_err(|reason| cannot_read(&self.name, None, &reason))
            }
            Content::Stream { opened, columns, .. } => {
                wanted.clone_into(columns);
                if let Some(stream) = opened.get_mut() {
                    stream.project(wanted);
                }
                Ok(())
            }
            Content::Reader { columns, .. } => {
                wanted.clone_into(columns);
                Ok(())
            }
        }
    }

    /// The parts in order, if only `columns` are read.
    pub(super) fn parts(&self, columns: &[usize]) -> Vec<PartInfo> {
        match &self.content {
            Content::Parquet(file) => (0..file.row_groups())
                .map(|at| PartInfo {
                    part: Part::RowGroup(at),
                    rows: Some(file.rows(at)),
                    batch_rows: Some(file.rows_per_batch(at, columns)),
                    first_row: 0,
                })
                .collect(),
            Content::File(file) => {
                let mut first_row = 0;
                let part_info = |at| {
                    let rows = file.rows(at);
                    first_row += rows;
                    PartInfo {
                        part: Part::Message(at),
                        rows: Some(rows),
                        batch_rows: Some(rows_per_batch(file.bytes_per_row(at))),
                        first_row: first_row - rows,
                    }
                };
                (0..file.batches()).map(part_info).collect()
            }
            Content::Stream { .. } | Content::Reader { .. } => {
                vec![PartInfo { part: Part::Whole, rows: None, batch_rows: None, first_row: 0 }]
            }
        }
    }

    /// Opens `part_info` for reading `columns`.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub(super) fn read(
        &self,
        part_info: &PartInfo,
        columns: &[usize],
        progress: &Progress,
    ) -> Result<PartRows, Error> {
        let rows = match (&self.content, part_info.part) {
            (Content::Parquet(file), Part::RowGroup(at)) => {
                let rows = part_info.batch_rows.unwrap_or(1).min(part_info.rows.unwrap_or(1)).max(1);
                decoded(|| file.read(at, columns, rows, progress))
                    .map(|reader| PartRows::RowGroup(Box::new(reader)))
            }
            (Content::File(file), Part::Message(at)) => file.read(at, progress).map(PartRows::Message),
            (Content::Stream { input, opened, columns, .. }, Part::Whole) => match opened.lock().take() {
                Some(stream) => Ok(PartRows::Stream(stream)),
                None => ArrowStream::open(input.content(progress)?).map(|mut stream| {
                    stream.project(columns);
                    PartRows::Stream(stream)
                }),
            },
            (Content::Reader { reader, columns, .. }, Part::Whole) => {
                let reader = reader.lock().take();
                let reader = reader.ok_or_else(|| "its batches were taken already".to_owned());
                reader.map(|reader| PartRows::Reader(reader, columns.clone()))
            }
            _ => Err("its parts are those of another format".to_owned()),
        };
        rows.map_err(|reason| self.cannot_read(part_info, &reason))
    }

    /// The place of `part_info`.
    pub(super) fn place(&self, part_info: &PartInfo) -> Arc<BatchPlace> {
        let row_group = match part_info.part {
            Part::RowGroup(at) => Some(at as u64),
            Part::Message(_) | Part::Whole => None,
        };
        Arc::new(BatchPlace { source: self.name.clone(), row_group })
    }

    /// The error of a part that is damaged, or cannot be read.
    pub(super) fn cannot_read(&self, part_info: &PartInfo, reason: &str) -> Error {
        let row_group = match part_info.part {
            Part::RowGroup(at) => Some(at),
            Part::Message(_) | Part::Whole => None,
        };
        cannot_read(&self.name, row_group, reason)
    }
}

impl Content {
    fn reader(reader: Box<dyn RecordBatchReader + Send>) -> Self {
        let schema = reader.schema();
        let columns = (0..schema.fields().len()).collect();
        Content::Reader { schema, reader: Mutex::new(Some(reader)), columns }
    }

    /// The inner error is a reason, for want of the input's name.
    fn open(
        input: &Input,
        blob: Option<Blob>,
        format: BatchFormat,
        progress: &Progress,
    ) -> Result<Result<Self, String>, Error> {
        let start = blob.as_ref().map(|blob| blob.head(decompress::MAGIC_BYTES as u64));
        let start = match start.transpose() {
            Ok(start) => start.unwrap_or_default(),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let blob = blob.filter(|_| !decompress::is_compressed(&start));
        Ok(match (format, blob) {
            (BatchFormat::Parquet, Some(blob)) => {
                if parquet::is_parquet(&start) {
                    ParquetFile::open(blob).map(Content::Parquet)
                } else {
                    Err("it is not a Parquet file".to_owned())
                }
            }
            (BatchFormat::Parquet, None) => {
                // What is counted are the bytes that are read from memory later on.
                let content = input.content(&Progress::new())?;
                held(content).and_then(ParquetFile::open).map(Content::Parquet)
            }
            (BatchFormat::Arrow, Some(blob)) if start.starts_with(arrow::MAGIC) => {
                ArrowFile::open(blob).map(Content::File)
            }
            (BatchFormat::Arrow, _) => {
                // What can be opened again is opened when its turn comes: a thousand files are not open at once.
                let is_kept = !input.is_rewindable();
                let counting = if is_kept { progress.clone() } else { Progress::new() };
                ArrowStream::open(input.content(&counting)?).map(|stream| {
                    let schema = stream.schema().clone();
                    let columns = (0..schema.fields().len()).collect();
                    let opened = Mutex::new(is_kept.then_some(stream));
                    Content::Stream { input: input.clone(), schema, opened, columns }
                })
            }
        })
    }
}

/// All of `content` in memory.
fn held(content: Box<dyn Read + Send>) -> Result<Blob, String> {
    let mut bytes = Vec::new();
    content.take(PIPED_PARQUET_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > PIPED_PARQUET_BYTES {
        return Err(format!(
            "Parquet is read from its end, and of a stream at most {PIPED_PARQUET_BYTES} bytes: save it as a file first"
        ));
    }
    Ok(Blob::memory(Bytes::from(bytes)))
}

fn cannot_read(name: &str, row_group: Option<usize>, reason: &str) -> Error {
    let place = row_group.map_or(String::new(), |at| format!(", row group {at}"));
    Error::new(ErrorKind::Source, format!("cannot read {name}{place}: {reason}"))
}

/// The rows of a part, in the order and number in which its reader gives them.
pub(super) enum PartRows {
    RowGroup(Box<parquet::Rows>),
    Message(Option<RecordBatch>),
    Stream(ArrowStream),
    Reader(Box<dyn RecordBatchReader + Send>, Vec<usize>),
}

impl PartRows {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// What is damaged; nothing can be read behind it.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        match self {
            PartRows::RowGroup(reader) => {
                decoded(|| reader.next().transpose().map_err(|error| reason(&error)))
            }
            PartRows::Message(batch) => Ok(batch.take()),
            PartRows::Stream(stream) => stream.next(),
            PartRows::Reader(reader, columns) => decoded(|| {
                let batch = reader.next().transpose().map_err(|error| reason(&error))?;
                batch.map(|batch| batch.project(columns).map_err(|error| reason(&error))).transpose()
            }),
        }
    }
}
