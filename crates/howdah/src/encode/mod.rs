//! The encoder: a morsel of input in, a chunk of rows out, by the plan. Pure CPU.

pub(crate) mod answers;
pub(crate) mod buffers;
pub(crate) mod chunk;
pub(crate) mod pass_on;
pub(crate) mod question;
pub(crate) mod reject;
pub(crate) mod row;

mod batch;
mod sorting;
mod text;
mod tuples;

use howdah_source::{Field, Morsel};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::control::Control;
use crate::encode::answers::{Answers, UnsureLiterals};
use crate::encode::buffers::Buffers;
use crate::encode::chunk::{Chunk, Ordinal};
use crate::encode::question::Answer;
use crate::encode::reject::Reject;
use crate::error::Error;
use crate::infer::lattice::ColumnLattice;
use crate::plan::row_form::RowForm;
use crate::plan::sending::RowStrategy;
use crate::plan::{ColumnTypes, Judging, Plan};

/// The length word of NULL in COPY's binary format.
const NULL_FIELD: [u8; 4] = (-1i32).to_be_bytes();

/// A piece with open literals in more than this share of its records is cheaper for the server to parse as text.
const DENSE: f64 = 0.01;

/// Below so many open literals a piece never counts as dense: one question answers them all.
const FEW_LITERALS: usize = 100;

/// Where rejected records go.
pub(crate) type Keep<'k> = dyn FnMut(&[Reject]) -> Result<(), Error> + Send + 'k;

/// What became of a morsel.
pub(crate) enum Encoded {
    /// Its rows, and how many of its records are none.
    Chunk(Chunk, u64),
    /// Literals must be decided first: [`Encoder::learn`] the answers, then encode the morsel again.
    Unsure(Vec<UnsureLiterals>),
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
    /// A value of the morsel in hand can travel as text only.
    text_only: bool,
    /// The refused ones among so many first records of the morsel in hand were handed over; a morsel may be encoded again.
    settled: u64,
    /// What the columns of a stream into a new table look like so far.
    pub(crate) lattices: Vec<ColumnLattice>,
}

#[derive(Default)]
struct Scratch {
    /// A value without its quotes and escapes; the literal of a value that is none yet.
    unescaped: Vec<u8>,
    /// A time without its nanoseconds; a value as it was seen when its column's type was found.
    demanded: [Vec<u8>; 2],
    /// A number without marks of its own, a date in ISO.
    respelled: Vec<u8>,
    /// A field that is only judged, since the row travels as text.
    judged: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(plan: Arc<Plan>, dense: Arc<AtomicBool>, control: Control) -> Self {
        let observed = if plan.types == ColumnTypes::Observed { plan.columns.len() } else { 0 };
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

    /// Encodes `morsel`; records that cannot be rows of the target go to `keep`, where such records are kept apart.
    ///
    /// # Errors
    /// Otherwise the first such record of the morsel; what `keep` said.
    pub(crate) fn encode(&mut self, morsel: &Morsel, keep: &mut Keep<'_>) -> Result<Encoded, Error> {
        if let Morsel::Text(piece) = morsel
            && self.plan.sending.strategy == RowStrategy::PassCsv
        {
            let mut out = self.buffers.take();
            let rows = pass_on::rows(piece, &self.plan, &mut self.fields, &mut out)?;
            let chunk = Chunk { bytes: self.buffers.lend(out), form: RowForm::Csv(piece.eol), rows };
            return Ok(Encoded::Chunk(chunk, 0));
        }
        let text = self.plan.sending.form == RowForm::Text || self.dense.load(Ordering::Relaxed);
        let form = if text { RowForm::Text } else { RowForm::Binary };
        let (chunk, rejected, records) = self.rows(morsel, form, keep)?;
        let open = self.answers.take_open(&self.plan, form);
        if open.is_empty() {
            if std::mem::take(&mut self.text_only) && form == RowForm::Binary {
                return self.text_rows(morsel, keep);
            }
            self.answers.forget_beyond_bound();
            self.settled = 0;
            return Ok(Encoded::Chunk(chunk, rejected));
        }
        let literals: usize = open.iter().map(UnsureLiterals::len).sum();
        if self.plan.judging == Judging::BeforeSending
            || literals < FEW_LITERALS
            || (literals as f64) < DENSE * records as f64
        {
            return Ok(Encoded::Unsure(open));
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
        self.text_rows(morsel, keep)
    }

    /// Encodes a morsel that was to travel in binary as text.
    fn text_rows(&mut self, morsel: &Morsel, keep: &mut Keep<'_>) -> Result<Encoded, Error> {
        let (chunk, rejected, _) = self.rows(morsel, RowForm::Text, keep)?;
        self.settled = 0;
        Ok(Encoded::Chunk(chunk, rejected))
    }

    /// Takes the server's answers to `open`, in order.
    pub(crate) fn learn(&mut self, open: UnsureLiterals, answers: Vec<Answer>) {
        self.answers.learn(open, answers);
    }

    /// The rows of `morsel`, how many of its records were rejected, and how many it has.
    fn rows(
        &mut self,
        morsel: &Morsel,
        form: RowForm,
        keep: &mut Keep<'_>,
    ) -> Result<(Chunk, u64, u64), Error> {
        match morsel {
            Morsel::Text(piece) => self.piece_rows(piece, form, keep),
            Morsel::Rows(batch) => self.batch_rows(batch, form, keep),
            // Their form is what it is.
            Morsel::Tuples(tuples) => {
                let chunk = self.tuple_rows(tuples);
                let rows = chunk.rows.len();
                Ok((chunk, 0, rows))
            }
        }
    }
}

/// Ends a row, with the place of its record in the input where that is asked for.
#[inline]
fn end_row(form: RowForm, plan: &Plan, place: Ordinal, out: &mut Vec<u8>) {
    if plan.sending.ordinal.is_some() {
        let Ordinal(place) = place;
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
