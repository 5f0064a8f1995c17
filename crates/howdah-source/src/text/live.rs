//! Cuts an input that grows: whatever whole records are there make a piece at once, and what is behind them waits for more.

use std::sync::Arc;

use howdah_message::setting;

use crate::Origin;
use crate::Piece;
use crate::Splitter;
use crate::dialect::{Dialect, Eol, Family};
use crate::error::{Error, ErrorKind, Location};
use crate::text::line_end::first_eol;
use crate::text::record_ends::{MAX_RECORD_BYTES, end_of_data, last_record_end};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A cutter that is given bytes as they come. Pieces depend on timing, records do not.
pub struct LiveCutter {
    dialect: Arc<Dialect>,
    source: Arc<str>,
    eol: Option<Eol>,
    /// What came and was not cut yet.
    held: Vec<u8>,
    /// No record ends in so many bytes of it.
    searched: usize,
    byte_offset: u64,
    line: u64,
    started: bool,
    ended: bool,
}

impl LiveCutter {
    /// For the input `source`, of which `byte_offset` bytes and all lines before `line` were read earlier.
    pub fn new(source: Arc<str>, dialect: Arc<Dialect>, byte_offset: u64, line: u64) -> Self {
        LiveCutter {
            dialect,
            source,
            eol: None,
            held: Vec::new(),
            searched: 0,
            byte_offset,
            line,
            started: byte_offset > 0,
            ended: false,
        }
    }

    /// The input.
    pub fn name(&self) -> Arc<str> {
        self.source.clone()
    }

    /// Reads what is held in another dialect from here on.
    pub fn set_dialect(&mut self, dialect: Arc<Dialect>) {
        self.dialect = dialect;
        self.eol = None;
        self.searched = 0;
    }

    /// Where bytes that came are to be added.
    pub fn held(&mut self) -> &mut Vec<u8> {
        &mut self.held
    }

    /// Whether a line of the input said that nothing more is data.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The first record alone, which stays in place; `None` while it is not whole. `is_end`: nothing will follow.
    ///
    /// # Errors
    /// As [`LiveCutter::cut`].
    pub fn first(&mut self, is_end: bool) -> Result<Option<Piece>, Error> {
        let Some(end) = self.whole_records(is_end)? else { return Ok(None) };
        // What was looked at will be looked at again.
        self.searched = 0;
        let mut splitter = Splitter::new(&self.held[..end], &self.dialect, self.eol.unwrap_or(Eol::Nl));
        // A record that is bad is the first all the same.
        let _ = splitter.next_record(&mut Vec::new());
        let first = self.held[..splitter.position()].to_vec();
        Ok((!first.is_empty()).then(|| self.piece(first)))
    }

    /// Cuts off all whole records that are held; `None` when there is none. `is_end`: nothing will follow, and an unfinished line is
    /// a record too.
    ///
    /// # Errors
    /// A record of 1 GiB or more.
    pub fn cut(&mut self, is_end: bool) -> Result<Option<Piece>, Error> {
        if self.ended {
            self.held.clear();
            return Ok(None);
        }
        let Some(end) = self.whole_records(is_end)? else { return Ok(None) };
        let rest = self.held.split_off(end);
        let mut records = std::mem::replace(&mut self.held, rest);
        self.searched = 0;
        let eol = self.eol.unwrap_or(Eol::Nl);
        if self.dialect.family == Family::Text
            && let Some(marker) = end_of_data(&records, eol)
        {
            records.truncate(marker);
            self.held.clear();
            self.ended = true;
        }
        if records.is_empty() {
            return Ok(None);
        }
        let length = records.len() as u64;
        let lines = memchr::memchr_iter(eol.last_byte(), &records).count() as u64;
        let piece = self.piece(records);
        self.started = true;
        self.byte_offset += length;
        self.line += lines;
        Ok(Some(piece))
    }

    fn piece(&self, records: Vec<u8>) -> Piece {
        let origin = Origin {
            source: self.source.clone(),
            byte_offset: self.byte_offset,
            first_line: self.line,
            lines: None,
        };
        Piece::of(records, origin, self.eol.unwrap_or(Eol::Nl), !self.started)
    }

    /// The end of the last whole record that is held.
    fn whole_records(&mut self, is_end: bool) -> Result<Option<usize>, Error> {
        if !self.drop_mark(is_end) {
            return Ok(None);
        }
        // A record ends with a line, so what came without a line end changes nothing.
        let has_line_end = memchr::memchr2(b'\n', b'\r', &self.held[self.searched..]).is_some();
        if !is_end && !has_line_end {
            return self.wait();
        }
        if self.eol.is_none() {
            self.eol = first_eol(&self.held, &self.dialect, is_end);
        }
        if is_end {
            return Ok((!self.held.is_empty()).then_some(self.held.len()));
        }
        match self.eol.and_then(|eol| last_record_end(&self.held, &self.dialect, eol)) {
            Some(end) => Ok(Some(end)),
            None => self.wait(),
        }
    }

    fn wait(&mut self) -> Result<Option<usize>, Error> {
        // The last byte may be half of a line end.
        self.searched = self.held.len().saturating_sub(1);
        if self.held.len() < MAX_RECORD_BYTES {
            return Ok(None);
        }
        let at = Location::of_text(self.source.clone(), self.line, Some(self.byte_offset));
        Err(Error::new(ErrorKind::Data, "the record has no end within 1 GiB, the most PostgreSQL can take")
            .at(at)
            .with_sqlstate("54000")
            .with_hint(message!["is a quote left open? ", setting::QUOTE, " names the quote character"]))
    }

    /// Takes a byte order mark from the start of the input; `false` while it cannot be told whether there is one.
    fn drop_mark(&mut self, is_end: bool) -> bool {
        if self.started || self.byte_offset > 0 {
            return true;
        }
        if self.held.starts_with(BOM) {
            self.held.drain(..BOM.len());
            self.searched = 0;
            self.byte_offset = BOM.len() as u64;
        }
        is_end || self.held.is_empty() || !BOM.starts_with(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cutter(dialect: Dialect) -> LiveCutter {
        LiveCutter::new("f".into(), Arc::new(dialect), 0, 1)
    }

    /// The pieces that come out when `text` comes in steps of `step` bytes, with their places.
    fn cut(text: &str, step: usize, dialect: Dialect) -> Vec<(u64, u64, String)> {
        let mut cutter = cutter(dialect);
        let mut pieces = Vec::new();
        let mut keep = |piece: Option<Piece>| {
            if let Some(piece) = piece {
                let text = String::from_utf8_lossy(piece.bytes()).into_owned();
                pieces.push((piece.origin.byte_offset, piece.origin.first_line, text));
            }
        };
        for bytes in text.as_bytes().chunks(step) {
            cutter.held().extend_from_slice(bytes);
            keep(cutter.cut(false).unwrap());
        }
        keep(cutter.cut(true).unwrap());
        pieces
    }

    #[test]
    fn a_record_is_never_cut_however_its_bytes_come() {
        let text = "a,b\r\n1,\"x\r\ny\"\r\n2,\"\"\"\r\n\"\r\nlast";
        let whole: Vec<_> =
            [(0, 1, "a,b\r\n"), (5, 2, "1,\"x\r\ny\"\r\n"), (15, 4, "2,\"\"\"\r\n\"\r\n"), (25, 6, "last")]
                .map(|(at, line, text): (u64, u64, &str)| (at, line, text.to_owned()))
                .into();
        assert_eq!(cut(text, 1, Dialect::default()), whole);
        for step in 2..text.len() + 1 {
            let pieces = cut(text, step, Dialect::default());
            for piece in &pieces {
                assert!(
                    whole.iter().any(|(at, line, _)| (at, line) == (&piece.0, &piece.1)),
                    "{step}: {piece:?}"
                );
            }
            assert_eq!(pieces.iter().map(|piece| &*piece.2).collect::<String>(), text, "{step}");
        }
    }

    #[test]
    fn the_first_record_is_shown_and_stays() {
        let mut cutter = cutter(Dialect::default());
        cutter.held().extend_from_slice(b"\xEF\xBB");
        assert!(cutter.first(false).unwrap().is_none());
        cutter.held().extend_from_slice(b"\xBFa,\"b\n");
        assert!(cutter.first(false).unwrap().is_none());
        cutter.held().extend_from_slice(b"c\"\n1,2\n3");
        assert_eq!(cutter.first(false).unwrap().unwrap().bytes(), b"a,\"b\nc\"\n");
        let piece = cutter.cut(false).unwrap().unwrap();
        assert_eq!((piece.bytes(), piece.origin.byte_offset), (&b"a,\"b\nc\"\n1,2\n"[..], 3));
        assert!(piece.starts_input);
        assert_eq!(cutter.cut(true).unwrap().unwrap().bytes(), b"3");
    }

    #[test]
    fn the_line_that_ends_the_data_of_copy_text_ends_it() {
        let text = Dialect {
            family: Family::Text,
            delimiter: b'\t'.into(),
            null: b"\\N".into(),
            ..Dialect::default()
        };
        let pieces = cut("1\ta\\\nb\n\\.\nmore\n", 3, text);
        assert_eq!(pieces.iter().map(|piece| &*piece.2).collect::<String>(), "1\ta\\\nb\n");
    }
}
