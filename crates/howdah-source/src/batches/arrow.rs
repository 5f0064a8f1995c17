//! Arrow's IPC formats: the file, whose batches are read apart from each other, and the stream, which is read in order.

use std::io::Read;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::SchemaRef;

use super::limits::{MAX_FOOTER_BYTES, MAX_MESSAGE_BYTES};
use super::message::{Frame, rows_of, to_schema};
use crate::Progress;
use crate::open::blob::Blob;

/// How the file format begins and ends.
pub(super) const MAGIC: &[u8] = b"ARROW1";

/// The first bytes of the file format, up to the stream in it.
const START_BYTES: usize = 8;

/// Behind the mark, in steps of 8 bytes: writers pad up to their alignment, some to 64 bytes.
const MOST_PADDING: usize = 16;

/// At its end: the footer's length, and the mark.
const TAIL_BYTES: u64 = 10;

/// How Feather's first version begins, which is another format.
const FEATHER_1: &[u8] = b"FEA1";

/// A file, of which the footer and the dictionaries were read.
pub(super) struct ArrowFile {
    blob: Blob,
    schema: SchemaRef,
    version: MetadataVersion,
    dictionaries: Vec<MessageRange>,
    batches: Vec<(MessageRange, u64)>,
    decoder: FileDecoder,
}

/// Where a message lies.
#[derive(Debug, Clone, Copy)]
struct MessageRange {
    start: u64,
    /// Of its description, prefix and padding included.
    description: u64,
    body: u64,
}

impl ArrowFile {
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn open(blob: Blob) -> Result<Self, String> {
        let _held = blob.keep_open().map_err(|error| error.to_string())?;
        let footer = footer(&blob)?;
        let footer = arrow_ipc::root_as_footer(&footer).map_err(|_| "its footer is damaged")?;
        let schema = to_schema(footer.schema().ok_or("its footer has no schema")?)?;
        let mut stored: u64 = 0;
        let mut place = |block: &arrow_ipc::Block| {
            let place = MessageRange::new(block, blob.size())?;
            stored = stored.saturating_add(place.description + place.body);
            Ok::<_, String>(place)
        };
        let dictionaries = footer.dictionaries().into_iter().flatten().map(&mut place);
        let dictionaries = dictionaries.collect::<Result<Vec<_>, _>>()?;
        let batches = footer.recordBatches().into_iter().flatten().map(&mut place);
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        // Batches that lie over each other make a small file say the same for ever.
        if stored > blob.size() {
            return Err(format!("its messages claim {stored} bytes in all, the file has {}", blob.size()));
        }
        let descriptions: Vec<_> =
            batches.iter().map(|place| place.start..place.start + place.description).collect();
        let descriptions = blob.many(&descriptions).map_err(|error| error.to_string())?;
        let batches = batches.into_iter().zip(&descriptions);
        let batches = batches.map(|(place, description)| Ok::<_, String>((place, rows_of(description)?)));
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        let version = footer.version();
        let decoder = FileDecoder::new(schema.clone(), version);
        let mut file = ArrowFile { blob, schema, version, dictionaries, batches, decoder };
        file.read_dictionaries()?;
        Ok(file)
    }

    fn read_dictionaries(&mut self) -> Result<(), String> {
        for place in &self.dictionaries {
            place.frame(&self.blob)?.decode(&mut self.decoder)?;
        }
        Ok(())
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads only these columns from here on.
    ///
    /// # Errors
    /// The dictionaries cannot be read again.
    pub(super) fn project(&mut self, columns: &[usize]) -> Result<(), String> {
        self.decoder = FileDecoder::new(self.schema.clone(), self.version).with_projection(columns.to_vec());
        self.read_dictionaries()
    }

    /// How many batches there are.
    pub(super) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Rows of batch `at`.
    pub(super) fn rows(&self, at: usize) -> u64 {
        self.batches[at].1
    }

    /// Bytes that a row of batch `at` takes in the file.
    pub(super) fn bytes_per_row(&self, at: usize) -> u64 {
        let (place, rows) = self.batches[at];
        place.body / rows.max(1)
    }

    /// Batch `at`.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub(super) fn read(&self, at: usize, progress: &Progress) -> Result<Option<RecordBatch>, String> {
        let (place, _) = self.batches[at];
        let frame = place.frame(&self.blob)?;
        progress.add_bytes_read(place.description + place.body);
        frame.decode_rows(&self.decoder)
    }
}

impl MessageRange {
    fn new(block: &arrow_ipc::Block, size: u64) -> Result<Self, String> {
        let place = MessageRange {
            start: u64::try_from(block.offset()).unwrap_or(u64::MAX),
            description: u64::try_from(block.metaDataLength()).unwrap_or(u64::MAX),
            body: u64::try_from(block.bodyLength()).unwrap_or(u64::MAX),
        };
        let end = place.start.checked_add(place.description).and_then(|end| end.checked_add(place.body));
        if end.is_none_or(|end| end > size) {
            return Err(format!("its footer points behind the end of the file, which has {size} bytes"));
        }
        if place.description > MAX_FOOTER_BYTES || place.body > MAX_MESSAGE_BYTES {
            return Err(format!(
                "a batch of it has {} bytes, more than {MAX_MESSAGE_BYTES}: write it with fewer rows a batch",
                place.body
            ));
        }
        Ok(place)
    }

    fn frame(self, blob: &Blob) -> Result<Frame, String> {
        let description = usize::try_from(self.description).map_err(|error| error.to_string())?;
        let body = usize::try_from(self.body).map_err(|error| error.to_string())?;
        // Aligned as the arrays in it need it.
        let mut buffer = MutableBuffer::from_len_zeroed(description + body);
        blob.read(self.start, &mut buffer).map_err(|error| error.to_string())?;
        Frame::new(Buffer::from(buffer), description)
    }
}

/// The footer's bytes, after its length was compared with the file's.
fn footer(blob: &Blob) -> Result<bytes::Bytes, String> {
    let size = blob.size();
    let least = TAIL_BYTES + START_BYTES as u64;
    let read = |start, length| blob.bytes(start, length).map_err(|error| error.to_string());
    if size < least {
        return Err(format!("it has {size} bytes, which is no Arrow file"));
    }
    let tail = read(size - TAIL_BYTES, TAIL_BYTES)?;
    let (length, mark) = tail.split_at(4);
    if mark != MAGIC {
        return Err("it does not end as an Arrow file ends: it is cut off".to_owned());
    }
    let length = length.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    let length = u64::from(length);
    if length > (size - least).min(MAX_FOOTER_BYTES) {
        return Err(format!("its footer claims {length} bytes, the file has {size}"));
    }
    read(size - TAIL_BYTES - length, length)
}

/// A stream, of which the schema was read.
pub(super) struct ArrowStream {
    stream: Box<dyn Read + Send>,
    schema: SchemaRef,
    version: MetadataVersion,
    decoder: FileDecoder,
    ended: bool,
}

impl ArrowStream {
    /// # Errors
    /// It does not begin with a schema, or cannot be read.
    pub(super) fn open(mut stream: Box<dyn Read + Send>) -> Result<Self, String> {
        let mut start = [0; START_BYTES];
        let mut fill = |start: &mut [u8]| {
            crate::open::fill::read_full(&mut stream, start).map_err(|error| error.to_string())
        };
        let mut got = fill(&mut start)?;
        if start.starts_with(FEATHER_1) {
            return Err(
                "it is a Feather file of version 1: read and write it again with pyarrow.feather".into()
            );
        }
        if start.starts_with(MAGIC) {
            // The file format is a stream between two marks, the first of which is padded; its footer is only for those
            // who can jump.
            for _ in 0..MOST_PADDING {
                got = fill(&mut start)?;
                if start != [0; START_BYTES] {
                    break;
                }
            }
        }
        let mut stream = std::io::Cursor::new(start[..got].to_vec()).chain(stream);
        let first = Frame::read(&mut stream)?.ok_or("it is empty: not even a schema is in it")?;
        let (schema, version) = first.schema()?;
        let decoder = FileDecoder::new(schema.clone(), version);
        Ok(ArrowStream { stream: Box::new(stream), schema, version, decoder, ended: false })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads only these columns; nothing was read yet.
    pub(super) fn project(&mut self, columns: &[usize]) {
        self.decoder = FileDecoder::new(self.schema.clone(), self.version).with_projection(columns.to_vec());
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// It is damaged, cut off, or cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        while !self.ended {
            let Some(frame) = Frame::read(&mut self.stream)? else {
                self.ended = true;
                break;
            };
            if let Some(batch) = frame.decode(&mut self.decoder)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
