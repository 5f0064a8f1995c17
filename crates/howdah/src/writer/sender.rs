//! A sender of a writer: sends one batch after the other, tries again what the server could not take, and isolates the rows
//! that it refused.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::Sleep;
use tokio_postgres::error::{Severity, SqlState};

use super::Shared;
use super::ack::Written;
use super::options::{Delivery, WriterPath};
use super::session::{Backend, Failure, Returned, SendMethod, Session};
use crate::connect::Target;
use crate::encode::resolver::Resolver;
use crate::error::{Committed, Error, ErrorKind};
use crate::rows::{self, OpenRow};
use crate::send::bisect::Bisection;
use crate::send::row_error::{copy_context, is_about_a_row, named_column};

/// The pause before a batch is tried again the first time; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// A further connection that could not be opened is not tried again for so long: rows go over the others.
const PAUSE_OF_FURTHER: Duration = Duration::from_secs(1);

/// Without an answer for so long, the machine is asked for another connection, and has as long again for that.
const SILENCE: Duration = Duration::from_secs(8);

/// What to do where a prepared statement is gone, which only a pooler brings about.
const FORGETFUL_POOLER: &str = "a pooler gives each transaction another session: have it keep prepared statements \
                                (pgbouncer 1.21 and later: max_prepared_statements), or connect past it";

/// Sends batches over one connection, which it opens when it needs it.
pub(super) struct BatchSender {
    shared: Arc<Shared>,
    session: Option<Session>,
    /// The backend of a connection that was lost, which may still hold locks.
    orphaned: Option<Backend>,
    /// The last transaction took more than one attempt, or opened the connection: its time says nothing about others.
    tried_again: bool,
    /// Looks at the machine; see [`Silence`].
    silence: Silence,
}

/// What became of a batch. Rows are numbered from 0; all but the failed ones are in the table.
#[derive(Default)]
pub(super) struct BatchOutcome {
    /// Why rows are not in the table.
    pub(super) failed: BTreeMap<usize, Error>,
    /// What statements returned for rows.
    pub(super) returned: BTreeMap<usize, Written>,
    /// The batch took one transaction, at the first attempt.
    pub(super) is_plain: bool,
}

/// Why a transaction failed for good.
enum Refused {
    /// The server refused one of its rows, which it may have named.
    Row(howdah_connect::Error, Option<usize>),
    /// No row could be sent.
    All(Error),
}

impl BatchSender {
    pub(super) fn new(shared: Arc<Shared>, session: Option<Session>) -> BatchSender {
        BatchSender { shared, session, orphaned: None, tried_again: false, silence: Silence::default() }
    }

    /// Opens a further connection and prepares it for rows. `None`, after a pause, if that is not possible now.
    pub(super) async fn opened(shared: Arc<Shared>) -> Option<BatchSender> {
        let mut sender = BatchSender::new(shared, None);
        let methods = [sender.method(2), sender.method(usize::MAX)];
        match sender.open().await {
            Ok(session) => {
                for method in methods {
                    session.prepare_for(method).await;
                }
                Some(sender)
            }
            Err(error) => {
                tracing::debug!(%error, "rows go over the connections that there are: no other could be opened");
                tokio::time::sleep(PAUSE_OF_FURTHER).await;
                None
            }
        }
    }

    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Writes the rows into the table, in one transaction unless the server refuses some of them.
    pub(super) async fn send(&mut self, rows: &[Bytes]) -> BatchOutcome {
        let mut outcome = BatchOutcome { is_plain: true, ..BatchOutcome::default() };
        let mut search = Bisection::new(rows.len());
        while let Some(segment) = search.segment() {
            let (start, is_all) = (segment.start, segment.len() == rows.len());
            let sent = self.send_segment(&rows[segment]).await;
            outcome.is_plain &= sent.is_ok() && is_all && !self.tried_again;
            let refused = match sent {
                Ok(returned) => {
                    outcome
                        .returned
                        .extend(returned.into_iter().map(|(row, written)| (start + row, written)));
                    search.accepted()
                }
                Err(Refused::Row(error, named)) => search.refused(named, error),
                Err(Refused::All(error)) => {
                    outcome.failed.extend((start..rows.len()).map(|row| (row, error.clone())));
                    break;
                }
            };
            if let Some((row, error)) = refused {
                outcome.failed.insert(row, self.explained(error));
            }
        }
        outcome
    }

    /// Has the server read the literals that only it can read; the whole rows, or why there is none.
    ///
    /// # Errors
    /// It could not be asked for as long as batches are tried again.
    pub(super) async fn read(
        &self,
        resolver: &Resolver,
        rows: &[OpenRow],
    ) -> Result<Vec<Result<Vec<u8>, Error>>, Error> {
        let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let error = match rows::resolve(resolver, &self.shared.shape, rows.to_vec()).await {
                Ok(answers) => return Ok(answers),
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            if let Err(Refused::All(error)) = self.wait(&error, start, &mut pause, false).await {
                return Err(error);
            }
        }
    }

    /// The server's words about a row; where it names no column, its CONTEXT may.
    fn explained(&self, error: howdah_connect::Error) -> Error {
        let context = error.as_db_error().and_then(|db| db.where_()).map(str::to_owned);
        let out = Error::from(error).of_kind(ErrorKind::Data);
        if out.column().is_some() {
            return out;
        }
        let column = context.as_deref().and_then(|context| {
            let (_, rest) = copy_context(context, &self.shared.relation_name)?;
            named_column(rest, self.shared.shape.columns().iter().map(|column| column.name.as_str()))
        });
        match column {
            Some(column) => out.in_column(column),
            None => out,
        }
    }

    /// How so many rows are sent.
    fn method(&self, rows: usize) -> SendMethod {
        let options = &self.shared.options;
        let statements = &self.shared.statements;
        let many = options.path == WriterPath::Copy
            || options.path == WriterPath::Auto && rows >= options.copy_from_rows;
        if many && !options.needs_statements() && !self.shared.has_row_security {
            return SendMethod::Copy;
        }
        let is_alone = rows == 1 && options.on_conflict.is_none();
        if statements.can_unnest && !is_alone { SendMethod::Unnest } else { SendMethod::Rows }
    }

    /// Sends rows in one transaction, however often that has to be tried.
    async fn send_segment(&mut self, rows: &[Bytes]) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        self.tried_again = false;
        let Some(ledger) = &shared.ledger else { return self.send_as(rows, None).await };
        let part = ledger.part();
        let sent = self.send_as(rows, Some(part)).await;
        ledger.settled(part);
        sent
    }

    /// Sends rows as `part` of the ledger.
    async fn send_as(&mut self, rows: &[Bytes], part: Option<i64>) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        let method = self.method(rows.len());
        let start = Instant::now();
        let (mut pause, mut again, mut may_be_in) = (FIRST_PAUSE, false, false);
        loop {
            match self.open().await {
                Ok(_) => {}
                Err(error) if error.is_retryable() => {
                    self.wait(&error, start, &mut pause, may_be_in).await?;
                    continue;
                }
                Err(error) => return Err(Refused::All(unless_it_may_be_in(error, may_be_in))),
            }
            let BatchSender { session: Some(session), silence, .. } = self else { continue };
            let answer = tokio::select! {
                answer = session.transact(rows, method, part, again) => Some(answer),
                () = silence.lasts(&shared.target) => None,
            };
            let (error, row) = match answer {
                Some(Ok(returned)) => return Ok(returned),
                Some(Err(Failure(error, row))) => (error, row),
                None => {
                    self.abandon();
                    (again, may_be_in, self.tried_again) = (true, true, true);
                    let said = format!("{} does not answer any more", shared.target.describe());
                    let error = Error::new(ErrorKind::Connect, said);
                    self.wait(&error, start, &mut pause, may_be_in).await?;
                    continue;
                }
            };
            if again && shared.ledger.as_ref().is_some_and(|ledger| ledger.says_done(&error)) {
                shared.recorder.found_out();
                return Ok(Returned::new());
            }
            if error.as_driver_error().is_some_and(is_about_a_row) {
                return Err(Refused::Row(error, row));
            }
            // A server that is going down says so in the middle of an answer, and not always in English.
            let is_lost = match error.as_db_error() {
                Some(db) => db.parsed_severity() != Some(Severity::Error),
                None => error.kind() != howdah_connect::ErrorKind::Unsendable,
            };
            if is_lost {
                self.abandon();
                may_be_in = true;
            }
            // The primary may be elsewhere by now.
            if error.sqlstate() == Some(SqlState::READ_ONLY_SQL_TRANSACTION.code()) {
                self.session = None;
            }
            let is_held = again && error.sqlstate() == Some("55P03");
            let error = Error::from(error);
            if !is_lost && !error.is_retryable() {
                let error = match error.sqlstate() {
                    Some("26000") => error.with_hint(FORGETFUL_POOLER),
                    _ => error,
                };
                return Err(Refused::All(unless_it_may_be_in(error, may_be_in)));
            }
            if is_held && let (Some(session), Some(orphan)) = (&self.session, self.orphaned.take()) {
                session.end_backend(&orphan).await;
            }
            if is_lost && may_be_in && shared.options.delivery == Delivery::AtLeastOnce {
                tracing::warn!(rows = rows.len(), "a connection broke; rows that may be in are sent again");
            }
            again = true;
            self.tried_again = true;
            self.wait(&error, start, &mut pause, may_be_in).await?;
        }
    }

    /// Closes the connection, whatever is under way on it.
    pub(super) fn abandon(&mut self) {
        if let Some(session) = self.session.take() {
            session.connection().abort();
            self.orphaned = Some(session.backend);
        }
    }

    /// The connection, opened where there is none.
    async fn open(&mut self) -> Result<&mut Session, Error> {
        if self.session.as_ref().is_some_and(|session| session.connection().client().is_closed()) {
            self.orphaned = self.session.take().map(|session| session.backend);
        }
        match self.session {
            Some(ref mut session) => Ok(session),
            None => {
                let shared = &self.shared;
                let session =
                    Session::open(&shared.target, shared.statements.clone(), shared.relation_name.clone())
                        .await?;
                shared.check_unchanged(session.connection()).await?;
                self.tried_again = true;
                if self.orphaned.is_some() {
                    shared.recorder.reconnected();
                }
                Ok(self.session.insert(session))
            }
        }
    }

    /// Pauses before the next attempt.
    ///
    /// # Errors
    /// It was tried for long enough.
    async fn wait(
        &self,
        error: &Error,
        start: Instant,
        pause: &mut Duration,
        may_be_in: bool,
    ) -> Result<(), Refused> {
        if start.elapsed() + *pause > self.shared.options.retry_for {
            return Err(Refused::All(unless_it_may_be_in(error.clone(), may_be_in)));
        }
        self.shared.recorder.retried();
        tracing::debug!(%error, pause_ms = pause.as_millis(), "a batch is tried again");
        // Writers that failed together do not come back together.
        let share = fastrand::f64();
        tokio::time::sleep(pause.mul_f64(0.5 + 0.5 * share)).await;
        *pause = (*pause * 2).min(LAST_PAUSE);
        Ok(())
    }
}

/// What is known of rows that are not tried again.
fn unless_it_may_be_in(error: Error, may_be_in: bool) -> Error {
    if may_be_in {
        error.of_kind(ErrorKind::PartlyCommitted).with_visible(
            Committed::Unknown,
            "unknown: the connection broke before the server answered, and it could not be asked again",
        )
    } else {
        error.with_visible(Committed::No, "the row is not in the table")
    }
}

/// Notices that nobody is there any more: who waits for the answer of a machine that is gone waits in vain, and TCP alone would
/// not say so within minutes (see `peer`).
///
/// Its timer is kept from one transaction to the next: setting it each time wakes the runtime, which makes two system calls.
#[derive(Default)]
struct Silence {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    /// Returns when the server's machine takes no connection any more.
    async fn lasts(&mut self, target: &Target) {
        let mut end = tokio::time::Instant::now() + SILENCE;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        loop {
            timer.as_mut().await;
            // It may have been set for an earlier transaction.
            if tokio::time::Instant::now() >= end {
                if !target.answers(SILENCE).await {
                    return;
                }
                end = tokio::time::Instant::now() + SILENCE;
            }
            timer.as_mut().reset(end);
        }
    }
}
