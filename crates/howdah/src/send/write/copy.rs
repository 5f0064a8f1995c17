//! COPY FROM STDIN: chunks go into the statement as they are.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::SinkExt;
use howdah_connect::Connection;
use howdah_encode::wire;
use tokio_postgres::{CopyInSink, Statement};

use crate::plan::row_form::RowForm;

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
    pub(crate) async fn start(
        connection: &Connection,
        statement: &Statement,
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
