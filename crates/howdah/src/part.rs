//! A part: the chunks that are sent together, in one statement where the write path is COPY, and the server's answer to it led back to the input.

use std::sync::Arc;

use bytes::Bytes;

use crate::chunk::{Chunk, RowForm, RowOrigins};
use crate::error::{Error, ErrorKind, Location};
use crate::lane::Freight;
use crate::row_error::{copy_context, named_column};
use crate::source::Morsel;
use crate::watcher::collision;
use crate::write::{Refusal, Sink, Way};

/// Chunks in one COPY statement. The server's answer to a bad row comes when a COPY ends, so a part bounds what is sent
/// in vain (16 MiB of input), and what a lane must remember to lead an error back to its line.
const PART_CHUNKS: usize = 32;

/// The same where parts are held in memory until the server has accepted them (4 MiB of input) ...
const HELD_PART_CHUNKS: usize = 8;

/// ... and what may be held: huge records make short parts.
const HELD_BYTES: usize = 32 * 1024 * 1024;

/// A chunk that was sent and whose rows the server may yet refuse.
pub(crate) struct Carried {
    pub(crate) rows: RowOrigins,
    /// What it takes to send rows again and to keep refused ones, where that may be needed.
    pub(crate) held: Option<Held>,
}

/// A chunk's rows and the morsel they were made from.
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    pub(crate) morsel: Morsel,
}

/// A part under way with what it carries.
pub(crate) struct Part {
    sink: Sink,
    pub(crate) form: RowForm,
    pub(crate) chunks: Vec<Carried>,
}

impl Part {
    pub(crate) async fn start(way: &Arc<Way>, form: RowForm, freight: &Freight) -> Result<Part, Error> {
        if freight.has_savepoints() {
            way.connection().client().batch_execute("SAVEPOINT howdah").await?;
        }
        Ok(Part { sink: way.start(form).await?, form, chunks: Vec::new() })
    }

    /// Sends a chunk; `morsel` is kept with it where single rows can be refused.
    pub(crate) async fn send(&mut self, chunk: Chunk, morsel: Option<Morsel>) -> Result<(), Error> {
        let held = morsel.map(|morsel| Held { bytes: chunk.bytes.clone(), morsel });
        self.chunks.push(Carried { rows: chunk.rows, held });
        Ok(self.sink.feed(chunk.bytes).await?)
    }

    /// Whether the next chunk belongs to a new part.
    pub(crate) fn is_full(&self, held: bool) -> bool {
        let bytes =
            || self.chunks.iter().filter_map(|chunk| chunk.held.as_ref()).map(|held| held.bytes.len());
        self.chunks.len() >= if held { HELD_PART_CHUNKS } else { PART_CHUNKS }
            || (held && bytes().sum::<usize>() > HELD_BYTES)
    }

    /// Ends the part. Gives back the chunks: the server's refusal may concern a single row of them.
    pub(crate) async fn finish(self) -> (Result<u64, Refusal>, RowForm, Vec<Carried>) {
        (self.sink.finish().await, self.form, self.chunks)
    }
}

/// Where row `row` (from 0) of a part of `chunks` stands in the input.
pub(crate) fn locate(chunks: &[Carried], row: usize) -> Option<Location> {
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

/// The row of a part of CSV, from 0, in which COPY counts line `line`.
pub(crate) fn row_of_line(chunks: &[Carried], line: usize) -> Option<usize> {
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

/// The row of a part, from 0 (of CSV: the line), that the server refused, when it is known which one.
pub(crate) fn named_row(refusal: &Refusal, freight: &Freight) -> Option<usize> {
    if let Some(rows) = &refusal.rows {
        return (rows.len() == 1).then_some(rows.start);
    }
    let error = &refusal.error;
    let context = error.as_db_error()?.where_()?;
    let (line, _) = copy_context(context, &freight.relation_name)?;
    usize::try_from(line).ok()?.checked_sub(1)
}

/// The server's error about a row of a COPY, led back to the input.
pub(crate) fn explain(
    error: tokio_postgres::Error,
    location: Option<Location>,
    freight: &Freight,
    pid: i32,
) -> Error {
    let context = error.as_db_error().and_then(|db| db.where_()).map(str::to_owned);
    let mut out = collision(&error, freight, pid).unwrap_or_else(|| error.into());
    if let Some(location) = location {
        out = out.at(location).of_kind(ErrorKind::Data);
    }
    let rest = context.as_deref().and_then(|context| copy_context(context, &freight.relation_name));
    if out.column().is_none()
        && let Some((_, rest)) = rest
    {
        let names = freight.plan.columns.iter().map(|column| column.name.as_str());
        if let Some(name) = named_column(rest, names) {
            out = out.in_column(name);
        }
    }
    out
}
