//! Cuts an input that grows: whatever whole records are there make a piece at once, and what is behind them waits for more.

use std::sync::Arc;

use howdah_message::setting;

use crate::Origin;
use crate::Piece;
use crate::Splitter;
use crate::dialect::{Dialect, Eol, Family};
use crate::error::{Error, ErrorKind, Location};
use crate::text::confine::{self, Cut, Reach, Widths};
use crate::text::extent::{Extent, RecordForm, extent};
use crate::text::line_end::{first_eol, first_line_end};
use crate::text::record_ends::{MAX_RECORD_BYTES, end_of_data, last_record_end};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What a record over several lines may come to where stray quotes are kept to their lines: nothing behind it is read before its
/// last quote comes, so that so much is held of a stream, and so late are the records behind a stray quote at most.
pub const MOST_CONFINED_BYTES: usize = 16 * 1024 * 1024;

/// A cutter that is given bytes as they come. Pieces depend on timing, records do not.
pub struct LiveCutter {
    dialect: Arc<Dialect>,
    source: Arc<str>,
    eol: Option<Eol>,
    /// What came and was not cut yet.
    held: Vec<u8>,
    /// No record ends in so many bytes of it.
    searched: usize,
    /// Nor behind them, before a quote or an escape comes.
    is_quoted: bool,
    /// Where stray quotes are kept to their lines.
    widths: Option<Widths>,
    /// As [`MOST_CONFINED_BYTES`].
    most_confined: usize,
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
            is_quoted: false,
            widths: None,
            most_confined: MOST_CONFINED_BYTES,
            byte_offset,
            line,
            started: byte_offset > 0,
            ended: false,
        }
    }

    /// Keeps stray quotes of CSV to their lines from here on, as [`Cutter::confining_stray_quotes`](crate::Cutter) does, but for
    /// the most that a record over several lines may come to: [`MOST_CONFINED_BYTES`].
    pub fn confine_stray_quotes(&mut self, widths: Option<Widths>) {
        self.widths = widths;
        self.forget_search();
    }

    /// The input.
    pub fn name(&self) -> Arc<str> {
        self.source.clone()
    }

    /// Reads what is held in another dialect from here on.
    pub fn set_dialect(&mut self, dialect: Arc<Dialect>) {
        self.dialect = dialect;
        self.eol = None;
        self.forget_search();
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
        let Some(Cut { end, strays }) = self.whole_records(is_end)? else { return Ok(None) };
        // What was looked at will be looked at again.
        self.forget_search();
        let mut piece = self.piece(self.held[..end].to_vec(), strays);
        let mut splitter = Splitter::of(&piece, &self.dialect);
        // A record that is bad is the first all the same.
        let _ = splitter.next_record(&mut Vec::new());
        let end = splitter.position();
        piece.truncate(end);
        Ok((end > 0).then_some(piece))
    }

    /// Cuts off whole records that are held; `None` when there is none any more. `is_end`: nothing will follow, and an unfinished
    /// line is a record too.
    ///
    /// # Errors
    /// A record of 1 GiB or more.
    pub fn cut(&mut self, is_end: bool) -> Result<Option<Piece>, Error> {
        if self.ended {
            self.held.clear();
            return Ok(None);
        }
        Ok(self.whole_records(is_end)?.and_then(|cut| self.take(cut)))
    }

    /// Takes off what is cut.
    fn take(&mut self, Cut { end, strays }: Cut) -> Option<Piece> {
        let rest = self.held.split_off(end);
        let mut records = std::mem::replace(&mut self.held, rest);
        self.forget_search();
        let eol = self.eol.unwrap_or(Eol::Nl);
        if self.dialect.family == Family::Text
            && let Some(marker) = end_of_data(&records, eol)
        {
            records.truncate(marker);
            self.held.clear();
            self.ended = true;
        }
        if records.is_empty() {
            return None;
        }
        let length = records.len() as u64;
        let lines = memchr::memchr_iter(eol.last_byte(), &records).count() as u64;
        let piece = self.piece(records, strays);
        self.started = true;
        self.byte_offset += length;
        self.line += lines;
        Some(piece)
    }

    /// Cuts off what is held of an input that ends here, where stray quotes are kept to their lines: all but its last record, if that
    /// does not end with a line; `None` where there is no more. What was open until now is known at the end.
    pub fn cut_ended(&mut self) -> Option<Piece> {
        let eol = self.eol.or_else(|| first_line_end(&self.held)).filter(|_| self.is_confining())?;
        self.eol = Some(eol);
        let form = RecordForm { dialect: &self.dialect, eol, width: self.width() };
        let (mut end, mut strays) = (0, Vec::new());
        while end < self.held.len() {
            match extent(&self.held, end, form, true) {
                Extent::Stray { next_line } => {
                    strays.push(end);
                    end = next_line;
                }
                Extent::Record { end: next, .. } if self.held[..next].ends_with(&[eol.last_byte()]) => {
                    end = next
                }
                _ => break,
            }
        }
        (end > 0).then(|| self.take(Cut { end, strays })).flatten()
    }

    /// Begins again, with an input that takes the place of this one.
    pub fn restart(&mut self) {
        self.held.clear();
        self.forget_search();
        (self.eol, self.started, self.ended) = (None, false, false);
        (self.byte_offset, self.line) = (0, 1);
    }

    fn piece(&self, records: Vec<u8>, strays: Vec<usize>) -> Piece {
        let origin = Origin {
            source: self.source.clone(),
            byte_offset: self.byte_offset,
            first_line: self.line,
            lines: None,
        };
        let piece = Piece::of(records, origin, self.eol.unwrap_or(Eol::Nl), !self.started);
        Piece { strays, ..piece }
    }

    fn is_confining(&self) -> bool {
        self.widths.is_some() && self.dialect.family == Family::Csv
    }

    /// How many fields a record has, where that is known.
    fn width(&self) -> Option<usize> {
        self.widths.as_ref().and_then(|widths| widths.of(&self.source, None))
    }

    fn forget_search(&mut self) {
        (self.searched, self.is_quoted) = (0, false);
    }

    /// The end of the last whole record that is held.
    fn whole_records(&mut self, is_end: bool) -> Result<Option<Cut>, Error> {
        if !self.drop_mark(is_end) {
            return Ok(None);
        }
        // A record ends with a line, so what came without a line end changes nothing.
        let [one, other] =
            if self.is_quoted { [self.dialect.quote, self.dialect.escape] } else { [b'\n', b'\r'] };
        let may_end = memchr::memchr2(one, other, &self.held[self.searched..]).is_some();
        let is_too_long = self.is_quoted && self.held.len() >= self.most_confined;
        if !(is_end || may_end || is_too_long) {
            return self.wait();
        }
        if self.is_confining() {
            return self.confined_records(is_end);
        }
        if self.eol.is_none() {
            self.eol = first_eol(&self.held, &self.dialect, is_end);
        }
        if is_end {
            let end = self.held.len();
            return Ok((end > 0).then(|| Cut { end, strays: Vec::new() }));
        }
        match self.eol.and_then(|eol| last_record_end(&self.held, &self.dialect, eol)) {
            Some(end) => Ok(Some(Cut { end, strays: Vec::new() })),
            None => self.wait(),
        }
    }

    /// The same where stray quotes are kept to their lines. It depends on the input alone: of a record over several lines no more is
    /// looked at than it may come to, however much came at once.
    fn confined_records(&mut self, is_end: bool) -> Result<Option<Cut>, Error> {
        let (held, most) = (&self.held, self.most_confined);
        if held.is_empty() {
            return Ok(None);
        }
        if self.eol.is_none() {
            let start = &held[..held.len().min(most)];
            self.eol = first_eol(start, &self.dialect, is_end && start.len() == held.len());
        }
        // While record 1 has no end, its quote may be a stray, and any line end counts. The last byte may be half of one.
        let is_half = !is_end && held.last() == Some(&b'\r');
        let any = || first_line_end(held).or(is_end.then_some(Eol::Nl)).filter(|_| !is_half);
        let Some(eol) = self.eol.or_else(any) else {
            self.is_quoted = false;
            return self.wait();
        };
        let mut end = held.len();
        if end > most {
            // One line may be longer.
            end = memchr::memchr(eol.last_byte(), held).map_or(end, |line_end| most.max(line_end + 1));
        }
        let form = RecordForm { dialect: &self.dialect, eol, width: self.width() };
        let reach = Reach { target: end, is_end: is_end && end == held.len(), is_longest: end >= most };
        match confine::cut(&held[..end], form, reach) {
            Ok(cut) => {
                self.eol = Some(eol);
                Ok(Some(cut))
            }
            Err(uncut) => {
                self.is_quoted = uncut.is_quoted;
                self.wait()
            }
        }
    }

    fn wait(&mut self) -> Result<Option<Cut>, Error> {
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
            self.forget_search();
            self.byte_offset = BOM.len() as u64;
        }
        is_end || self.held.is_empty() || !BOM.starts_with(&self.held)
    }
}

#[cfg(test)]
mod tests;
