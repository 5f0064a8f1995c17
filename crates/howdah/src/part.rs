//! A part: the chunks of one COPY statement, and the server's answer to it led back to the input.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::SinkExt;
use howdah_encode::wire;
use tokio_postgres::{CopyInSink, ToStatement};

use crate::chunk::{Chunk, RowForm, RowOrigins};
use crate::connect::Connection;
use crate::error::{Error, ErrorKind, Location};
use crate::lane::Freight;
use crate::source::Piece;
use crate::watcher::collision;

/// Chunks in one COPY statement. The server's answer to a bad row comes when a COPY ends, so a part bounds what is sent
/// in vain (16 MiB of input), and what a lane must remember to lead an error back to its line.
const PART_CHUNKS: usize = 32;

/// The same where parts are held in memory until the server has accepted them (4 MiB of input) ...
const HELD_PART_CHUNKS: usize = 8;

/// ... and what may be held: huge records make short parts.
const HELD_BYTES: usize = 32 * 1024 * 1024;

/// One CopyData message holds at most so much: tokio-postgres copies each message into its write buffer, which must not
/// grow with a huge record.
const MESSAGE_BYTES: usize = 1024 * 1024;

/// A COPY statement under way.
pub(crate) struct Copy(Pin<Box<CopyInSink<Bytes>>>, RowForm);

impl Copy {
    /// Starts the COPY statement that [`Plan::copy_sql`](crate::plan::Plan::copy_sql) makes for `form`.
    ///
    /// # Errors
    /// The server's: it lacks the relation, or the role the right.
    pub(crate) async fn start<S: ToStatement + ?Sized>(
        connection: &Connection,
        statement: &S,
        form: RowForm,
    ) -> Result<Copy, tokio_postgres::Error> {
        let mut sink = Box::pin(connection.client().copy_in(statement).await?);
        if form == RowForm::Binary {
            sink.feed(Bytes::from_static(&wire::HEADER)).await?;
        }
        Ok(Copy(sink, form))
    }

    /// Sends whole rows.
    ///
    /// # Errors
    /// The connection broke; what the server thinks of rows is known at [`Copy::finish`].
    pub(crate) async fn feed(&mut self, mut rows: Bytes) -> Result<(), tokio_postgres::Error> {
        while rows.len() > MESSAGE_BYTES {
            self.0.feed(rows.split_to(MESSAGE_BYTES)).await?;
        }
        self.0.feed(rows).await
    }

    /// Ends the COPY; how many rows the server counted.
    ///
    /// # Errors
    /// The server refused a row, or the connection broke.
    pub(crate) async fn finish(mut self) -> Result<u64, tokio_postgres::Error> {
        if self.1 == RowForm::Binary {
            self.0.feed(Bytes::from_static(&wire::TRAILER)).await?;
        }
        self.0.as_mut().finish().await
    }
}

/// A chunk that was sent and whose rows the server may yet refuse.
pub(crate) struct Carried {
    pub(crate) rows: RowOrigins,
    /// What it takes to send rows again and to keep refused ones, where that may be needed.
    pub(crate) held: Option<Held>,
}

/// A chunk's rows and the piece they were made from.
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    pub(crate) piece: Piece,
}

/// A COPY under way with what it carries.
pub(crate) struct Part {
    copy: Copy,
    pub(crate) form: RowForm,
    pub(crate) chunks: Vec<Carried>,
}

impl Part {
    pub(crate) async fn start(
        connection: &Connection,
        form: RowForm,
        freight: &Freight,
    ) -> Result<Part, Error> {
        if freight.narrow {
            connection.client().batch_execute("SAVEPOINT howdah").await?;
        }
        let sql = freight.plan.copy_sql(&freight.relation, form);
        let copy = Copy::start(connection, sql.as_str(), form).await?;
        Ok(Part { copy, form, chunks: Vec::new() })
    }

    /// Sends a chunk; `piece` is kept with it where single rows can be refused.
    pub(crate) async fn send(&mut self, chunk: Chunk, piece: Option<Piece>) -> Result<(), Error> {
        let held = piece.map(|piece| Held { bytes: chunk.bytes.clone(), piece });
        self.chunks.push(Carried { rows: chunk.rows, held });
        Ok(self.copy.feed(chunk.bytes).await?)
    }

    /// Whether the next chunk belongs to a new part.
    pub(crate) fn is_full(&self, held: bool) -> bool {
        let bytes =
            || self.chunks.iter().filter_map(|chunk| chunk.held.as_ref()).map(|held| held.bytes.len());
        self.chunks.len() >= if held { HELD_PART_CHUNKS } else { PART_CHUNKS }
            || (held && bytes().sum::<usize>() > HELD_BYTES)
    }

    /// Ends the COPY. Gives back the chunks: the server's refusal may concern a single row of them.
    pub(crate) async fn finish(self) -> (Result<u64, tokio_postgres::Error>, RowForm, Vec<Carried>) {
        (self.copy.finish().await, self.form, self.chunks)
    }
}

/// Where row `row` (from 0) of a COPY over `chunks` stands in the input.
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

/// The row of a COPY statement, from 0, that the server's error names.
pub(crate) fn named_row(error: &tokio_postgres::Error, freight: &Freight) -> Option<usize> {
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
        let named = freight.plan.columns.iter().map(|column| &column.name);
        let found = named.filter(|name| {
            rest.strip_prefix(", column ").is_some_and(|text| text.starts_with(name.as_str()))
        });
        if let Some(name) = found.max_by_key(|name| name.len()) {
            out = out.in_column(name.clone());
        }
    }
    out
}

/// Finds `COPY name, line N` in the server's CONTEXT: the line, and what follows the number.
fn copy_context<'a>(context: &'a str, relation_name: &str) -> Option<(u64, &'a str)> {
    let prefix = format!("COPY {relation_name}, line ");
    let text = &context[context.rfind(&prefix)? + prefix.len()..];
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_name_that_looks_like_a_context_does_not_mislead() {
        let context = "while inserting index tuple (0,5) in relation \"k\"\nCOPY COPY t, line 3, line 17, column a: \"x\"";
        let (line, rest) = copy_context(context, "COPY t, line 3").unwrap();
        assert_eq!((line, rest), (17, ", column a: \"x\""));
        assert_eq!(copy_context("COPY other, line 3", "t"), None);
    }
}
