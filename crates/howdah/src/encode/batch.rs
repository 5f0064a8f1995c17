//! Rows from Arrow arrays: values that have types already, each encoded by its Arrow type and its column's type.

use std::sync::Arc;

use howdah_encode::arrow::ArrowColumn;
use howdah_encode::{Verdict, copy_text, wire};
use howdah_source::batches::Batch;

use super::sorting::Sorting;
use super::{Encoder, Keep, NULL_FIELD, end_row};
use crate::encode::chunk::{Chunk, Ordinal, RowOrigins};
use crate::encode::row::{NotRow, RecordRef, RowBuilder};
use crate::error::{Error, ErrorKind};
use crate::options::WritePath;
use crate::plan::planned_column::PlanColumn;
use crate::plan::row_form::RowForm;
use crate::plan::{Judging, Plan};

/// Where a planned column's values come from.
enum Values<'b> {
    /// An array of the batch.
    Array(ArrowColumn<'b>),
    /// The input's name, in every row.
    FileName,
}

impl Encoder {
    /// The rows of `batch`, how many of its rows were refused, and how many it has. Refused ones are handed over, once, as long
    /// as none before them is open.
    pub(super) fn batch_rows(
        &mut self,
        batch: &Batch,
        form: RowForm,
        keep: &mut Keep<'_>,
    ) -> Result<(Chunk, u64, u64), Error> {
        let plan = Arc::clone(&self.plan);
        let columns = bound(batch, &plan)?;
        let mut out = self.buffers.take();
        let mut rows = RowOrigins::of_rows(batch.place.clone(), batch.first_row);
        let mut settled = self.settled;
        let mut sorting = Sorting::new(&plan, &mut settled, keep);
        for at in 0..batch.rows.num_rows() {
            let row_start = out.len();
            let row = match form {
                RowForm::Binary => self.binary_values(batch, at, &columns, &plan, &mut out),
                RowForm::Text | RowForm::Csv(_) => self.text_values(batch, at, &columns, &plan, &mut out),
            };
            match row {
                Ok(()) => {
                    end_row(form, &plan, Ordinal::new(batch.ordinal, at), &mut out);
                    // A batch has some thousand rows.
                    rows.push_row(u32::try_from(at).unwrap_or(u32::MAX));
                    sorting.row();
                }
                Err(NotRow::Unsure) => {
                    out.truncate(row_start);
                    sorting.open();
                }
                Err(NotRow::Refused(error)) => {
                    out.truncate(row_start);
                    if sorting.refuse(error, || batch.raw(at))?.is_break() {
                        break;
                    }
                }
            }
        }
        let (rejected, count) = sorting.finish()?;
        self.settled = settled;
        Ok((Chunk { bytes: self.buffers.lend(out), form, rows }, rejected, count))
    }

    #[inline]
    fn binary_values(
        &mut self,
        batch: &Batch,
        at: usize,
        columns: &[Values<'_>],
        plan: &Plan,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRow> {
        out.extend_from_slice(&plan.sending.binary_row_start);
        let mut row = RowBuilder::new(RecordRef::Batch(batch, at));
        for (column, values) in plan.columns.iter().zip(columns) {
            let verdict = match values {
                Values::Array(array) if array.is_null(at) => {
                    out.extend_from_slice(&NULL_FIELD);
                    row.see_null(column)?;
                    continue;
                }
                Values::Array(array) if column.as_text => self.literal_field(array, at, out),
                Values::Array(array) => array.put(at, out),
                Values::FileName => wire::put_bytes(out, batch.place.source.as_bytes()),
            };
            self.text_only |=
                row.follow(column, verdict, |row| self.ask_about(row, column, values, at, out))?;
        }
        row.finish(plan)
    }

    fn text_values(
        &mut self,
        batch: &Batch,
        at: usize,
        columns: &[Values<'_>],
        plan: &Plan,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRow> {
        let mut row = RowBuilder::new(RecordRef::Batch(batch, at));
        for (position, (column, values)) in plan.columns.iter().zip(columns).enumerate() {
            if position > 0 {
                out.push(b'\t');
            }
            let array = match values {
                Values::FileName => {
                    copy_text::put_field(out, batch.place.source.as_bytes());
                    continue;
                }
                Values::Array(array) if array.is_null(at) => {
                    out.extend_from_slice(b"\\N");
                    // Otherwise the server judges all of the row: one before this one may be worse.
                    if plan.judging == Judging::BeforeSending {
                        row.see_null(column)?;
                    }
                    continue;
                }
                Values::Array(array) => array,
            };
            if plan.judging == Judging::BeforeSending && plan.sending.write_path != WritePath::Landing {
                let mut judged = std::mem::take(&mut self.scratch.judged);
                judged.clear();
                let verdict = array.put(at, &mut judged);
                row.follow(column, verdict, |row| self.ask_about(row, column, values, at, &mut judged))?;
                self.scratch.judged = judged;
            }
            let mut literal = std::mem::take(&mut self.scratch.unescaped);
            literal.clear();
            let verdict = array.literal(at, &mut literal);
            row.follow(column, verdict, |_| Ok(false))?;
            row.check_size(column, &literal)?;
            copy_text::put_field(out, &literal);
            self.scratch.unescaped = literal;
        }
        row.finish(plan)
    }

    /// Appends the literal as a field of its own, for a column that the server reads itself.
    fn literal_field(&mut self, array: &ArrowColumn<'_>, at: usize, out: &mut Vec<u8>) -> Verdict {
        let literal = &mut self.scratch.unescaped;
        literal.clear();
        array.literal(at, literal)?;
        wire::put_bytes(out, literal)
    }

    /// Asks what the server makes of a value that the codec is not sure of.
    #[cold]
    fn ask_about(
        &mut self,
        row: &mut RowBuilder<'_>,
        column: &PlanColumn,
        values: &Values<'_>,
        at: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, NotRow> {
        let Values::Array(array) = values else { return Ok(false) };
        let literal = &mut self.scratch.unescaped;
        literal.clear();
        let verdict = array.literal(at, literal);
        row.follow(column, verdict, |_| Ok(false))?;
        row.ask(&mut self.answers, column, literal, out)
    }
}

/// Typed access to the columns of `batch`, in the plan's order.
fn bound<'b>(batch: &'b Batch, plan: &'b Plan) -> Result<Vec<Values<'b>>, Error> {
    let values = |column: &'b PlanColumn| match &column.arrow {
        Some(codec) => codec.bind(batch.rows.column(column.field).as_ref()).map(Values::Array),
        None => Ok(Values::FileName),
    };
    let bound: Result<Vec<_>, _> = plan.columns.iter().map(values).collect();
    bound.map_err(|no_mapping| Error::new(ErrorKind::Internal, no_mapping.reason).at(batch.locate(0)))
}
