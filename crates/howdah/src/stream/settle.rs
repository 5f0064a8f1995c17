//! What became of the records, in the order of the input: counted, kept apart where they are refused, and the place behind them
//! saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use howdah_source::Piece;
use howdah_source::Span;
use tokio::sync::Notify;

use super::place::{Place, StateFile};
use super::state_table::SharedTable;
use super::trace::FileMark;
use super::watch::StreamWatch;
use crate::encode::reject::Reject;
use crate::error::{Error, ErrorKind};
use crate::rejects::Rejects;
use crate::writer::Ack;

/// How old what is kept of the place may be while records come: what is read twice after a crash, against a write to the disk.
const SAVE_EVERY: Duration = Duration::from_millis(200);

/// The records of a piece, as far as they were read.
pub(super) struct RecordGroup {
    pub(super) piece: Arc<Piece>,
    pub(super) file: Option<FileMark>,
    /// See [`Place::base`].
    pub(super) base: i64,
    pub(super) records: Vec<SentRecord>,
    /// Nothing of the piece is left.
    pub(super) is_whole: bool,
}

/// A record that was read.
pub(super) struct SentRecord {
    pub(super) span: Span,
    pub(super) state: RecordState,
}

/// What is known of it.
pub(super) enum RecordState {
    /// The writer has its row.
    Queued(Ack),
    /// It is no row.
    Refused(Error),
    /// An earlier stream has settled it.
    Known,
}

/// What is kept of a stream beside its rows.
pub(super) struct Bookkeeping {
    /// Records that are no rows.
    pub(super) rejects: Option<Arc<Rejects>>,
    /// How far it is.
    pub(super) state: Option<StateStore>,
}

impl Bookkeeping {
    /// The place in the database.
    pub(super) fn table(&self) -> Option<&SharedTable> {
        match &self.state {
            Some(StateStore::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// Keeps `place`. A record is settled when its reject is on the disk, too.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&mut self, place: &Place) -> Result<(), Error> {
        self.rejects.as_ref().map_or(Ok(()), |rejects| rejects.flush())?;
        match &mut self.state {
            None => Ok(()),
            Some(StateStore::File(file)) => file.save(place),
            Some(StateStore::Table(table)) => table.save(place),
        }
    }
}

/// Where a place is kept.
pub(super) enum StateStore {
    File(Box<StateFile>),
    Table(SharedTable),
}

/// What the reading and the settling side know of each other beside the batches.
pub(super) struct FlowControl {
    /// There is no point in reading on.
    failed: AtomicBool,
    /// Memory of batches that are not settled.
    held: AtomicUsize,
    /// Ends the waiting of the reading side.
    interruption: Arc<Notify>,
}

impl FlowControl {
    pub(super) fn new(interruption: Arc<Notify>) -> FlowControl {
        FlowControl { failed: AtomicBool::new(false), held: AtomicUsize::new(0), interruption }
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        self.interruption.notify_one();
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// A batch is on its way.
    pub(super) fn add(&self, batch: &RecordGroup) {
        self.held.fetch_add(batch.weight(), Ordering::Relaxed);
    }
}

impl RecordGroup {
    /// Bytes, roughly: a stream of single lines has a batch for each.
    fn weight(&self) -> usize {
        size_of::<RecordGroup>()
            + size_of::<Piece>()
            + self.piece.bytes().len()
            + self.records.len() * size_of::<SentRecord>()
    }
}

/// What came of it all.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Rows that are committed.
    pub(super) rows: u64,
    /// Of these, rows behind the record at which the stream ended.
    pub(super) behind: u64,
    pub(super) place: Place,
    pub(super) failure: Option<Error>,
}

/// Waits for acknowledgements.
pub(super) struct Settler {
    kept: Bookkeeping,
    watch: StreamWatch,
    between: Arc<FlowControl>,
    settled: Settled,
    saved: Instant,
    /// What is settled is saved.
    is_saved: bool,
}

impl Settler {
    /// Everything before `place` is settled.
    pub(super) fn new(
        kept: Bookkeeping,
        watch: StreamWatch,
        between: Arc<FlowControl>,
        place: Place,
    ) -> Settler {
        let settled = Settled { place, ..Settled::default() };
        Settler { kept, watch, between, settled, saved: Instant::now(), is_saved: true }
    }

    /// Settles what comes until nothing more comes.
    pub(super) fn run(mut self, batches: &Receiver<RecordGroup>) -> Settled {
        loop {
            // Where all is saved, nothing is to be done until something comes.
            let next = match self.is_saved {
                true => batches.recv().map_err(RecvTimeoutError::from),
                false => batches.recv_timeout(SAVE_EVERY),
            };
            match next {
                Ok(batch) => {
                    let weight = batch.weight();
                    self.is_saved = false;
                    self.batch(batch);
                    self.between.held.fetch_sub(weight, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.save();
                    self.is_saved = true;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.save();
        self.settled
    }

    fn batch(&mut self, batch: RecordGroup) {
        let origin = &batch.piece.origin;
        let starts: Vec<(usize, u32)> =
            batch.records.iter().map(|sent| (sent.span.start, sent.span.lines_before)).collect();
        for (at, sent) in batch.records.into_iter().enumerate() {
            let result = match sent.state {
                RecordState::Queued(ack) => self.wait(&ack).map(|()| true),
                RecordState::Refused(error) => Err(error),
                RecordState::Known => Ok(false),
            };
            match result {
                Ok(false) => {}
                Ok(true) => {
                    self.settled.rows += 1;
                    self.settled.behind += u64::from(self.settled.failure.is_some());
                    self.watch.count_row();
                }
                Err(error) => self.refuse(&batch.piece, sent.span, error),
            }
            if self.settled.failure.is_none()
                && let Some((start, lines)) = starts.get(at + 1)
            {
                self.settled.place = Place {
                    file: batch.file.clone(),
                    base: batch.base,
                    offset: origin.byte_offset + *start as u64,
                    line: origin.first_line + u64::from(*lines),
                };
            }
        }
        if batch.is_whole && self.settled.failure.is_none() {
            let bytes = batch.piece.bytes();
            let lines = memchr::memchr_iter(batch.piece.eol.last_byte(), bytes).count();
            self.settled.place = Place {
                file: batch.file,
                base: batch.base,
                offset: origin.byte_offset + bytes.len() as u64,
                line: origin.first_line + lines as u64,
            };
        }
        if self.saved.elapsed() >= SAVE_EVERY {
            self.save();
        }
    }

    fn wait(&mut self, ack: &Ack) -> Result<(), Error> {
        if let Some(result) = ack.try_get() {
            return result.map(drop);
        }
        loop {
            if let Some(result) = ack.wait_for(SAVE_EVERY) {
                return result.map(drop);
            }
            // The server is slow or away; what was settled before is settled.
            self.save();
        }
    }

    fn refuse(&mut self, piece: &Piece, span: Span, error: Error) {
        let error = match error.location() {
            Some(_) => error,
            None => error.at(piece.origin.locate(span.start as u64, u64::from(span.lines_before))),
        };
        let kept = match &self.kept.rejects {
            // Anything else is no record's fault, and will be no other record's either.
            Some(rejects) if error.kind() == ErrorKind::Data && self.settled.failure.is_none() => {
                let raw = piece.bytes()[span.start..span.end].to_vec();
                let kept = rejects.add(&[Reject { error, raw }]);
                self.watch.set_rejected(rejects.count());
                kept
            }
            _ => Err(error),
        };
        if let Err(failure) = kept {
            self.fail(failure);
        }
    }

    fn save(&mut self) {
        if let Err(failure) = self.kept.save(&self.settled.place) {
            self.fail(failure);
        }
        self.saved = Instant::now();
    }

    /// The first failure is the one that ends the stream.
    fn fail(&mut self, failure: Error) {
        self.settled.failure.get_or_insert(failure);
        self.between.fail();
    }
}
