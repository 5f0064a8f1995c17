//! The records of a piece, checked: text without NUL, quotes that close, as many fields as the plan says; JSON that is JSON,
//! with keys that the plan knows.

use std::ops::Range;

use howdah_message::setting;
use howdah_source::layout::Layout;
use howdah_source::text::split::{MOST_FIELDS, PlainRecord};
use howdah_source::{Fault, Field, Form, Piece, Span, Splitter, json};

use super::faults::{data_error, faulty, head_fault, not_text, quote_left_open, refused, torn_head, unsplit};
use super::text_check::{is_suspect, not_allowed, without_nuls};
use crate::error::{Error, ErrorKind};
use crate::options::{OnError, OnNul};
use crate::plan::Plan;

/// One record that has the plan's fields.
pub(crate) struct Record<'r> {
    /// What the fields are ranges of.
    pub(crate) bytes: &'r [u8],
    pub(crate) fields: &'r [Field],
    /// Where it stands in the piece.
    pub(crate) span: Span,
}

/// A record that cannot be a row, whoever is asked.
pub(crate) struct BadRecord {
    pub(crate) span: Span,
    pub(crate) error: Error,
}

/// Reads the records of one piece in order.
pub(crate) struct Records<'p> {
    piece: &'p Piece,
    plan: &'p Plan,
    splitter: Splitter<'p>,
    fields: Vec<Field>,
    /// Some byte of the piece is not text: every record is looked at.
    suspect: bool,
    /// Records without quotes may be taken as they are.
    plain: bool,
    /// A record without its NULs, when they are to be dropped.
    stripped: Vec<u8>,
    /// What makes fields of a record of JSON.
    json: Option<json::Reader>,
    /// The input's own fields, where they are not the plan's.
    layout: Option<&'p Layout>,
    /// Fields that every record must have.
    expected: usize,
    /// The fields in the plan's order, with what is not in the record, where these differ from the record's.
    arranged: Vec<Field>,
}

impl<'p> Records<'p> {
    /// Starts behind the header, if the piece has one. `fields` is memory to reuse.
    ///
    /// # Errors
    /// The header is not the one the plan was made from.
    pub(crate) fn new(piece: &'p Piece, plan: &'p Plan, fields: Vec<Field>) -> Result<Self, Error> {
        let splitter = Splitter::of(piece, &plan.reading.dialect);
        let suspect = is_suspect(piece);
        let layout = plan.reading.layouts.get(&piece.origin.source);
        let plain = !suspect && plan.takes_fields_as_they_are() && layout.is_none();
        let mut records = Records {
            piece,
            plan,
            splitter,
            fields,
            suspect,
            plain,
            stripped: Vec::new(),
            json: plan.reading.keys.as_ref().map(json::Reader::new),
            layout,
            expected: layout.map_or(plan.reading.fields, |layout| layout.header.len()),
            arranged: Vec::new(),
        };
        let header = layout.map(|layout| &layout.header).or(plan.reading.header.as_ref());
        if let Some(expected) = header.filter(|_| piece.starts_input) {
            records.check_header(expected)?;
        }
        Ok(records)
    }

    /// The memory back.
    pub(crate) fn into_fields(self) -> Vec<Field> {
        self.fields
    }

    /// The next record, if it plainly has the plan's fields and no quote. It is not taken yet.
    #[inline]
    pub(crate) fn plain(&self) -> Option<PlainRecord<'p, '_>> {
        if self.plain { self.splitter.plain_record(self.plan.reading.fields) } else { None }
    }

    /// Takes the record that [`Records::plain`] showed, which ends at `end`.
    #[inline]
    pub(crate) fn take_plain(&mut self, end: usize) -> Span {
        self.splitter.take_plain(self.plan.reading.fields, end)
    }

    /// The next record, or what is wrong with it; `None` at the end of the piece.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Result<Record<'_>, BadRecord>> {
        let span = match self.splitter.next_record(&mut self.fields) {
            Ok(Some(span)) => span,
            Ok(None) => return None,
            Err(fault) => return Some(Err(self.structural(&fault))),
        };
        if self.json.is_some() {
            return Some(self.next_json(span));
        }
        if self.suspect {
            return Some(self.inspect(span));
        }
        if self.fields.len() != self.expected {
            return Some(Err(self.wrong_field_count(span)));
        }
        if let Some(end) = self.filled_end() {
            return Some(Err(self.behind_the_end(span, end)));
        }
        if self.is_arranged() {
            Layout::complete(
                self.layout,
                &self.fields,
                self.plan.reading.file_field.is_some(),
                &mut self.arranged,
            );
            return Some(Ok(Record { bytes: self.piece.bytes(), fields: &self.arranged, span }));
        }
        Some(Ok(Record { bytes: self.piece.bytes(), fields: &self.fields, span }))
    }

    /// The record of JSON at `span`.
    #[inline(never)]
    fn next_json(&mut self, span: Span) -> Result<Record<'_>, BadRecord> {
        let (piece, plan) = (self.piece, self.plan);
        let (Some(keys), Some(reader)) = (&plan.reading.keys, &mut self.json) else {
            return Ok(Record { bytes: piece.bytes(), fields: &self.fields, span });
        };
        // A reject file has no hints, and guessing takes a look at the whole piece.
        let with_hint = plan.reading.on_error == OnError::Stop;
        let text = json_text(piece, span, self.suspect, plan.reading.on_nul, with_hint, &mut self.stripped);
        let (bytes, range) = text.map_err(|error| BadRecord { span, error })?;
        let drops_nul = plan.reading.on_nul == OnNul::Strip;
        // Without its NULs the record stands somewhere else.
        let skipped = span.start - range.start;
        match reader.read(keys, bytes, range, drops_nul, &mut self.fields) {
            Ok(false) => Ok(Record { bytes, fields: &self.fields, span }),
            Ok(true) => Ok(Record { bytes: reader.altered(), fields: &self.fields, span }),
            Err(mut refusal) => {
                if let Some((at, _)) = &mut refusal.fault {
                    *at += skipped;
                }
                Err(BadRecord { span, error: refused(piece, span, refusal, Some(plan)) })
            }
        }
    }

    /// A record of a piece that is known to hold bytes which are not text.
    #[cold]
    fn inspect(&mut self, span: Span) -> Result<Record<'_>, BadRecord> {
        let raw = &self.piece.bytes()[span.start..span.end];
        if let Some((at, length)) = not_allowed(raw, self.plan.reading.on_nul) {
            return Err(self.not_text(span, at, length));
        }
        let (piece, reading) = (self.piece, &self.plan.reading);
        let split =
            without_nuls(piece, span, &reading.dialect, reading.on_nul, &mut self.fields, &mut self.stripped);
        let is_stripped = match split {
            Ok(bytes) => !std::ptr::eq(bytes, piece.bytes()),
            Err(fault) => return Err(self.structural(&fault)),
        };
        let bytes = if is_stripped { &*self.stripped } else { piece.bytes() };
        if self.fields.len() != self.expected {
            return Err(self.wrong_field_count(span));
        }
        if let Some(end) = self.filled_end() {
            return Err(self.behind_the_end(span, end));
        }
        if self.is_arranged() {
            Layout::complete(
                self.layout,
                &self.fields,
                self.plan.reading.file_field.is_some(),
                &mut self.arranged,
            );
            return Ok(Record { bytes, fields: &self.arranged, span });
        }
        Ok(Record { bytes, fields: &self.fields, span })
    }

    /// Whether the record's fields are not the plan's as they are.
    #[inline]
    fn is_arranged(&self) -> bool {
        self.layout.is_some() || self.plan.reading.file_field.is_some()
    }

    fn check_header(&mut self, expected: &[String]) -> Result<(), Error> {
        let (piece, reading) = (self.piece, &self.plan.reading);
        let (dialect, on_nul) = (&reading.dialect, reading.on_nul);
        let span = match self.splitter.next_record(&mut self.fields) {
            Ok(span) => span,
            Err(fault) => return Err(self.structural(&fault).error),
        };
        let (mut scratch, mut stripped) = (Vec::new(), Vec::new());
        let (mut bytes, mut fault) = (piece.bytes(), None);
        if let Some(span) = span {
            fault = torn_head(piece, span, dialect).or_else(|| head_fault(piece, span, on_nul));
            // What is wrong without its NULs is a name that differs.
            bytes =
                without_nuls(piece, span, dialect, on_nul, &mut self.fields, &mut stripped).unwrap_or(bytes);
        }
        let name = |field: &Field| {
            let value = howdah_source::text::split::value(*field, bytes, dialect, &mut scratch);
            String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
        };
        let found: Vec<String> = self.fields.iter().map(name).collect();
        if found == expected {
            return Ok(());
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        Err(Error::new(ErrorKind::Data, "the header differs from that of the first input")
            .at(self.piece.origin.locate(0, 0))
            .with_detail(format!("here: {}; there: {}", found.join(", "), expected.join(", ")))
            .with_hint(
                "the columns of files may differ, those of streams may not: load them in separate runs",
            ))
    }

    #[cold]
    fn structural(&self, fault: &Fault) -> BadRecord {
        let is_json = self.json.is_some();
        let reading = &self.plan.reading;
        let error = if is_json {
            faulty(self.piece, fault)
        } else if reading.on_error == OnError::Ignore {
            // A reject stands where its record does.
            unsplit(self.piece, fault, None)
        } else {
            unsplit(self.piece, fault, quote_left_open(self.piece, fault.span, &reading.dialect))
        };
        BadRecord { span: fault.span, error }
    }

    #[cold]
    fn wrong_field_count(&self, span: Span) -> BadRecord {
        let (found, plan, expected) = (self.fields.len(), self.plan, self.expected);
        let error = if found > expected {
            data_error(self.piece, span, "extra data after last expected column")
        } else {
            let missing = plan.columns.iter().find(|column| {
                let at =
                    self.layout.map_or(Some(column.field), |layout| *layout.sources.get(column.field)?);
                !column.is_file_name && at.is_some_and(|at| at >= found)
            });
            let name = missing.map_or_else(|| format!("field {}", found + 1), |column| column.name.clone());
            data_error(self.piece, span, format!("missing data for column {name:?}")).in_column(name)
        };
        let found = match found {
            _ if span.start == span.end => "no field: the line is empty".to_owned(),
            1 => "1 field".to_owned(),
            n if n > MOST_FIELDS => format!("more than {MOST_FIELDS} fields"),
            n => format!("{n} fields"),
        };
        let mut error = error
            .with_sqlstate("22P04")
            .with_detail(format!("the record has {found}, {expected} are expected"));
        let lines = memchr::memchr_iter(self.piece.eol.last_byte(), &self.piece.bytes()[span.start..span.end])
            .count() as u64;
        let [first, last] = [0, lines].map(|lines| {
            self.piece.origin.locate(0, u64::from(span.lines_before) + lines).line.unwrap_or_default()
        });
        if lines > 0 && self.json.is_none() && plan.reading.on_error == OnError::Stop {
            // A reject file has no hints.
            error = error.with_hint(message![
                format!("the record goes on to line {last}: is a quote of line {first} one too many? "),
                setting::ON_ERROR.word("ignore"),
                " keeps such a line in a file and loads the others"
            ]);
        } else if plan.reading.header.is_none() && span.start == 0 && self.piece.starts_input {
            error = error.with_hint(message![
                "name the columns in the input's order with ",
                setting::COLUMNS,
                ", or check ",
                setting::DELIMITER
            ]);
        } else if expected == 1 && self.json.is_none() && plan.reading.on_error == OnError::Stop {
            // A reject file has no hints.
            error = error.with_hint(message![
                "if each line is one value, however it reads: ",
                setting::DELIMITER,
                " and ",
                setting::QUOTE,
                " of bytes that no line has, as \\x01 and \\x02; ",
                setting::ON_ERROR.word("ignore"),
                " keeps such records in a file and loads the others"
            ]);
        }
        BadRecord { span, error }
    }

    /// The last field, if it is to be empty and is not.
    #[inline]
    fn filled_end(&self) -> Option<usize> {
        let is_filled =
            |end: &usize| self.fields[*end].form() != Form::Null && !self.fields[*end].range().is_empty();
        self.plan.reading.empty_end.filter(is_filled)
    }

    /// Something stands in field `end`, which was taken for what is behind the last delimiter.
    #[cold]
    fn behind_the_end(&self, span: Span, end: usize) -> BadRecord {
        let number = end + 1;
        let error = data_error(self.piece, span, "extra data after last expected column")
            .with_sqlstate("22P04")
            .with_detail(format!("field {number} has a value, and was empty in the records before"))
            .with_hint(message![setting::MAP.entry_of(number.to_string(), "COLUMN"), " loads it"]);
        BadRecord { span, error }
    }

    /// `length` bytes at `at` of the record are not text.
    #[cold]
    fn not_text(&self, span: Span, at: usize, length: usize) -> BadRecord {
        // A reject file has no hints, and guessing takes a look at the whole piece.
        let mut error = not_text(self.piece, span, at, length, self.plan.reading.on_error == OnError::Stop);
        let bad = span.start + at;
        let field = self.fields.iter().take_while(|field| field.range().end < bad).count();
        let place = self.layout.map_or(Some(field), |layout| layout.place_of(field));
        if let Some(column) = self.plan.columns.iter().find(|column| Some(column.field) == place) {
            error = error.in_column(&column.name);
        }
        BadRecord { span, error }
    }
}

/// The record of JSON at `span` as text, without NULs where these are to be dropped, as a range of the piece or of `stripped`.
///
/// # Errors
/// It is not text.
#[inline]
pub(crate) fn json_text<'r>(
    piece: &'r Piece,
    span: Span,
    is_suspect: bool,
    on_nul: OnNul,
    with_hint: bool,
    stripped: &'r mut Vec<u8>,
) -> Result<(&'r [u8], Range<usize>), Error> {
    let raw = &piece.bytes()[span.start..span.end];
    if is_suspect {
        if let Some((at, length)) = not_allowed(raw, on_nul) {
            return Err(not_text(piece, span, at, length, with_hint));
        }
        if memchr::memchr(0, raw).is_some() {
            stripped.clear();
            stripped.extend(raw.iter().filter(|byte| **byte != 0));
            return Ok((stripped, 0..stripped.len()));
        }
    }
    Ok((piece.bytes(), span.start..span.end))
}
