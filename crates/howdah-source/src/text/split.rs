//! Splits a piece of whole records into records and fields, by COPY's rules. Nothing is copied: a field is a range.

use crate::dialect::{Dialect, Eol, Family};
pub use crate::field::{Field, Form, value};
use crate::json::Regions;
use crate::span::{Fault, FaultReason, Span};
use crate::text::piece::Piece;
use crate::text::quote_scan::{self, QuoteScan};
use crate::text::structural::Structurals;

/// A record without quotes, of as many fields as were asked for: [`Splitter::plain_record`].
#[derive(Clone, Copy)]
pub struct PlainRecord<'a, 'm> {
    /// The bytes that hold the record.
    pub bytes: &'a [u8],
    start: usize,
    ends: &'m [u32],
}

impl PlainRecord<'_, '_> {
    /// Where field `index` lies; empty means NULL.
    #[inline]
    pub fn field(&self, index: usize) -> std::ops::Range<usize> {
        let start = if index == 0 { self.start } else { self.ends[index - 1] as usize + 1 };
        start..self.ends[index] as usize
    }

    /// One past its last byte, without the line end.
    #[inline]
    pub fn end(&self) -> usize {
        self.ends.last().map_or(self.start, |end| *end as usize)
    }
}

/// Reads the records of one piece in order.
pub struct Splitter<'a> {
    bytes: &'a [u8],
    dialect: &'a Dialect,
    eol: Eol,
    at: usize,
    lines: u32,
    marks: Structurals<'a>,
    /// ESCAPE differs from QUOTE, or the delimiter has several bytes: rare, read byte by byte.
    two_pass: bool,
    /// A record without quotes can be told by its marks alone.
    plain_is_possible: bool,
    /// The records of JSON, which have no fields until their keys are looked at.
    json: Option<Regions<'a>>,
    /// Where the lines ahead begin that are no records.
    strays: &'a [usize],
}

impl<'a> Splitter<'a> {
    /// `bytes` are whole records of at most 1 GiB; the first byte starts a record.
    pub fn new(bytes: &'a [u8], dialect: &'a Dialect, eol: Eol) -> Self {
        let fourth = if dialect.family == Family::Csv { dialect.quote } else { b'\\' };
        let json = dialect.family.is_json().then(|| Regions::new(bytes, eol));
        let marked: &[u8] = if json.is_some() { &[] } else { bytes };
        let marks = Structurals::new(marked, [dialect.delimiter.first(), b'\n', b'\r', fourth]);
        let one_pass = dialect.escape == dialect.quote && dialect.delimiter.byte().is_some();
        let two_pass = dialect.family == Family::Csv && !one_pass;
        let empty_is_null = dialect.null.is_empty() && dialect.default.is_none();
        let plain_is_possible = dialect.family == Family::Csv && !two_pass && empty_is_null && eol == Eol::Nl;
        Splitter {
            bytes,
            dialect,
            eol,
            at: 0,
            lines: 0,
            marks,
            two_pass,
            plain_is_possible,
            json,
            strays: &[],
        }
    }

    /// Splits a whole piece: at the end of the input, an array of JSON must be closed. A line whose quote is a stray is a fault.
    pub fn of(piece: &'a Piece, dialect: &'a Dialect) -> Self {
        let splitter = Splitter::new(piece.bytes(), dialect, piece.eol);
        let json = splitter.json.map(|json| json.ending_input(piece.ends_input));
        Splitter { json, strays: &piece.strays, ..splitter }
    }

    /// Offset of the first byte that belongs to no record returned so far.
    pub fn position(&self) -> usize {
        self.json.as_ref().map_or(self.at, Regions::position)
    }

    /// The next record; its fields replace what `fields` held (a record of JSON has none yet). `None` at the end.
    ///
    /// # Errors
    /// A [`Fault`] where COPY would refuse the record; the next call reads the record after it.
    #[inline]
    pub fn next_record(&mut self, fields: &mut Vec<Field>) -> Result<Option<Span>, Fault> {
        fields.clear();
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        if self.strays.first() == Some(&self.at) {
            return Err(self.take_stray());
        }
        match self.dialect.family {
            Family::Csv if self.two_pass => self.next_two_pass(fields),
            Family::Csv => self.next_csv(fields),
            Family::Text => self.next_text(fields),
            Family::Json | Family::Ndjson => {
                return self.json.as_mut().map_or(Ok(None), Regions::next_record);
            }
        }
        .map(Some)
    }

    /// The next record, if it is seen already that it has exactly `count` fields and no quote; it is not taken yet.
    ///
    /// Most records of most files are like this. Their fields need no list: each lies between two marks.
    #[inline]
    pub fn plain_record(&self, count: usize) -> Option<PlainRecord<'a, '_>> {
        let (bytes, delimiter) = (self.bytes, self.dialect.delimiter.first());
        if !self.plain_is_possible {
            return None;
        }
        let ends = self.marks.ahead().get(..count)?;
        let (last, inner) = ends.split_last()?;
        let is = |at: &u32, byte: u8| bytes.get(*at as usize) == Some(&byte);
        let plain = is(last, b'\n') && inner.iter().all(|at| is(at, delimiter));
        plain.then_some(PlainRecord { bytes, start: self.at, ends })
    }

    /// Takes the record that [`Splitter::plain_record`] showed, which ends at `end`.
    #[inline]
    pub fn take_plain(&mut self, count: usize, end: usize) -> Span {
        let span = Span { start: self.at, end, lines_before: self.lines };
        self.marks.skip(count);
        self.lines += 1;
        self.at = end + 1;
        span
    }

    /// Takes the line at hand, which is no record.
    #[cold]
    fn take_stray(&mut self) -> Fault {
        self.strays = &self.strays[1..];
        let (bytes, line_end) = (self.bytes, self.eol.bytes());
        let start = self.at;
        let last = memchr::memchr(self.eol.last_byte(), &bytes[start..]);
        self.at = last.map_or(bytes.len(), |last| start + last + 1);
        let line = &bytes[start..self.at];
        let line = line
            .strip_suffix(line_end)
            .or(line.strip_suffix(&line_end[line_end.len() - 1..]))
            .unwrap_or(line);
        let span = Span { start, end: start + line.len(), lines_before: self.lines };
        self.lines += 1;
        while self.marks.peek().is_some_and(|mark| mark < self.at) {
            self.marks.next();
        }
        Fault { span, reason: FaultReason::OpenQuote }
    }

    #[inline]
    fn next_csv(&mut self, fields: &mut Vec<Field>) -> Result<Span, Fault> {
        let (bytes, dialect, delimiter) = (self.bytes, self.dialect, self.dialect.delimiter.first());
        let mut span = Span { start: self.at, end: bytes.len(), lines_before: self.lines };
        let mut start = self.at;
        let mut quotes = 0usize;
        let mut stray = None;
        loop {
            let mut lines = 0;
            let mut seen = 0;
            let mut record_end = None;
            for &mark in self.marks.ahead() {
                let at = mark as usize;
                let byte = bytes[at];
                seen += 1;
                if byte == dialect.quote {
                    quotes += 1;
                } else if quotes % 2 == 1 {
                    lines += u32::from(byte == self.eol.last_byte());
                } else if byte == delimiter {
                    fields.push(csv_field(bytes, dialect, start, at, quotes));
                    start = at + 1;
                    quotes = 0;
                } else {
                    record_end = Some(at);
                    break;
                }
            }
            self.marks.skip(seen);
            self.lines += lines;
            forget_surplus(fields);
            match record_end {
                Some(at) if self.ends_record(at, STRAY_IN_CSV, &mut span, &mut stray) => {
                    fields.push(csv_field(bytes, dialect, start, at, quotes));
                    return checked(span, stray);
                }
                Some(_) => {}
                None if self.marks.look_further() => {}
                None => {
                    self.at = bytes.len();
                    if quotes % 2 == 1 {
                        stray.get_or_insert(FaultReason::OpenQuote);
                    }
                    fields.push(csv_field(bytes, dialect, start, bytes.len(), quotes));
                    return checked(span, stray);
                }
            }
        }
    }

    #[inline]
    fn next_text(&mut self, fields: &mut Vec<Field>) -> Result<Span, Fault> {
        let (bytes, dialect, delimiter) = (self.bytes, self.dialect, self.dialect.delimiter.first());
        let mut span = Span { start: self.at, end: bytes.len(), lines_before: self.lines };
        let mut start = self.at;
        let mut escaped = false;
        // A backslash takes the byte after it along, whatever that is.
        let mut taken = usize::MAX;
        let mut stray = None;
        loop {
            let Some(at) = self.marks.next() else {
                // A backslash with nothing behind it stands for nothing.
                let end = if taken == bytes.len() { taken - 1 } else { bytes.len() };
                fields.push(text_field(bytes, dialect, start, end, escaped));
                self.at = bytes.len();
                return checked(span, stray);
            };
            let byte = bytes[at];
            if at == taken {
                self.lines += u32::from(byte == self.eol.last_byte());
            } else if byte == b'\\' {
                if bytes.get(at + 1) == Some(&b'.') {
                    stray.get_or_insert(self.marker_fault(at));
                }
                escaped = true;
                taken = at + 1;
            } else if byte == delimiter {
                forget_surplus(fields);
                fields.push(text_field(bytes, dialect, start, at, escaped));
                start = at + 1;
                escaped = false;
            } else if self.ends_record(at, STRAY_IN_TEXT, &mut span, &mut stray) {
                fields.push(text_field(bytes, dialect, start, at, escaped));
                return checked(span, stray);
            }
        }
    }

    /// What is wrong with the `\.` at `at`: one that ends the data is not part of a piece.
    #[cold]
    fn marker_fault(&self, at: usize) -> FaultReason {
        let behind = (self.bytes.get(at + 2).copied(), self.bytes.get(at + 3).copied());
        match (self.eol, behind) {
            (Eol::CrNl, (Some(b'\n'), _) | (Some(b'\r'), Some(b'\r')))
            | (Eol::Nl, (Some(b'\r'), _))
            | (Eol::Cr, (Some(b'\n'), _)) => FaultReason::MarkerBeforeOtherLineEnd,
            _ => FaultReason::MarkerNotAlone,
        }
    }

    /// Whether the CR or LF at `at` ends the record. The first record end of the input decided which one does; another is
    /// a fault, of which COPY speaks with one of `reasons`. The record ends all the same where the cutter would cut it.
    #[inline]
    fn ends_record(
        &mut self,
        at: usize,
        reasons: [FaultReason; 2],
        span: &mut Span,
        stray: &mut Option<FaultReason>,
    ) -> bool {
        let [stray_cr, stray_nl] = reasons;
        let next = match (self.bytes[at], self.eol) {
            (b'\n', Eol::Nl) | (b'\r', Eol::Cr) => at + 1,
            (b'\r', Eol::CrNl) if self.bytes.get(at + 1) == Some(&b'\n') => {
                if !self.two_pass {
                    self.marks.next();
                }
                at + 2
            }
            (b'\n', Eol::CrNl) => {
                stray.get_or_insert(stray_nl);
                at + 1
            }
            (byte, _) => {
                stray.get_or_insert(if byte == b'\r' { stray_cr } else { stray_nl });
                return false;
            }
        };
        span.end = at;
        self.lines += 1;
        self.at = next;
        true
    }

    /// First the record's end, then its fields. Where ESCAPE ≠ QUOTE, PostgreSQL first finds the line's end (an escape counts only inside quotes), then the fields,
    /// and the two passes read an escape differently. So do we.
    fn next_two_pass(&mut self, fields: &mut Vec<Field>) -> Result<Span, Fault> {
        let (bytes, dialect) = (self.bytes, self.dialect);
        let mut span = Span { start: self.at, end: bytes.len(), lines_before: self.lines };
        let mut scan = QuoteScan::default();
        let mut stray = None;
        let mut at = self.at;
        loop {
            let Some(&byte) = bytes.get(at) else {
                self.at = bytes.len();
                break;
            };
            scan.step(byte, dialect);
            if matches!(byte, b'\n' | b'\r') {
                if scan.in_quote {
                    self.lines += u32::from(byte == self.eol.last_byte());
                } else if self.ends_record(at, STRAY_IN_CSV, &mut span, &mut stray) {
                    break;
                }
            }
            at += 1;
        }
        let span = checked(span, stray)?;
        let mut start = span.start;
        loop {
            let (end, quotes) = quote_scan::field_end(&bytes[..span.end], start, dialect)
                .ok_or(Fault { span, reason: FaultReason::OpenQuote })?;
            forget_surplus(fields);
            fields.push(match quotes {
                0 => csv_field(bytes, dialect, start, end, quotes),
                _ => Field::new(start, end, Form::CsvEscaped),
            });
            if end == span.end {
                return Ok(span);
            }
            start = end + dialect.delimiter.as_bytes().len();
        }
    }
}

/// A record with more fields is not a row of any table (1,600 columns at most), and how many more does not matter: a list
/// of them could be many times as large as the record.
pub const MOST_FIELDS: usize = 8192;

#[inline]
fn forget_surplus(fields: &mut Vec<Field>) {
    if fields.len() > MOST_FIELDS {
        fields.truncate(MOST_FIELDS);
    }
}

/// A CR and an LF that end no record, in CSV.
const STRAY_IN_CSV: [FaultReason; 2] = [FaultReason::UnquotedCarriageReturn, FaultReason::UnquotedNewline];
/// The same in COPY's text format.
const STRAY_IN_TEXT: [FaultReason; 2] = [FaultReason::LiteralCarriageReturn, FaultReason::LiteralNewline];

#[inline]
fn checked(span: Span, stray: Option<FaultReason>) -> Result<Span, Fault> {
    match stray {
        None => Ok(span),
        Some(reason) => Err(Fault { span, reason }),
    }
}

#[inline]
fn csv_field(bytes: &[u8], dialect: &Dialect, start: usize, end: usize, quotes: usize) -> Field {
    if quotes == 0 {
        return Field::new(start, end, unquoted_form(bytes, start, end, dialect));
    }
    quoted_field(bytes, dialect, start, end, quotes)
}

#[inline(never)]
fn quoted_field(bytes: &[u8], dialect: &Dialect, start: usize, end: usize, quotes: usize) -> Field {
    if quotes == 2 && bytes[start] == dialect.quote && bytes[end - 1] == dialect.quote {
        return Field::new(start + 1, end - 1, Form::Quoted);
    }
    Field::new(start, end, Form::CsvEscaped)
}

#[inline]
fn text_field(bytes: &[u8], dialect: &Dialect, start: usize, end: usize, escaped: bool) -> Field {
    // COPY compares the raw field with NULL before it looks at backslashes: `\N` itself is escaped-looking.
    let form = match unquoted_form(bytes, start, end, dialect) {
        Form::Plain if escaped => Form::CopyEscaped,
        form => form,
    };
    Field::new(start, end, form)
}

#[inline(always)]
fn unquoted_form(bytes: &[u8], start: usize, end: usize, dialect: &Dialect) -> Form {
    if dialect.null.is_empty() && dialect.default.is_none() {
        // The common case without a branch on the data: whether a field is empty cannot be predicted.
        return if start == end { Form::Null } else { Form::Plain };
    }
    let raw = &bytes[start..end];
    if raw == dialect.null {
        Form::Null
    } else if dialect.default.as_deref() == Some(raw) {
        Form::Default
    } else {
        Form::Plain
    }
}
