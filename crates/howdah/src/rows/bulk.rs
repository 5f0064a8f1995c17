//! The bulk writer: rows of a program in, binary COPY out, in one transaction that all of them share.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use howdah_connect::{Connection, Target};
use howdah_source::PIECE_BYTES;
use tokio_postgres::Statement;

use super::batch::BatchPlan;
use super::open::{OpenField, OpenRow, resolve};
use super::row::Row;
use super::shape::RowShape;
use crate::catalog::name::TableName;
use crate::catalog::session::SessionSettings;
use crate::catalog::table::Table;
use crate::control::Control;
use crate::encode::buffers::Buffers;
use crate::error::{Committed, Error, ErrorKind, Location};
use crate::plan::row_form::RowForm;
use crate::publish::commit::{Commit, Makes};
use crate::publish::server_identity::ServerIdentity;
use crate::resolve::Resolver;
use crate::send::row_error::{copy_context, named_column};
use crate::send::write::copy::Copy;

/// Rows are sent when they are so many bytes together.
const CHUNK_BYTES: usize = PIECE_BYTES;

/// The server says what it thinks of rows when a COPY ends, so a bulk is several of them: a row that it refuses is known
/// after so many bytes, and not after the last of millions.
const COPY_BYTES: usize = 16 * 1024 * 1024;

/// Writes rows of a program into a table, all of them or none: [`BulkWriter::finish`] makes them visible, and anything else
/// that ends it (an error, a drop, a panic, the end of the program) leaves nothing. It needs a Tokio runtime.
///
/// ```
/// use howdah::{BulkWriter, Target};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), howdah::Error> {
/// # let database = howdah_testkit::Database::new();
/// # database.sql("CREATE TABLE readings (truck text, km int, seen timestamptz)");
/// # let conninfo = database.conninfo();
/// let columns = ["truck", "km", "seen"];
/// let mut bulk = BulkWriter::start(&Target::new(conninfo)?, "readings", Some(&columns)).await?;
/// for km in 0..1_000 {
///     bulk.write(&("truck_1", km, "2026-01-01 12:00+00")).await?;
/// }
/// assert_eq!(bulk.finish().await?, 1_000);
/// # Ok(()) }
/// ```
pub struct BulkWriter {
    shape: RowShape,
    resolver: Resolver,
    /// Taken out while the server is waited for: what is abandoned then is lost with its COPY, and never half sent.
    stream: Option<OpenCopy>,
    /// Why there is no stream.
    failure: Option<Error>,
    buffers: Buffers,
    chunk: Vec<u8>,
    /// Of the row in hand.
    open: Vec<OpenField>,
    /// Rows of the chunk that hold literals which only the server can read.
    waiting: Vec<PendingRow>,
    waiting_bytes: usize,
    /// Taken so far.
    rows: u64,
    /// For batches of the schema that came last.
    batches: Option<BatchPlan>,
}

/// A row that is not part of its chunk yet.
struct PendingRow {
    row: OpenRow,
    /// Its number.
    number: u64,
    /// Where in the chunk it belongs.
    at: usize,
}

impl BulkWriter {
    /// Starts a bulk of rows for the table of that name (as SQL reads it: `schema.table`, folded unless quoted). Without
    /// `columns`, rows have a field for each column that is neither generated nor identity nor has a default.
    ///
    /// A row type says its own columns: `BulkWriter::start(&target, "events", Event::COLUMNS)`.
    ///
    /// # Errors
    /// No connection; no such table or column; the role may not insert.
    pub async fn start(target: &Target, table: &str, columns: Option<&[&str]>) -> Result<BulkWriter, Error> {
        let name = TableName::parse(table)?;
        let target = target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
        let connection = Arc::new(target.connect().await?);
        let target = target.pinned_to(&connection);
        let session = SessionSettings::read(&connection).await?;
        let table = Table::lookup(&connection, &name, &session.rules).await?.ok_or_else(|| {
            Error::no_relation("table", &name)
                .with_hint("is the name spelled right, and its schema on the search path?")
        })?;
        let columns: Option<Vec<String>> =
            columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let shape = RowShape::of(&table, &session.rules, columns.as_deref(), false)?;
        let resolver = Resolver::start(target.clone(), session.version_num);
        let stream = OpenCopy::start(connection, target, &table, &shape).await?;
        Ok(BulkWriter {
            shape,
            resolver,
            stream: Some(stream),
            failure: None,
            buffers: Buffers::default(),
            chunk: Vec::new(),
            open: Vec::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            rows: 0,
            batches: None,
        })
    }

    /// The columns that rows have fields for.
    pub fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// Takes a row; now and then many of them are sent together.
    ///
    /// # Errors
    /// A value of this row is none of its column's type: the row is not taken, and others may follow. Or the server refused a
    /// row taken before, or the connection broke: then the bulk is over and nothing is left of it. Errors name the row,
    /// counted from 0 as rows were taken.
    pub async fn write<R: Row + ?Sized>(&mut self, row: &R) -> Result<(), Error> {
        if self.stream.is_none() {
            return Err(self.over());
        }
        let start = self.chunk.len();
        let encoded = self.shape.encode(row, &mut self.chunk, &mut self.open);
        encoded.map_err(|error| error.at(place(self.rows)))?;
        self.take_row(start);
        if self.is_full() { self.send().await } else { Ok(()) }
    }

    /// Takes a row that [`RowShape::encode`] of this writer's shape has made.
    ///
    /// # Errors
    /// What [`BulkWriter::write`] says of the server.
    pub async fn write_encoded(&mut self, row: &[u8], open: &[OpenField]) -> Result<(), Error> {
        if self.stream.is_none() {
            return Err(self.over());
        }
        let start = self.chunk.len();
        self.chunk.extend_from_slice(row);
        self.open.extend_from_slice(open);
        self.take_row(start);
        if self.is_full() { self.send().await } else { Ok(()) }
    }

    /// Takes all rows of an Arrow record batch. Its columns are those of the writer, by name and in any order.
    ///
    /// # Errors
    /// The batch has other columns, or types between which there is no exact way: it is not taken. Or a value that the
    /// column could not hold as it is, or what [`BulkWriter::write`] says of the server: then the bulk is over.
    pub async fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if self.stream.is_none() {
            return Err(self.over());
        }
        let schema = batch.schema();
        let plan = match self.batches.take() {
            Some(plan) if plan.is_for(&schema) => plan,
            _ => BatchPlan::new(schema, &self.shape)?,
        };
        let written = self.write_rows(&plan, batch).await;
        self.batches = Some(plan);
        written
    }

    async fn write_rows(&mut self, plan: &BatchPlan, batch: &RecordBatch) -> Result<(), Error> {
        let rows = plan.rows(batch)?;
        for row in 0..batch.num_rows() {
            let start = self.chunk.len();
            if let Err(error) = rows.encode(row, &mut self.chunk, &mut self.open) {
                // Rows of the same batch are under way.
                self.stream = None;
                return Err(self.fail(error.at(place(self.rows))));
            }
            self.take_row(start);
            if self.is_full() {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Makes all rows visible. How many the server counted: as many as were taken, unless row triggers of the table dropped
    /// some.
    ///
    /// # Errors
    /// The server refused a row, or counted others than were taken, or the connection broke: nothing is left. When the
    /// answer to COMMIT is lost, what became of it is found out; [`ErrorKind::PartlyCommitted`] says that it could not be.
    pub async fn finish(mut self) -> Result<u64, Error> {
        self.send().await?;
        match self.stream.take() {
            Some(stream) => stream.commit(&self.shape).await,
            None => Err(self.over()),
        }
    }

    fn is_full(&self) -> bool {
        self.chunk.len() + self.waiting_bytes >= CHUNK_BYTES
    }

    /// Counts the row that was appended at `start`; one with open literals waits outside the chunk.
    #[inline]
    fn take_row(&mut self, start: usize) {
        if !self.open.is_empty() {
            let row = OpenRow { bytes: self.chunk.split_off(start), open: std::mem::take(&mut self.open) };
            self.waiting_bytes += row.bytes.len();
            self.waiting.push(PendingRow { row, number: self.rows, at: start });
        }
        self.rows += 1;
    }

    async fn send(&mut self) -> Result<(), Error> {
        let Some(mut stream) = self.stream.take() else { return Err(self.over()) };
        match self.send_chunk(&mut stream).await {
            Ok(()) => {
                self.stream = Some(stream);
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    async fn send_chunk(&mut self, stream: &mut OpenCopy) -> Result<(), Error> {
        let chunk = std::mem::replace(&mut self.chunk, self.buffers.take());
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let chunk = if waiting.is_empty() { chunk } else { self.answered(chunk, waiting).await? };
        stream.send(self.buffers.lend(chunk), self.rows, &self.shape).await
    }

    /// The chunk with the rows that waited, their literals replaced by the server's answers.
    async fn answered(&self, chunk: Vec<u8>, waiting: Vec<PendingRow>) -> Result<Vec<u8>, Error> {
        let (places, rows): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|waiting| ((waiting.at, waiting.number), waiting.row)).unzip();
        let mut out = self.buffers.take();
        let mut behind = 0;
        let rows = resolve(&self.resolver, &self.shape, rows).await?;
        for ((at, number), row) in places.into_iter().zip(rows) {
            out.extend_from_slice(&chunk[behind..at]);
            out.extend_from_slice(&row.map_err(|error| error.at(place(number)))?);
            behind = at;
        }
        out.extend_from_slice(&chunk[behind..]);
        self.buffers.give_back(chunk);
        Ok(out)
    }

    /// Remembers why the bulk is over.
    fn fail(&mut self, error: Error) -> Error {
        let error = error.nothing_changed();
        self.failure = Some(error.clone());
        error
    }

    #[cold]
    fn over(&self) -> Error {
        self.failure.clone().unwrap_or_else(|| {
            Error::usage("the bulk is over: a call was abandoned while it waited for the server")
                .nothing_changed()
        })
    }
}

/// The transaction, and the COPY under way in it. Dropped, it is rolled back.
struct OpenCopy {
    /// Before the connection: a COPY that is not finished is failed, and only then the connection closed.
    copy: Option<Copy>,
    connection: Arc<Connection>,
    target: Target,
    server: Option<ServerIdentity>,
    statement: Statement,
    /// Sent in this COPY.
    bytes: usize,
    /// The number of this COPY's first row.
    first: u64,
    /// Sent in all COPYs.
    sent: u64,
    /// By the server, in the COPYs before.
    counted: u64,
    /// Whether the server counts every row: triggers may drop some.
    counts_all: bool,
}

impl OpenCopy {
    async fn start(
        connection: Arc<Connection>,
        target: Target,
        table: &Table,
        shape: &RowShape,
    ) -> Result<OpenCopy, Error> {
        let server = ServerIdentity::read(&connection).await;
        connection.client().batch_execute("BEGIN").await?;
        let sql = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", shape.relation(), shape.column_list());
        let statement = connection.client().prepare(&sql).await?;
        // What the role may not do is said now, and not with the first rows.
        let copy = Copy::start(&connection, &statement, RowForm::Binary).await?;
        Ok(OpenCopy {
            copy: Some(copy),
            connection,
            target,
            server,
            statement,
            bytes: 0,
            first: 0,
            sent: 0,
            counted: 0,
            counts_all: !table.has_row_triggers,
        })
    }

    /// Sends rows; with them, `rows` were sent in all.
    async fn send(&mut self, chunk: Bytes, rows: u64, shape: &RowShape) -> Result<(), Error> {
        if chunk.is_empty() {
            return Ok(());
        }
        let copy = match &mut self.copy {
            Some(copy) => copy,
            none => none.insert(Copy::start(&self.connection, &self.statement, RowForm::Binary).await?),
        };
        self.bytes += chunk.len();
        copy.feed(chunk).await?;
        self.sent = rows;
        if self.bytes >= COPY_BYTES { self.end_copy(shape).await } else { Ok(()) }
    }

    async fn end_copy(&mut self, shape: &RowShape) -> Result<(), Error> {
        let Some(copy) = self.copy.take() else { return Ok(()) };
        self.counted += copy.finish().await.map_err(|error| explained(error, shape, self.first))?;
        (self.first, self.bytes) = (self.sent, 0);
        Ok(())
    }

    /// Ends the COPY and commits; how many rows the server counted.
    async fn commit(mut self, shape: &RowShape) -> Result<u64, Error> {
        let checked = async {
            self.end_copy(shape).await?;
            if self.counted != self.sent && self.counts_all {
                let (sent, counted) = (self.sent, self.counted);
                let reason = format!("{sent} rows were sent, and the server counted {counted}");
                return Err(Error::new(ErrorKind::Internal, reason));
            }
            Ok(self.connection.client().batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await?)
        };
        checked.await.map_err(|error| error.nothing_changed())?;
        let commit = Commit {
            connections: &[self.connection],
            target: &self.target,
            control: &Control::new(),
            server: self.server.as_ref(),
            makes: Makes::Rows { table: shape.relation(), subtransactions: Vec::new() },
        };
        if commit.run().await? {
            return Ok(self.counted);
        }
        Err(Error::new(ErrorKind::Server, "the server's wait for a standby was cut short")
            .with_visible(Committed::Yes, "all rows are in the table; a standby may not have them yet"))
    }
}

/// The server's error about a row of a COPY whose first row has the number `first`.
fn explained(error: tokio_postgres::Error, shape: &RowShape, first: u64) -> Error {
    let context = error.as_db_error().and_then(|db| db.where_()).map(str::to_owned);
    let out = Error::from(error);
    let found = context.as_deref().and_then(|context| copy_context(context, shape.relation_name()));
    let Some((line, rest)) = found else { return out };
    let out = out.at(place(first + line.saturating_sub(1))).of_kind(ErrorKind::Data);
    let names = shape.columns().iter().map(|column| column.name.as_str());
    match named_column(rest, names).filter(|_| out.column().is_none()) {
        Some(name) => out.in_column(name),
        None => out,
    }
}

/// The row of that number.
fn place(row: u64) -> Location {
    Location { row: Some(row), ..Location::of_source("rows".into()) }
}
