//! Parquet: the footer is read once, row groups are read apart from each other, and of the columns only those needed.

mod pages;
mod thrift;
mod unpack;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::PageReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

use self::pages::{Chunk, Pages};
use super::decoder::{decoded, reason};
use super::limits::{self, MAX_FOOTER_BYTES, MAX_PAGE_BYTES, MAX_ROWS, fixed_width};
use crate::Progress;
use crate::open::blob::Blob;

/// How a Parquet file begins and ends.
const MAGIC: &[u8] = b"PAR1";

/// How one begins and ends whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";

/// The reader of a row group.
pub(super) type Rows = ParquetRecordBatchReader;

/// Behind the footer stand its length and the mark.
const TAIL_BYTES: u64 = 8;

/// Whether a file that begins so is one.
pub(super) fn is_parquet(start: &[u8]) -> bool {
    start.starts_with(MAGIC) || start.starts_with(ENCRYPTED)
}

/// A file, of which the footer was read and checked.
pub(super) struct ParquetFile {
    blob: Blob,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    /// # Errors
    /// Why it cannot be read: what is damaged, or what no reader of ours knows.
    pub(super) fn open(blob: Blob) -> Result<Self, String> {
        let _held = blob.keep_open().map_err(|error| error.to_string())?;
        let footer = footer(&blob)?;
        thrift::check_footer(&footer)?;
        let metadata = decoded(|| {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(|error| reason(&error))?;
            check(&metadata, blob.size())?;
            ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new())
                .map_err(|error| reason(&error))
        })?;
        let file = ParquetFile { blob, metadata };
        let row = file.schema().fields().iter().map(|field| fixed_width(field.data_type()));
        if row.fold(0, u64::saturating_add) > MAX_PAGE_BYTES {
            return Err(format!("a row of it has more than {MAX_PAGE_BYTES} bytes"));
        }
        Ok(file)
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub(super) fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn row_group(&self, at: usize) -> &RowGroupMetaData {
        self.metadata.metadata().row_group(at)
    }

    /// Rows of row group `at`, by the footer.
    pub(super) fn rows(&self, at: usize) -> u64 {
        u64::try_from(self.row_group(at).num_rows()).unwrap_or(0)
    }

    /// Which columns of the file's format make up the `columns` of its schema.
    fn mask(&self, columns: &[usize]) -> ProjectionMask {
        ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied())
    }

    /// Rows of a batch of row group `at`, if only `columns` are read: by the size of what is unpacked.
    pub(super) fn rows_per_batch(&self, at: usize, columns: &[usize]) -> u64 {
        let mask = self.mask(columns);
        let group = self.row_group(at);
        let chunks = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let bytes = chunks.map(|(_, chunk)| {
            // A dictionary hides how long its values are in all, but new writers tell.
            let text = chunk.unencoded_byte_array_data_bytes().unwrap_or(0);
            u64::try_from(chunk.uncompressed_size().max(text)).unwrap_or(0)
        });
        let per_row = bytes.fold(0, u64::saturating_add) / self.rows(at).max(1);
        let fixed = columns.iter().map(|column| fixed_width(self.schema().field(*column).data_type()));
        limits::rows_per_batch(per_row.max(fixed.fold(0, u64::saturating_add)))
    }

    /// Reads the `columns` of row group `at` in batches of `rows` rows.
    ///
    /// # Errors
    /// A column that no reader knows.
    pub(super) fn read(
        &self,
        at: usize,
        columns: &[usize],
        rows: u64,
        progress: &Progress,
    ) -> Result<Rows, String> {
        let whole = self.metadata.metadata().file_metadata();
        let group = self.row_group(at).clone();
        // The reader takes what it is given for a whole file: one with this row group only.
        let file = FileMetaData::new(
            whole.version(),
            group.num_rows(),
            whole.created_by().map(str::to_owned),
            None,
            whole.schema_descr_ptr(),
            whole.column_orders().cloned(),
        );
        let mask = self.mask(columns);
        let fetched = self.fetch(&group, &mask, progress)?;
        let group: Arc<dyn FileReader> = Arc::new(RowGroup {
            blob: self.blob.clone(),
            progress: progress.clone(),
            metadata: ParquetMetaData::new(file, vec![group]),
            fetched,
        });
        let hint: &Schema = self.schema();
        let levels = parquet_to_arrow_field_levels(whole.schema_descr(), mask, Some(hint.fields()));
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        levels
            .and_then(|levels| ParquetRecordBatchReader::try_new_with_row_groups(&levels, &group, rows, None))
            .map_err(|error| reason(&error))
    }

    /// The chunks in `mask`, all together, if pages one by one would be slow to come.
    fn fetch(
        &self,
        group: &RowGroupMetaData,
        mask: &ProjectionMask,
        progress: &Progress,
    ) -> Result<Fetched, String> {
        if !self.blob.is_remote() {
            return Ok(Fetched::new());
        }
        let leaves = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let (leaves, ranges): (Vec<_>, Vec<_>) =
            leaves.filter_map(|(leaf, chunk)| Some((leaf, range(chunk)?))).unzip();
        let bytes = self.blob.many(&ranges).map_err(|error| error.to_string())?;
        progress.add_bytes_read(bytes.iter().map(|bytes| bytes.len() as u64).sum());
        Ok(leaves.into_iter().zip(bytes).collect())
    }
}

/// Column chunks that were read already, by their leaves.
type Fetched = BTreeMap<usize, Bytes>;

/// The footer's bytes, after its length was compared with the file's.
fn footer(blob: &Blob) -> Result<Bytes, String> {
    let size = blob.size();
    let least = TAIL_BYTES + MAGIC.len() as u64;
    if size < least {
        return Err(format!("it has {size} bytes, which is no Parquet file"));
    }
    let read = |start, length| blob.bytes(start, length).map_err(|error| error.to_string());
    let tail = read(size - TAIL_BYTES, TAIL_BYTES)?;
    let (length, mark) = tail.split_at(4);
    if mark == ENCRYPTED {
        return Err("it is encrypted".to_owned());
    }
    if mark != MAGIC {
        return Err("it does not end as a Parquet file ends: it is cut off, or something else".to_owned());
    }
    let length = u64::from(length.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length)));
    if length > size - least {
        return Err(format!("its footer claims {length} bytes, the file has {size}"));
    }
    if length > MAX_FOOTER_BYTES {
        return Err(format!("its footer has {length} bytes; howdah reads up to {MAX_FOOTER_BYTES}"));
    }
    read(size - TAIL_BYTES - length, length)
}

/// Compares what a footer claims with itself and with the file's size.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<(), String> {
    let mut stored: u64 = 0;
    let mut rows: i64 = 0;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let wrong = |what: String| Err(format!("row group {number}: {what}"));
        if u64::try_from(group.num_rows()).map_or(true, |rows| rows > MAX_ROWS) {
            return wrong(format!("it claims {} rows; a row group may have {MAX_ROWS}", group.num_rows()));
        }
        rows += group.num_rows();
        for chunk in group.columns() {
            let column = chunk.column_path();
            let Some(range) = range(chunk) else {
                return wrong(format!("column {column}: it claims to have less than no bytes"));
            };
            if range.end > size {
                let (start, end) = (range.start, range.end);
                return wrong(format!("column {column}: bytes {start} to {end} of a file of {size}"));
            }
            if chunk.file_path().is_some_and(|path| !path.is_empty()) {
                return wrong(format!("column {column}: its values are in another file"));
            }
            let values = chunk.num_values();
            if values < 0 || chunk.column_descr().max_rep_level() == 0 && values != group.num_rows() {
                let rows = group.num_rows();
                return wrong(format!("column {column}: {values} values for {rows} rows"));
            }
            stored += range.end - range.start;
        }
    }
    // Chunks that lie over each other make a small file say the same for ever.
    if stored > size {
        return Err(format!("its columns claim {stored} bytes in all, the file has {size}"));
    }
    // Some writers leave it at 0.
    let claimed = metadata.file_metadata().num_rows();
    if claimed > rows {
        return Err(format!("it claims {claimed} rows, its row groups have {rows}"));
    }
    Ok(())
}

/// Where a column chunk lies.
fn range(chunk: &ColumnChunkMetaData) -> Option<std::ops::Range<u64>> {
    let start = u64::try_from(chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset())).ok()?;
    let length = u64::try_from(chunk.compressed_size()).ok()?;
    Some(start..start.checked_add(length)?)
}

/// One row group, as a file of its own.
struct RowGroup {
    blob: Blob,
    progress: Progress,
    metadata: ParquetMetaData,
    fetched: Fetched,
}

impl FileReader for RowGroup {
    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    fn num_row_groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    fn get_row_group(&self, at: usize) -> ParquetResult<Box<dyn RowGroupReader + '_>> {
        Ok(Box::new(Columns { file: self, metadata: self.metadata.row_group(at) }))
    }

    fn get_row_iter(&self, _: Option<Type>) -> ParquetResult<RowIter<'_>> {
        Err(ParquetError::NYI("rows are read as batches".to_owned()))
    }
}

/// The columns of a [`RowGroup`].
struct Columns<'a> {
    file: &'a RowGroup,
    metadata: &'a RowGroupMetaData,
}

impl RowGroupReader for Columns<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata
    }

    fn num_columns(&self) -> usize {
        self.metadata.num_columns()
    }

    fn get_column_page_reader(&self, at: usize) -> ParquetResult<Box<dyn PageReader>> {
        let column = self.metadata.column(at);
        let rows = usize::try_from(self.metadata.num_rows())?;
        let fetched = self.file.fetched.get(&at).cloned();
        let chunk = Chunk::new(&self.file.blob, column, fetched, &self.file.progress)?;
        Ok(Box::new(Pages::new(chunk, column, rows)?))
    }

    fn get_column_bloom_filter(&self, _: usize) -> Option<&parquet::bloom_filter::Sbbf> {
        None
    }

    fn get_row_iter(&self, _: Option<Type>) -> ParquetResult<RowIter<'_>> {
        Err(ParquetError::NYI("rows are read as batches".to_owned()))
    }
}
