//! Messages of Arrow's IPC formats: framed and checked here, decoded by the library.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, CompressionType, Message, MessageHeader, MetadataVersion};
use arrow_schema::{Schema, SchemaRef};

use super::decoder::{decoded, reason};
use super::limits::{MAX_FOOTER_BYTES, MAX_MESSAGE_BYTES, MAX_PAGE_BYTES, MAX_ROWS, fixed_width};

/// Stands before the length of a message, but for those of libraries before 2019.
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// Bytes before a message: the mark, and the length of its description.
const PREFIX_BYTES: usize = 8;

/// What LZ4 can make of a byte, at most.
const LZ4_EXPANSION: u64 = 256;

/// A message: prefix, description and body in one buffer.
pub(super) struct Frame {
    buffer: Buffer,
    /// Where the body starts.
    body: usize,
}

impl Frame {
    /// A message whose body starts at `body`.
    ///
    /// # Errors
    /// It is too short for a message.
    pub(super) fn new(buffer: Buffer, body: usize) -> Result<Self, String> {
        if body < PREFIX_BYTES || body > buffer.len() {
            return Err("a message of it is damaged".to_owned());
        }
        Ok(Frame { buffer, body })
    }

    /// The next message of a stream; `None` at its end.
    ///
    /// # Errors
    /// The stream ends within the message, or cannot be read; the message claims too much.
    pub(super) fn read(stream: &mut impl Read) -> Result<Option<Self>, String> {
        let mut word = [0; 4];
        match fill(stream, &mut word)? {
            0 => return Ok(None),
            4 => {}
            _ => return Err(cut_off()),
        }
        if word == CONTINUATION && fill(stream, &mut word)? < word.len() {
            return Err(cut_off());
        }
        let length = i32::from_le_bytes(word);
        if length == 0 {
            return Ok(None);
        }
        let length = u64::try_from(length).ok().filter(|length| *length <= MAX_FOOTER_BYTES);
        let length = length.ok_or("a message of it claims too many bytes")?;
        let mut bytes = Vec::with_capacity(PREFIX_BYTES + 1024);
        bytes.extend_from_slice(&CONTINUATION);
        bytes.extend_from_slice(&word);
        extend(stream, &mut bytes, length)?;
        let body = bytes.len();
        let claimed = message(&bytes)?.bodyLength();
        let claimed = u64::try_from(claimed).ok().filter(|claimed| *claimed <= MAX_MESSAGE_BYTES);
        let claimed = claimed.ok_or_else(too_large)?;
        extend(stream, &mut bytes, claimed)?;
        Ok(Some(Frame { buffer: Buffer::from_vec(bytes), body }))
    }

    fn message(&self) -> Result<Message<'_>, String> {
        message(&self.buffer[..self.body])
    }

    fn body(&self) -> &[u8] {
        &self.buffer[self.body..]
    }

    /// The schema, if the message is one.
    pub(super) fn schema(&self) -> Result<(SchemaRef, MetadataVersion), String> {
        let message = self.message()?;
        let schema = message.header_as_schema().ok_or("it does not begin with a schema")?;
        Ok((to_schema(schema)?, message.version()))
    }

    /// Gives a dictionary to `decoder`, or lets it decode a batch; `None`: a message without rows.
    ///
    /// # Errors
    /// What is damaged.
    pub(super) fn decode(&self, decoder: &mut FileDecoder) -> Result<Option<RecordBatch>, String> {
        if self.is_dictionary()? {
            let block = self.block()?;
            return decoded(|| {
                decoder.read_dictionary(&block, &self.buffer).map(|()| None).map_err(|error| reason(&error))
            });
        }
        self.decode_rows(decoder)
    }

    /// Whether it brings a dictionary.
    fn is_dictionary(&self) -> Result<bool, String> {
        let message = self.message()?;
        check(&message, self.body())?;
        Ok(message.header_type() == MessageHeader::DictionaryBatch)
    }

    /// The batch, with the dictionaries that `decoder` was given.
    ///
    /// # Errors
    /// What is damaged.
    pub(super) fn decode_rows(&self, decoder: &FileDecoder) -> Result<Option<RecordBatch>, String> {
        check(&self.message()?, self.body())?;
        let block = self.block()?;
        decoded(|| decoder.read_record_batch(&block, &self.buffer).map_err(|error| reason(&error)))
    }

    /// Where in its buffer the decoder finds what.
    fn block(&self) -> Result<Block, String> {
        let length = i32::try_from(self.body).map_err(|_| too_large())?;
        let body = i64::try_from(self.buffer.len() - self.body).map_err(|_| too_large())?;
        Ok(Block::new(0, length, body))
    }
}

/// The description at the start of `bytes`, behind its prefix.
fn message(bytes: &[u8]) -> Result<Message<'_>, String> {
    let skip = if bytes.starts_with(&CONTINUATION) { PREFIX_BYTES } else { 4 };
    let described = bytes.get(skip..).unwrap_or_default();
    arrow_ipc::root_as_message(described).map_err(|_| "a message of it is damaged".to_owned())
}

/// Rows that the description at the start of `bytes` claims.
pub(super) fn rows_of(bytes: &[u8]) -> Result<u64, String> {
    let message = message(bytes)?;
    let rows = message.header_as_record_batch().map_or(0, |batch| batch.length());
    u64::try_from(rows).ok().filter(|rows| *rows <= MAX_ROWS).ok_or_else(|| too_many(rows))
}

/// A schema in the library's terms, if its bytes and its types are those of this machine.
pub(super) fn to_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, String> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err("its numbers are big-endian".to_owned());
    }
    let schema: Schema = decoded(|| Ok(arrow_ipc::convert::fb_to_schema(schema)))?;
    let row = schema.fields().iter().map(|field| fixed_width(field.data_type()));
    if row.fold(0, u64::saturating_add) > MAX_PAGE_BYTES {
        return Err(format!("a row of it has more than {MAX_PAGE_BYTES} bytes"));
    }
    Ok(Arc::new(schema))
}

/// Compares what a message claims with its body.
fn check(message: &Message<'_>, body: &[u8]) -> Result<(), String> {
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        MessageHeader::Schema => return Err("a second schema stands among its rows".to_owned()),
        _ => None,
    };
    let Some(batch) = batch else { return Ok(()) };
    if u64::try_from(batch.length()).map_or(true, |rows| rows > MAX_ROWS) {
        return Err(too_many(batch.length()));
    }
    for node in batch.nodes().into_iter().flatten() {
        // Decoders make buffers of as many bits, where a message has none.
        let length = u64::try_from(node.length()).ok().filter(|length| *length <= MAX_ROWS);
        let length = length.ok_or_else(|| too_many(node.length()))?;
        if u64::try_from(node.null_count()).map_or(true, |nulls| nulls > length) {
            return Err(format!(
                "a column of {length} values claims {} of them to be NULL",
                node.null_count()
            ));
        }
    }
    let codec = batch.compression().map(|compression| compression.codec());
    let mut unpacked: u64 = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = usize::try_from(buffer.offset()).ok().and_then(|start| {
            let length = usize::try_from(buffer.length()).ok()?;
            body.get(start..start.checked_add(length)?)
        });
        let bytes = bytes.ok_or("a buffer lies outside of its message")?;
        let Some(codec) = codec else {
            unpacked += bytes.len() as u64;
            continue;
        };
        // A packed buffer begins with its size; -1 says that it is not packed.
        let Some((size, packed)) = bytes.split_first_chunk::<8>() else { continue };
        let packed = packed.len() as u64;
        let size = match i64::from_le_bytes(*size) {
            -1 => packed,
            size => u64::try_from(size).map_err(|_| "a packed buffer claims less than no bytes")?,
        };
        if codec == CompressionType::LZ4_FRAME && size > packed.saturating_mul(LZ4_EXPANSION) {
            return Err(format!("a buffer claims {size} bytes, which {packed} compressed ones cannot hold"));
        }
        unpacked = unpacked.saturating_add(size);
    }
    if unpacked > MAX_MESSAGE_BYTES { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> String {
    format!("a message of it claims more than {MAX_MESSAGE_BYTES} bytes: write it with fewer rows a batch")
}

fn too_many(rows: i64) -> String {
    format!("a message claims {rows} rows; it may have {MAX_ROWS}")
}

fn cut_off() -> String {
    "it is cut off within a message".to_owned()
}

/// As many bytes as there are for `buffer`.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> Result<usize, String> {
    crate::open::fill::read_full(stream, buffer).map_err(|error: io::Error| error.to_string())
}

/// `length` bytes more; memory grows with what is there and not with what is claimed.
fn extend(stream: &mut impl Read, bytes: &mut Vec<u8>, length: u64) -> Result<(), String> {
    let got = stream.take(length).read_to_end(bytes).map_err(|error| error.to_string())?;
    if got as u64 == length { Ok(()) } else { Err(cut_off()) }
}
