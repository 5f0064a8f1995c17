//! Rows from records of text: each field is a literal, which its column's codec reads.

use howdah_encode::{Invalid, NotEncoded, copy_text};
use howdah_source::text::split::PlainRecord;
use howdah_source::{Form, Piece};

use super::sorting::Sorting;
use super::{Encoder, Keep, NULL_FIELD, end_row};
use crate::encode::chunk::{Chunk, Ordinal, RowOrigins};
use crate::encode::row::{NotRow, RecordRef, RowBuilder};
use crate::error::Error;
use crate::infer::columns::spot;
use crate::infer::lattice::Observed;
use crate::plan::planned_column::{PlanColumn, ValueDemand};
use crate::plan::row_form::DEFAULT_MARKER;
use crate::plan::row_form::RowForm;
use crate::plan::{Judging, Plan};
use crate::read::records::{Record, Records};

impl Encoder {
    /// The rows of `piece`, how many of its records were rejected, and how many it has. Rejected records are handed over, once,
    /// as long as no record before them is open.
    pub(super) fn piece_rows(
        &mut self,
        piece: &Piece,
        form: RowForm,
        keep: &mut Keep<'_>,
    ) -> Result<(Chunk, u64, u64), Error> {
        let plan = std::sync::Arc::clone(&self.plan);
        let bytes = piece.bytes();
        let mut out = self.buffers.take();
        out.reserve(bytes.len() + bytes.len() / 4);
        let mut rows = RowOrigins::of_text(piece.origin.clone());
        let mut settled = self.settled;
        let mut sorting = Sorting::new(&plan, &mut settled, keep);
        let mut records = Records::new(piece, &plan, std::mem::take(&mut self.fields))?;
        loop {
            let row_start = out.len();
            if form == RowForm::Binary
                && let Some(record) = records.plain()
            {
                let end = record.end();
                if plain_row(record, &plan, &mut out) {
                    let span = records.take_plain(end);
                    end_row(form, &plan, Ordinal::new(piece.ordinal, span.start), &mut out);
                    rows.push(span);
                    sorting.row();
                    continue;
                }
                // The way below finds out what is the matter with it.
                out.truncate(row_start);
            }
            let (span, error) = match records.next() {
                None => break,
                Some(Ok(record)) => {
                    let span = record.span;
                    let row = match form {
                        RowForm::Binary => self.binary_row(piece, &record, &plan, &mut out),
                        RowForm::Text | RowForm::Csv(_) => self.text_row(piece, &record, &plan, &mut out),
                    };
                    match row {
                        Ok(()) => {
                            end_row(form, &plan, Ordinal::new(piece.ordinal, span.start), &mut out);
                            rows.push(span);
                            sorting.row();
                            continue;
                        }
                        Err(NotRow::Unsure) => {
                            out.truncate(row_start);
                            sorting.open();
                            continue;
                        }
                        Err(NotRow::Refused(error)) => (span, error),
                    }
                }
                Some(Err(bad)) => (bad.span, bad.error),
            };
            out.truncate(row_start);
            if sorting.refuse(error, || bytes[span.start..span.end].to_vec())?.is_break() {
                break;
            }
        }
        self.fields = records.into_fields();
        let (rejected, count) = sorting.finish()?;
        self.settled = settled;
        Ok((Chunk { bytes: self.buffers.lend(out), form, rows }, rejected, count))
    }

    fn binary_row(
        &mut self,
        piece: &Piece,
        record: &Record<'_>,
        plan: &Plan,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRow> {
        out.extend_from_slice(&plan.sending.binary_row_start);
        let mut row = RowBuilder::new(RecordRef::Text(piece, record.span));
        for column in &plan.columns {
            let field = record.fields[column.field];
            let file = piece.origin.source.as_bytes();
            let value =
                column.value(field, record.bytes, file, &plan.reading.dialect, &mut self.scratch.unescaped);
            let Some(value) = value else {
                out.extend_from_slice(&NULL_FIELD);
                row.see_null(column)?;
                continue;
            };
            if field.form() == Form::CopyEscaped {
                row.check_unescaped(column, value)?;
            }
            let value = match as_demanded(column, value, plan, &mut self.scratch.demanded) {
                Ok(value) => value,
                Err(lossy) => {
                    row.follow(column, Err(lossy), |_| Ok(false)).map_err(|not_row| not_row.about(value))?;
                    continue;
                }
            };
            let spelling = &plan.reading.spelling;
            let read = spelling.read(column.spelled, &column.type_name, value, &mut self.scratch.respelled);
            let value = match read {
                Ok(value) => value,
                Err(misspelled) => {
                    row.refuse_misspelled(column, &misspelled).map_err(|not_row| not_row.about(value))?;
                    continue;
                }
            };
            let verdict = match &column.codec {
                Some(codec) => codec.encode(value, out),
                None => Err(NotEncoded::Unsure),
            };
            self.text_only |= row
                .follow(column, verdict, |row| row.ask(&mut self.answers, column, value, out))
                .map_err(|not_row| not_row.about(value))?;
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
        let mut row = RowBuilder::new(RecordRef::Text(piece, record.span));
        for (at, column) in plan.columns.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            let field = record.fields[column.field];
            let file = piece.origin.source.as_bytes();
            let value =
                column.value(field, record.bytes, file, &plan.reading.dialect, &mut self.scratch.unescaped);
            if let Some(lattice) = self.lattices.get_mut(at) {
                if plan.reading.keys.is_some() {
                    lattice.observe_json(field.form(), value);
                } else {
                    lattice.observe_at(value.map(Into::into), || spot(piece, record.span));
                }
            }
            let Some(value) = value else {
                if field.form() == Form::Default {
                    out.extend_from_slice(DEFAULT_MARKER);
                } else {
                    out.extend_from_slice(b"\\N");
                    // Otherwise the server judges all of the row: a record before this one may be worse.
                    if plan.judging == Judging::BeforeSending {
                        row.see_null(column)?;
                    }
                }
                continue;
            };
            if field.form() == Form::CopyEscaped {
                row.check_unescaped(column, value)?;
            }
            row.check_size(column, value)?;
            let value = match as_demanded(column, value, plan, &mut self.scratch.demanded) {
                Ok(value) => value,
                Err(lossy) => {
                    row.follow(column, Err(lossy), |_| Ok(false)).map_err(|not_row| not_row.about(value))?;
                    continue;
                }
            };
            let spelling = &plan.reading.spelling;
            let read = spelling.read(column.spelled, &column.type_name, value, &mut self.scratch.respelled);
            let value = match read {
                Ok(value) => value,
                Err(misspelled) => {
                    row.refuse_misspelled(column, &misspelled).map_err(|not_row| not_row.about(value))?;
                    continue;
                }
            };
            if plan.judging == Judging::BeforeSending {
                let judged = &mut self.scratch.judged;
                judged.clear();
                let verdict = match &column.codec {
                    Some(codec) => codec.encode(value, judged),
                    None => Err(NotEncoded::Unsure),
                };
                row.follow(column, verdict, |row| row.ask(&mut self.answers, column, value, judged))
                    .map_err(|not_row| not_row.about(value))?;
            }
            copy_text::put_field(out, value);
        }
        row.finish(plan)
    }
}

/// The value, unless the column demands another.
#[inline]
fn as_demanded<'v>(
    column: &PlanColumn,
    value: &'v [u8],
    plan: &Plan,
    scratch: &'v mut [Vec<u8>; 2],
) -> Result<&'v [u8], NotEncoded> {
    match column.demand {
        None => Ok(value),
        Some(ValueDemand::Precise(precision)) => precision.kept(value, &mut scratch[0]),
        Some(ValueDemand::Fitting(ty)) if Observed::of(value, &plan.reading.spelling, scratch).fits(ty) => {
            Ok(value)
        }
        Some(ValueDemand::Fitting(_)) => {
            Err(NotEncoded::Invalid(Box::new(Invalid::syntax("22P02", &column.type_name, value))))
        }
    }
}

/// Appends the row of a record without quotes; `false` when anything stands in its way, with part of a row appended.
#[inline]
fn plain_row(record: PlainRecord<'_, '_>, plan: &Plan, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&plan.sending.binary_row_start);
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
