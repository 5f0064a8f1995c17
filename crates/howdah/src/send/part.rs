//! A part: the chunks that are sent together, in one statement if the write path is COPY. The server's errors about it are
//! traced back to the input.

use std::sync::Arc;

use bytes::Bytes;
use howdah_source::Morsel;
use tokio_postgres::error::Severity;

use crate::encode::chunk::{Chunk, RowOrigins};
use crate::error::{Error, ErrorKind, Location};
use crate::facts::{PART_CHUNKS, SORTED_ROWS};
use crate::plan::row_form::RowForm;
use crate::send::context::LoadContext;
use crate::send::row_error::{copy_context, named_column};
use crate::send::savepoint;
use crate::send::write::{PartFailure, Sink, StatementRunner};

/// The bytes of rows after which a part that is sorted ends, however few its chunks: they are all in memory.
const SORTED_BYTES: usize = 32 * 1024 * 1024;

/// The chunks of one statement if they are retained until the server has accepted them (4 MiB of input).
const RETAINED_PART_CHUNKS: usize = 8;

/// The bytes of rows that a part may retain: huge records make short parts.
const RETAINED_BYTES: usize = 32 * 1024 * 1024;

/// A chunk that was sent, whose rows the server may still refuse.
pub(crate) struct SentChunk {
    pub(crate) rows: RowOrigins,
    /// The rows themselves, if refused ones are isolated.
    pub(crate) retained: Option<RetainedRows>,
}

/// The rows of a sent chunk and the morsel they were made from: what it takes to send some again and to reject others.
pub(crate) struct RetainedRows {
    pub(crate) bytes: Bytes,
    pub(crate) morsel: Morsel,
}

/// A part under way and its chunks.
pub(crate) struct Part {
    sink: Sink,
    pub(crate) form: RowForm,
    pub(crate) chunks: Vec<SentChunk>,
    /// Where the rows were sorted: the number of each, in the order of the input.
    pub(crate) order: Option<Vec<u32>>,
}

/// What was sent in a part that has ended.
pub(crate) struct SentRows {
    pub(crate) form: RowForm,
    pub(crate) chunks: Vec<SentChunk>,
    order: Option<Vec<u32>>,
}

impl SentRows {
    /// Whether rows were not sent in the order of the input.
    pub(crate) fn is_sorted(&self) -> bool {
        self.order.is_some()
    }

    /// The place in the input of the row that was the `row`-th (from 0) to be sent.
    pub(crate) fn locate(&self, row: usize) -> Option<Location> {
        match &self.order {
            Some(order) => locate(&self.chunks, usize::try_from(*order.get(row)?).ok()?),
            None => locate(&self.chunks, row),
        }
    }
}

impl Part {
    /// Starts a part, under a savepoint if its rows may have to be sent again.
    ///
    /// # Errors
    /// The server refused the statement, or the connection broke.
    pub(crate) async fn start(
        runner: &Arc<StatementRunner>,
        form: RowForm,
        context: &LoadContext,
    ) -> Result<Part, Error> {
        if context.uses_savepoints() {
            savepoint::set(runner.connection()).await?;
        }
        Ok(Part { sink: runner.start(form).await?, form, chunks: Vec::new(), order: None })
    }

    /// Sends a chunk. With the `morsel` from which it was made it is retained until the part ends.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn send(&mut self, chunk: Chunk, morsel: Option<Morsel>) -> Result<(), Error> {
        let retained = morsel.map(|morsel| RetainedRows { bytes: chunk.bytes.clone(), morsel });
        self.chunks.push(SentChunk { rows: chunk.rows, retained });
        Ok(self.sink.feed(chunk.bytes).await?)
    }

    /// Whether the next chunk belongs to a new part, depending on whether its rows are `retained`.
    pub(crate) fn is_full(&self, retained: bool) -> bool {
        let bytes =
            || self.chunks.iter().filter_map(|chunk| chunk.retained.as_ref()).map(|rows| rows.bytes.len());
        self.chunks.len() >= if retained { RETAINED_PART_CHUNKS } else { PART_CHUNKS }
            || (retained && bytes().sum::<usize>() > RETAINED_BYTES)
    }

    /// Sends rows of `chunks` that are noted by themselves.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn feed(&mut self, rows: Bytes) -> Result<(), Error> {
        Ok(self.sink.feed(rows).await?)
    }

    /// Ends the part. Returns how many rows the server counted, and what was sent: a refusal may concern a single row of it.
    pub(crate) async fn finish(self) -> (Result<u64, PartFailure>, SentRows) {
        let sent = SentRows { form: self.form, chunks: self.chunks, order: self.order };
        (self.sink.finish().await, sent)
    }
}

/// Whether `chunks`, which are to be sorted, make a part.
pub(crate) fn is_enough(chunks: &[Chunk]) -> bool {
    chunks.len() >= PART_CHUNKS
        || chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() > SORTED_BYTES
        || chunks.iter().map(|chunk| chunk.rows.len()).sum::<u64>() > SORTED_ROWS
}

/// The place in the input of row `row` (from 0) of a part of `chunks`.
pub(crate) fn locate(chunks: &[SentChunk], row: usize) -> Option<Location> {
    let mut row = row;
    for chunk in chunks {
        let len = usize::try_from(chunk.rows.len()).ok()?;
        if row < len {
            return chunk.rows.locate(row);
        }
        row -= len;
    }
    None
}

/// The row (from 0) of a part of CSV in which COPY counts line `line`.
pub(crate) fn row_of_line(chunks: &[SentChunk], line: usize) -> Option<usize> {
    let (mut line, mut rows) = (line, 0);
    for (at, chunk) in chunks.iter().enumerate() {
        match chunk.rows.row_of_line(line, at == 0) {
            Ok(row) => return Some(rows + row),
            Err(behind) => line = behind,
        }
        rows += usize::try_from(chunk.rows.len()).ok()?;
    }
    None
}

/// The row of the part (from 0; for CSV the line) that the server refused, if it told which one.
pub(crate) fn named_row(refusal: &PartFailure, context: &LoadContext) -> Option<usize> {
    if let Some(rows) = &refusal.rows {
        return (rows.len() == 1).then_some(rows.start);
    }
    let error = &refusal.error;
    let (line, _) = copy_context(error.as_db_error()?.where_()?, &context.relation_name)?;
    usize::try_from(line).ok()?.checked_sub(1)
}

/// The server's error about a row, with its place in the input and its column where these are known.
pub(crate) fn explain(
    error: tokio_postgres::Error,
    location: Option<Location>,
    context: &LoadContext,
    pid: i32,
) -> Error {
    let at = error.as_db_error().and_then(|db| db.where_()).map(str::to_owned);
    // No row is to blame for a session that ended.
    let is_refusal = error.as_db_error().is_some_and(|db| db.parsed_severity() == Some(Severity::Error));
    let mut out = context.waits.explain(&error, pid).unwrap_or_else(|| error.into());
    if let Some(location) = location.filter(|_| is_refusal) {
        out = out.at(location).of_kind(ErrorKind::Data);
    }
    let rest = at.as_deref().and_then(|at| copy_context(at, &context.relation_name));
    if out.column().is_none()
        && let Some((_, rest)) = rest
    {
        let names = context.plan.columns.iter().map(|column| column.name.as_str());
        if let Some(name) = named_column(rest, names) {
            out = out.in_column(name);
        }
    }
    context.hidden_names.reveal(out)
}
