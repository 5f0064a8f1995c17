//! Encoder threads: each takes the cutter's lock, cuts the next piece, lets go, encodes, and puts the chunk into the one
//! queue. The only file with threads in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use async_channel::{Receiver, Sender};

use crate::buffers::Buffers;
use crate::chunk::Chunk;
use crate::control::Control;
use crate::encode::{Encoder, check_text};
use crate::error::{Error, ErrorKind};
use crate::lattice::ColumnLattice;
use crate::plan::Plan;
use crate::source::{Cutter, Field, Piece, Splitter, split};

/// Chunks waiting per lane: one is being sent, one is ready when that is done. More would only cost memory.
const QUEUED_PER_LANE: usize = 2;

/// What the threads share.
struct Shared {
    cutter: Mutex<Cutter>,
    stop: AtomicBool,
    /// The failure that stands first in the input, whichever thread met one first.
    failure: Mutex<Option<(u64, Error)>>,
}

impl Shared {
    fn new(cutter: Cutter) -> Arc<Self> {
        Arc::new(Shared {
            cutter: Mutex::new(cutter),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    fn cut(&self, spare: Vec<u8>) -> Option<Piece> {
        let mut cutter = lock(&self.cutter);
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        match cutter.cut(spare) {
            Ok(piece) => piece,
            Err(error) => {
                // What cannot be cut lies behind every piece that was.
                self.fail(u64::MAX, error);
                None
            }
        }
    }

    fn fail(&self, ordinal: u64, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(earlier, _)| ordinal < *earlier) {
            *failure = Some((ordinal, error));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Running encoder threads.
pub(crate) struct Pipeline {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<ColumnLattice>>>,
    /// The queue that lanes take from.
    pub(crate) queue: Receiver<Chunk>,
}

impl Pipeline {
    /// Starts `threads` encoders that feed `lanes` lanes.
    pub(crate) fn start(
        cutter: Cutter,
        plan: &Arc<Plan>,
        threads: usize,
        lanes: usize,
        control: &Control,
    ) -> Pipeline {
        let (sender, queue) = async_channel::bounded(QUEUED_PER_LANE * lanes);
        let shared = Shared::new(cutter);
        let buffers = Buffers::default();
        let threads = (0..threads)
            .map(|_| {
                let encoder = Encoder::new(plan.clone(), buffers.clone());
                let (shared, sender, control) = (shared.clone(), sender.clone(), control.clone());
                std::thread::spawn(move || encode_all(&shared, encoder, &sender, &control))
            })
            .collect();
        Pipeline { shared, threads, queue }
    }

    /// Makes the threads stop after the piece at hand. A thread that waits for standard input stays until that ends.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.queue.close();
    }

    /// The failure so far.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.shared.failure).take().map(|(_, error)| error)
    }

    /// Waits for the threads; the lattices of the columns, when they were observed.
    ///
    /// # Errors
    /// The first failure in input order; an encoder that panicked.
    pub(crate) fn join(self) -> Result<Vec<ColumnLattice>, Error> {
        let merged = join_all(self.threads)?;
        match lock(&self.shared.failure).take() {
            Some((_, error)) => Err(error),
            None => Ok(merged),
        }
    }
}

fn join_all(threads: Vec<JoinHandle<Vec<ColumnLattice>>>) -> Result<Vec<ColumnLattice>, Error> {
    let mut merged: Vec<ColumnLattice> = Vec::new();
    for thread in threads {
        let lattices =
            thread.join().map_err(|_| Error::new(ErrorKind::Internal, "an encoder thread panicked"))?;
        if merged.len() < lattices.len() {
            merged.resize(lattices.len(), ColumnLattice::default());
        }
        for (into, from) in merged.iter_mut().zip(&lattices) {
            into.merge(from);
        }
    }
    Ok(merged)
}

fn encode_all(
    shared: &Shared,
    mut encoder: Encoder,
    queue: &Sender<Chunk>,
    control: &Control,
) -> Vec<ColumnLattice> {
    let mut spare = Vec::new();
    while let Some(piece) = shared.cut(spare) {
        match encoder.encode(&piece) {
            Err(error) => {
                shared.fail(piece.ordinal, error);
                break;
            }
            Ok(chunk) => {
                control.add_rows_read(chunk.rows.len());
                // The piece's memory is free before the chunk waits for its turn.
                spare = piece.into_spare();
                if queue.send_blocking(chunk).is_err() {
                    break;
                }
            }
        }
    }
    encoder.lattices
}

/// Reads the whole input on `threads` threads to find the types of a new table's columns.
///
/// # Errors
/// The first record, in input order, that cannot be read.
pub(crate) fn infer(
    cutter: Cutter,
    plan: &Arc<Plan>,
    threads: usize,
    control: &Control,
) -> Result<Vec<ColumnLattice>, Error> {
    let shared = Shared::new(cutter);
    let threads = (0..threads)
        .map(|_| {
            let (shared, plan, control) = (shared.clone(), plan.clone(), control.clone());
            std::thread::spawn(move || {
                let mut lattices = vec![ColumnLattice::default(); plan.columns.len()];
                let (mut fields, mut spare) = (Vec::new(), Vec::new());
                while let Some(piece) = shared.cut(spare) {
                    if control.is_cancelled() {
                        break;
                    }
                    if let Err(error) = observe(&piece, &plan, &mut fields, &mut lattices) {
                        shared.fail(piece.ordinal, error);
                        break;
                    }
                    spare = piece.into_spare();
                }
                lattices
            })
        })
        .collect();
    let merged = join_all(threads)?;
    match lock(&shared.failure).take() {
        Some((_, error)) => Err(error),
        None => Ok(merged),
    }
}

/// Shows the values of `piece` to the lattices. Records that cannot be split are left to the encoder, which names them.
fn observe(
    piece: &Piece,
    plan: &Plan,
    fields: &mut Vec<Field>,
    lattices: &mut [ColumnLattice],
) -> Result<(), Error> {
    check_text(piece, plan)?;
    let mut scratch = Vec::new();
    let mut splitter = Splitter::new(piece.bytes(), &plan.dialect, piece.eol);
    if piece.starts_input && plan.header.is_some() && splitter.next_record(fields).is_err() {
        return Ok(());
    }
    while let Ok(Some(_)) = splitter.next_record(fields) {
        for (column, lattice) in plan.columns.iter().zip(lattices.iter_mut()) {
            if let Some(field) = fields.get(column.field) {
                lattice.observe(split::value(*field, piece.bytes(), &plan.dialect, &mut scratch));
            }
        }
    }
    Ok(())
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
        () = control.cancelled() => Err(Error::new(ErrorKind::Cancelled, "stopped on request").with_visible("nothing was changed")),
    }
}
