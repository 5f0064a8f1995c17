//! A sender of a writer: sends one batch after the other over its connection, and isolates the rows that the server refused.

mod attempts;
mod reaction;
mod resolve;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::ack::Written;
use super::answer_timeout::{AnswerTimeout, Awaited};
use super::ledger::Tag;
use super::mark::{self, Mark};
use super::options::WriterPath;
use super::retry_budget::{Exhausted, RetryBudget};
use super::session::{Failure, Returned, SendMethod, Session, TransactionRequest};
use crate::error::{Error, ErrorKind};
use crate::resolve::Resolver;
use crate::rows::{self, OpenRow};
use crate::send::bisect::Bisection;
use crate::send::row_error::{copy_context, named_column};
use attempts::{SegmentFailure, unless_it_may_be_in};
use bytes::Bytes;

/// A further connection that could not be opened is not tried again for so long: rows go over the others.
const PAUSE_OF_FURTHER: Duration = Duration::from_secs(1);

/// Sends batches over one connection, which it opens when it needs it.
pub(super) struct BatchSender {
    shared: Arc<Shared>,
    session: Option<Session>,
    /// Sessions that were given up since a batch was last settled: each may still hold locks.
    abandoned: Vec<Mark>,
    /// The part of the last transaction, if it was given up and nobody knows what became of it.
    unknown: Option<i64>,
    /// The last transaction took more than one attempt, or opened the connection: its time says nothing about others.
    tried_again: bool,
    /// Looks whether an answer can still come; see [`AnswerTimeout`].
    answer_timeout: AnswerTimeout,
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

/// Why the server's answer to a request is not success.
enum AttemptError {
    /// There is no connection.
    Unreachable(Error),
    /// None came, and none will.
    Silent(Error),
    /// The server's own, which may name a row; or the connection broke.
    Failed(howdah_connect::Error, Option<usize>),
}

impl AttemptError {
    /// The error, and the row that it names.
    fn into_parts(self) -> (Error, Option<usize>) {
        match self {
            AttemptError::Unreachable(error) | AttemptError::Silent(error) => (error, None),
            AttemptError::Failed(error, row) => (Error::from(error), row),
        }
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

impl BatchSender {
    pub(super) fn new(shared: Arc<Shared>, session: Option<Session>) -> BatchSender {
        let (abandoned, answer_timeout) = (Vec::new(), AnswerTimeout::default());
        BatchSender { shared, session, abandoned, unknown: None, tried_again: false, answer_timeout }
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

    /// Writes the rows of a lane into the table, in one transaction unless the server refuses some of them.
    pub(super) async fn send(&mut self, rows: Rows<'_>, lane: usize) -> BatchOutcome {
        let mut outcome = BatchOutcome { is_plain: true, ..BatchOutcome::default() };
        let count = rows.bytes.len();
        match self.settle_doubts(lane).await {
            Ok(had_some) => outcome.is_plain = !had_some,
            Err(error) => {
                outcome.failed = (0..count).map(|row| (row, error.clone())).collect();
                return outcome;
            }
        }
        let mut search = Bisection::new(count);
        let mut budget = self.retry_budget();
        while let Some(segment) = search.segment() {
            let (start, is_all) = (segment.start, segment.len() == count);
            let sent = self.send_segment(rows.of(segment), &mut budget).await;
            if sent.is_err() {
                self.note_doubt(lane);
            }
            outcome.is_plain &= sent.is_ok() && is_all && !self.tried_again;
            let refused = match sent {
                Ok(returned) => {
                    outcome
                        .returned
                        .extend(returned.into_iter().map(|(row, written)| (start + row, written)));
                    search.accepted()
                }
                Err(SegmentFailure::Row(error, named)) => search.refused(named, error),
                Err(SegmentFailure::All(error)) => {
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
        let companion = self.shared.companion.as_ref();
        if tags.is_empty() || companion.is_none_or(|companion| !companion.counts_refused()) {
            return Ok(());
        }
        let mut budget = self.retry_budget();
        match self.send_segment(Rows { bytes: &[], tags }, &mut budget).await {
            Ok(_) => Ok(()),
            Err(SegmentFailure::All(error) | SegmentFailure::Row(error, _)) => Err(error),
        }
    }

    fn retry_budget(&self) -> RetryBudget {
        RetryBudget::new(self.shared.options.retry_for)
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
        let mut budget = self.retry_budget();
        loop {
            let error = match rows::resolve(resolver, &self.shared.shape, rows.to_vec()).await {
                Ok(answers) => return Ok(answers),
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            if self.wait(&error, &mut budget).await.is_err() {
                return Err(unless_it_may_be_in(error, false));
            }
        }
    }

    /// The server's words about a row; where it names no column, its CONTEXT may.
    fn explained(&self, error: Error) -> Error {
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
        let said = cause.and_then(howdah_connect::Error::as_db_error);
        let context = said.and_then(|db| db.where_()).map(str::to_owned);
        let out = error.of_kind(ErrorKind::Data);
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

    /// Asks the server for something, over a connection that is opened where there is none, and waits for the answer.
    async fn ask(&mut self, request: TransactionRequest<'_>) -> Result<Returned, AttemptError> {
        self.open().await.map_err(AttemptError::Unreachable)?;
        let BatchSender { session: Some(session), answer_timeout, shared, abandoned, .. } = self else {
            return Err(AttemptError::Unreachable(Error::new(ErrorKind::Connect, "the connection is gone")));
        };
        let (mark, traffic) = (session.mark.clone(), session.connection().traffic());
        let awaited = Awaited { target: &shared.target, traffic: &traffic, mark: &mark, abandoned };
        let answer = tokio::select! {
            answer = session.answer(request) => Some(answer),
            () = answer_timeout.lasts(&awaited) => None,
        };
        match answer {
            Some(Ok(returned)) => {
                answer_timeout.broken();
                Ok(returned)
            }
            Some(Err(Failure(error, row))) => {
                Err(AttemptError::Failed(error.told(session.connection().last_words()), row))
            }
            None => {
                let said = format!("{} does not answer any more", shared.target.describe());
                self.abandon();
                Err(AttemptError::Silent(Error::new(ErrorKind::Connect, said)))
            }
        }
    }

    /// Closes the connection, whatever is under way on it.
    pub(super) fn abandon(&mut self) {
        if let Some(session) = self.session.take() {
            session.connection().abort();
            self.abandoned.push(session.mark);
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
                if !self.abandoned.is_empty() {
                    shared.recorder.reconnected();
                    // In the middle of a batch they hold locks, and have not noticed that nobody listens to them any more.
                    mark::end(session.connection(), &self.abandoned).await;
                }
                Ok(self.session.insert(session))
            }
        }
    }

    /// Pauses before the next attempt.
    ///
    /// # Errors
    /// It was tried for long enough.
    async fn wait(&self, error: &Error, budget: &mut RetryBudget) -> Result<(), Exhausted> {
        let pause = budget.next_pause()?;
        self.shared.recorder.retried();
        tracing::debug!(%error, pause_ms = pause.as_millis(), "a batch is tried again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}
