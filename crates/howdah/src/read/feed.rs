//! What reading threads share: the input, from which whoever is free pulls the next morsel; the failure that stands first in
//! the input wins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::infer::lattice::ColumnLattice;
use crate::infer::lattice::ascent::{Ascent, Stretch};
use crate::plan::Plan;
use crate::plan::date_format::as_spelled;
use crate::read::records::Records;
use crate::source::{Cutter, Field, Hold, Morsel, Piece, Supply};

/// The input, for any number of threads.
pub(crate) struct Feed {
    supply: Supply,
    stop: AtomicBool,
    /// The failure that stands first in the input, whichever thread met one first.
    failure: Mutex<Option<(u64, Error)>>,
}

impl Feed {
    pub(crate) fn new(supply: Supply) -> Arc<Self> {
        Arc::new(Feed { supply, stop: AtomicBool::new(false), failure: Mutex::new(None) })
    }

    /// The next morsel for the thread whose `hold` this is; `None` at the end, after a failure, and when somebody said stop.
    pub(crate) fn next(&self, hold: &mut Hold) -> Option<Morsel> {
        if self.is_stopped() {
            return None;
        }
        match self.supply.next(hold) {
            // Another thread may have stopped everybody meanwhile.
            Ok(morsel) => morsel.filter(|_| !self.is_stopped()),
            Err(error) => {
                // What cannot be read lies behind every morsel that was.
                self.fail(u64::MAX, error);
                None
            }
        }
    }

    /// Notes why the morsel `ordinal` cannot be loaded, and ends the feed.
    pub(crate) fn fail(&self, ordinal: u64, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(earlier, _)| ordinal < *earlier) {
            *failure = Some((ordinal, error));
        }
    }

    /// Ends the feed.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the feed ended before the input did.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The failure that stands first in the input, of those met so far.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.failure).take().map(|(_, error)| error)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        if merged.len() < lattices.len() {
            merged.resize(lattices.len(), ColumnLattice::default());
        }
        for (into, from) in merged.iter_mut().zip(&lattices) {
            into.merge(from);
        }
    }
    merged
}

/// Reads the whole input on `threads` threads to find the types of a new table's columns, and whether the first of them could
/// be its key.
///
/// # Errors
/// The first record, in input order, that cannot be read.
pub(crate) fn infer(
    cutter: Cutter,
    plan: &Arc<Plan>,
    threads: usize,
    control: &Control,
) -> Result<(Vec<ColumnLattice>, bool), Error> {
    let feed = Feed::new(Supply::text(cutter));
    let ascent = Arc::new(Mutex::new(Ascent::default()));
    let threads = (0..threads)
        .map(|_| {
            let (feed, plan, control, ascent) = (feed.clone(), plan.clone(), control.clone(), ascent.clone());
            std::thread::spawn(move || {
                let mut lattices = vec![ColumnLattice::default(); plan.columns.len()];
                let (mut fields, mut hold) = (Vec::new(), Hold::default());
                while let Some(morsel) = feed.next(&mut hold) {
                    let Morsel::Text(piece) = &morsel else { break };
                    if control.is_cancelled() {
                        break;
                    }
                    match observe(piece, &plan, &mut fields, &mut lattices) {
                        Ok(first_column) => lock(&ascent).add(piece.ordinal, first_column),
                        Err(error) => {
                            feed.fail(piece.ordinal, error);
                            break;
                        }
                    }
                    hold.reuse(morsel);
                }
                lattices
            })
        })
        .collect();
    let merged = join_all(threads)?;
    match feed.take_failure() {
        Some(error) => Err(error),
        None => Ok((merged, lock(&ascent).holds())),
    }
}

/// Shows the values of `piece` to the lattices; tells how those of the first column follow each other.
fn observe(
    piece: &Piece,
    plan: &Plan,
    fields: &mut Vec<Field>,
    lattices: &mut [ColumnLattice],
) -> Result<Stretch, Error> {
    let mut first_column = Stretch::Empty;
    let (mut scratch, mut spelled) = (Vec::new(), Default::default());
    let mut records = Records::new(piece, plan, std::mem::take(fields))?;
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                for (at, (column, lattice)) in plan.columns.iter().zip(lattices.iter_mut()).enumerate() {
                    let field = record.fields[column.field];
                    let file = piece.origin.source.as_bytes();
                    let value = column.value(field, record.bytes, file, &plan.dialect, &mut scratch);
                    let value = value.map(|value| {
                        as_spelled(value, plan.decimal_comma, plan.date_format.as_ref(), &mut spelled)
                    });
                    if at == 0 {
                        first_column.see(value);
                    }
                    lattice.observe(value);
                }
            }
            Err(_) if plan.keep_rejects => {}
            Err(bad) => return Err(bad.error),
        }
    }
    *fields = records.into_fields();
    Ok(first_column)
}

/// Shows the whole input to `observers`, each on a thread of its own: every piece to one of them. The observers in the end.
///
/// # Errors
/// The failure to `see` a piece that comes first in the input.
pub(crate) fn show<O: Send + 'static>(
    cutter: Cutter,
    observers: Vec<O>,
    control: &Control,
    see: fn(&mut O, &Piece) -> Result<(), Error>,
) -> Result<Vec<O>, Error> {
    let feed = Feed::new(Supply::text(cutter));
    let start = |mut observer: O| {
        let (feed, control) = (feed.clone(), control.clone());
        std::thread::spawn(move || {
            let mut hold = Hold::default();
            while let Some(morsel) = feed.next(&mut hold).filter(|_| !control.is_cancelled()) {
                let Morsel::Text(piece) = &morsel else { break };
                if let Err(error) = see(&mut observer, piece) {
                    feed.fail(piece.ordinal, error);
                    break;
                }
                hold.reuse(morsel);
            }
            observer
        })
    };
    let threads: Vec<JoinHandle<O>> = observers.into_iter().map(start).collect();
    let panicked = |_| Error::new(ErrorKind::Internal, "a reading thread panicked");
    let observers: Result<Vec<O>, Error> =
        threads.into_iter().map(|thread| thread.join().map_err(panicked)).collect();
    match feed.take_failure() {
        Some(error) => Err(error),
        None => observers,
    }
}

/// Runs `work` on a thread of its own, so that reading a pipe does not keep the runtime from noticing a request to stop.
///
/// # Errors
/// Cancelled (the thread then ends when its input does), or `work` panicked.
pub(crate) async fn off_thread<T: Send + 'static>(
    control: &Control,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    tokio::select! {
        done = receiver => done.map_err(|_| Error::new(ErrorKind::Internal, "a reading thread panicked")),
        () = control.cancelled() => Err(Error::new(ErrorKind::Cancelled, "stopped on request").nothing_changed()),
    }
}
