//! The encoder: a piece of input in, a chunk of rows out, by the plan. Pure CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howdah_encode::{NotEncoded, copy_text};

use crate::answers::{Answers, Open};
use crate::buffers::Buffers;
use crate::chunk::{Chunk, Ordinal, RowForm, RowOrigins};
use crate::control::Control;
use crate::decimal;
use crate::error::Error;
use crate::lattice::ColumnLattice;
use crate::pass_on;
use crate::plan::{Plan, PlanColumn};
use crate::records::{BadRecord, Record, Records};
use crate::rejects::Reject;
use crate::resolver::Answer;
use crate::row::{NotRow, Row};
use crate::source::split::{PlainRecord, Span};
use crate::source::{Field, Form, Piece};

/// A value may have so many bytes; PostgreSQL's limit on any value, its length word included.
const MAX_VALUE_BYTES: usize = 0x3FFF_FFFF - 4;

/// The length word of NULL in COPY's binary format.
const NULL_FIELD: [u8; 4] = (-1i32).to_be_bytes();

/// Marks a default in our own text rows: no escaped value can look like it.
pub(crate) const DEFAULT_MARKER: &[u8] = b"\\D";

/// A piece with open literals in more than this share of its records is cheaper for the server to parse as text.
const DENSE: f64 = 0.01;

/// Below so many open literals a piece never counts as dense: one question answers them all.
const FEW_LITERALS: usize = 100;

/// So many refused records are handed over together: a piece of empty lines would otherwise become half a million of them.
const REJECTS_AT_ONCE: usize = 4096;

/// Where refused records go.
pub(crate) type Keep<'k> = dyn FnMut(&[Reject]) -> Result<(), Error> + Send + 'k;

/// What became of a piece.
pub(crate) enum Encoded {
    /// Its rows, and how many of its records are none.
    Chunk(Chunk, u64),
    /// Literals must be decided first: [`Encoder::learn`] the answers, then encode the piece again.
    Open(Vec<Open>),
}

/// One thread's encoder, with the memory it reuses.
pub(crate) struct Encoder {
    plan: Arc<Plan>,
    /// Shared by the encoders of a load: whether a column turned up whose literals mostly only the server can decide.
    dense: Arc<AtomicBool>,
    control: Control,
    fields: Vec<Field>,
    scratch: Scratch,
    buffers: Buffers,
    answers: Answers,
    /// A value of the piece in hand can travel as text only.
    text_only: bool,
    /// The refused ones among so many first records of the piece in hand were handed over; a piece may be encoded again.
    settled: u64,
    /// What the columns of a stream into a new table look like so far.
    pub(crate) lattices: Vec<ColumnLattice>,
}

#[derive(Default)]
struct Scratch {
    /// A value without its quotes and escapes.
    unescaped: Vec<u8>,
    /// A number with its decimal comma made a point, a date in ISO.
    respelled: Vec<u8>,
    /// A field that is only judged, since the row travels as text.
    judged: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(plan: Arc<Plan>, dense: Arc<AtomicBool>, control: Control) -> Self {
        let observed = if plan.observe { plan.columns.len() } else { 0 };
        Encoder {
            answers: Answers::new(plan.columns.len()),
            plan,
            dense,
            control,
            fields: Vec::new(),
            scratch: Scratch::default(),
            text_only: false,
            settled: 0,
            buffers: Buffers::default(),
            lattices: vec![ColumnLattice::default(); observed],
        }
    }

    /// Encodes `piece`; records that cannot be rows of the target go to `keep`, where such records are kept apart.
    ///
    /// # Errors
    /// Otherwise the first such record of the piece; what `keep` said.
    pub(crate) fn encode(&mut self, piece: &Piece, keep: &mut Keep<'_>) -> Result<Encoded, Error> {
        if self.plan.passes_on() {
            let mut out = self.buffers.take();
            let rows = pass_on::rows(piece, &self.plan, &mut self.fields, &mut out)?;
            let chunk = Chunk { bytes: self.buffers.lend(out), form: RowForm::Csv(piece.eol), rows };
            return Ok(Encoded::Chunk(chunk, 0));
        }
        let text = self.plan.form == RowForm::Text || self.dense.load(Ordering::Relaxed);
        let form = if text { RowForm::Text } else { RowForm::Binary };
        let (chunk, rejected, records) = self.rows(piece, form, keep)?;
        let open = self.answers.take_open(&self.plan, form);
        if open.is_empty() {
            if std::mem::take(&mut self.text_only) && form == RowForm::Binary {
                return self.text_rows(piece, keep);
            }
            self.answers.forget_beyond_bound();
            self.settled = 0;
            return Ok(Encoded::Chunk(chunk, rejected));
        }
        let literals: usize = open.iter().map(Open::len).sum();
        if self.plan.judge || literals < FEW_LITERALS || (literals as f64) < DENSE * records as f64 {
            return Ok(Encoded::Open(open));
        }
        if !self.dense.swap(true, Ordering::Relaxed)
            && let Some(most) = open.iter().max_by_key(|open| open.len())
        {
            self.control.notice(format!(
                "rows travel as text: many values of {} are in a form that only the server can read",
                most.column(&self.plan)
            ));
        }
        self.answers.withdraw(&open);
        self.text_rows(piece, keep)
    }

    /// Encodes a piece that was to travel in binary as text.
    fn text_rows(&mut self, piece: &Piece, keep: &mut Keep<'_>) -> Result<Encoded, Error> {
        let (chunk, rejected, _) = self.rows(piece, RowForm::Text, keep)?;
        self.settled = 0;
        Ok(Encoded::Chunk(chunk, rejected))
    }

    /// Takes the server's answers to `open`, in order.
    pub(crate) fn learn(&mut self, open: Open, answers: Vec<Answer>) {
        self.answers.learn(open, answers);
    }

    /// The rows of `piece`, how many of its records were refused, and how many it has. Refused records are handed over, once,
    /// as long as no record before them is open.
    fn rows(
        &mut self,
        piece: &Piece,
        form: RowForm,
        keep: &mut Keep<'_>,
    ) -> Result<(Chunk, u64, u64), Error> {
        let plan = Arc::clone(&self.plan);
        let bytes = piece.bytes();
        let mut out = self.buffers.take();
        out.reserve(bytes.len() + bytes.len() / 4);
        let mut rows = RowOrigins::new(piece.origin.clone());
        let mut rejects = Vec::new();
        let (mut rejected, mut open_rows) = (0, 0);
        let mut records = Records::new(piece, &plan, std::mem::take(&mut self.fields))?;
        loop {
            let row_start = out.len();
            if form == RowForm::Binary
                && let Some(record) = records.plain()
            {
                let end = record.end();
                if plain_row(record, &plan, &mut out) {
                    let span = records.take_plain(end);
                    end_row(form, &plan, piece, span, &mut out);
                    rows.push(span);
                    continue;
                }
                // The way below finds out what is the matter with it.
                out.truncate(row_start);
            }
            let bad = match records.next() {
                None => break,
                Some(Ok(record)) => {
                    let row = match form {
                        RowForm::Binary => self.binary_row(piece, &record, &plan, &mut out),
                        RowForm::Text | RowForm::Csv(_) => self.text_row(piece, &record, &plan, &mut out),
                    };
                    match row {
                        Ok(()) => {
                            end_row(form, &plan, piece, record.span, &mut out);
                            rows.push(record.span);
                            continue;
                        }
                        Err(NotRow::Open) => {
                            out.truncate(row_start);
                            open_rows += 1;
                            continue;
                        }
                        Err(NotRow::Refused(error)) => BadRecord { span: record.span, error },
                    }
                }
                Some(Err(bad)) => bad,
            };
            out.truncate(row_start);
            if plan.keep_rejects {
                let before = rows.len() + rejected + open_rows;
                rejected += 1;
                // Handed over already; or the piece will be encoded again, and they are found then.
                if before < self.settled || open_rows > 0 {
                    continue;
                }
                let raw = bytes[bad.span.start..bad.span.end].to_vec();
                rejects.push(Reject { error: bad.error, raw });
                self.settled = before + 1;
                if rejects.len() >= REJECTS_AT_ONCE {
                    keep(&rejects)?;
                    rejects.clear();
                }
            } else if open_rows > 0 {
                // A record before it may yet turn out to be the first bad one.
                break;
            } else {
                return Err(bad.error);
            }
        }
        self.fields = records.into_fields();
        let count = rows.len() + rejected + open_rows;
        if !rejects.is_empty() {
            keep(&rejects)?;
        }
        Ok((Chunk { bytes: self.buffers.lend(out), form, rows }, rejected, count))
    }

    fn binary_row(
        &mut self,
        piece: &Piece,
        record: &Record<'_>,
        plan: &Plan,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRow> {
        out.extend_from_slice(&plan.binary_row_start);
        let mut row = Row::new(piece, record.span);
        for column in &plan.columns {
            let field = record.fields[column.field];
            let file = piece.origin.source.as_bytes();
            let value = column.value(field, record.bytes, file, &plan.dialect, &mut self.scratch.unescaped);
            let Some(value) = value else {
                out.extend_from_slice(&NULL_FIELD);
                row.see_null(column)?;
                continue;
            };
            if field.form() == Form::CopyEscaped {
                row.check_unescaped(column, value)?;
            }
            let value = match respelled(plan, column, value, &mut self.scratch.respelled) {
                Ok(value) => value,
                Err(reason) => {
                    row.refuse(column, &reason, "22007", plan.date_format_detail().as_deref())?;
                    continue;
                }
            };
            let verdict = match &column.codec {
                Some(codec) => codec.encode(value, out),
                None => Err(NotEncoded::Unsure),
            };
            match verdict {
                Ok(()) => {}
                Err(NotEncoded::Invalid(invalid)) => {
                    row.refuse(column, &invalid.reason, invalid.sqlstate, None)?;
                }
                Err(NotEncoded::Unsure) => {
                    self.text_only |= row.ask(&mut self.answers, column, value, out)?;
                }
            }
        }
        row.finish(plan)
    }

    fn text_row(
        &mut self,
        piece: &Piece,
        record: &Record<'_>,
        plan: &Plan,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRow> {
        let mut row = Row::new(piece, record.span);
        for (at, column) in plan.columns.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            let field = record.fields[column.field];
            let file = piece.origin.source.as_bytes();
            let value = column.value(field, record.bytes, file, &plan.dialect, &mut self.scratch.unescaped);
            if let Some(lattice) = self.lattices.get_mut(at) {
                lattice.observe(value);
            }
            let Some(value) = value else {
                if field.form() == Form::Default {
                    out.extend_from_slice(DEFAULT_MARKER);
                } else {
                    out.extend_from_slice(b"\\N");
                    // Otherwise the server judges all of the row: a record before this one may be worse.
                    if plan.judge {
                        row.see_null(column)?;
                    }
                }
                continue;
            };
            if field.form() == Form::CopyEscaped {
                row.check_unescaped(column, value)?;
            }
            if value.len() > MAX_VALUE_BYTES {
                let reason = format!("the value has {} bytes; PostgreSQL takes less than 1 GiB", value.len());
                row.refuse(column, &reason, "54000", None)?;
            }
            let value = match respelled(plan, column, value, &mut self.scratch.respelled) {
                Ok(value) => value,
                Err(reason) => {
                    row.refuse(column, &reason, "22007", plan.date_format_detail().as_deref())?;
                    continue;
                }
            };
            if plan.judge {
                self.scratch.judged.clear();
                let verdict = match &column.codec {
                    Some(codec) => codec.encode(value, &mut self.scratch.judged),
                    None => Err(NotEncoded::Unsure),
                };
                match verdict {
                    Ok(()) => {}
                    Err(NotEncoded::Invalid(invalid)) => {
                        row.refuse(column, &invalid.reason, invalid.sqlstate, None)?;
                    }
                    Err(NotEncoded::Unsure) => {
                        row.ask(&mut self.answers, column, value, &mut self.scratch.judged)?;
                    }
                }
            }
            copy_text::put_field(out, value);
        }
        row.finish(plan)
    }
}

/// The value as PostgreSQL spells it.
///
/// # Errors
/// The reason why it is no value in the load's date format.
#[inline]
fn respelled<'v>(
    plan: &Plan,
    column: &PlanColumn,
    value: &'v [u8],
    scratch: &'v mut Vec<u8>,
) -> Result<&'v [u8], String> {
    match &plan.date_format {
        _ if column.decimal_comma => Ok(decimal::swapped(value, scratch)),
        Some(format) if column.has_date_format => format.rewritten(value, scratch).ok_or_else(|| {
            format!(
                "invalid input syntax for type {}: \"{}\"",
                column.type_name,
                String::from_utf8_lossy(value)
            )
        }),
        _ => Ok(value),
    }
}

/// Ends a row, with the place of its record in the input where that is asked for.
#[inline]
fn end_row(form: RowForm, plan: &Plan, piece: &Piece, record: Span, out: &mut Vec<u8>) {
    if plan.ordinal.is_some() {
        let place = Ordinal::of(piece, record).0;
        match form {
            RowForm::Binary => {
                out.extend_from_slice(&8i32.to_be_bytes());
                out.extend_from_slice(&place.to_be_bytes());
            }
            RowForm::Text | RowForm::Csv(_) => out.extend_from_slice(format!("\t{place}").as_bytes()),
        }
    }
    if form == RowForm::Text {
        out.push(b'\n');
    }
}

/// Appends the row of a record without quotes; `false` when anything stands in its way, with part of a row appended.
#[inline]
fn plain_row(record: PlainRecord<'_, '_>, plan: &Plan, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&plan.binary_row_start);
    for column in &plan.columns {
        let field = record.field(column.field);
        if field.is_empty() {
            if column.not_null_at.is_some() || column.not_null_domain.is_some() {
                return false;
            }
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
