//! One connection, and one batch of rows over it.

use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use futures_util::SinkExt;
use futures_util::future::maybe_done;
use howdah::connect::Connection;
use tokio_postgres::{Client, Statement};

use super::parameter::{ArrayParameter, Field};
use super::rows::ShapedRows;
use super::shape::Shape;
use super::work::Work;
use crate::database::open;
use crate::dataset::{COPY_HEADER, COPY_TRAILER};
use crate::error::Error;

/// Bytes in one message of a COPY; the server reads each of them whole before it looks at it.
const MESSAGE: usize = 512 * 1024;

/// An open connection with its statements prepared.
pub(super) struct Session {
    connection: Connection,
    backend_pid: i32,
    statement: Statement,
    /// For the last batch, where it is a smaller one.
    last: Option<Statement>,
    begin: Statement,
    commit: Statement,
}

impl Session {
    pub(super) async fn connect(conninfo: &str, work: &Work) -> Result<Session, Error> {
        let failed = || Error::server("could not open all connections");
        let connection = open(conninfo).await?;
        let client = connection.client();
        let pid = client.query_one("SELECT pg_backend_pid()", &[]).await.map_err(failed())?;
        let backend_pid = pid.try_get(0).map_err(failed())?;
        let statement = prepare(client, work, work.rows_per_statement).await?;
        let begin = client.prepare("BEGIN").await.map_err(failed())?;
        let commit = client.prepare("COMMIT").await.map_err(failed())?;
        Ok(Session { connection, backend_pid, statement, last: None, begin, commit })
    }

    pub(super) fn backend_pid(&self) -> i32 {
        self.backend_pid
    }

    /// Prepares for a last batch of `rows` rows, where those of a batch count in the statement.
    pub(super) async fn prepare_last(&mut self, work: &Work, rows: usize) -> Result<(), Error> {
        self.last = match work.shape {
            Shape::Values if rows > 0 => Some(prepare(self.connection.client(), work, rows).await?),
            _ => None,
        };
        Ok(())
    }

    /// Writes a batch and commits it. Returns the number of rows that the server acknowledged.
    pub(super) async fn write(
        &self,
        work: &Work,
        rows: &ShapedRows,
        batch: Range<usize>,
    ) -> Result<u64, Error> {
        let count = batch.len();
        let done = match work.shape {
            Shape::Values => {
                let full = count == work.rows_per_statement;
                let statement = self.last.as_ref().filter(|_| !full).unwrap_or(&self.statement);
                self.connection.client().execute_raw(statement, rows.fields(batch)).await
            }
            Shape::Pipeline => self.pipeline(rows, batch).await,
            Shape::Unnest => {
                let fields = rows.fields(batch);
                let step = work.dataset.columns().len();
                let column = |first| ArrayParameter { fields: &fields, first, step };
                self.connection
                    .client()
                    .execute_raw(&self.statement, (0..step).map(column).collect::<Vec<_>>())
                    .await
            }
            Shape::CopyBinary => {
                let parts =
                    [Bytes::from_static(COPY_HEADER), rows.slice(batch), Bytes::from_static(COPY_TRAILER)];
                self.copy(parts).await
            }
            Shape::CopyCsv => self.copy([rows.slice(batch)]).await,
            Shape::Ping => return self.ping(&rows.slice(batch), count).await,
            Shape::Read => self.read(batch).await,
        };
        let acknowledged = done.map_err(Error::server(format!("a batch of {count} rows failed")))?;
        if acknowledged == count as u64 {
            return Ok(acknowledged);
        }
        Err(Error::Wrong(format!("a batch of {count} rows came to {acknowledged} at the server")))
    }

    async fn pipeline(&self, rows: &ShapedRows, batch: Range<usize>) -> Result<u64, tokio_postgres::Error> {
        let alone = |statement| self.connection.client().execute_raw(statement, Vec::<Field>::new());
        let mut sent = vec![Box::pin(maybe_done(alone(&self.begin)))];
        for row in batch {
            let insert = self.connection.client().execute_raw(&self.statement, rows.fields(row..row + 1));
            sent.push(Box::pin(maybe_done(insert)));
        }
        sent.push(Box::pin(maybe_done(alone(&self.commit))));
        // A request is sent when it is first polled; so all are, in this order, before the first answer is waited for.
        poll_fn(|context| {
            for request in &mut sent {
                let _ = request.as_mut().poll(context);
            }
            Poll::Ready(())
        })
        .await;
        let mut inserted = 0;
        let mut failed = None;
        for mut request in sent {
            request.as_mut().await;
            match request.as_mut().take_output() {
                Some(Ok(rows)) => inserted += rows,
                Some(Err(error)) => failed = failed.or(Some(error)),
                None => {}
            }
        }
        failed.map_or(Ok(inserted), Err)
    }

    async fn copy<const N: usize>(&self, parts: [Bytes; N]) -> Result<u64, tokio_postgres::Error> {
        let mut sink = pin!(self.connection.client().copy_in(&self.statement).await?);
        for mut part in parts {
            while !part.is_empty() {
                sink.feed(part.split_to(part.len().min(MESSAGE))).await?;
            }
        }
        sink.finish().await
    }

    async fn ping(&self, bytes: &[u8], rows: usize) -> Result<u64, Error> {
        let answer = self.connection.client().query_one(&self.statement, &[&Field(Some(bytes))]).await;
        let length =
            answer.and_then(|row| row.try_get::<_, i32>(0)).map_err(Error::server("a ping failed"))?;
        if usize::try_from(length) == Ok(bytes.len()) {
            return Ok(rows as u64);
        }
        Err(Error::Wrong(format!("{} bytes came to {length} at the server", bytes.len())))
    }

    async fn read(&self, batch: Range<usize>) -> Result<u64, tokio_postgres::Error> {
        // A number of a row in memory fits.
        let id = |row: usize| i64::try_from(row).unwrap_or(i64::MAX);
        let answer =
            self.connection.client().query(&self.statement, &[&id(batch.start + 1), &id(batch.end)]).await?;
        Ok(answer.len() as u64)
    }
}

async fn prepare(client: &Client, work: &Work, rows: usize) -> Result<Statement, Error> {
    let sql = work.shape.sql(work.dataset, &work.table, rows);
    client.prepare(&sql).await.map_err(Error::server(format!("could not prepare {sql:.200}")))
}
