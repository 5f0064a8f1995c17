//! A morsel: what a worker pulls and encodes in one go. A piece of text, or of a binary COPY file, or a batch of rows that have
//! types already.

use parking_lot::Mutex;

use howdah_encode::arrow;

use crate::Cutter;
use crate::Dialect;
use crate::Piece;
use crate::Splitter;
use crate::batches::{self, Batch, BatchPart, Batches};
use crate::error::{Error, Location};
use crate::text::confine::Widths;
use crate::tuples::{TupleCutter, Tuples};

/// Records to encode.
#[derive(Debug)]
pub enum Morsel {
    /// Records of text.
    Text(Piece),
    /// Rows of Arrow arrays.
    Rows(Batch),
    /// Rows in COPY's binary format.
    Tuples(Tuples),
}

impl Morsel {
    /// Grows in the input's order; below 2^31.
    pub fn ordinal(&self) -> u64 {
        match self {
            Morsel::Text(piece) => piece.ordinal,
            Morsel::Rows(batch) => batch.ordinal,
            Morsel::Tuples(tuples) => tuples.ordinal,
        }
    }

    /// Where the record stands that starts at `start`: a byte of text, or a row, from 0.
    pub fn locate(&self, start: usize) -> Location {
        match self {
            Morsel::Text(piece) => {
                let before = &piece.bytes()[..start.min(piece.bytes().len())];
                let lines = memchr::memchr_iter(piece.eol.last_byte(), before).count();
                piece.origin.locate(start as u64, lines as u64)
            }
            Morsel::Rows(batch) => batch.locate(start),
            Morsel::Tuples(tuples) => tuples.locate(start),
        }
    }

    /// The record that starts at `start`, as a reject file keeps it: text as it stood in the input, a row as a JSON object.
    /// `None`: there is no record.
    pub fn raw(&self, start: usize, dialect: &Dialect) -> Option<Vec<u8>> {
        match self {
            Morsel::Text(piece) => {
                let bytes = piece.bytes().get(start..)?;
                let span = Splitter::new(bytes, dialect, piece.eol).next_record(&mut Vec::new()).ok()??;
                Some(bytes[span.start..span.end].to_vec())
            }
            Morsel::Rows(batch) => (start < batch.rows.num_rows()).then(|| batch.raw(start)),
            Morsel::Tuples(tuples) => tuples.raw(start),
        }
    }
}

impl Batch {
    /// Where row `row` (from 0) of the batch stands.
    pub fn locate(&self, row: usize) -> Location {
        self.place.locate(self.first_row + row as u64)
    }

    /// Row `row` as a JSON object.
    pub fn raw(&self, row: usize) -> Vec<u8> {
        let mut raw = Vec::new();
        arrow::json_row(self.rows.schema_ref(), self.rows.columns(), row, &mut raw);
        raw
    }
}

impl batches::BatchPlace {
    /// The row `row` of the row group, or of the input where there are none.
    pub fn locate(&self, row: u64) -> Location {
        Location { row_group: self.row_group, row: Some(row), ..Location::of_source(self.source.clone()) }
    }
}

/// Where morsels come from, for any number of threads.
pub enum MorselSource {
    /// Whoever is free takes the cutter and cuts the next piece.
    Text(Mutex<Cutter>),
    /// Threads read different parts at the same time.
    Rows(Batches),
    /// One part of such inputs.
    Part(BatchPart),
    /// Binary COPY files, cut as text is.
    Tuples(Mutex<TupleCutter>),
}

/// What one thread keeps between its calls of [`MorselSource::next`].
#[derive(Default)]
pub struct WorkerState {
    /// Memory for the next piece.
    spare: Vec<u8>,
    /// What it is reading.
    batches: batches::BatchWorker,
}

impl WorkerState {
    /// Takes back the memory of a morsel that is done with.
    pub fn reuse(&mut self, morsel: Morsel) {
        match morsel {
            Morsel::Text(piece) => self.spare = piece.into_spare(),
            Morsel::Tuples(tuples) => self.spare = tuples.into_spare(),
            Morsel::Rows(_) => {}
        }
    }
}

impl MorselSource {
    /// Takes pieces of text from a cutter.
    pub fn text(cutter: Cutter) -> MorselSource {
        MorselSource::Text(Mutex::new(cutter))
    }

    /// Stops after so many data records; the header of each input of text is not one.
    pub fn limited(self, limit: Option<u64>, has_header: bool) -> MorselSource {
        match self {
            MorselSource::Text(cutter) => {
                let cutter = cutter.into_inner();
                MorselSource::text(cutter.limited(limit, has_header))
            }
            MorselSource::Rows(mut batches) => {
                batches.limited(limit);
                MorselSource::Rows(batches)
            }
            MorselSource::Tuples(mut cutter) => {
                cutter.get_mut().limit(limit);
                MorselSource::Tuples(cutter)
            }
            MorselSource::Part(part) => MorselSource::Part(part),
        }
    }

    /// Drops empty lines at the end of every input of text, as [`Cutter::dropping_empty_lines`] does, and says so.
    pub fn dropping_empty_lines(self, several: bool) -> MorselSource {
        match self {
            MorselSource::Text(cutter) => {
                MorselSource::text(cutter.into_inner().dropping_empty_lines(several, true))
            }
            other => other,
        }
    }

    /// Keeps stray quotes of CSV to their lines, as [`Cutter::confining_stray_quotes`] does.
    pub fn confining_stray_quotes(self, widths: Option<Widths>) -> MorselSource {
        match self {
            MorselSource::Text(cutter) => {
                MorselSource::text(cutter.into_inner().confining_stray_quotes(widths))
            }
            other => other,
        }
    }

    /// The next morsel for the thread whose `state` this is; `None` at the end.
    ///
    /// # Errors
    /// An input that cannot be read; text without a record end within 1 GiB.
    pub fn next(&self, state: &mut WorkerState) -> Result<Option<Morsel>, Error> {
        match self {
            MorselSource::Text(cutter) => {
                let spare = std::mem::take(&mut state.spare);
                let cut = cutter.lock().cut(spare);
                Ok(cut?.map(Morsel::Text))
            }
            MorselSource::Rows(batches) => Ok(batches.next(&mut state.batches)?.map(Morsel::Rows)),
            MorselSource::Part(part) => Ok(part.next()?.map(Morsel::Rows)),
            MorselSource::Tuples(cutter) => {
                let spare = std::mem::take(&mut state.spare);
                let cut = cutter.lock().cut(spare);
                Ok(cut?.map(Morsel::Tuples))
            }
        }
    }
}
