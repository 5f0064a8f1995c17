//! A piece: whole records of one input, and where they came from.

use std::sync::Arc;

use crate::dialect::Eol;
use crate::error::Location;
use crate::open::encoding::Encoding;
use crate::open::reject_file::LineMap;

/// Input bytes a piece aims at: large enough that the cost per COPY message does not show (64 KiB is too small for
/// `CopyInSink`), small enough that a piece and its encoded chunk stay in the second-level cache.
pub const PIECE_BYTES: usize = 512 * 1024;

/// Whole records of one input, and where they came from.
#[derive(Debug)]
pub struct Piece {
    pub(crate) buffer: Vec<u8>,
    pub(crate) len: usize,
    /// Where the bytes came from.
    pub origin: Origin,
    /// The input's record end.
    pub eol: Eol,
    /// Whether this is the first piece of its input: the one that starts with the header.
    pub starts_input: bool,
    /// Whether it is the last one of its input, and whole.
    pub ends_input: bool,
    /// Counts the pieces of a load from 0, in input order.
    pub ordinal: u64,
    /// What the input was written in, if not UTF-8.
    pub encoding: Option<Encoding>,
    /// Where lines begin that are no records since a quote of theirs is a stray.
    pub(crate) strays: Vec<usize>,
}

/// Where a piece came from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The input.
    pub source: Arc<str>,
    /// Offset of the first byte in the input, decompressed and in UTF-8.
    pub byte_offset: u64,
    /// Physical line of the first byte, from 1.
    pub first_line: u64,
    /// For a reject file: its own lines, which are what a person looks for. It has no use for offsets in the records.
    pub lines: Option<LineMap>,
}

impl Origin {
    /// The place `bytes` and `lines` behind the start.
    pub fn locate(&self, bytes: u64, lines: u64) -> Location {
        let line = self.first_line + lines;
        let line = self.lines.as_ref().map_or(line, |map| map.line(line));
        let byte_offset = self.lines.is_none().then_some(self.byte_offset + bytes);
        Location::of_text(self.source.clone(), line, byte_offset)
    }
}

impl Piece {
    /// Whole records of an input that may go on.
    pub fn of(buffer: Vec<u8>, origin: Origin, eol: Eol, starts_input: bool) -> Piece {
        let len = buffer.len();
        let (ends_input, ordinal, encoding, strays) = (false, 0, None, Vec::new());
        Piece { buffer, len, origin, eol, starts_input, ends_input, ordinal, encoding, strays }
    }

    /// The records.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Drops the records from `len` on; the input goes on behind the piece.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len;
        self.ends_input = false;
    }

    /// The buffer, for the next call of [`Cutter::cut`](crate::Cutter::cut); a buffer that one huge record blew up is let go.
    pub fn into_spare(self) -> Vec<u8> {
        if self.buffer.len() > 4 * PIECE_BYTES { Vec::new() } else { self.buffer }
    }
}
