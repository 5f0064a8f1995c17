//! Pages of one Parquet column chunk, of which every size is checked before its decoder allocates for it.

use parking_lot::Mutex;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use parquet::schema::types::ColumnDescriptor;

use super::thrift::{self, Compact, PageSizes};
use super::unpack::Unpacker;
use crate::Progress;
use crate::batches::decoder::reason;
use crate::batches::limits::MAX_PAGE_BYTES;
use crate::open::blob::{Blob, Held};

/// The most values in one Parquet page; writers stop at some ten thousand.
const MAX_PAGE_VALUES: u64 = 1 << 26;

/// A column chunk up to this size is read at once; pages of a larger one are read one by one.
const SMALL_CHUNK_BYTES: u64 = 1 << 20;

/// Enough for nearly every page header. One with long statistics goes on.
const HEADER_BYTES: u64 = 4 << 10;

/// No page header is longer.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The bytes of a column chunk.
#[derive(Clone)]
pub(super) struct Chunk(Arc<ChunkInner>);

struct ChunkInner {
    blob: Blob,
    progress: Progress,
    compression: Compression,
    start: u64,
    end: u64,
    /// Until the last page was read.
    _held: Held,
    /// What the header that was read last claims: that of the page that is read next.
    sizes: Mutex<PageSizes>,
    /// All of them, where they were read already.
    whole: Mutex<Option<Bytes>>,
}

impl Chunk {
    /// The bytes that `metadata` describes, a range that was compared with the file's size; `fetched` if they were read.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub(super) fn new(
        blob: &Blob,
        metadata: &ColumnChunkMetaData,
        fetched: Option<Bytes>,
        progress: &Progress,
    ) -> io::Result<Self> {
        let (start, length) = metadata.byte_range();
        Ok(Chunk(Arc::new(ChunkInner {
            _held: blob.keep_open()?,
            blob: blob.clone(),
            progress: progress.clone(),
            compression: metadata.compression(),
            start,
            end: start.saturating_add(length),
            sizes: Mutex::default(),
            whole: Mutex::new(fetched),
        })))
    }

    fn bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let this = &*self.0;
        let mut whole = this.whole.lock();
        if whole.is_none() && this.end - this.start <= SMALL_CHUNK_BYTES {
            *whole = Some(self.read(this.start, this.end - this.start)?);
        }
        let inside = start >= this.start && start.checked_add(length).is_some_and(|end| end <= this.end);
        match &*whole {
            Some(whole) if inside => {
                let at = usize::try_from(start - this.start).map_err(io::Error::other)?;
                let length = usize::try_from(length).map_err(io::Error::other)?;
                Ok(whole.slice(at..at + length))
            }
            _ => self.read(start, length),
        }
    }

    fn read(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let bytes = self.0.blob.bytes(start, length)?;
        self.0.progress.add_bytes_read(length);
        Ok(bytes)
    }

    /// The page header at `start`, and some of what follows it.
    fn header(&self, start: u64) -> io::Result<Bytes> {
        let left = self.0.end.saturating_sub(start).min(MAX_HEADER_BYTES);
        let mut window = HEADER_BYTES.min(left);
        loop {
            let bytes = self.bytes(start, window)?;
            if let Some(sizes) = thrift::page_sizes(&bytes) {
                check_sizes(sizes, self.0.compression).map_err(io::Error::other)?;
                *self.0.sizes.lock() = sizes;
                return Ok(bytes);
            }
            if window == left {
                return Err(io::Error::other("a page header is damaged"));
            }
            window = (window * 16).min(left);
        }
    }
}

/// What a codec can make of a byte, at most; the others are checked by what they unpack.
fn expansion(compression: Compression) -> Option<i64> {
    match compression {
        Compression::UNCOMPRESSED => Some(1),
        // 64 bytes out of a copy of three.
        Compression::SNAPPY => Some(22),
        Compression::LZ4 | Compression::LZ4_RAW => Some(256),
        Compression::GZIP(_) => Some(1032),
        Compression::BROTLI(_) | Compression::ZSTD(_) | Compression::LZO => None,
    }
}

fn check_sizes(sizes: PageSizes, compression: Compression) -> std::result::Result<(), String> {
    let PageSizes { unpacked, packed } = sizes;
    if u64::try_from(unpacked).map_or(true, |unpacked| unpacked > MAX_PAGE_BYTES) {
        return Err(format!("a page claims {unpacked} bytes; a page may have {MAX_PAGE_BYTES}"));
    }
    // Some slack for codecs' headers, and for writers that count a page header as part of the page.
    let most = expansion(compression).map_or(i64::MAX, |by| packed.saturating_mul(by).saturating_add(1024));
    if unpacked > most {
        return Err(format!("a page claims {unpacked} bytes, which {packed} compressed ones cannot hold"));
    }
    Ok(())
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.0.blob.size()
    }
}

impl ChunkReader for Chunk {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader> {
        Ok(HeaderReader { chunk: self.clone(), start, header: None })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(self.bytes(start, length as u64)?)
    }
}

/// Reads a page header. Readers are also made where none stands, and never read: so it is looked at when it is asked for.
pub(super) struct HeaderReader {
    chunk: Chunk,
    start: u64,
    header: Option<Bytes>,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let header = match &mut self.header {
            Some(header) => header,
            none => none.insert(self.chunk.header(self.start)?),
        };
        let count = buffer.len().min(header.len());
        header.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

/// The pages of a column chunk.
pub(super) struct Pages {
    inner: SerializedPageReader<Chunk>,
    chunk: Chunk,
    /// What unpacks its pages, if `inner` does not.
    unpacker: Option<Unpacker>,
    column: Arc<ColumnDescriptor>,
    /// Values in all, as the footer has it.
    values: u64,
}

impl Pages {
    /// # Errors
    /// A codec that is not known.
    pub(super) fn new(chunk: Chunk, metadata: &ColumnChunkMetaData, rows: usize) -> Result<Self> {
        let unpacker = Unpacker::of(metadata.compression());
        let column = metadata.column_descr_ptr();
        let values = u64::try_from(metadata.num_values()).unwrap_or(0);
        let source = Arc::new(chunk.clone());
        let inner = if unpacker.is_some() {
            let packed =
                metadata.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
            SerializedPageReader::new(source, &packed, rows, None)?
        } else {
            SerializedPageReader::new(source, metadata, rows, None)?
        };
        Ok(Pages { inner, chunk, unpacker, column, values })
    }

    /// The next page, unpacked and checked. Its checksum, where it has one, is that of the bytes as they are stored.
    fn next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.inner.get_next_page()? else { return Ok(None) };
        if let Some(unpacker) = self.unpacker {
            let sizes = *self.chunk.0.sizes.lock();
            unpacker.unpack(&mut page, u64::try_from(sizes.unpacked)?)?;
        }
        self.check(&page)?;
        Ok(Some(page))
    }

    fn check(&self, page: &Page) -> Result<()> {
        let lie = |what: String| Err(ParquetError::General(what));
        let values = u64::from(page.num_values());
        if page.is_dictionary_page() {
            let bytes = page.buffer().len() as u64;
            if values.saturating_mul(self.least_bytes()) > bytes {
                return lie(format!("a dictionary claims {values} values in {bytes} bytes"));
            }
            return Ok(());
        }
        if values > self.values.min(MAX_PAGE_VALUES) {
            return lie(format!("a page claims {values} values, its column chunk {}", self.values));
        }
        let lengths = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        // Their decoders allocate as many lengths as the data claim.
        let damaged = || ParquetError::General("the levels of a page are damaged".to_owned());
        let mut data = self.values_of(page).ok_or_else(damaged)?;
        for _ in 0..lengths {
            let Some(deltas) = Deltas::read(&data) else { return Ok(()) };
            if deltas.count > values {
                return lie(format!("a page of {values} values claims {} lengths", deltas.count));
            }
            let Some(end) = deltas.end else {
                return lie("the lengths of a page are damaged".to_owned());
            };
            data.advance(end);
        }
        Ok(())
    }

    /// What a value of a dictionary takes at least.
    fn least_bytes(&self) -> u64 {
        match self.column.physical_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(self.column.type_length()).unwrap_or(1).max(1),
        }
    }

    /// What stands behind the levels of a page.
    fn values_of(&self, page: &Page) -> Option<Bytes> {
        let mut data = page.buffer().clone();
        let levels = match page {
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len)
            }
            Page::DataPage { num_values, def_level_encoding, rep_level_encoding, .. } => {
                let kinds = [
                    (self.column.max_rep_level(), rep_level_encoding),
                    (self.column.max_def_level(), def_level_encoding),
                ];
                let mut bytes: u64 = 0;
                for (max, encoding) in kinds.into_iter().filter(|(max, _)| *max > 0) {
                    bytes += if *encoding == Encoding::RLE {
                        let length = data.get(usize::try_from(bytes).ok()?..)?.first_chunk::<4>()?;
                        4 + u64::from(u32::from_le_bytes(*length))
                    } else {
                        let bits = u64::from(i16::BITS - max.leading_zeros());
                        (u64::from(*num_values) * bits).div_ceil(8)
                    };
                }
                bytes
            }
            Page::DictionaryPage { .. } => 0,
        };
        let levels = usize::try_from(levels).ok().filter(|levels| *levels <= data.len())?;
        data.advance(levels);
        Some(data)
    }
}

/// Integers packed as blocks of differences.
struct Deltas {
    count: u64,
    /// Where they end; `None`: not within the bytes.
    end: Option<usize>,
}

impl Deltas {
    /// `None`: the bytes do not start with them, and their decoder will say so.
    fn read(bytes: &[u8]) -> Option<Deltas> {
        let mut data = Compact::new(bytes);
        let block = data.varint()?;
        let minis = data.varint()?;
        let count = data.varint()?;
        data.varint()?;
        let per_mini = block.checked_div(minis).filter(|per_mini| *per_mini > 0)?;
        let skipped = Deltas::skip(&mut data, minis, per_mini, count.saturating_sub(1));
        Some(Deltas { count, end: skipped.map(|()| bytes.len() - data.left()) })
    }

    /// Steps over the blocks of `left` values, of which those of a miniblock have one width.
    fn skip(data: &mut Compact<'_>, minis: u64, per_mini: u64, mut left: u64) -> Option<()> {
        while left > 0 {
            data.varint()?;
            for width in data.take(minis)? {
                if left == 0 {
                    break;
                }
                data.take(u64::from(*width).checked_mul(per_mini)? / 8)?;
                left = left.saturating_sub(per_mini);
            }
        }
        Some(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next_page().map_err(|error| {
            let column = self.column.path().string();
            ParquetError::General(format!("column {column}: {}", reason(&error)))
        })
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_no_codec_could_have_packed_so_small_is_refused() {
        let sizes = |unpacked, packed| PageSizes { unpacked, packed };
        let zstd = Compression::ZSTD(Default::default());
        for (claim, compression, is_fine) in [
            (sizes(2_000, 100), Compression::SNAPPY, true),
            (sizes(1_000_000, 100), Compression::SNAPPY, false),
            (sizes(1_000_000, 100), Compression::LZ4_RAW, false),
            (sizes(1_000_000, 100), zstd, true),
            (sizes(1_000_000, 100), Compression::UNCOMPRESSED, false),
            (sizes(0x7FFF_FFFF, 0x7FFF_FFFF), zstd, false),
            (sizes(-1, 100), zstd, false),
        ] {
            assert_eq!(check_sizes(claim, compression).is_ok(), is_fine, "{claim:?} {compression:?}");
        }
    }

    #[test]
    fn lengths_that_are_claimed_but_not_there_are_noticed_before_they_are_allocated() {
        // Blocks of 128 in 4 miniblocks, 5 values, the first 0; deltas of 2 bits behind a least delta of 0.
        let mut deltas = vec![0x80, 0x01, 4, 5, 0, 0, 2, 0, 0, 0];
        deltas.extend([0; 8]);
        let read = Deltas::read(&deltas).unwrap();
        assert_eq!((read.count, read.end), (5, Some(18)));
        assert_eq!(Deltas::read(&deltas[..17]).unwrap().end, None);
        // A count that eight bytes cannot hold.
        let lying = [0x80, 0x01, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0];
        let read = Deltas::read(&lying).unwrap();
        assert_eq!((read.count, read.end), ((1 << 56) - 1, None));
        assert!(Deltas::read(&[0x80, 0x01, 0, 5, 0]).is_none(), "no miniblocks");
    }
}
