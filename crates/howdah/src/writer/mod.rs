//! The writer: rows of a running program, gathered in memory and written in batches, each acknowledged when it is durable.
//!
//! Rows are encoded by the task that writes them and wait in a bounded `queue`. The `dispatch`er hands batches to
//! senders (`sender`): at once when nothing is under way, so that a lone row does not wait; otherwise when a batch is full or
//! old enough. A sender sends a batch as one transaction with a row in the `ledger`, so that it can be sent again and
//! happens once.

mod ack;
mod adaptive;
mod arrivals;
mod dispatch;
mod durability;
mod lanes;
mod ledger;
mod mark;
mod options;
mod patience;
mod queue;
mod sender;
mod session;
mod silence;
mod statements;
mod statistics;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_postgres::types::Type;

pub use ack::{Ack, Written};
pub use adaptive::Decision;
pub use options::{Delivery, OnConflict, OnFull, WriterOptions, WriterPath};
pub use statistics::{Distribution, Flushes, Latency, Statistics};

use ack::Group;
use adaptive::{Controller, Limits};
use lanes::Lanes;
use ledger::Ledger;
#[expect(unused_imports, reason = "what keeps something in step with rows names them")]
pub(crate) use ledger::{Companion, Entry, Tag};
use queue::{NewRow, Queue};
use session::Session as Carrier;
use statements::Statements;
use statistics::Recorder;

use crate::catalog::name::TableName;
use crate::catalog::session::Session;
use crate::catalog::table::Table;
use crate::connect::{Connection, Target};
use crate::error::{Committed, Error, ErrorKind};
use crate::rows::{OpenField, Row, RowShape};

/// Writes rows of a program into one table, continuously. Methods take `&self`: share it in an `Arc`.
///
/// ```
/// # let database = howdah_testkit::Database::new();
/// # database.sql("CREATE TABLE readings (id int PRIMARY KEY, km int)");
/// # let target = howdah::Target::new(database.conninfo())?;
/// use howdah::{Writer, WriterOptions};
///
/// // For a program without a runtime; `connect`, `write` and `close` are for those with one.
/// let writer = Writer::connect_blocking(&target, "readings", WriterOptions::default())?;
/// let acks = [(1, 100), (2, 120), (1, 130)].map(|row| writer.write_blocking(&row).unwrap());
/// let settled = acks.map(|ack| ack.wait());
/// assert!(settled[0].is_ok() && settled[1].is_ok());
/// assert_eq!(settled[2].as_ref().unwrap_err().sqlstate(), Some("23505"), "a duplicate key costs its own row");
/// writer.close_blocking(std::time::Duration::from_secs(30))?;
/// # Ok::<(), howdah::Error>(())
/// ```
///
/// A writer that is dropped without [`Writer::close`] still writes what it holds, as long as its runtime and the process
/// live, and warns about it.
pub struct Writer {
    shared: Arc<Shared>,
}

/// What the program's side and the senders share.
struct Shared {
    queue: Queue,
    options: WriterOptions,
    target: Target,
    shape: RowShape,
    statements: Arc<Statements>,
    ledger: Option<Ledger>,
    /// Who keeps something in step with the rows.
    companion: Option<Arc<dyn Companion>>,
    lanes: Lanes,
    notices: Vec<String>,
    recorder: Recorder,
    /// Schema-qualified, for SQL.
    relation: String,
    relation_name: Arc<str>,
    /// The columns and their types, as they were when the rows' encoding was chosen.
    fingerprint: String,
    has_row_security: bool,
    version_num: i32,
    /// Ends the dispatcher at once.
    stop: Notify,
    /// Resolves when it has ended.
    ended: Arc<Group>,
    /// Where it runs.
    handle: Handle,
}

impl Writer {
    /// Connects, looks the table up, and starts to serve rows on the caller's runtime, which must be tokio's with I/O and
    /// time, and must not be blocked. A row that is written then costs no change of threads on a current-thread runtime.
    ///
    /// # Errors
    /// No connection; no such table; options that make no sense, or a ledger that the role may not make.
    pub async fn connect(target: &Target, table: &str, options: WriterOptions) -> Result<Writer, Error> {
        let (shared, first) = prepare(target, table, options, None, Handle::current()).await?;
        tokio::spawn(dispatch::serve(shared.clone(), Some(first)));
        Ok(Writer { shared })
    }

    /// Like [`Writer::connect`], but serves rows on a thread of the writer's own: for programs without a runtime, or with one
    /// that is busy. Blocks until the writer is connected.
    ///
    /// # Errors
    /// As [`Writer::connect`].
    pub fn connect_blocking(target: &Target, table: &str, options: WriterOptions) -> Result<Writer, Error> {
        Writer::connect_with(target, table, options, None)
    }

    /// Like [`Writer::connect_blocking`], with somebody who keeps something in the database in step with the rows. Those then
    /// have tags: see [`Writer::write_tagged_blocking`].
    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    pub(crate) fn connect_with(
        target: &Target,
        table: &str,
        options: WriterOptions,
        companion: Option<Arc<dyn Companion>>,
    ) -> Result<Writer, Error> {
        let internal =
            |error: std::io::Error| Error::new(ErrorKind::Internal, error.to_string()).caused_by(error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(internal)?;
        let handle = runtime.handle().clone();
        let (shared, first) = runtime.block_on(prepare(target, table, options, companion, handle))?;
        let serving = shared.clone();
        let serve = move || runtime.block_on(dispatch::serve(serving, Some(first)));
        std::thread::Builder::new().name("howdah-writer".to_owned()).spawn(serve).map_err(internal)?;
        Ok(Writer { shared })
    }

    /// What rows are made of.
    pub fn shape(&self) -> &RowShape {
        &self.shared.shape
    }

    /// What a program should know of the table and the session before it relies on acknowledgements, a sentence each.
    pub fn notices(&self) -> &[String] {
        &self.shared.notices
    }

    /// Writes a row, waiting for room as the options say.
    ///
    /// # Errors
    /// The row is refused before it was queued: a value that is wrong, no room, a writer that is closed.
    pub async fn write<R: Row + ?Sized>(&self, row: &R) -> Result<Ack, Error> {
        self.write_or_wait(row, true).await.and_then(acknowledged)
    }

    /// Like [`Writer::write`], but blocks the thread while there is no room.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_blocking<R: Row + ?Sized>(&self, row: &R) -> Result<Ack, Error> {
        self.encoded(row, |bytes, open| self.write_encoded_blocking(bytes, open))
    }

    /// Like [`Writer::write`], but returns [`ErrorKind::QueueFull`] instead of waiting.
    ///
    /// # Errors
    /// As [`Writer::write`]; `ErrorKind::QueueFull` where there is no room.
    pub fn try_write<R: Row + ?Sized>(&self, row: &R) -> Result<Ack, Error> {
        self.encoded(row, |bytes, open| self.try_write_encoded(bytes, open))
    }

    /// Writes a row of which nobody will ask what became of it. It is lost when the process dies before it is written, or
    /// when the server refuses it; [`Writer::flush`] tells of refusals, the statistics count them.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub async fn send<R: Row + ?Sized>(&self, row: &R) -> Result<(), Error> {
        self.write_or_wait(row, false).await.map(drop)
    }

    /// Like [`Writer::send`], but blocks the thread while there is no room.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn send_blocking<R: Row + ?Sized>(&self, row: &R) -> Result<(), Error> {
        self.encoded(row, |bytes, open| self.add_blocking(&self.row(bytes, open, false)).map(drop))
    }

    /// Writes a row that [`RowShape::encode`] of this writer's shape has made.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub async fn write_encoded(&self, row: &[u8], open: &[OpenField]) -> Result<Ack, Error> {
        self.add(self.row(row, open, true)).await.and_then(acknowledged)
    }

    /// Like [`Writer::write_blocking`], for a row that is encoded already.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_encoded_blocking(&self, row: &[u8], open: &[OpenField]) -> Result<Ack, Error> {
        self.add_blocking(&self.row(row, open, true)).and_then(acknowledged)
    }

    /// [`Writer::write_encoded_blocking`] of a row that settles `tag`, for whoever keeps something in step with rows.
    ///
    /// # Errors
    /// As [`Writer::write`].
    #[expect(dead_code, reason = "for whoever keeps a place in the database")]
    pub(crate) fn write_tagged_blocking(
        &self,
        row: &[u8],
        open: &[OpenField],
        tag: Tag,
    ) -> Result<Ack, Error> {
        let row = NewRow { tag: Some(tag), ..self.row(row, open, true) };
        self.add_blocking(&row).and_then(acknowledged)
    }

    /// A row as it is queued.
    fn row<'r>(&self, bytes: &'r [u8], open: &'r [OpenField], wants_ack: bool) -> NewRow<'r> {
        NewRow { bytes, open, lane: self.shared.lanes.of(bytes, open), tag: None, wants_ack }
    }

    /// Like [`Writer::try_write`], for a row that is encoded already.
    ///
    /// # Errors
    /// As [`Writer::try_write`].
    pub fn try_write_encoded(&self, row: &[u8], open: &[OpenField]) -> Result<Ack, Error> {
        self.shared.queue.try_add(&self.row(row, open, true)).and_then(acknowledged)
    }

    /// [`Writer::send`] of a row that [`RowShape::encode`] of this writer's shape has made.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub async fn send_encoded(&self, row: &[u8], open: &[OpenField]) -> Result<(), Error> {
        self.add(self.row(row, open, false)).await.map(drop)
    }

    /// Writes a row that is encoded already and of which nobody will ask what became of it; returns
    /// [`ErrorKind::QueueFull`] instead of waiting.
    ///
    /// # Errors
    /// As [`Writer::try_write`].
    pub fn try_send_encoded(&self, row: &[u8], open: &[OpenField]) -> Result<(), Error> {
        self.shared.queue.try_add(&self.row(row, open, false)).map(drop)
    }

    /// Waits until every row that was written before is settled; nothing of it waits for company any more.
    ///
    /// # Errors
    /// The first failure among rows that were not settled yet, of which their acknowledgements tell too, and among those
    /// that were sent without one since the last flush.
    pub async fn flush(&self) -> Result<(), Error> {
        let mut failure = None;
        for group in self.shared.queue.hurry() {
            failure = failure.or(group.settled().await);
        }
        self.shared.queue.take_unheard().or(failure).map_or(Ok(()), Err)
    }

    /// Like [`Writer::flush`], but blocks the thread.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn flush_blocking(&self) -> Result<(), Error> {
        let mut failure = None;
        for group in self.shared.queue.hurry() {
            failure = failure.or(group.settled_blocking(None).flatten());
        }
        self.shared.queue.take_unheard().or(failure).map_or(Ok(()), Err)
    }

    /// Takes no more rows, writes those that it has, and disconnects. What is not settled after `deadline` fails.
    ///
    /// # Errors
    /// Rows were left at the deadline; their acknowledgements say so.
    pub async fn close(&self, deadline: Duration) -> Result<Statistics, Error> {
        self.shared.queue.close();
        let mut alarm = self.alarm(deadline);
        let left = tokio::select! {
            _ = self.shared.ended.clone().settled() => 0,
            late = &mut alarm => if late.is_ok() { self.shared.queue.load().unsettled.rows } else { 0 },
        };
        alarm.abort();
        self.shared.stop.notify_one();
        self.shared.ended.clone().settled().await;
        self.farewell(left)
    }

    /// Like [`Writer::close`], but blocks the thread.
    ///
    /// # Errors
    /// As [`Writer::close`].
    pub fn close_blocking(&self, deadline: Duration) -> Result<Statistics, Error> {
        self.shared.queue.close();
        let ended = &self.shared.ended;
        let left = match ended.settled_blocking(Instant::now().checked_add(deadline)) {
            Some(_) => 0,
            None => self.shared.queue.load().unsettled.rows,
        };
        self.shared.stop.notify_one();
        ended.settled_blocking(None);
        self.farewell(left)
    }

    fn farewell(&self, left: usize) -> Result<Statistics, Error> {
        match left {
            0 => Ok(self.statistics()),
            rows => Err(Error::new(
                ErrorKind::PartlyCommitted,
                format!("the writer was closed with {rows} rows that the server had not taken in time"),
            )
            .with_visible(Committed::Unknown, "those that were acknowledged are in the table")),
        }
    }

    /// What happened so far.
    pub fn statistics(&self) -> Statistics {
        let load = self.shared.queue.load().unsettled;
        self.shared.recorder.snapshot(load.rows, load.bytes)
    }

    async fn write_or_wait<R: Row + ?Sized>(&self, row: &R, wants_ack: bool) -> Result<Option<Ack>, Error> {
        let queue = &self.shared.queue;
        let may_wait = self.shared.options.on_full != OnFull::Fail;
        // Only a row that has to wait needs memory of its own.
        let waiting =
            self.encoded(row, |bytes, open| match queue.try_add(&self.row(bytes, open, wants_ack)) {
                Ok(ack) => Ok(Ok(ack)),
                Err(error) if may_wait && error.kind() == ErrorKind::QueueFull => {
                    Ok(Err((bytes.to_vec(), open.to_vec())))
                }
                Err(error) => Err(error),
            })?;
        match waiting {
            Ok(ack) => Ok(ack),
            Err((bytes, open)) => self.add(self.row(&bytes, &open, wants_ack)).await,
        }
    }

    /// Encodes a row into memory that the thread keeps for it.
    fn encoded<R: Row + ?Sized, T>(
        &self,
        row: &R,
        then: impl FnOnce(&[u8], &[OpenField]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        type Scratch = (Vec<u8>, Vec<OpenField>);
        thread_local! {
            static SCRATCH: std::cell::RefCell<Scratch> = const { std::cell::RefCell::new((Vec::new(), Vec::new())) };
        }
        // A row that writes a row while it is encoded gets memory of its own.
        let (mut bytes, mut open) = SCRATCH.take();
        bytes.clear();
        open.clear();
        let encoded = self.shared.shape.encode(row, &mut bytes, &mut open);
        if encoded.is_err() {
            self.shared.recorder.refused(1);
        }
        let result = encoded.and_then(|()| then(&bytes, &open));
        if bytes.capacity() <= KEPT_BYTES {
            SCRATCH.set((bytes, open));
        }
        result
    }

    async fn add(&self, row: NewRow<'_>) -> Result<Option<Ack>, Error> {
        let queue = &self.shared.queue;
        match self.shared.options.on_full {
            OnFull::Fail => queue.try_add(&row),
            OnFull::Wait => queue.add_when_free(&row).await,
            OnFull::WaitFor(patience) => {
                let mut alarm = self.alarm(patience);
                let added = tokio::select! {
                    biased;
                    added = queue.add_when_free(&row) => added,
                    _ = &mut alarm => Err(queue::full()),
                };
                alarm.abort();
                added
            }
        }
    }

    /// Rings after so long, or when the writer's runtime ends, which a timer polled from elsewhere would not survive.
    fn alarm(&self, after: Duration) -> tokio::task::JoinHandle<()> {
        self.shared.handle.spawn(async move { tokio::time::sleep(after).await })
    }

    fn add_blocking(&self, row: &NewRow<'_>) -> Result<Option<Ack>, Error> {
        let queue = &self.shared.queue;
        match self.shared.options.on_full {
            OnFull::Fail => queue.try_add(row),
            OnFull::Wait => queue.add_blocking(row, None),
            OnFull::WaitFor(patience) => queue.add_blocking(row, Instant::now().checked_add(patience)),
        }
    }
}

/// A thread keeps so much memory for encoding rows.
const KEPT_BYTES: usize = 1024 * 1024;

fn acknowledged(ack: Option<Ack>) -> Result<Ack, Error> {
    ack.ok_or_else(|| Error::new(ErrorKind::Internal, "a row was queued without an acknowledgement"))
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.shared.queue.close() {
            let rows = self.shared.queue.load().unsettled.rows;
            tracing::warn!(
                rows,
                table = %self.shared.relation,
                "a writer was dropped without close: rows that it holds are written only if the process lives on"
            );
        }
    }
}

/// Everything that is known before the first row.
async fn prepare(
    target: &Target,
    table: &str,
    options: WriterOptions,
    companion: Option<Arc<dyn Companion>>,
    handle: Handle,
) -> Result<(Arc<Shared>, Carrier), Error> {
    options.check()?;
    let name = TableName::parse(table)?;
    let target = &target.clone().with_fallback_application_name(crate::APPLICATION_NAME);
    let connection = target.connect().await?;
    // All connections go where the first went, until a failure: then any host of the target will do.
    let session = Session::read(&connection).await?;
    let table = Table::lookup(&connection, &name, &session.rules).await?.ok_or_else(|| {
        Error::usage(format!("relation {name} does not exist"))
            .with_sqlstate("42P01")
            .with_hint("a writer does not make tables: CREATE TABLE first")
    })?;
    let as_text = options.needs_statements();
    let shape = RowShape::of(&table, &session.rules, options.columns.as_deref(), as_text)?;
    let ledger = match options.delivery {
        Delivery::ExactlyOnce if !options.discard => Some(Ledger::open(&connection, &table.schema).await?),
        _ => None,
    };
    let statements = Arc::new(Statements::new(&connection, &table, &shape, &options, ledger.as_ref()).await?);
    let relation = table.sql();
    let fingerprint = fingerprint(&connection, &relation, &shape).await?;
    let relation_name: Arc<str> = table.name.clone().into();
    let is_ordered = options.on_conflict == Some(OnConflict::Update);
    let lanes = match is_ordered {
        true => Lanes::by_key(&connection, &table, &shape, &statements.key, options.connections).await?,
        false => Lanes::one(),
    };
    let notices = durability::notices(&connection, &table).await?;
    let first = Carrier::new(connection, statements.clone(), relation_name.clone());
    let decision = match options.is_adaptive() {
        true => Controller::new(&Limits::of(&options)).decision(),
        false => Decision {
            batch_rows: options.max_rows,
            connections: options.connections,
            queue_rows: options.queue_rows,
        },
    };
    let recorder = Recorder::default();
    recorder.decided(decision);
    let shared = Shared {
        queue: Queue::new(&options, decision, lanes.count(), is_ordered),
        target: target.clone(),
        shape,
        statements,
        ledger,
        companion,
        lanes,
        notices,
        recorder,
        relation,
        relation_name,
        fingerprint,
        has_row_security: table.row_security,
        version_num: session.version_num,
        stop: Notify::new(),
        ended: Arc::default(),
        handle,
        options,
    };
    Ok((Arc::new(shared), first))
}

impl Shared {
    /// That the table is still the one that rows are encoded for.
    ///
    /// # Errors
    /// It is gone, or its columns are others.
    async fn check_unchanged(&self, connection: &Connection) -> Result<(), Error> {
        let now = fingerprint(connection, &self.relation, &self.shape).await?;
        if now == self.fingerprint {
            return Ok(());
        }
        if now.is_empty() {
            return Err(
                Error::usage(format!("relation {} does not exist", self.relation)).with_sqlstate("42P01")
            );
        }
        Err(Error::usage(format!(
            "the columns of {} are not those that the writer was made for",
            self.relation
        ))
        .with_hint("somebody altered the table: make a new writer"))
    }
}

/// The columns of rows with their types, as the catalog has them now.
async fn fingerprint(connection: &Connection, relation: &str, shape: &RowShape) -> Result<String, Error> {
    let names: Vec<&str> = shape.columns().iter().map(|column| column.name.as_str()).collect();
    let sql = "select coalesce(pg_catalog.string_agg(pg_catalog.concat_ws(' ', attname, atttypid, atttypmod), ',' order by attname), '')
                 from pg_catalog.pg_attribute
                where attrelid = pg_catalog.to_regclass($1) and attname = any($2) and not attisdropped";
    let rows =
        connection.client().query_typed(sql, &[(&relation, Type::TEXT), (&names, Type::TEXT_ARRAY)]).await?;
    Ok(rows.first().map_or_else(String::new, |row| row.get(0)))
}
