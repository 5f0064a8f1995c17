//! Cuts an input into pieces of whole records, exactly: where a quoted record ends cannot be known from the middle of a
//! file, so one cutter reads everything once, at the speed of counting quotes.

use std::collections::VecDeque;
use std::sync::Arc;

use howdah_message::setting;

use crate::dialect::{Dialect, Eol, Family};
use crate::error::{Error, ErrorKind, Location};
use crate::json;
use crate::open::encoding::Encoding;
use crate::open::{ByteStream, Input};
use crate::progress::{Progress, Reading};
use crate::text::empty_lines::{self, EmptyLines};
use crate::text::line_end::first_eol;
use crate::text::piece::{Origin, Piece};
use crate::text::reading::Sample;
use crate::text::split::{Field, QuoteScan, Splitter};

/// PostgreSQL holds a COPY line, and any value, in one allocation below 1 GiB (`MaxAllocSize`).
pub const MAX_RECORD_BYTES: usize = 0x3FFF_FFFF;

/// Reads inputs in order and cuts them. Pieces follow from the input alone, never from timing.
pub struct Cutter {
    dialect: Arc<Dialect>,
    progress: Progress,
    target: usize,
    skip_lines: u64,
    /// Data records still wanted, and whether each input starts with a header that does not count.
    limit: Option<u64>,
    has_header: bool,
    /// Where they are dropped: what became of empty lines at the ends of inputs.
    empty_lines: Option<EmptyLines>,
    /// How many inputs there are, and those that are not yet open.
    of: usize,
    waiting: VecDeque<Input>,
    current: Option<TextInput>,
    /// Cut already, to look at the first records before the plan was made.
    peeked: Option<Piece>,
    pieces: u64,
}

struct TextInput {
    stream: ByteStream,
    name: Arc<str>,
    eol: Option<Eol>,
    byte_offset: u64,
    line: u64,
    /// What was read behind the last cut.
    tail: Vec<u8>,
    started: bool,
    ended: bool,
}

impl Cutter {
    /// A cutter over `inputs`; `target` is the piece size ([`PIECE_BYTES`](crate::PIECE_BYTES) but for tests).
    pub fn new(inputs: Vec<Input>, dialect: Arc<Dialect>, progress: Progress, target: usize) -> Self {
        Cutter {
            dialect,
            progress,
            target: target.max(1),
            skip_lines: 0,
            limit: None,
            has_header: false,
            empty_lines: None,
            of: inputs.len(),
            waiting: inputs.into(),
            current: None,
            peeked: None,
            pieces: 0,
        }
    }

    /// Drops so many physical lines at the start of every input.
    #[must_use]
    pub fn skipping_lines(mut self, lines: u64) -> Self {
        self.skip_lines = lines;
        self
    }

    /// Stops after so many data records; the header of each input is not one.
    #[must_use]
    pub fn limited(mut self, limit: Option<u64>, has_header: bool) -> Self {
        self.limit = limit;
        self.has_header = has_header;
        self
    }

    /// Drops empty lines at the end of every input of CSV where records have `several` fields: they are none. How many they were
    /// is said at the end of the last input, where somebody is to be `told`.
    #[must_use]
    pub fn dropping_empty_lines(mut self, several: bool, told: bool) -> Self {
        self.empty_lines = several.then(|| EmptyLines::new(told));
        self
    }

    /// The start of the first input that is not empty, to be looked at before anything is cut; nothing is taken from it.
    ///
    /// # Errors
    /// An input that cannot be read.
    pub fn sample(&mut self) -> Result<Sample<'_>, Error> {
        while self.current.as_ref().is_none_or(|current| current.tail.is_empty()) {
            let Some(input) = self.waiting.pop_front() else { break };
            let mut current = TextInput::open(&input, self.skip_lines, &self.progress)?;
            current.look(self.target)?;
            self.current = Some(current);
        }
        let bytes = self.current.as_ref().map_or(&[][..], |current| &current.tail);
        Ok(Sample { bytes, is_whole: bytes.len() < self.target })
    }

    /// What the input of [`Cutter::sample`] is written in, and whether that was guessed.
    pub fn encoding(&self) -> (Encoding, bool) {
        let stream = self.current.as_ref().map(|current| &current.stream);
        let encoding = stream.and_then(|stream| stream.encoding).unwrap_or(Encoding::UTF8);
        (encoding, stream.is_some_and(|stream| stream.is_guessed))
    }

    /// Reads records of `dialect` from here on.
    pub fn set_dialect(&mut self, dialect: Arc<Dialect>) {
        self.dialect = dialect;
    }

    /// The first piece, left in place for [`Cutter::cut`].
    ///
    /// # Errors
    /// As [`Cutter::cut`].
    pub fn peek(&mut self) -> Result<Option<&Piece>, Error> {
        if self.peeked.is_none() {
            self.peeked = self.next_piece(Vec::new())?;
        }
        Ok(self.peeked.as_ref())
    }

    /// The next piece, in `spare`'s memory; `None` at the end of the last input.
    ///
    /// # Errors
    /// An input that cannot be read; a record of 1 GiB or more.
    pub fn cut(&mut self, spare: Vec<u8>) -> Result<Option<Piece>, Error> {
        if self.limit == Some(0) {
            return Ok(None);
        }
        let piece = match self.peeked.take() {
            Some(mut piece) => {
                self.drop_empty_lines(&mut piece);
                Some(piece)
            }
            None => self.next_piece(spare)?,
        };
        let Some(mut piece) = piece else { return Ok(None) };
        if let Some(left) = self.limit {
            self.limit = Some(keep(&mut piece, left, self.has_header, &self.dialect));
        }
        Ok(Some(piece))
    }

    fn next_piece(&mut self, mut spare: Vec<u8>) -> Result<Option<Piece>, Error> {
        loop {
            if let Some(current) = &mut self.current {
                let spare = std::mem::take(&mut spare);
                let piece = current.next_piece(spare, self.target, &self.dialect, &self.progress)?;
                if let Some(mut piece) = piece {
                    self.drop_empty_lines(&mut piece);
                    if piece.bytes().is_empty() {
                        continue;
                    }
                    piece.ordinal = self.pieces;
                    self.pieces += 1;
                    return Ok(Some(piece));
                }
            }
            let Some(input) = self.waiting.pop_front() else {
                self.current = None;
                if let Some(lines) = &mut self.empty_lines {
                    std::mem::take(lines).tell(&self.progress);
                }
                return Ok(None);
            };
            let current = TextInput::open(&input, self.skip_lines, &self.progress)?;
            let number = self.of - self.waiting.len();
            self.progress.enter_input(Reading { name: current.name.clone(), number, of: self.of });
            self.current = Some(current);
        }
    }

    /// Cuts off empty lines at the end of an input.
    fn drop_empty_lines(&mut self, piece: &mut Piece) {
        let Some(lines) = &mut self.empty_lines else { return };
        let bytes = piece.bytes();
        // The first line is a record, whatever it holds: it may be the header.
        let least = if piece.starts_input { piece.eol.bytes().len() } else { 0 };
        let end = empty_lines::begin(bytes, piece.eol).max(least);
        // Within an open quote a line end ends no line.
        let ends_record = || last_record_end(bytes, &self.dialect, piece.eol) == Some(bytes.len());
        if piece.ends_input && self.dialect.family == Family::Csv && end < bytes.len() && ends_record() {
            lines.add(&piece.origin.source, (bytes.len() - end) / piece.eol.bytes().len());
            piece.len = end;
        }
    }
}

/// Cuts off what is behind `left` data records of the piece; returns how many are still wanted from later ones.
fn keep(piece: &mut Piece, left: u64, has_header: bool, dialect: &Dialect) -> u64 {
    let mut left = left;
    let mut header = piece.starts_input && has_header;
    let mut fields: Vec<Field> = Vec::new();
    let mut splitter = Splitter::new(piece.bytes(), dialect, piece.eol);
    // A record that cannot be split counts: it was read, and will be reported or kept apart.
    while left > 0 && !matches!(splitter.next_record(&mut fields), Ok(None)) {
        left -= u64::from(!std::mem::take(&mut header));
    }
    let end = splitter.position();
    if left == 0 {
        piece.truncate(end);
    }
    left
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl TextInput {
    /// Opens `input`, drops a byte order mark and `skip_lines` physical lines.
    fn open(input: &Input, skip_lines: u64, progress: &Progress) -> Result<Self, Error> {
        let mut stream = input.open(progress)?;
        let mut tail = vec![0; BOM.len()];
        let got = stream.fill(&mut tail)?;
        tail.truncate(got);
        let mut byte_offset = 0;
        if tail == BOM {
            byte_offset = BOM.len() as u64;
            tail.clear();
        }
        let mut this = TextInput {
            stream,
            name: input.name.clone(),
            eol: None,
            byte_offset,
            line: 1,
            tail,
            started: false,
            ended: false,
        };
        for _ in 0..skip_lines {
            this.skip_line()?;
        }
        Ok(this)
    }

    /// Reads ahead to `target` bytes.
    fn look(&mut self, target: usize) -> Result<(), Error> {
        let held = self.tail.len();
        if held < target {
            self.tail.resize(target, 0);
            let got = self.stream.fill(&mut self.tail[held..])?;
            self.tail.truncate(held + got);
        }
        Ok(())
    }

    fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let found = match memchr::memchr2(b'\n', b'\r', &self.tail) {
                Some(at) if self.tail[at] == b'\n' => Some(at + 1),
                Some(at) => self.tail.get(at + 1).map(|next| if *next == b'\n' { at + 2 } else { at + 1 }),
                None => None,
            };
            if let Some(end) = found {
                self.tail.drain(..end);
                self.byte_offset += end as u64;
                self.line += 1;
                return Ok(());
            }
            let held = self.tail.len();
            self.tail.resize(held + 64 * 1024, 0);
            let got = self.stream.fill(&mut self.tail[held..])?;
            self.tail.truncate(held + got);
            if got == 0 {
                self.byte_offset += self.tail.len() as u64;
                self.tail.clear();
                return Ok(());
            }
        }
    }

    fn next_piece(
        &mut self,
        mut buffer: Vec<u8>,
        target: usize,
        dialect: &Dialect,
        progress: &Progress,
    ) -> Result<Option<Piece>, Error> {
        if self.ended {
            return Ok(None);
        }
        let mut want = target;
        let mut filled = 0;
        let (end, eof) = loop {
            if buffer.len() < want {
                buffer.resize(want, 0);
            }
            let taken = (want - filled).min(self.tail.len());
            buffer[filled..filled + taken].copy_from_slice(&self.tail[..taken]);
            self.tail.drain(..taken);
            filled += taken;
            filled += self.stream.fill(&mut buffer[filled..want])?;
            let eof = filled < want;
            let window = &buffer[..filled];
            if self.eol.is_none() {
                self.eol = first_eol(window, dialect, eof);
            }
            if eof {
                break (filled, true);
            }
            if let Some((eol, end)) =
                self.eol.and_then(|eol| Some((eol, last_record_end(window, dialect, eol)?)))
            {
                // Empty lines stay with what is behind them, so that those at the input's end are in its last piece.
                let before = match dialect.family {
                    Family::Csv => empty_lines::begin(&window[..end], eol),
                    _ => end,
                };
                break (if before > 0 { before } else { end }, false);
            }
            if want >= MAX_RECORD_BYTES {
                return Err(self.too_long(dialect));
            }
            want = want.saturating_mul(2).min(MAX_RECORD_BYTES);
        };
        self.ended = eof;
        let mut rest = buffer[end..filled].to_vec();
        rest.append(&mut self.tail);
        self.tail = rest;
        let eol = self.eol.unwrap_or(Eol::Nl);
        let mut len = end;
        if dialect.family == Family::Text
            && let Some(marker) = end_of_data(&buffer[..end], eol)
        {
            let line = self.line + count(eol.last_byte(), &buffer[..marker]);
            if !eof || marker + b"\\.\r\n".len() < end {
                progress.notice(format!(
                    "{}: the data ends at `\\.` on line {line}; what follows is not read",
                    self.name
                ));
            }
            len = marker;
            self.ended = true;
        }
        if len == 0 {
            return Ok(None);
        }
        let origin = Origin {
            source: self.name.clone(),
            byte_offset: self.byte_offset,
            first_line: self.line,
            lines: self.stream.lines.clone(),
        };
        self.byte_offset += len as u64;
        self.line += count(eol.last_byte(), &buffer[..len]);
        let encoding = self.stream.encoding;
        let starts_input = !std::mem::replace(&mut self.started, true);
        let ends_input = self.ended;
        Ok(Some(Piece { buffer, len, origin, eol, starts_input, ends_input, ordinal: 0, encoding }))
    }

    fn too_long(&self, dialect: &Dialect) -> Error {
        let at = Location::of_text(self.name.clone(), self.line, Some(self.byte_offset));
        let error =
            Error::new(ErrorKind::Data, "the record has no end within 1 GiB, the most PostgreSQL can take")
                .at(at)
                .with_sqlstate("54000");
        match dialect.family {
            Family::Csv => error.with_hint(message![
                "is a quote left open? ",
                setting::QUOTE,
                " names the quote character"
            ]),
            Family::Json => error.with_hint("is a brace or a bracket left open?"),
            Family::Text | Family::Ndjson => error,
        }
    }
}

fn count(byte: u8, bytes: &[u8]) -> u64 {
    memchr::memchr_iter(byte, bytes).count() as u64
}

/// One past the last record end in `window`, which starts a record.
pub fn last_record_end(window: &[u8], dialect: &Dialect, eol: Eol) -> Option<usize> {
    let line_end = eol.last_byte();
    match dialect.family {
        Family::Json | Family::Ndjson => json::last_record_end(window, eol),
        Family::Text => {
            // A line end behind an odd number of backslashes belongs to the field.
            let mut before = window.len();
            while let Some(at) = memchr::memrchr(line_end, &window[..before]) {
                if backslashes_before(window, at).is_multiple_of(2) {
                    return Some(at + 1);
                }
                before = at;
            }
            None
        }
        Family::Csv if dialect.escape == dialect.quote => {
            // Every quote toggles, so their number tells where the window's end stands; from there it is a few bytes back.
            let mut in_quote = count(dialect.quote, window) % 2 == 1;
            let mut before = window.len();
            while let Some(at) = memchr::memrchr2(dialect.quote, line_end, &window[..before]) {
                if window[at] == dialect.quote {
                    in_quote = !in_quote;
                } else if !in_quote {
                    return Some(at + 1);
                }
                before = at;
            }
            None
        }
        Family::Csv => {
            let mut scan = QuoteScan::default();
            let mut end = None;
            for (at, &byte) in window.iter().enumerate() {
                scan.step(byte, dialect);
                if byte == line_end && !scan.in_quote {
                    end = Some(at + 1);
                }
            }
            end
        }
    }
}

fn backslashes_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// Start of the line `\.` that ends the data of a COPY text file.
pub fn end_of_data(bytes: &[u8], eol: Eol) -> Option<usize> {
    let line_end = eol.last_byte();
    memchr::memmem::find_iter(bytes, b"\\.").find(|&at| {
        let starts_line =
            at == 0 || bytes[at - 1] == line_end && backslashes_before(bytes, at - 1).is_multiple_of(2);
        let alone = match (eol, bytes.get(at + 2), bytes.get(at + 3)) {
            (Eol::CrNl, Some(b'\r'), Some(b'\n')) => true,
            (Eol::Nl | Eol::Cr, Some(next), _) => *next == line_end,
            _ => false,
        };
        starts_line && alone
    })
}
