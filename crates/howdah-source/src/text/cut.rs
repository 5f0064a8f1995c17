//! Cuts an input into pieces of whole records, exactly: where a quoted record ends cannot be known from the middle of a
//! file, so one cutter reads everything once, at the speed of counting quotes.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::dialect::{Dialect, Family};
use crate::error::Error;
use crate::open::Input;
use crate::open::encoding::Encoding;
use crate::progress::{Progress, Reading};
use crate::text::confine::Widths;
use crate::text::empty_lines::{self, EmptyLines};
use crate::text::piece::Piece;
use crate::text::reading::Sample;
use crate::text::record_ends::last_record_end;
use crate::text::split::{Field, Splitter};
use crate::text::text_input::TextInput;

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
    /// Where stray quotes are kept to their lines.
    widths: Option<Widths>,
    /// How many inputs there are, and those that are not yet open.
    of: usize,
    waiting: VecDeque<Input>,
    current: Option<Box<TextInput>>,
    /// Cut already, to look at the first records before the plan was made.
    peeked: Option<Piece>,
    pieces: u64,
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
            widths: None,
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

    /// Keeps stray quotes of CSV to their lines. A record over several lines does not fit where it has another number of fields
    /// than `widths` say, where text stands before a quote that opens or behind one that closes, and where the input ends, or 1 GiB
    /// of it, before the last quote is closed. Then its first line is a record of its own, which [`Splitter::of`] reads as a
    /// [`Fault`](crate::Fault), and the next record begins at the next line.
    ///
    /// A piece that was [peeked](Cutter::peek) at is cut again.
    #[must_use]
    pub fn confining_stray_quotes(mut self, widths: Option<Widths>) -> Self {
        self.widths = widths;
        if self.widths.is_some()
            && self.dialect.family == Family::Csv
            && let Some(current) = &mut self.current
            && let Some(piece) = self.peeked.take()
        {
            current.put_back(&piece);
            self.pieces = 0;
        }
        self
    }

    /// The start of the first input that is not empty, to be looked at before anything is cut; nothing is taken from it.
    ///
    /// # Errors
    /// An input that cannot be read.
    pub fn sample(&mut self) -> Result<Sample<'_>, Error> {
        while self.current.as_ref().is_none_or(|current| current.ahead.held().is_empty()) {
            let Some(input) = self.waiting.pop_front() else { break };
            let mut current = TextInput::open(&input, self.skip_lines, &self.progress)?;
            current.ahead.hold(self.target)?;
            self.current = Some(Box::new(current));
        }
        let bytes = self.current.as_ref().map_or(&[][..], |current| current.ahead.held());
        Ok(Sample { bytes, is_whole: bytes.len() < self.target })
    }

    /// What the input of [`Cutter::sample`] is written in, and whether that was guessed.
    pub fn encoding(&self) -> (Encoding, bool) {
        let stream = self.current.as_ref().map(|current| current.ahead.stream());
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
                let widths = self.widths.as_ref().filter(|_| self.dialect.family == Family::Csv);
                let piece = current.next_piece(spare, self.target, &self.dialect, widths, &self.progress)?;
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
            self.current = Some(Box::new(current));
        }
    }

    /// Cuts off empty lines at the end of an input.
    fn drop_empty_lines(&mut self, piece: &mut Piece) {
        let Some(lines) = &mut self.empty_lines else { return };
        let bytes = piece.bytes();
        // The first line is a record, whatever it holds: it may be the header.
        let least = if piece.starts_input { piece.eol.bytes().len() } else { 0 };
        let end = empty_lines::begin(bytes, piece.eol).max(least);
        // Within an open quote a line end ends no line. Where quotes are kept to their lines, none is open at the end of one.
        let ends_record =
            || self.widths.is_some() || last_record_end(bytes, &self.dialect, piece.eol) == Some(bytes.len());
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
    let mut splitter = Splitter::of(piece, dialect);
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
