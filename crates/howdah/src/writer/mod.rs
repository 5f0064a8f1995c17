//! The writer: rows of a running program, gathered in memory and written in batches, each acknowledged when it is durable.
//!
//! Rows are encoded by the task that writes them and wait in a bounded `queue`. The `dispatch`er hands batches to
//! senders (`sender`): at once when nothing is under way, so that a lone row does not wait; otherwise when a batch is full or
//! old enough. A sender sends a batch as one transaction with a row in the `ledger`, so that it can be sent again and
//! happens once.

mod ack;
mod adaptive;
mod answer_timeout;
mod arrivals;
mod dispatch;
mod durability;
mod lanes;
mod ledger;
mod mark;
mod options;
mod queue;
mod retry_budget;
mod returned;
mod sender;
mod session;
mod shared;
mod statements;
mod statistics;
mod uncertain_parts;
mod unreported;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

pub use ack::{Ack, Written};
pub use adaptive::Decision;
pub use options::{Delivery, OnConflict, OnFull, WriterOptions, WriterPath};
pub use returned::ReturnedRow;
pub use statistics::{Distribution, Flushes, Latency, Statistics};

use ack::Group;
use howdah_connect::Target;
pub(crate) use ledger::{Entry, Participant, Tag};
use queue::NewRow;
use shared::{Shared, prepare};

use crate::control::runtime::runtime;
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
        companion: Option<Arc<dyn Participant>>,
    ) -> Result<Writer, Error> {
        let internal =
            |error: std::io::Error| Error::new(ErrorKind::Internal, error.to_string()).caused_by(error);
        let runtime = runtime()?;
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
        &self.shared.notices.all
    }

    /// Those of [`Writer::notices`] that a program is warned of without asking: on a server for tests, which never waits for
    /// the disk (`fsync` is off), that the session does not either is none of them.
    pub fn warnings(&self) -> &[String] {
        &self.shared.notices.surprising
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
    /// when the server refuses it; [`Writer::flush`] and [`Writer::close`] tell of refusals, the statistics count them.
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
    /// Rows failed of which nobody was told: they were sent without an acknowledgement, or it was dropped unread; with their
    /// number and the first reasons. Else the first failure among rows that were not settled yet, of which their
    /// acknowledgements tell too.
    pub async fn flush(&self) -> Result<(), Error> {
        let groups = self.shared.queue.flush();
        for group in &groups {
            group.settled().await;
        }
        self.flushed(&groups)
    }

    /// Like [`Writer::flush`], but blocks the thread.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn flush_blocking(&self) -> Result<(), Error> {
        let groups = self.shared.queue.flush();
        for group in &groups {
            group.settled_blocking(None);
        }
        self.flushed(&groups)
    }

    /// What a flush that has waited for these rows tells.
    fn flushed(&self, groups: &[Arc<Group>]) -> Result<(), Error> {
        let failure =
            self.unreported().or_else(|| groups.iter().find_map(|group| group.tell_first_failure()));
        failure.map_or(Ok(()), Err)
    }

    /// Takes no more rows, writes those that it has, and disconnects. What is not settled after `deadline` fails.
    ///
    /// # Errors
    /// Rows were left at the deadline; their acknowledgements say so. Rows failed of which nobody was told: they were sent
    /// without an acknowledgement, or it was dropped unread; with their number and the first reasons.
    pub async fn close(&self, deadline: Duration) -> Result<Statistics, Error> {
        self.shared.queue.close();
        let mut alarm = self.alarm(deadline);
        tokio::select! {
            () = self.shared.ended.settled() => {}
            late = &mut alarm => {
                if late.is_ok() {
                    self.shared.give_up_the_rest();
                }
            }
        }
        alarm.abort();
        self.shared.stop.notify_one();
        self.shared.ended.settled().await;
        self.closed()
    }

    /// Like [`Writer::close`], but blocks the thread.
    ///
    /// # Errors
    /// As [`Writer::close`].
    pub fn close_blocking(&self, deadline: Duration) -> Result<Statistics, Error> {
        self.settle_blocking(deadline);
        self.closed()
    }

    /// The first half of [`Writer::close_blocking`]: takes no more rows, writes those that it has, and disconnects. It tells
    /// nothing: whoever waits for it in a thread, and gives the waiting up, can still be told by [`Writer::closed`].
    pub fn settle_blocking(&self, deadline: Duration) {
        self.shared.queue.close();
        let ended = &self.shared.ended;
        if !ended.settled_blocking(Instant::now().checked_add(deadline)) {
            self.shared.give_up_the_rest();
        }
        self.shared.stop.notify_one();
        ended.settled_blocking(None);
    }

    /// The second half: what became of the rows of a writer that [`Writer::settle_blocking`] has closed. It waits for nothing,
    /// and tells of failures once.
    ///
    /// # Errors
    /// As [`Writer::close`].
    pub fn closed(&self) -> Result<Statistics, Error> {
        let left = self.shared.left.swap(0, Ordering::Relaxed);
        let late = (left > 0).then(|| {
            Error::new(
                ErrorKind::PartlyCommitted,
                format!("the writer was closed with {left} rows that the server had not taken in time"),
            )
            .with_visible(Committed::Unknown, "those that were acknowledged are in the table")
        });
        match (late, self.unreported()) {
            (None, None) => Ok(self.statistics()),
            (Some(late), Some(unreported)) => Err(late.with_detail(unreported.message().to_owned())),
            (Some(error), None) | (None, Some(error)) => Err(error),
        }
    }

    /// Failures of which nobody was told.
    fn unreported(&self) -> Option<Error> {
        self.shared.unreported.take(self.statistics().rows_written)
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
            OnFull::WaitFor(budget) => {
                let mut alarm = self.alarm(budget);
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
            OnFull::WaitFor(budget) => queue.add_blocking(row, Instant::now().checked_add(budget)),
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
