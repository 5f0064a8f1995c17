//! A lane: one connection that sends chunks, part by part, in one transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use futures_util::SinkExt;
use howdah_encode::wire;
use tokio_postgres::CopyInSink;
use tokio_postgres::error::SqlState;

use crate::chunk::{Chunk, RowForm, RowOrigins};
use crate::connect::Connection;
use crate::control::Control;
use crate::error::{Error, ErrorKind, Location};
use crate::lattice::ColumnLattice;
use crate::plan::Plan;

/// Chunks in one COPY statement. The server's answer to a bad row comes when a COPY ends, so a part bounds what is sent
/// in vain (16 MiB of input), and what a lane must remember to lead an error back to its line.
const PART_CHUNKS: usize = 32;

/// One CopyData message holds at most so much: tokio-postgres copies each message into its write buffer, which must not
/// grow with a huge record.
const MESSAGE_BYTES: usize = 1024 * 1024;

/// What lanes share during one load.
pub(crate) struct Freight {
    pub(crate) plan: Arc<Plan>,
    /// Quoted and qualified, for SQL.
    pub(crate) relation: String,
    /// The relation's bare name: how the server speaks of it in `COPY name, line 7`.
    pub(crate) relation_name: String,
    pub(crate) control: Control,
    /// The backend that the watcher cancelled because it waited for another lane; 0 as long as there is none.
    pub(crate) blocked: AtomicI32,
}

/// One connection of a load.
pub(crate) struct Lane {
    connection: Arc<Connection>,
    pid: i32,
    part: Option<Part>,
    sent: Sent,
}

/// What a lane has sent.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Rows that the server counted.
    pub(crate) rows: u64,
    /// COPY statements finished.
    pub(crate) parts: u64,
    pub(crate) binary: bool,
    pub(crate) text: bool,
    /// What the columns of a stream look like.
    pub(crate) lattices: Vec<ColumnLattice>,
}

/// A COPY statement under way.
struct Part {
    sink: Pin<Box<CopyInSink<Bytes>>>,
    form: RowForm,
    chunks: Vec<RowOrigins>,
}

impl Lane {
    /// A lane over an open connection, in a transaction.
    pub(crate) fn new(connection: Arc<Connection>, pid: i32) -> Self {
        Lane { connection, pid, part: None, sent: Sent::default() }
    }

    /// Finishes the last COPY and checks deferred constraints, while the watcher watches: a check too can wait for another
    /// lane. The transaction stays open.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn finish(
        mut self,
        freight: &Freight,
        lattices: Vec<ColumnLattice>,
    ) -> Result<Sent, Error> {
        self.finish_part(freight).await?;
        let checked = self.connection.client().batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await;
        checked.map_err(|error| collision(&error, freight, self.pid).unwrap_or_else(|| error.into()))?;
        Ok(Sent { lattices, ..self.sent })
    }

    /// Sends a chunk; a part that is full, or of another form, is finished first.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn send(&mut self, chunk: Chunk, freight: &Freight) -> Result<(), Error> {
        let rows = chunk.rows.len();
        if rows == 0 {
            return Ok(());
        }
        if self.part.as_ref().is_some_and(|part| part.form != chunk.form || part.chunks.len() >= PART_CHUNKS)
        {
            self.finish_part(freight).await?;
        }
        let part = match &mut self.part {
            Some(part) => part,
            none => none.insert(Part::open(&self.connection, chunk.form, freight).await?),
        };
        part.chunks.push(chunk.rows);
        let mut bytes = chunk.bytes;
        while bytes.len() > MESSAGE_BYTES {
            part.sink.feed(bytes.split_to(MESSAGE_BYTES)).await?;
        }
        part.sink.feed(bytes).await?;
        match chunk.form {
            RowForm::Binary => self.sent.binary = true,
            RowForm::Text => self.sent.text = true,
        }
        freight.control.add_rows_sent(rows);
        Ok(())
    }

    async fn finish_part(&mut self, freight: &Freight) -> Result<(), Error> {
        let Some(mut part) = self.part.take() else { return Ok(()) };
        if part.form == RowForm::Binary {
            part.sink.feed(Bytes::from_static(&wire::TRAILER)).await?;
        }
        let rows = match part.sink.as_mut().finish().await {
            Ok(rows) => rows,
            Err(error) => return Err(part.explain(error, freight, self.pid)),
        };
        self.sent.rows += rows;
        self.sent.parts += 1;
        Ok(())
    }
}

impl Part {
    async fn open(connection: &Connection, form: RowForm, freight: &Freight) -> Result<Part, Error> {
        let sql = freight.plan.copy_sql(&freight.relation, form);
        let mut sink = Box::pin(connection.client().copy_in(sql.as_str()).await?);
        if form == RowForm::Binary {
            sink.feed(Bytes::from_static(&wire::HEADER)).await?;
        }
        Ok(Part { sink, form, chunks: Vec::new() })
    }

    /// The server's error, led back to the input.
    fn explain(&self, error: tokio_postgres::Error, freight: &Freight, pid: i32) -> Error {
        let Some(context) = error.as_db_error().and_then(|db| db.where_()).map(str::to_owned) else {
            return error.into();
        };
        let mut out = collision(&error, freight, pid).unwrap_or_else(|| error.into());
        let Some((line, rest)) = copy_context(&context, &freight.relation_name) else { return out };
        if let Some(location) = self.locate(line) {
            out = out.at(location).of_kind(ErrorKind::Data);
        }
        if out.column().is_none() {
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

    /// Line `line` (from 1) of this COPY statement, in the input.
    fn locate(&self, line: u64) -> Option<Location> {
        let mut row = line.checked_sub(1)?;
        for chunk in &self.chunks {
            if row < chunk.len() {
                return chunk.locate(usize::try_from(row).ok()?);
            }
            row -= chunk.len();
        }
        None
    }
}

/// Finds `COPY name, line N` in the server's CONTEXT: the line, and what follows the number.
fn copy_context<'a>(context: &'a str, relation_name: &str) -> Option<(u64, &'a str)> {
    let prefix = format!("COPY {relation_name}, line ");
    let text = &context[context.rfind(&prefix)? + prefix.len()..];
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The violation behind a statement that the watcher cancelled; `None` for any other error.
fn collision(error: &tokio_postgres::Error, freight: &Freight, pid: i32) -> Option<Error> {
    let db = error.as_db_error()?;
    let cancelled_by_us =
        freight.blocked.load(Ordering::Relaxed) == pid && db.code() == &SqlState::QUERY_CANCELED;
    cancelled_by_us.then(|| lanes_collide(db.where_().unwrap_or_default()))
}

/// Two lanes of one load wait for each other: said as the violation that it is.
fn lanes_collide(context: &str) -> Error {
    let index = context
        .split("while inserting index tuple")
        .nth(1)
        .or_else(|| context.split("while checking exclusion constraint").nth(1))
        .and_then(|text| text.split("in relation \"").nth(1).or_else(|| text.split("on tuple").nth(1)))
        .and_then(|text| text.split('"').next());
    if context.contains("while inserting index tuple")
        && let Some(index) = index
    {
        return Error::new(
            ErrorKind::Data,
            format!("duplicate key value violates unique constraint {index:?}: two rows of this load have the same key"),
        )
        .with_sqlstate("23505")
        .with_detail("the other row was sent on another connection of the same load, which is why the server waited instead of refusing");
    }
    if context.contains("while checking exclusion constraint") {
        return Error::new(ErrorKind::Data, "two rows of this load conflict under an exclusion constraint")
            .with_sqlstate("23P01");
    }
    Error::new(ErrorKind::Server, "the connections of this load wait for each other")
        .with_sqlstate("55P03")
        .with_detail(context.to_owned())
        .with_hint("a trigger or constraint makes them touch the same row: load with --jobs 1")
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

    #[test]
    fn a_wait_inside_a_unique_index_is_called_a_duplicate_key() {
        let error = lanes_collide("while inserting index tuple (0,5) in relation \"t_pkey\"\nCOPY t, line 3");
        assert_eq!(error.sqlstate(), Some("23505"));
        assert!(error.message().contains("t_pkey"));
        assert_eq!(lanes_collide("COPY t, line 3").sqlstate(), Some("55P03"));
    }
}
