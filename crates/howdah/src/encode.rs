//! The encoder: a piece of input in, a chunk of rows out, by the plan. Pure CPU.

use std::sync::Arc;

use howdah_encode::{Invalid, NotEncoded, copy_text};

use crate::buffers::Buffers;
use crate::chunk::{Chunk, RowForm, RowOrigins};
use crate::error::{Error, ErrorKind};
use crate::lattice::ColumnLattice;
use crate::plan::Plan;
use crate::source::split::{self, Fault, PlainRecord, Span};
use crate::source::{Field, Form, Piece, Splitter};

/// A value may have so many bytes; PostgreSQL's limit on any value, its length word included.
const MAX_VALUE_BYTES: usize = 0x3FFF_FFFF - 4;

/// The length word of NULL in COPY's binary format.
const NULL_FIELD: [u8; 4] = (-1i32).to_be_bytes();

/// Marks a default in our own text rows: no escaped value can look like it.
pub(crate) const DEFAULT_MARKER: &[u8] = b"\\D";

/// One thread's encoder, with the memory it reuses.
pub(crate) struct Encoder {
    plan: Arc<Plan>,
    fields: Vec<Field>,
    scratch: Vec<u8>,
    buffers: Buffers,
    /// What the columns of a stream into a new table look like so far.
    pub(crate) lattices: Vec<ColumnLattice>,
}

/// Why a piece cannot be sent as binary rows.
enum Stop {
    /// A value that only the server can judge.
    Unsure,
    Failed(Error),
}

impl Encoder {
    pub(crate) fn new(plan: Arc<Plan>, buffers: Buffers) -> Self {
        let observed = if plan.observe { plan.columns.len() } else { 0 };
        Encoder {
            plan,
            fields: Vec::new(),
            scratch: Vec::new(),
            buffers,
            lattices: vec![ColumnLattice::default(); observed],
        }
    }

    /// Encodes `piece`; the piece's own bytes are no longer needed afterwards.
    ///
    /// # Errors
    /// The first record of the piece that cannot be a row of the target.
    pub(crate) fn encode(&mut self, piece: &Piece) -> Result<Chunk, Error> {
        check_text(piece, &self.plan)?;
        if self.plan.form == RowForm::Binary {
            match self.rows(piece, RowForm::Binary) {
                Ok(chunk) => return Ok(chunk),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Unsure) => {}
            }
        }
        match self.rows(piece, RowForm::Text) {
            Ok(chunk) => Ok(chunk),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Unsure) => Err(Error::new(ErrorKind::Internal, "a text row cannot be unsure")),
        }
    }

    fn rows(&mut self, piece: &Piece, form: RowForm) -> Result<Chunk, Stop> {
        let plan = Arc::clone(&self.plan);
        let bytes = piece.bytes();
        let mut out = self.buffers.take();
        out.reserve(bytes.len() + bytes.len() / 4);
        let mut rows = RowOrigins::new(piece.origin.clone());
        let mut splitter = Splitter::new(bytes, &plan.dialect, piece.eol);
        if piece.starts_input && plan.header.is_some() {
            self.check_header(piece, &mut splitter).map_err(Stop::Failed)?;
        }
        loop {
            if form == RowForm::Binary
                && let Some(record) = splitter.plain_record(plan.fields)
            {
                let (end, row_start) = (record.end(), out.len());
                if plain_row(record, &plan, &mut out) {
                    let span = splitter.take_plain(plan.fields, end);
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "the cutter holds pieces below 2^31 bytes"
                    )]
                    rows.push(span.start as u32, span.lines_before);
                    continue;
                }
                // The way below finds out what is the matter with it.
                out.truncate(row_start);
            }
            let span = match splitter.next_record(&mut self.fields) {
                Ok(Some(span)) => span,
                Ok(None) => return Ok(Chunk { bytes: self.buffers.lend(out), form, rows }),
                Err(fault) => return Err(Stop::Failed(structural_error(piece, &fault))),
            };
            if self.fields.len() != plan.fields {
                return Err(Stop::Failed(wrong_field_count(piece, &plan, span, &self.fields)));
            }
            match form {
                RowForm::Binary => self.binary_row(piece, span, &plan, &mut out)?,
                RowForm::Text => self.text_row(piece, span, &plan, &mut out)?,
            }
            #[expect(clippy::cast_possible_truncation, reason = "the cutter holds pieces below 2^31 bytes")]
            rows.push(span.start as u32, span.lines_before);
        }
    }

    #[inline]
    fn binary_row(&mut self, piece: &Piece, span: Span, plan: &Plan, out: &mut Vec<u8>) -> Result<(), Stop> {
        out.extend_from_slice(&plan.binary_row_start);
        for column in &plan.columns {
            let field = self.fields[column.field];
            let value = match field.form() {
                Form::Plain | Form::Quoted => &piece.bytes()[field.range()],
                Form::Null => {
                    out.extend_from_slice(&NULL_FIELD);
                    continue;
                }
                Form::Default => return Err(Stop::Unsure),
                form @ (Form::CsvEscaped | Form::CopyEscaped) => {
                    let value = split::value(field, piece.bytes(), &plan.dialect, &mut self.scratch);
                    let value = value.unwrap_or_default();
                    if form == Form::CopyEscaped {
                        check_unescaped(piece, span, &column.name, value).map_err(Stop::Failed)?;
                    }
                    value
                }
            };
            let Some(codec) = &column.codec else { return Err(Stop::Unsure) };
            match codec.encode(value, out) {
                Ok(()) => {}
                Err(NotEncoded::Unsure) => return Err(Stop::Unsure),
                Err(NotEncoded::Invalid(invalid)) => {
                    return Err(Stop::Failed(invalid_value(piece, span, &column.name, &invalid)));
                }
            }
        }
        Ok(())
    }

    fn text_row(&mut self, piece: &Piece, span: Span, plan: &Plan, out: &mut Vec<u8>) -> Result<(), Stop> {
        for (at, column) in plan.columns.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            let field = self.fields[column.field];
            let value = split::value(field, piece.bytes(), &plan.dialect, &mut self.scratch);
            if let Some(lattice) = self.lattices.get_mut(at) {
                lattice.observe(value);
            }
            match value {
                None if field.form() == Form::Null => out.extend_from_slice(b"\\N"),
                None => out.extend_from_slice(DEFAULT_MARKER),
                Some(value) => {
                    if field.form() == Form::CopyEscaped {
                        check_unescaped(piece, span, &column.name, value).map_err(Stop::Failed)?;
                    }
                    if value.len() > MAX_VALUE_BYTES {
                        return Err(Stop::Failed(too_long(piece, span, &column.name, value.len())));
                    }
                    copy_text::put_field(out, value);
                }
            }
        }
        out.push(b'\n');
        Ok(())
    }

    /// Drops the header, having made sure that it is the one the plan was made from.
    fn check_header(&mut self, piece: &Piece, splitter: &mut Splitter<'_>) -> Result<(), Error> {
        let expected = self.plan.header.as_deref().unwrap_or_default();
        let found = read_names(piece, splitter, &self.plan, &mut self.fields)?;
        if found == expected {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Data, "the header differs from that of the first input")
            .at(piece.origin.locate(0, 0))
            .with_detail(format!("here: {}; there: {}", found.join(", "), expected.join(", ")))
            .with_hint("load files with different columns in separate runs"))
    }
}

/// Appends the row of a record without quotes; `false` when anything stands in its way, with part of a row appended.
#[inline]
fn plain_row(record: PlainRecord<'_, '_>, plan: &Plan, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&plan.binary_row_start);
    for column in &plan.columns {
        let field = record.field(column.field);
        if field.is_empty() {
            out.extend_from_slice(&NULL_FIELD);
            continue;
        }
        let Some(codec) = &column.codec else { return false };
        if codec.encode_within(record.bytes, field, out).is_err() {
            return false;
        }
    }
    true
}

/// The fields of the next record as text.
fn read_names(
    piece: &Piece,
    splitter: &mut Splitter<'_>,
    plan: &Plan,
    fields: &mut Vec<Field>,
) -> Result<Vec<String>, Error> {
    splitter.next_record(fields).map_err(|fault| structural_error(piece, &fault))?;
    let mut scratch = Vec::new();
    Ok(fields
        .iter()
        .map(|field| {
            let name = split::value(*field, piece.bytes(), &plan.dialect, &mut scratch).unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        })
        .collect())
}

/// UTF-8 and free of NUL: tested on the whole piece at once, led back to the record on failure.
pub(crate) fn check_text(piece: &Piece, plan: &Plan) -> Result<(), Error> {
    let bytes = piece.bytes();
    let nul = memchr::memchr(0, bytes);
    let invalid = match simdutf8::basic::from_utf8(bytes) {
        Ok(_) => None,
        Err(_) => std::str::from_utf8(bytes).err(),
    };
    let bad = match (nul, &invalid) {
        (None, None) => return Ok(()),
        (Some(at), None) => at,
        (None, Some(error)) => error.valid_up_to(),
        (Some(at), Some(error)) => at.min(error.valid_up_to()),
    };
    let length = match &invalid {
        Some(error) if error.valid_up_to() == bad => error.error_len().unwrap_or(bytes.len() - bad),
        _ => 1,
    };
    Err(encoding_error(piece, plan, bad, &bytes[bad..bad + length]))
}

fn encoding_error(piece: &Piece, plan: &Plan, bad: usize, sequence: &[u8]) -> Error {
    let shown: Vec<String> = sequence.iter().map(|byte| format!("0x{byte:02x}")).collect();
    let mut error = Error::new(
        ErrorKind::Data,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
    .with_sqlstate("22021");
    if sequence != [0] {
        error =
            error.with_hint("convert the input to UTF-8 first, for example: iconv -f WINDOWS-1252 -t UTF-8");
    } else {
        error = error.with_hint("PostgreSQL cannot store the character NUL in text");
    }
    // The bytes before the fault are good, so the records up to it can be split to find its line and column.
    let mut fields = Vec::new();
    let mut splitter = Splitter::new(piece.bytes(), &plan.dialect, piece.eol);
    while let Ok(Some(span)) = splitter.next_record(&mut fields) {
        if span.end > bad {
            let field = fields.iter().take_while(|field| field.range().end < bad).count();
            if let Some(column) = plan.columns.iter().find(|column| column.field == field) {
                error = error.in_column(&column.name);
            }
            return error
                .at(piece.origin.locate(span.start as u64, u64::from(span.lines_before)))
                .with_detail(format!("the bad byte is at offset {}", piece.origin.byte_offset + bad as u64));
        }
    }
    error.at(piece.origin.locate(bad as u64, 0))
}

/// Octal and hexadecimal escapes of the text format can spell bytes that are not text.
fn check_unescaped(piece: &Piece, span: Span, column: &str, value: &[u8]) -> Result<(), Error> {
    let reason = if value.contains(&0) {
        "invalid byte sequence for encoding \"UTF8\": 0x00"
    } else if simdutf8::basic::from_utf8(value).is_err() {
        "an escape spells bytes that are not UTF-8"
    } else {
        return Ok(());
    };
    Err(data_error(piece, span, reason).with_sqlstate("22021").in_column(column))
}

fn data_error(piece: &Piece, span: Span, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, reason)
        .at(piece.origin.locate(span.start as u64, u64::from(span.lines_before)))
}

fn structural_error(piece: &Piece, fault: &Fault) -> Error {
    let span = Span { start: fault.start, end: fault.start, lines_before: fault.lines_before };
    let error = data_error(piece, span, fault.reason).with_sqlstate("22P04");
    match fault.reason {
        "unterminated CSV quoted field" => error.with_hint(
            "a quote is opened in this record and never closed; --quote names the quote character",
        ),
        "unquoted newline found in data" | "unquoted carriage return found in data" => {
            error.with_hint("line ends are mixed: quote fields that contain line ends, or convert the file")
        }
        _ => error,
    }
}

fn wrong_field_count(piece: &Piece, plan: &Plan, span: Span, fields: &[Field]) -> Error {
    let found = fields.len();
    let error = if found > plan.fields {
        data_error(piece, span, "extra data after last expected column")
    } else {
        let missing = plan.columns.iter().find(|column| column.field >= found);
        let name = missing.map_or_else(|| format!("field {}", found + 1), |column| column.name.clone());
        data_error(piece, span, format!("missing data for column {name:?}")).in_column(name)
    };
    let error = error
        .with_sqlstate("22P04")
        .with_detail(format!("the record has {found} fields, {} are expected", plan.fields));
    if plan.header.is_none() && span.start == 0 && piece.starts_input {
        return error.with_hint("name the columns in the input's order with --columns, or check --delimiter");
    }
    error
}

fn invalid_value(piece: &Piece, span: Span, column: &str, invalid: &Invalid) -> Error {
    data_error(piece, span, invalid.reason.as_str()).with_sqlstate(invalid.sqlstate).in_column(column)
}

fn too_long(piece: &Piece, span: Span, column: &str, bytes: usize) -> Error {
    data_error(piece, span, format!("the value has {bytes} bytes; PostgreSQL takes less than 1 GiB"))
        .with_sqlstate("54000")
        .in_column(column)
}
