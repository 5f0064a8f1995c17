//! A row in the making: what stands between a record and a row, in the order in which the server would say it.

use howdah_encode::wire::MAX_FIELD_BYTES;
use howdah_encode::{Loss, NotEncoded, Verdict};
use howdah_source::Piece;
use howdah_source::Span;
use howdah_source::batches::Batch;
use howdah_source::spelling::{Misspelled, Spelled};

use crate::encode::answers::{Answers, Known};
use crate::encode::question::Answer;
use crate::error::{Error, ErrorKind};
use crate::plan::Plan;
use crate::plan::planned_column::PlanColumn;
use crate::read::faults::data_error;

/// Why a record is not a row.
pub(crate) enum NotRow {
    /// A literal of it must be decided first.
    Unsure,
    Refused(Error),
}

impl NotRow {
    /// The same, about `value`.
    #[cold]
    pub(crate) fn about(self, value: &[u8]) -> NotRow {
        match self {
            NotRow::Refused(error) => NotRow::Refused(error.about_value(value)),
            NotRow::Unsure => NotRow::Unsure,
        }
    }

    #[cold]
    fn for_want_of(self, loss: Option<Loss>) -> NotRow {
        match self {
            NotRow::Refused(error) => NotRow::Refused(error.for_want_of(loss)),
            NotRow::Unsure => NotRow::Unsure,
        }
    }
}

/// The record that a row is made from.
#[derive(Clone, Copy)]
pub(crate) enum RecordRef<'m> {
    Text(&'m Piece, Span),
    /// And its row, from 0.
    Batch(&'m Batch, usize),
}

impl RecordRef<'_> {
    #[cold]
    fn error(self, reason: String) -> Error {
        match self {
            RecordRef::Text(piece, span) => data_error(piece, span, reason),
            RecordRef::Batch(batch, row) => Error::new(ErrorKind::Data, reason).at(batch.locate(row)),
        }
    }
}

/// A row in the making.
pub(crate) struct RowBuilder<'m> {
    spot: RecordRef<'m>,
    is_open: bool,
    /// The column that may not be NULL and is, first in the table's order: there the server looks last.
    null_in: Option<usize>,
}

impl<'m> RowBuilder<'m> {
    #[inline]
    pub(crate) fn new(spot: RecordRef<'m>) -> Self {
        RowBuilder { spot, is_open: false, null_in: None }
    }

    #[inline]
    pub(crate) fn see_null(&mut self, column: &PlanColumn) -> Result<(), NotRow> {
        if let Some(domain) = &column.not_null_domain {
            self.refuse(column, &format!("domain {domain} does not allow null values"), "23502", None)?;
        }
        if let Some(position) = column.not_null_at {
            self.null_in = Some(self.null_in.map_or(position, |first| first.min(position)));
        }
        Ok(())
    }

    /// The record is rejected, unless a literal before this one is open: the server would speak of that one first.
    #[cold]
    pub(crate) fn refuse(
        &self,
        column: &PlanColumn,
        reason: &str,
        sqlstate: &str,
        detail: Option<&str>,
    ) -> Result<(), NotRow> {
        if self.is_open {
            return Err(NotRow::Unsure);
        }
        let mut error = self.spot.error(reason.to_owned()).with_sqlstate(sqlstate).in_column(&column.name);
        if let Some(detail) = detail {
            error = error.with_detail(detail);
        }
        Err(NotRow::Refused(error))
    }

    /// As [`Self::refuse`], of a value that was not read as it stands in the record, which the reason quotes.
    #[cold]
    fn refuse_read(
        &self,
        column: &PlanColumn,
        reason: &str,
        sqlstate: &str,
        detail: Option<&str>,
    ) -> Result<(), NotRow> {
        match column.spelled {
            Spelled::AsNumbers(marks) => self.refuse(column, &marks.as_written(reason), sqlstate, detail),
            _ => self.refuse(column, reason, sqlstate, detail),
        }
    }

    /// As [`Self::refuse`], of a value that is not written as the load's values are.
    #[cold]
    pub(crate) fn refuse_misspelled(
        &self,
        column: &PlanColumn,
        misspelled: &Misspelled,
    ) -> Result<(), NotRow> {
        self.refuse(column, &misspelled.reason, misspelled.sqlstate, Some(&misspelled.detail))
    }

    /// Octal and hexadecimal escapes of the text format can spell bytes that are not text.
    pub(crate) fn check_unescaped(&self, column: &PlanColumn, value: &[u8]) -> Result<(), NotRow> {
        let reason = if value.contains(&0) {
            "invalid byte sequence for encoding \"UTF8\": 0x00"
        } else if simdutf8::basic::from_utf8(value).is_err() {
            "an escape spells bytes that are not UTF-8"
        } else {
            return Ok(());
        };
        self.refuse(column, reason, "22021", None)
    }

    /// Follows a codec's verdict on a value. Whether the value can travel as text only, which `ask` finds out where the codec is
    /// not sure.
    #[inline]
    pub(crate) fn follow(
        &mut self,
        column: &PlanColumn,
        verdict: Verdict,
        ask: impl FnOnce(&mut Self) -> Result<bool, NotRow>,
    ) -> Result<bool, NotRow> {
        match verdict {
            Ok(()) => Ok(false),
            Err(NotEncoded::Invalid(invalid)) => {
                let refused = self.refuse_read(column, &invalid.reason, invalid.sqlstate, None);
                refused.map_err(|not_row| not_row.for_want_of(invalid.loss)).map(|()| false)
            }
            Err(NotEncoded::Unsure) => ask(self),
        }
    }

    /// Refuses a literal that PostgreSQL could not hold; binary fields are measured when they are encoded.
    #[inline]
    pub(crate) fn check_size(&self, column: &PlanColumn, literal: &[u8]) -> Result<(), NotRow> {
        if literal.len() <= MAX_FIELD_BYTES {
            return Ok(());
        }
        let reason = format!("the value has {} bytes; PostgreSQL takes less than 1 GiB", literal.len());
        self.refuse(column, &reason, "54000", None)
    }

    /// Appends what the server said of a literal; the row is open while it has not been asked. Whether the value can travel
    /// as text only.
    #[cold]
    pub(crate) fn ask(
        &mut self,
        answers: &mut Answers,
        column: &PlanColumn,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, NotRow> {
        match answers.look_up(column.kind, value) {
            Known::Not => self.is_open = true,
            Known::Answer(Answer::Value(field)) => out.extend_from_slice(field),
            Known::Answer(Answer::TextOnly) => return Ok(true),
            Known::Answer(Answer::Refused(refusal)) => {
                self.refuse_read(column, &refusal.message, &refusal.sqlstate, refusal.detail.as_deref())?;
            }
        }
        Ok(false)
    }

    #[inline]
    pub(crate) fn finish(self, plan: &Plan) -> Result<(), NotRow> {
        if self.is_open {
            return Err(NotRow::Unsure);
        }
        match self.null_in {
            None => Ok(()),
            Some(position) => {
                let column = plan.columns.iter().find(|column| column.not_null_at == Some(position));
                let name = column.map_or("", |column| &column.name);
                let reason = format!(
                    "null value in column {name:?} of relation {:?} violates not-null constraint",
                    plan.sending.relation_name
                );
                Err(NotRow::Refused(self.spot.error(reason).with_sqlstate("23502").in_column(name)))
            }
        }
    }
}
