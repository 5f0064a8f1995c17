//! One input of text: opened, read ahead, and cut piece by piece.

use std::sync::Arc;

use howdah_message::setting;

use crate::dialect::{Dialect, Eol, Family};
use crate::error::{Error, ErrorKind, Location};
use crate::open::Input;
use crate::progress::Progress;
use crate::text::ahead::Ahead;
use crate::text::confine::{self, Cut, Reach, Widths};
use crate::text::empty_lines;
use crate::text::extent::{Extent, RecordForm, extent};
use crate::text::line_end::{first_eol, first_line_end};
use crate::text::open_quote::open_quote;
use crate::text::piece::{Origin, Piece};
use crate::text::record_ends::{MAX_RECORD_BYTES, count, end_of_data, last_record_end};

/// One input that is being cut.
pub(super) struct TextInput {
    pub(super) ahead: Ahead,
    pub(super) name: Arc<str>,
    eol: Option<Eol>,
    byte_offset: u64,
    line: u64,
    /// How many fields its record 1 has, where that was looked at.
    first_width: Option<usize>,
    started: bool,
    ended: bool,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl TextInput {
    /// Opens `input`, drops a byte order mark and `skip_lines` physical lines.
    pub(super) fn open(input: &Input, skip_lines: u64, progress: &Progress) -> Result<Self, Error> {
        let mut ahead = Ahead::new(input.open(progress)?);
        ahead.hold(BOM.len())?;
        let mut byte_offset = 0;
        if ahead.held() == BOM {
            byte_offset = BOM.len() as u64;
            ahead.skip(BOM.len());
        }
        let mut this = TextInput {
            ahead,
            name: input.name.clone(),
            eol: None,
            byte_offset,
            line: 1,
            first_width: None,
            started: false,
            ended: false,
        };
        for _ in 0..skip_lines {
            this.skip_line()?;
        }
        Ok(this)
    }

    fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let held = self.ahead.held();
            let found = match memchr::memchr2(b'\n', b'\r', held) {
                Some(at) if held[at] == b'\n' => Some(at + 1),
                Some(at) => held.get(at + 1).map(|next| if *next == b'\n' { at + 2 } else { at + 1 }),
                None => None,
            };
            if let Some(end) = found {
                self.ahead.skip(end);
                self.byte_offset += end as u64;
                self.line += 1;
                return Ok(());
            }
            let held = held.len();
            self.ahead.hold(held + 64 * 1024)?;
            if self.ahead.held().len() == held {
                self.byte_offset += held as u64;
                self.ahead.skip(held);
                return Ok(());
            }
        }
    }

    /// The next piece, in `buffer`'s memory; `None` at the end. Stray quotes are kept to their lines where `widths` are given.
    pub(super) fn next_piece(
        &mut self,
        mut buffer: Vec<u8>,
        target: usize,
        dialect: &Dialect,
        widths: Option<&Widths>,
        progress: &Progress,
    ) -> Result<Option<Piece>, Error> {
        if self.ended {
            return Ok(None);
        }
        let mut want = target;
        let mut filled = 0;
        let (Cut { end, strays }, eof) = loop {
            if buffer.len() < want {
                buffer.resize(want, 0);
            }
            filled += self.ahead.fill(&mut buffer[filled..want])?;
            let reach = Reach { target, is_end: filled < want, is_longest: want >= MAX_RECORD_BYTES };
            let window = &buffer[..filled];
            if self.eol.is_none() {
                self.eol = first_eol(window, dialect, reach.is_end);
            }
            let cut = match widths {
                Some(widths) => self.confined_cut(window, dialect, widths, reach),
                None => self.plain_cut(window, dialect, reach.is_end),
            };
            if let Some(cut) = cut {
                break (cut, reach.is_end);
            }
            if reach.is_longest {
                return Err(self.too_long(window, dialect));
            }
            want = want.saturating_mul(2).min(MAX_RECORD_BYTES);
        };
        self.ended = eof && end == filled;
        let buffer = self.ahead.return_from(buffer, end, filled);
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
            lines: self.ahead.stream().lines.clone(),
        };
        self.byte_offset += len as u64;
        self.line += count(eol.last_byte(), &buffer[..len]);
        let encoding = self.ahead.stream().encoding;
        let starts_input = !std::mem::replace(&mut self.started, true);
        let ends_input = self.ended;
        Ok(Some(Piece { buffer, len, origin, eol, starts_input, ends_input, ordinal: 0, encoding, strays }))
    }

    /// The cut of `window` by what its quotes say; `None` where more of the input is needed.
    fn plain_cut(&self, window: &[u8], dialect: &Dialect, is_end: bool) -> Option<Cut> {
        let uncut = |end| Cut { end, strays: Vec::new() };
        if is_end {
            return Some(uncut(window.len()));
        }
        let eol = self.eol?;
        let end = last_record_end(window, dialect, eol)?;
        Some(uncut(if dialect.family == Family::Csv {
            with_empty_lines_behind(window, end, eol)
        } else {
            end
        }))
    }

    /// The same where stray quotes are kept to their lines.
    fn confined_cut(
        &mut self,
        window: &[u8],
        dialect: &Dialect,
        widths: &Widths,
        reach: Reach,
    ) -> Option<Cut> {
        if self.eol.is_none() && (reach.is_end || reach.is_longest) {
            // Record 1 has no end, so any line end counts.
            self.eol = first_line_end(window).or(reach.is_end.then_some(Eol::Nl));
        }
        let mut form = RecordForm { dialect, eol: self.eol?, width: None };
        if !self.started
            && let Extent::Record { fields, .. } = extent(window, 0, form, reach.is_end)
        {
            self.first_width = Some(fields);
        }
        form.width = widths.of(&self.name, self.first_width);
        let Cut { end, strays } = confine::cut(window, form, reach).ok()?;
        let is_whole = reach.is_end && end == window.len();
        let end = if is_whole { end } else { with_empty_lines_behind(window, end, form.eol) };
        Some(Cut { end, strays })
    }

    /// Takes back the input's first piece.
    pub(super) fn put_back(&mut self, piece: &Piece) {
        self.ahead.put_front(piece.bytes());
        (self.byte_offset, self.line) = (piece.origin.byte_offset, piece.origin.first_line);
        (self.started, self.ended) = (false, false);
    }

    /// The refusal of the record that `window` starts.
    fn too_long(&self, window: &[u8], dialect: &Dialect) -> Error {
        let quote = match dialect.family {
            Family::Csv => open_quote(window, dialect).unwrap_or(0),
            _ => 0,
        };
        let line_end = self.eol.unwrap_or(Eol::Nl).last_byte();
        let line = self.line + count(line_end, &window[..quote]);
        let at = Location::of_text(self.name.clone(), line, Some(self.byte_offset + quote as u64));
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

/// Empty lines stay with what is behind them, so that those at the input's end are in its last piece: where to cut `window`, of
/// which `end` is a record end.
fn with_empty_lines_behind(window: &[u8], end: usize, eol: Eol) -> usize {
    match empty_lines::begin(&window[..end], eol) {
        0 => end,
        before => before,
    }
}
