//! Rows from binary COPY files: their fields travel as they are, for the server's receive functions to judge.

use howdah_source::tuples::Tuples;

use super::{Encoder, end_row};
use crate::encode::chunk::{Chunk, Ordinal, RowOrigins};
use crate::plan::row_form::RowForm;

impl Encoder {
    /// The rows of `tuples`, whose field counts the cutter has checked.
    pub(super) fn tuple_rows(&mut self, tuples: &Tuples) -> Chunk {
        let mut out = self.buffers.take();
        let mut rows = RowOrigins::of_rows(tuples.place.clone(), tuples.first_row);
        for (at, fields) in tuples.rows().enumerate() {
            out.extend_from_slice(&self.plan.sending.binary_row_start);
            out.extend_from_slice(fields);
            end_row(RowForm::Binary, &self.plan, Ordinal::new(tuples.ordinal, at), &mut out);
            // A piece has less than 2^31 bytes.
            rows.push_row(u32::try_from(at).unwrap_or(u32::MAX));
        }
        Chunk { bytes: self.buffers.lend(out), form: RowForm::Binary, rows }
    }
}
