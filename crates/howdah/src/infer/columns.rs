//! Finds the types of a new table's columns by reading the whole input on several threads.

use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;

use howdah_source::{Cutter, Field, Morsel, MorselSource, Piece, Span, WorkerState};

use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::infer::lattice::ascent::{Ascent, PieceAscent};
use crate::infer::lattice::mostly::ValuePosition;
use crate::infer::lattice::{ColumnLattice, Observed};
use crate::options::OnError;
use crate::plan::Plan;
use crate::read::queue::InputQueue;
use crate::read::records::Records;

fn join_all(threads: Vec<JoinHandle<Vec<ColumnLattice>>>) -> Result<Vec<ColumnLattice>, Error> {
    let mut seen = Vec::with_capacity(threads.len());
    for thread in threads {
        seen.push(thread.join().map_err(|_| Error::new(ErrorKind::Internal, "a reading thread panicked"))?);
    }
    Ok(merge(seen))
}

/// What several threads saw of the same columns, together.
pub(crate) fn merge(seen: impl IntoIterator<Item = Vec<ColumnLattice>>) -> Vec<ColumnLattice> {
    let mut merged: Vec<ColumnLattice> = Vec::new();
    for lattices in seen {
        for (at, from) in lattices.into_iter().enumerate() {
            match merged.get_mut(at) {
                Some(into) => into.merge(&from),
                None => merged.push(from),
            }
        }
    }
    merged
}

/// Reads the whole input on `threads` threads to find the types of a new table's columns, and whether the first of them could
/// be its key.
///
/// # Errors
/// The first record, in input order, that cannot be read.
#[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
pub(crate) fn infer(
    cutter: Cutter,
    plan: &Arc<Plan>,
    threads: usize,
    control: &Control,
) -> Result<(Vec<ColumnLattice>, bool), Error> {
    let input = InputQueue::new(MorselSource::text(cutter));
    let ascent = Arc::new(Mutex::new(Ascent::default()));
    let threads = (0..threads)
        .map(|_| {
            let (input, plan, control, ascent) =
                (input.clone(), plan.clone(), control.clone(), ascent.clone());
            std::thread::spawn(move || {
                let mut lattices = vec![ColumnLattice::with_spellings(); plan.columns.len()];
                let (mut fields, mut state) = (Vec::new(), WorkerState::default());
                while let Some(morsel) = input.next(&mut state) {
                    let Morsel::Text(piece) = &morsel else { break };
                    if control.is_cancelled() {
                        break;
                    }
                    match observe(piece, &plan, &mut fields, &mut lattices) {
                        Ok(first_column) => ascent.lock().add(piece.ordinal, first_column),
                        Err(error) => {
                            input.fail(piece.ordinal, error);
                            break;
                        }
                    }
                    state.reuse(morsel);
                }
                lattices
            })
        })
        .collect();
    let merged = join_all(threads)?;
    match input.take_failure() {
        Some(error) => Err(error),
        None => Ok((merged, ascent.lock().holds())),
    }
}

/// Where a record stands.
#[cold]
pub(crate) fn spot(piece: &Piece, span: Span) -> ValuePosition {
    ValuePosition {
        order: (piece.ordinal, span.start),
        location: piece.origin.locate(span.start as u64, u64::from(span.lines_before)),
    }
}

/// Shows the values of `piece` to the lattices; tells how those of the first column follow each other.
fn observe(
    piece: &Piece,
    plan: &Plan,
    fields: &mut Vec<Field>,
    lattices: &mut [ColumnLattice],
) -> Result<PieceAscent, Error> {
    let mut first_column = PieceAscent::Empty;
    let (mut scratch, mut spelled) = (Vec::new(), Default::default());
    let is_usual = plan.reading.spelling.is_usual();
    let mut records = Records::new(piece, plan, std::mem::take(fields))?;
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                for (at, (column, lattice)) in plan.columns.iter().zip(lattices.iter_mut()).enumerate() {
                    let field = record.fields[column.field];
                    let file = piece.origin.source.as_bytes();
                    let value = column.value(field, record.bytes, file, &plan.reading.dialect, &mut scratch);
                    let value = value.map(|value| match is_usual {
                        true => value.into(),
                        false => Observed::of(value, &plan.reading.spelling, &mut spelled),
                    });
                    if at == 0 {
                        first_column.see(value.map(|value| value.read));
                    }
                    lattice.observe_at(value, || spot(piece, record.span));
                }
            }
            Err(_) if plan.reading.on_error == OnError::Ignore => {}
            Err(bad) => return Err(bad.error),
        }
    }
    *fields = records.into_fields();
    Ok(first_column)
}
