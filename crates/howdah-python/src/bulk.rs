//! `howdah.BulkWriter`: rows into one COPY. Rows are encoded in the caller's thread and sent by another.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use howdah::rows::{BulkWriter, OpenField, RowShape};
use howdah::{Error, ErrorKind};
use pyo3::prelude::*;
use tokio::sync::{mpsc, oneshot};

use crate::data::{arrow_failure, is_arrow, reader_of};
use crate::encoder::Encoders;
use crate::error::raised;
use crate::fork;
use crate::target::{Chosen, Place};
use crate::wait::wait;

/// Rows are handed to the sending thread in pieces of this size: few hand-overs, and little memory.
const PIECE_BYTES: usize = 256 * 1024;

/// One is sent while the next is encoded.
const PIECES_WAITING: usize = 2;

/// One COPY into a table: finished, or it never was.
#[pyclass(module = "howdah._native")]
pub(crate) struct Bulk {
    encoders: Encoders,
    piece: Piece,
    /// `None`: it is over.
    parcels: Option<mpsc::Sender<BulkMessage>>,
    outcome: oneshot::Receiver<Result<u64, Error>>,
    /// Why it is over, if it failed.
    failure: Option<Error>,
    /// The server in words, without a password.
    #[pyo3(get)]
    server: String,
}

/// Encoded rows on their way to the sending thread.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    open: Vec<OpenField>,
    /// Where each row ends in `bytes`, and in `open`.
    ends: Vec<(usize, usize)>,
}

/// What the sending thread is given.
enum BulkMessage {
    Rows(Piece),
    Batch(RecordBatch),
    Finish,
}

/// What it has when it is ready.
struct Begun {
    shape: RowShape,
    server: String,
}

#[pymethods]
impl Bulk {
    /// Connects and begins.
    #[new]
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    fn new(py: Python<'_>, table: String, place: Place, columns: Option<Vec<String>>) -> PyResult<Self> {
        fork::check().map_err(|error| raised(py, &error))?;
        let chosen = columns.is_some();
        let (say_begun, begun) = oneshot::channel();
        let (parcels, arriving) = mpsc::channel(PIECES_WAITING);
        let (tell, mut outcome) = oneshot::channel();
        let run = move || {
            let carried = AssertUnwindSafe(|| carry(&table, place, columns.as_deref(), say_begun, arriving));
            // Nobody may wait for it any more.
            let _ = tell.send(catch_unwind(carried).unwrap_or_else(|_| Err(Error::bug())));
        };
        std::thread::Builder::new().name("howdah-bulk".into()).spawn(run)?;
        match wait(py, begun, None)? {
            Some(Ok(Begun { shape, server })) => {
                let encoders = Encoders::new(py, shape, chosen);
                let piece = Piece::default();
                Ok(Bulk { encoders, piece, parcels: Some(parcels), outcome, failure: None, server })
            }
            _ => Err(match wait(py, &mut outcome, None)? {
                Some(Ok(Err(error))) => raised(py, &error),
                _ => raised(py, &Error::bug()),
            }),
        }
    }

    /// The columns that rows are for.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.encoders.columns()
    }

    /// Writes a row, or all rows of an Arrow table, batch or stream.
    fn write(&mut self, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = row.py();
        self.check(py)?;
        let piece = &mut self.piece;
        let encoded = self.encoders.encode(row, |bytes, open| piece.push(bytes, open));
        if let Err(error) = encoded {
            // Only what is no row can be many.
            if !is_arrow(row)? {
                return Err(error);
            }
            self.send_piece(py)?;
            for batch in reader_of(row)? {
                self.send(py, BulkMessage::Batch(batch.map_err(arrow_failure)?))?;
            }
        }
        if self.piece.bytes.len() >= PIECE_BYTES { self.send_piece(py) } else { Ok(()) }
    }

    /// Commits all rows; how many the server counted.
    fn finish(&mut self, py: Python<'_>) -> PyResult<u64> {
        self.check(py)?;
        self.send_piece(py)?;
        self.send(py, BulkMessage::Finish)?;
        self.parcels = None;
        self.outcome(py)?.map_err(|error| raised(py, &error))
    }

    /// Ends it with nothing changed; nothing happens to one that is over.
    fn abort(&mut self, py: Python<'_>) -> PyResult<()> {
        if fork::check().is_ok() && self.parcels.take().is_some() {
            // It reports that it was not finished.
            self.outcome(py)?.err();
        }
        Ok(())
    }

    /// Whether it is neither finished nor given up.
    #[getter]
    fn is_open(&self) -> bool {
        self.parcels.is_some()
    }
}

impl Bulk {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        fork::check().map_err(|error| raised(py, &error))?;
        match (&self.failure, &self.parcels) {
            (Some(failure), _) => Err(raised(py, failure)),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(raised(py, &Error::new(ErrorKind::Closed, "the bulk writer is finished"))),
        }
    }

    fn send_piece(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.piece.ends.is_empty() {
            return Ok(());
        }
        let room = (self.piece.bytes.capacity(), self.piece.ends.len());
        let next = Piece {
            bytes: Vec::with_capacity(room.0.min(2 * PIECE_BYTES)),
            open: Vec::new(),
            ends: Vec::with_capacity(room.1),
        };
        let piece = std::mem::replace(&mut self.piece, next);
        self.send(py, BulkMessage::Rows(piece))
    }

    fn send(&mut self, py: Python<'_>, parcel: BulkMessage) -> PyResult<()> {
        let Some(parcels) = &self.parcels else { return self.check(py) };
        let sent = wait(py, Box::pin(parcels.send(parcel)), None);
        if let Ok(Some(Ok(()))) = sent {
            return Ok(());
        }
        // Whatever was handed over halfway cannot be finished.
        self.parcels = None;
        sent?;
        let error = self.outcome(py)?.err().unwrap_or_else(Error::bug);
        self.failure = Some(error.clone());
        Err(raised(py, &error))
    }

    fn outcome(&mut self, py: Python<'_>) -> PyResult<Result<u64, Error>> {
        Ok(match wait(py, &mut self.outcome, None)? {
            Some(Ok(outcome)) => outcome,
            _ => Err(Error::bug()),
        })
    }
}

impl Piece {
    fn push(&mut self, bytes: &[u8], open: &[OpenField]) {
        self.bytes.extend_from_slice(bytes);
        self.open.extend_from_slice(open);
        self.ends.push((self.bytes.len(), self.open.len()));
    }
}

/// The sending thread.
fn carry(
    table: &str,
    place: Place,
    columns: Option<&[String]>,
    say_begun: oneshot::Sender<Begun>,
    arriving: mpsc::Receiver<BulkMessage>,
) -> Result<u64, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::new(ErrorKind::Internal, format!("cannot start: {error}")))?;
    let Chosen { target, server, .. } = Chosen::by(place)?;
    let columns: Option<Vec<&str>> = columns.map(|names| names.iter().map(String::as_str).collect());
    runtime.block_on(async {
        let bulk = BulkWriter::start(&target, table, columns.as_deref()).await?;
        // Nobody may wait for it any more; then nothing arrives either.
        let _ = say_begun.send(Begun { shape: bulk.shape().clone(), server });
        pump(bulk, arriving).await
    })
}

async fn pump(mut bulk: BulkWriter, mut arriving: mpsc::Receiver<BulkMessage>) -> Result<u64, Error> {
    while let Some(parcel) = arriving.recv().await {
        match parcel {
            BulkMessage::Finish => return bulk.finish().await,
            BulkMessage::Batch(batch) => bulk.write_batch(&batch).await?,
            BulkMessage::Rows(Piece { bytes, open, ends }) => {
                let (mut row, mut field) = (0, 0);
                for (row_end, field_end) in ends {
                    bulk.write_encoded(&bytes[row..row_end], &open[field..field_end]).await?;
                    (row, field) = (row_end, field_end);
                }
            }
        }
    }
    Err(Error::new(ErrorKind::Cancelled, "the bulk writer was left unfinished"))
}
