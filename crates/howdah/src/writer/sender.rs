//! A sender of a writer: sends one batch after the other, tries again what the server could not take, and isolates the rows
//! that it refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::error::{Severity, SqlState};

use super::Shared;
use super::ack::Written;
use super::ledger::{Beside, Ledger, Tag};
use super::mark::{self, Mark};
use super::options::{Delivery, WriterPath};
use super::patience::{Exhausted, Patience};
use super::session::{Failure, Returned, SendMethod, Session};
use super::silence::Silence;
use crate::encode::resolver::Resolver;
use crate::error::{Committed, Error, ErrorKind};
use crate::rows::{self, OpenRow};
use crate::send::bisect::Bisection;
use crate::send::row_error::{copy_context, is_about_a_row, named_column};

/// A further connection that could not be opened is not tried again for so long: rows go over the others.
const PAUSE_OF_FURTHER: Duration = Duration::from_secs(1);

/// So often the server gives the same reason why a batch cannot be written now, until it is looked for among the rows.
const SAME_REASON: u32 = 2;

/// The same where the connection broke instead, or where transactions met: both happen to rows that are as they should be.
const SAME_MISHAP: u32 = 4;

/// What to do where a prepared statement is gone, which only a pooler brings about.
const FORGETFUL_POOLER: &str = "a pooler gives each transaction another session: have it keep prepared statements \
                                (pgbouncer 1.21 and later: max_prepared_statements), or connect past it";

/// Sends batches over one connection, which it opens when it needs it.
pub(super) struct BatchSender {
    shared: Arc<Shared>,
    session: Option<Session>,
    /// Sessions that were given up since a batch was last settled: each may still hold locks.
    ghosts: Vec<Mark>,
    /// The last transaction took more than one attempt, or opened the connection: its time says nothing about others.
    tried_again: bool,
    /// Looks whether an answer can still come; see [`Silence`].
    silence: Silence,
}

/// Rows that are sent, and what each is to whoever keeps something in step with them; nobody does where there are no tags.
#[derive(Clone, Copy)]
pub(super) struct Rows<'r> {
    pub(super) bytes: &'r [Bytes],
    pub(super) tags: &'r [Tag],
}

impl Rows<'_> {
    fn of(&self, segment: std::ops::Range<usize>) -> Rows<'_> {
        let tags = self.tags.get(segment.clone()).unwrap_or_default();
        Rows { bytes: &self.bytes[segment], tags }
    }
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
    Row(Error, Option<usize>),
    /// No row could be sent.
    All(Error),
}

/// What is not known for sure while a transaction is sent again and again.
#[derive(Default)]
struct Doubt {
    /// It was sent before.
    again: bool,
    /// An attempt was not answered: it may be in, or may arrive yet.
    may_be_in: bool,
    /// The last reason why it failed, and how often that was given in a row.
    reason: Option<String>,
    times: u32,
}

impl Doubt {
    /// Whether a reason was given so often that it may be a row's.
    fn repeats(&mut self, reason: &str) -> bool {
        let same = self.reason.as_deref() == Some(reason);
        self.times = if same { self.times + 1 } else { 1 };
        self.reason = Some(reason.to_owned());
        let is_mishap = reason == LOST || reason.starts_with("40");
        self.times >= if is_mishap { SAME_MISHAP } else { SAME_REASON }
    }
}

/// The reason of a batch whose connection broke.
const LOST: &str = "lost";

impl BatchSender {
    pub(super) fn new(shared: Arc<Shared>, session: Option<Session>) -> BatchSender {
        BatchSender { shared, session, ghosts: Vec::new(), tried_again: false, silence: Silence::default() }
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
    pub(super) async fn send(&mut self, rows: Rows<'_>) -> BatchOutcome {
        let mut outcome = BatchOutcome { is_plain: true, ..BatchOutcome::default() };
        let count = rows.bytes.len();
        let mut search = Bisection::new(count);
        let mut patience = self.patience();
        while let Some(segment) = search.segment() {
            let (start, is_all) = (segment.start, segment.len() == count);
            let sent = self.send_segment(rows.of(segment), &mut patience).await;
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
                    outcome.failed.extend((start..count).map(|row| (row, error.clone())));
                    break;
                }
            };
            if let Some((row, error)) = refused {
                if let Some(tag) = rows.tags.get(row)
                    && let Err(error) = self.settle(std::slice::from_ref(tag)).await
                {
                    outcome.failed.extend((row..count).map(|row| (row, error.clone())));
                    break;
                }
                outcome.failed.insert(row, error);
            }
        }
        outcome
    }

    /// Rows with these tags will never be sent: what is kept in step with rows counts them as settled.
    ///
    /// # Errors
    /// It could not be written for as long as batches are tried again.
    pub(super) async fn settle(&mut self, tags: &[Tag]) -> Result<(), Error> {
        if tags.is_empty() {
            return Ok(());
        }
        let mut patience = self.patience();
        match self.send_segment(Rows { bytes: &[], tags }, &mut patience).await {
            Ok(_) => Ok(()),
            Err(Refused::All(error) | Refused::Row(error, _)) => Err(error),
        }
    }

    fn patience(&self) -> Patience {
        Patience::new(self.shared.options.retry_for)
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
        let mut patience = self.patience();
        loop {
            let error = match rows::resolve(resolver, &self.shared.shape, rows.to_vec()).await {
                Ok(answers) => return Ok(answers),
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            if self.wait(&error, &mut patience).await.is_err() {
                return Err(unless_it_may_be_in(error, false));
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
        let goes_alone = options.on_conflict.is_none() && (rows == 1 || statements.returns_by_row());
        if statements.can_unnest && !goes_alone { SendMethod::Unnest } else { SendMethod::Rows }
    }

    /// Sends rows in one transaction, however often that has to be tried.
    async fn send_segment(&mut self, rows: Rows<'_>, patience: &mut Patience) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        self.tried_again = false;
        let part = shared.ledger.as_ref().map(Ledger::part);
        let entries = shared.companion.as_ref().filter(|_| !rows.tags.is_empty());
        let beside = Beside {
            part,
            entries: entries.map(|companion| companion.entries(rows.tags)).unwrap_or_default(),
        };
        let mut doubt = Doubt::default();
        let mut sent = self.send_as(rows.bytes, &beside, &mut doubt, patience).await;
        // Before these rows are sent under other numbers, nothing may happen under this one any more.
        if let (Err(Refused::Row(..)), true, Some(part)) = (&sent, doubt.may_be_in, part) {
            match self.make_void(part).await {
                Ok(true) => {}
                Ok(false) => sent = Ok(Returned::new()),
                Err(error) => sent = Err(Refused::All(error)),
            }
        }
        if let (Some(ledger), Some(part)) = (&shared.ledger, part) {
            ledger.settled(part, doubt.may_be_in);
        }
        if sent.is_ok() {
            patience.renew();
            self.ghosts.clear();
        }
        sent
    }

    /// Sends rows with what stands beside them, and what is not known about them in the end.
    async fn send_as(
        &mut self,
        rows: &[Bytes],
        beside: &Beside,
        doubt: &mut Doubt,
        patience: &mut Patience,
    ) -> Result<Returned, Refused> {
        let shared = self.shared.clone();
        let method = self.method(rows.len());
        loop {
            match self.open().await {
                Ok(_) => {}
                Err(error) if error.is_retryable() => {
                    if self.wait(&error, patience).await.is_err() {
                        return Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in)));
                    }
                    continue;
                }
                Err(error) => return Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in))),
            }
            let BatchSender { session: Some(session), silence, .. } = self else { continue };
            let mark = session.mark.clone();
            let transacting = async {
                match rows {
                    [] => session.commit_alone(beside).await.map(|()| Returned::new()),
                    rows => session.transact(rows, method, beside, doubt.again).await,
                }
            };
            let answer = tokio::select! {
                answer = transacting => Some(answer),
                () = silence.lasts(&shared.target, &mark) => None,
            };
            let (error, row) = match answer {
                Some(Ok(returned)) => return Ok(returned),
                Some(Err(Failure(error, row))) => (error, row),
                None => {
                    self.abandon();
                    (doubt.again, doubt.may_be_in, self.tried_again) = (true, true, true);
                    let said = format!("{} does not answer any more", shared.target.describe());
                    let error = Error::new(ErrorKind::Connect, said);
                    if self.wait(&error, patience).await.is_err() {
                        return Err(Refused::All(unless_it_may_be_in(error, true)));
                    }
                    continue;
                }
            };
            let in_ledger = shared.ledger.as_ref().is_some_and(|ledger| ledger.says_done(&error));
            if in_ledger && doubt.again {
                shared.recorder.found_out();
                self.make_durable().await?;
                return Ok(Returned::new());
            }
            if let Some(altered) = self.altered(&error).await {
                return Err(Refused::All(unless_it_may_be_in(altered, doubt.may_be_in)));
            }
            if !in_ledger && error.as_driver_error().is_some_and(is_about_a_row) {
                return Err(Refused::Row(self.explained(error), row));
            }
            // A server that is going down says so in the middle of an answer, and not always in English.
            let is_lost = match error.as_db_error() {
                Some(db) => db.parsed_severity() != Some(Severity::Error),
                None => error.kind() != howdah_connect::ErrorKind::Unsendable,
            };
            if is_lost {
                self.abandon();
                doubt.may_be_in = true;
            }
            // The primary may be elsewhere by now.
            let is_read_only = error.sqlstate() == Some(SqlState::READ_ONLY_SQL_TRANSACTION.code());
            if is_read_only {
                self.session = None;
            }
            let is_held = doubt.again && error.sqlstate() == Some("55P03");
            // What is no answer of PostgreSQL's is none the next time either: a pooler has mixed its sessions up.
            let is_gibberish = error.kind() == howdah_connect::ErrorKind::Protocol;
            let is_own_fault = !is_lost && is_own_fault(error.sqlstate().unwrap_or_default());
            let error = Error::from(error);
            if is_gibberish || !is_lost && !is_own_fault && !error.is_retryable() {
                let error = match error.sqlstate() {
                    Some("26000") => error.with_hint(FORGETFUL_POOLER),
                    None if is_gibberish => error.with_hint(FORGETFUL_POOLER),
                    _ => error,
                };
                return Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in)));
            }
            if is_held && let Some(session) = &self.session {
                mark::end(session.connection(), &self.ghosts).await;
            }
            if is_lost && shared.options.delivery == Delivery::AtLeastOnce {
                tracing::warn!(rows = rows.len(), "a connection broke; rows that may be in are sent again");
            }
            doubt.again = true;
            self.tried_again = true;
            // It may be a row's doing: then only that row is to fail for it.
            let may_be_a_row = !is_read_only && !is_held;
            let reason = if is_lost { LOST } else { error.sqlstate().unwrap_or_default() };
            let repeats = doubt.repeats(reason) || is_own_fault;
            let row_s = error.clone().with_visible(Committed::No, "the row is not in the table");
            match self.wait(&error, patience).await {
                Ok(()) if may_be_a_row && repeats && (rows.len() > 1 || is_own_fault) => {
                    return Err(Refused::Row(row_s, None));
                }
                Ok(()) => {}
                Err(Exhausted { for_good: false }) if may_be_a_row && !rows.is_empty() => {
                    return Err(Refused::Row(row_s, None));
                }
                Err(_) => return Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in))),
            }
        }
    }

    /// Makes sure that nothing happens under a part any more: whether its rows are not in. An attempt that arrives from now
    /// on finds the part noted.
    ///
    /// # Errors
    /// That could not be written for as long as batches are tried again.
    async fn make_void(&mut self, part: i64) -> Result<bool, Error> {
        let shared = self.shared.clone();
        let Some(ledger) = &shared.ledger else { return Ok(true) };
        let mut patience = self.patience();
        loop {
            let error = match self.open().await {
                Ok(session) => {
                    let mark = session.mark.clone();
                    // Both rows or none: where the answer to this is lost too, the second one says whose the first is.
                    let voiding = async {
                        let failure = match session.void(part).await {
                            Ok(()) => return Ok(true),
                            Err(Failure(error, _)) => error,
                        };
                        if !ledger.says_done(&failure) {
                            return Err(failure);
                        }
                        ledger.is_void(session.connection(), part).await.map_err(Into::into)
                    };
                    let answer = {
                        let mut silence = Silence::default();
                        tokio::select! {
                            answer = voiding => Some(answer),
                            () = silence.lasts(&shared.target, &mark) => None,
                        }
                    };
                    match answer {
                        Some(Ok(true)) => return Ok(true),
                        Some(Ok(false)) => {
                            shared.recorder.found_out();
                            return match self.make_durable().await {
                                Err(Refused::All(error) | Refused::Row(error, _)) => Err(error),
                                Ok(()) => Ok(false),
                            };
                        }
                        Some(Err(error)) => {
                            if error.sqlstate() == Some("55P03")
                                && let Some(session) = &self.session
                            {
                                mark::end(session.connection(), &self.ghosts).await;
                            }
                            let is_answer = error.as_db_error().is_some_and(|db| {
                                db.parsed_severity() == Some(Severity::Error) && db.code().code() != "25006"
                            });
                            if !is_answer {
                                self.abandon();
                            }
                            Error::from(error)
                        }
                        None => {
                            self.abandon();
                            let said = format!("{} does not answer any more", shared.target.describe());
                            Error::new(ErrorKind::Connect, said)
                        }
                    }
                }
                Err(error) => error,
            };
            if self.wait(&error, &mut patience).await.is_err() {
                return Err(unless_it_may_be_in(error, true));
            }
        }
    }

    /// An earlier attempt's transaction is in the table; whether it is as durable as the server promises is not said: what it
    /// waited for, a standby say, may have been cut short. A transaction that commits now does so behind it, and its answer
    /// holds for both.
    async fn make_durable(&mut self) -> Result<(), Refused> {
        let shared = self.shared.clone();
        let mut patience = self.patience();
        let Some(ledger) = &shared.ledger else { return Ok(()) };
        loop {
            let error = match self.open().await {
                Ok(session) => {
                    let mark = session.mark.clone();
                    // A new number each time: one that is noted already says nothing of its own durability.
                    let part = ledger.part();
                    let beside = Beside { part: Some(part), entries: Vec::new() };
                    let mut silence = Silence::default();
                    let answer = tokio::select! {
                        answer = session.commit_alone(&beside) => Some(answer),
                        () = silence.lasts(&shared.target, &mark) => None,
                    };
                    ledger.settled(part, !matches!(answer, Some(Ok(()))));
                    match answer {
                        Some(Ok(())) => return Ok(()),
                        Some(Err(Failure(error, _))) => {
                            self.abandon();
                            Error::from(error)
                        }
                        None => {
                            self.abandon();
                            let said = format!("{} does not answer any more", shared.target.describe());
                            Error::new(ErrorKind::Connect, said)
                        }
                    }
                }
                Err(error) => error,
            };
            if self.wait(&error, &mut patience).await.is_err() {
                return Err(Refused::All(unless_it_may_be_in(error, true)));
            }
        }
    }

    /// Why rows cannot be written any more, where the error may come of a table that was altered, and it was.
    async fn altered(&self, error: &howdah_connect::Error) -> Option<Error> {
        // Types that do not meet, columns and tables that are not there, and bytes that are no value of the type.
        const SIGNS: [&str; 8] = ["42883", "42804", "42703", "42704", "08P01", "22P03", "0A000", "42846"];
        let session = self.session.as_ref()?;
        if !SIGNS.contains(&error.sqlstate()?) {
            return None;
        }
        let unchanged = self.shared.check_unchanged(session.connection()).await;
        unchanged.err().filter(|error| error.kind() == ErrorKind::Usage)
    }

    /// Closes the connection, whatever is under way on it.
    pub(super) fn abandon(&mut self) {
        if let Some(session) = self.session.take() {
            session.connection().abort();
            self.ghosts.push(session.mark);
        }
    }

    /// The connection, opened where there is none.
    async fn open(&mut self) -> Result<&mut Session, Error> {
        if self.session.as_ref().is_some_and(|session| session.connection().client().is_closed()) {
            self.abandon();
        }
        match self.session {
            Some(ref mut session) => Ok(session),
            None => {
                let shared = &self.shared;
                let connection = shared.target.connect().await?;
                let session =
                    Session::new(connection, shared.statements.clone(), shared.relation_name.clone());
                shared.check_unchanged(session.connection()).await?;
                self.tried_again = true;
                if !self.ghosts.is_empty() {
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
    async fn wait(&self, error: &Error, patience: &mut Patience) -> Result<(), Exhausted> {
        let pause = patience.next_pause()?;
        self.shared.recorder.retried();
        tracing::debug!(%error, pause_ms = pause.as_millis(), "a batch is tried again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Whether the server says that something is wrong with itself, or with the state that it is in: that does not pass, and may be
/// the doing of a single row.
fn is_own_fault(sqlstate: &str) -> bool {
    let passes = ["55006", "55P03"].contains(&sqlstate);
    !passes && ["55", "58", "F0", "XX"].iter().any(|class| sqlstate.starts_with(class))
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
