//! Text of other encodings becomes UTF-8 while it is read. What an encoding does not define is marked, never replaced: the
//! marks are no UTF-8, so the record they stand in is refused with its place.

use std::io::{self, Cursor, Read};

use encoding_rs::{Decoder, DecoderResult};
use howdah_message::setting;

use crate::open::encoding::{Decoding, Encoding};
use crate::open::fill::read_full;

/// Input bytes decoded at once: what comes of them stays in the second-level cache.
const CHUNK_BYTES: usize = 64 * 1024;

/// A malformed sequence may start in the chunk before the one in which that is noticed.
const KEPT_BYTES: usize = 8;

/// A mark has one byte for each octal digit of an undefined byte: 0xF8 to 0xFF occur nowhere in UTF-8, and no delimiter,
/// quote or line end that happens to be part of a malformed sequence can be taken for one.
const MARK: u8 = 0xF8;

/// The text of `raw` in UTF-8, and what it was written in, if that is something else. `encoding` is what the user says; a byte
/// order mark says it too. UTF-8 passes untouched.
///
/// # Errors
/// The first bytes cannot be read, or say otherwise than the user.
pub fn reader(
    mut raw: Box<dyn Read + Send>,
    encoding: Option<Encoding>,
) -> io::Result<(Box<dyn Read + Send>, Option<Encoding>)> {
    let mut start = [0; 3];
    let got = read_full(&mut raw, &mut start)?;
    let marked = match &start[..got] {
        [0xEF, 0xBB, 0xBF] => Some(Encoding::UTF8),
        [0xFF, 0xFE, ..] => Some(Encoding::UTF16LE),
        [0xFE, 0xFF, ..] => Some(Encoding::UTF16BE),
        _ => None,
    };
    let encoding = match (encoding, marked) {
        (None, None) => Encoding::UTF8,
        (None, Some(marked)) => marked,
        (Some(named), None) => named,
        (Some(named), Some(marked)) if named.admits(marked) => marked,
        (Some(named), Some(marked)) => {
            let (named, marked) = (named.name(), marked.name());
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                message![
                    "it starts with the byte order mark of {marked}, but ",
                    setting::ENCODING,
                    " is {named}"
                ],
            ));
        }
    };
    let whole = Box::new(Cursor::new(start[..got].to_vec()).chain(raw));
    if encoding == Encoding::UTF8 {
        return Ok((whole, None));
    }
    Ok((Box::new(TranscodingReader::new(whole, encoding)), Some(encoding)))
}

/// Reads an input of another encoding as UTF-8.
struct TranscodingReader {
    raw: Box<dyn Read + Send>,
    scheme: Scheme,
    /// The last bytes of the chunk before, then the chunk.
    chunk: Vec<u8>,
    /// Decoded; from `given` to `filled` it was not asked for yet.
    ready: Vec<u8>,
    given: usize,
    filled: usize,
    ended: bool,
}

enum Scheme {
    /// The UTF-8 of each byte from 0x80, and its length; 0 for an undefined one.
    Bytewise(Box<[([u8; 3], usize); 128]>),
    Sequences(Box<Decoder>),
}

impl TranscodingReader {
    fn new(raw: Box<dyn Read + Send>, encoding: Encoding) -> Self {
        let scheme = match encoding.decoding {
            // As the WHATWG has it, when no byte order mark says otherwise.
            Decoding::Utf16 => sequences(encoding_rs::UTF_16LE),
            Decoding::Utf8 => sequences(encoding_rs::UTF_8),
            Decoding::Sequences(found) => sequences(found),
            Decoding::Bytewise(_) => {
                let mut table = Box::new([([0; 3], 0); 128]);
                for (entry, meaning) in table.iter_mut().zip(encoding.high_half().unwrap_or_default()) {
                    let Some(c) = meaning else { continue };
                    entry.1 = c.encode_utf8(&mut entry.0).len();
                }
                Scheme::Bytewise(table)
            }
        };
        TranscodingReader {
            raw,
            scheme,
            chunk: vec![0; KEPT_BYTES + CHUNK_BYTES],
            ready: Vec::new(),
            given: 0,
            filled: 0,
            ended: false,
        }
    }

    /// Decodes the next chunk.
    fn fetch(&mut self) -> io::Result<()> {
        (self.given, self.filled) = (0, 0);
        let got = match self.raw.read(&mut self.chunk[KEPT_BYTES..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        };
        self.ended = got == 0;
        match &mut self.scheme {
            Scheme::Bytewise(table) => {
                let input = &self.chunk[KEPT_BYTES..][..got];
                self.ready.resize(self.ready.len().max(3 * got), 0);
                self.filled = decode_bytewise(input, table, &mut self.ready);
            }
            Scheme::Sequences(decoder) => {
                let mut at = KEPT_BYTES;
                let end = KEPT_BYTES + got;
                loop {
                    let input = &self.chunk[at..end];
                    let most = decoder.max_utf8_buffer_length_without_replacement(input.len());
                    let room = self.filled + most.unwrap_or(4 * input.len()) + 3 * KEPT_BYTES;
                    if self.ready.len() < room {
                        self.ready.resize(room, 0);
                    }
                    let output = &mut self.ready[self.filled..];
                    let (result, read, written) =
                        decoder.decode_to_utf8_without_replacement(input, output, self.ended);
                    at += read;
                    self.filled += written;
                    match result {
                        DecoderResult::InputEmpty => break,
                        DecoderResult::OutputFull => {}
                        DecoderResult::Malformed(length, behind) => {
                            let to = at - usize::from(behind);
                            for byte in &self.chunk[to - usize::from(length)..to] {
                                self.ready[self.filled..self.filled + 3].copy_from_slice(&mark(*byte));
                                self.filled += 3;
                            }
                        }
                    }
                }
                self.chunk.copy_within(end - KEPT_BYTES..end, 0);
            }
        }
        Ok(())
    }
}

impl Read for TranscodingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.filled && !self.ended {
            self.fetch()?;
        }
        let given = buffer.len().min(self.filled - self.given);
        buffer[..given].copy_from_slice(&self.ready[self.given..][..given]);
        self.given += given;
        Ok(given)
    }
}

fn sequences(encoding: &'static encoding_rs::Encoding) -> Scheme {
    Scheme::Sequences(Box::new(encoding.new_decoder_without_bom_handling()))
}

/// Decodes `input` into `output`, which has three times its size; returns how many bytes came of it.
fn decode_bytewise(input: &[u8], table: &[([u8; 3], usize); 128], output: &mut [u8]) -> usize {
    let (mut at, mut filled) = (0, 0);
    while at < input.len() {
        let plain = encoding_rs::Encoding::ascii_valid_up_to(&input[at..]);
        output[filled..filled + plain].copy_from_slice(&input[at..at + plain]);
        at += plain;
        filled += plain;
        while let Some(byte) = input.get(at).filter(|byte| !byte.is_ascii()) {
            let (utf8, length) = match table[usize::from(byte & 0x7F)] {
                (_, 0) => (mark(*byte), 3),
                meaning => meaning,
            };
            output[filled..filled + 3].copy_from_slice(&utf8);
            at += 1;
            filled += length;
        }
    }
    filled
}

fn mark(byte: u8) -> [u8; 3] {
    [MARK | byte >> 6, MARK | byte >> 3 & 7, MARK | byte & 7]
}

/// The undefined bytes that the marks at the start of `bytes` stand for; a few at most, to be shown.
pub fn marked(bytes: &[u8]) -> Vec<u8> {
    let digits = |mark: &[u8]| mark.iter().all(|digit| *digit >= MARK);
    let marks = bytes.chunks_exact(3).take_while(|mark| digits(mark)).take(4);
    marks.map(|mark| (mark[0] & 3) << 6 | (mark[1] & 7) << 3 | mark[2] & 7).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives `step` bytes at a time.
    struct Dripping(Cursor<Vec<u8>>, usize);

    impl Read for Dripping {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    fn decode(bytes: &[u8], encoding: &str, step: usize) -> Vec<u8> {
        let raw = Box::new(Dripping(Cursor::new(bytes.to_vec()), step));
        let (mut text, _) = reader(raw, Some(Encoding::named(encoding).unwrap())).unwrap();
        let mut out = Vec::new();
        text.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn an_undefined_byte_is_told_from_its_mark() {
        for byte in 0..=255 {
            let marks = mark(byte);
            assert!(std::str::from_utf8(&marks[..1]).is_err());
            assert_eq!(marked(&[&marks[..], &marks, b"abc"].concat()), [byte, byte]);
        }
        assert_eq!(decode(b"a\x81b", "WIN1252", 1), [b"a", &mark(0x81)[..], b"b"].concat());
        // A quote may follow half a character, and is one.
        assert_eq!(decode(b"\x95\"", "SJIS", 1), [&mark(0x95)[..], b"\""].concat());
    }

    proptest! {
        #[test]
        fn what_bytes_mean_does_not_depend_on_how_they_arrive(
            bytes in proptest::collection::vec(any::<u8>(), 4..200),
            step in 1_usize..9,
        ) {
            prop_assume!(!matches!(bytes[..3], [0xEF, 0xBB, 0xBF] | [0xFF, 0xFE, _] | [0xFE, 0xFF, _]));
            for encoding in ["SJIS", "GB18030", "EUC_JP", "BIG5", "UHC", "UTF-16LE", "ISO-2022-JP", "KOI8R"] {
                let whole = decode(&bytes, encoding, usize::MAX);
                prop_assert_eq!(&decode(&bytes, encoding, step), &whole, "{}", encoding);
            }
        }

        #[test]
        fn what_was_encoded_comes_back(text in "[^\u{feff}].*") {
            let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            prop_assert_eq!(decode(&utf16, "UTF-16LE", 7), text.as_bytes());
            let (bytes, _, _) = encoding_rs::GB18030.encode(&text);
            // The characters that two editions of the standard place differently do not all come back.
            let is_moved = |c| matches!(c, '\u{e5e5}' | '\u{e78d}'..='\u{e796}');
            prop_assume!(!bytes.contains(&0xFE) && !text.contains(is_moved));
            prop_assert_eq!(decode(&bytes, "GB18030", 7), text.as_bytes());
        }
    }
}
