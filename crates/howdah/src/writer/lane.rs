//! A lane of a writer: carries one batch after the other, tries again what the server could not take, and narrows what it
//! refused to the rows that it did not want.

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
use super::session::{Backend, Failure, Returned, Session, Way};
use crate::connect::Target;
use crate::encode::resolver::Resolver;
use crate::error::{Error, ErrorKind};
use crate::rows::{self, OpenRow};
use crate::send::narrow::is_about_a_row;
use crate::send::part::{copy_context, named_column};

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

/// The first rows that are sent behind a refused one: bad rows often stand together.
const SHORT: usize = 32;

/// One connection, opened when it is needed.
pub(super) struct Lane {
    shared: Arc<Shared>,
    session: Option<Session>,
    /// The backend of the connection that was lost.
    ghost: Option<Backend>,
    /// The last transaction needed more than one attempt, or a connection first: its time tells nothing about others.
    tried_again: bool,
    /// Looks at the machine; see [`Silence`].
    silence: Silence,
}

/// What became of the rows of a batch, by their numbers; the others are in.
#[derive(Default)]
pub(super) struct Carried {
    pub(super) failed: BTreeMap<usize, Error>,
    pub(super) returned: BTreeMap<usize, Written>,
    /// It took one transaction, at the first attempt.
    pub(super) is_plain: bool,
}

/// Why rows are not in.
enum Refused {
    /// One of them was not wanted; the server may have named it.
    Row(howdah_connect::Error, Option<usize>),
    /// No row would be.
    All(Error),
}

impl Lane {
    pub(super) fn new(shared: Arc<Shared>, session: Option<Session>) -> Lane {
        Lane { shared, session, ghost: None, tried_again: false, silence: Silence::default() }
    }

    /// A further lane, which is ready for rows; `None`, after a pause, where there can be none now.
    pub(super) async fn opened(shared: Arc<Shared>) -> Option<Lane> {
        let mut lane = Lane::new(shared, None);
        let ways = [lane.way(2), lane.way(usize::MAX)];
        match lane.open().await {
            Ok(session) => {
                for way in ways {
                    session.get_ready(way).await;
                }
                Some(lane)
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

    /// Brings the rows into the table, in as few transactions as it takes.
    pub(super) async fn carry(&mut self, rows: &[Bytes]) -> Carried {
        let mut carried = Carried { is_plain: true, ..Carried::default() };
        let (mut at, mut size) = (0, rows.len());
        // Somewhere before this row stands one that the server refused without naming it.
        let mut bad_before = 0;
        // The row that the server named, while those before it are sent.
        let mut named: Option<(usize, Error)> = None;
        while at < rows.len() {
            size = size.clamp(1, rows.len() - at);
            let sent = self.send(&rows[at..at + size]).await;
            carried.is_plain &= sent.is_ok() && size == rows.len() && !self.tried_again;
            match sent {
                Ok(returned) => {
                    carried.returned.extend(returned.into_iter().map(|(row, written)| (at + row, written)));
                    at += size;
                    if let Some((row, error)) = named.take() {
                        carried.failed.insert(row, error);
                        at = row + 1;
                        size = (2 * size).max(SHORT);
                    } else if at < bad_before {
                        size = ((bad_before - at) / 2).max(1);
                    } else {
                        size = size.saturating_mul(2).max(SHORT);
                    }
                }
                Err(Refused::Row(error, row)) => {
                    named = None;
                    match row.filter(|row| *row < size) {
                        Some(row) if row > 0 => {
                            named = Some((at + row, self.explained(error)));
                            size = row;
                        }
                        None if size > 1 => {
                            bad_before = at + size;
                            size /= 2;
                        }
                        _ => {
                            carried.failed.insert(at, self.explained(error));
                            at += 1;
                            size = if at < bad_before { ((bad_before - at) / 2).max(1) } else { SHORT };
                        }
                    }
                }
                Err(Refused::All(error)) => {
                    carried.failed.extend((at..rows.len()).map(|row| (row, error.clone())));
                    break;
                }
            }
        }
        carried
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
                Err(error) if is_passing(&error) => error,
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

    fn way(&self, rows: usize) -> Way {
        let options = &self.shared.options;
        let statements = &self.shared.statements;
        let many = options.path == WriterPath::Copy
            || options.path == WriterPath::Auto && rows >= options.copy_from_rows;
        if many && !options.needs_statements() && !self.shared.has_row_security {
            return Way::Copy;
        }
        let is_alone = rows == 1 && options.on_conflict.is_none();
        if statements.can_unnest && !is_alone { Way::Unnest } else { Way::Rows }
    }

    /// One transaction, however often it has to be tried.
    async fn send(&mut self, rows: &[Bytes]) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        self.tried_again = false;
        let Some(ledger) = &shared.ledger else { return self.send_as(rows, None).await };
        let part = ledger.part();
        let sent = self.send_as(rows, Some(part)).await;
        ledger.settled(part);
        sent
    }

    async fn send_as(&mut self, rows: &[Bytes], part: Option<i64>) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        let way = self.way(rows.len());
        let start = Instant::now();
        let (mut pause, mut again, mut may_be_in) = (FIRST_PAUSE, false, false);
        loop {
            match self.open().await {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {
                    self.wait(&error, start, &mut pause, may_be_in).await?;
                    continue;
                }
                Err(error) => return Err(Refused::All(unless_it_may_be_in(error, may_be_in))),
            }
            let Lane { session: Some(session), silence, .. } = self else { continue };
            let answer = tokio::select! {
                answer = session.transact(rows, way, part, again) => Some(answer),
                () = silence.lasts(&shared.target) => None,
            };
            let (error, row) = match answer {
                Some(Ok(returned)) => return Ok(returned),
                Some(Err(Failure(error, row))) => (error, row),
                None => {
                    self.abandon();
                    (again, may_be_in, self.tried_again) = (true, true, true);
                    shared.recorder.retried();
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
            if !is_lost && !is_passing(&error) {
                let error = match error.sqlstate() {
                    Some("26000") => error.with_hint(FORGETFUL_POOLER),
                    _ => error,
                };
                return Err(Refused::All(unless_it_may_be_in(error, may_be_in)));
            }
            if is_held && let (Some(session), Some(ghost)) = (&self.session, self.ghost.take()) {
                session.end_backend(&ghost).await;
            }
            if is_lost && may_be_in && shared.options.delivery == Delivery::AtLeastOnce {
                tracing::warn!(rows = rows.len(), "a connection broke; rows that may be in are sent again");
            }
            again = true;
            self.tried_again = true;
            shared.recorder.retried();
            self.wait(&error, start, &mut pause, may_be_in).await?;
        }
    }

    /// Closes the connection, whatever is under way on it.
    pub(super) fn abandon(&mut self) {
        if let Some(session) = self.session.take() {
            session.connection().abort();
            self.ghost = Some(session.backend);
        }
    }

    /// The connection, opened where there is none.
    async fn open(&mut self) -> Result<&mut Session, Error> {
        if self.session.as_ref().is_some_and(|session| session.connection().client().is_closed()) {
            self.ghost = self.session.take().map(|session| session.backend);
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
                if self.ghost.is_some() {
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
        tracing::debug!(%error, pause_ms = pause.as_millis(), "a batch is tried again");
        // Writers that failed together do not come back together.
        let share = super::random_share();
        tokio::time::sleep(pause.mul_f64(0.5 + 0.5 * share)).await;
        *pause = (*pause * 2).min(LAST_PAUSE);
        Ok(())
    }
}

/// What is known of rows that are not tried again.
fn unless_it_may_be_in(error: Error, may_be_in: bool) -> Error {
    if may_be_in {
        error.of_kind(ErrorKind::PartlyCommitted).with_visible(
            "unknown: the connection broke before the server answered, and it could not be asked again",
        )
    } else {
        error.with_visible("the row is not in the table")
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

/// Whether the same rows may well be taken another time: the connection, rollbacks, resources, locks, somebody's
/// intervention, a standby that will be the primary.
fn is_passing(error: &Error) -> bool {
    const PASSING: [&str; 4] = ["08", "40", "53", "57"];
    match error.sqlstate() {
        None => matches!(error.kind(), ErrorKind::Server | ErrorKind::Connect),
        Some(code) => {
            PASSING.iter().any(|class| code.starts_with(class)) || ["55P03", "55006", "25006"].contains(&code)
        }
    }
}
