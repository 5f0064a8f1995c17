//! Python objects are asked for data in the thread that called us, whichever thread of the engine wants it: generators
//! and files may belong to their thread (sqlite3's cursors do), and an exception then rises where it is expected.
//!
//! The engine's end of that, a reader of bytes or of batches, sends a request to the caller's loop and waits for the
//! answer; the next piece is asked for as soon as one arrives, so that Python works while the engine does.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::ended::Ended;

/// What reaches the caller's loop.
pub(crate) enum Event {
    /// The source of that number is to go on.
    Pull(usize),
    /// The load is over.
    Over(Box<Ended>),
}

/// What a source gives in one go.
pub(crate) enum Pulled {
    Bytes(Vec<u8>),
    Batch(RecordBatch),
    End,
}

/// The engine's end of one source.
pub(crate) struct Pull {
    number: usize,
    events: Sender<Event>,
    answers: Receiver<Pulled>,
    asked: bool,
}

impl Pull {
    /// The engine's end of source `number`, and what answers it. Dropping the latter is the answer that there are no more
    /// answers: the load fails.
    pub(crate) fn new(number: usize, events: Sender<Event>) -> (Pull, Sender<Pulled>) {
        let (answer, answers) = channel();
        (Pull { number, events, answers, asked: false }, answer)
    }

    fn next(&mut self) -> io::Result<Pulled> {
        self.ask();
        let parcel = self.answers.recv().map_err(|_| io::Error::other("the Python side has ended it"))?;
        self.asked = false;
        if !matches!(parcel, Pulled::End) {
            self.ask();
        }
        Ok(parcel)
    }

    fn ask(&mut self) {
        if !self.asked {
            // A caller that is gone has dropped the answers' end too.
            let _ = self.events.send(Event::Pull(self.number));
            self.asked = true;
        }
    }
}

/// Bytes out of Python.
pub(crate) struct Bytes {
    pull: Pull,
    piece: Cursor<Vec<u8>>,
    ended: bool,
}

impl Bytes {
    pub(crate) fn new(pull: Pull) -> Self {
        Bytes { pull, piece: Cursor::default(), ended: false }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.ended {
                return Ok(read);
            }
            match self.pull.next()? {
                Pulled::Bytes(piece) => self.piece = Cursor::new(piece),
                Pulled::Batch(_) | Pulled::End => self.ended = true,
            }
        }
    }
}

/// Record batches out of Python.
pub(crate) struct Batches {
    pull: Pull,
    schema: SchemaRef,
    ended: bool,
}

impl Batches {
    pub(crate) fn new(pull: Pull, schema: SchemaRef) -> Self {
        Batches { pull, schema, ended: false }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.pull.next() {
            Ok(Pulled::Batch(batch)) => Some(Ok(batch)),
            Ok(Pulled::Bytes(_) | Pulled::End) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(ArrowError::IoError(error.to_string(), error)))
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
