//! The attempts at one transaction: what the server's answers mean, whether it is sent again, and what is known in the end.

use bytes::Bytes;

use super::reaction::{Blame, FailedAttempt, Reaction, Retry, SessionAfter, Uncertainty, react};
use super::{AttemptError, BatchSender, Rows};
use crate::error::{Committed, Error, ErrorKind};
use crate::writer::ledger::{CommitRecord, Ledger};
use crate::writer::mark;
use crate::writer::options::Delivery;
use crate::writer::retry_budget::{Exhausted, RetryBudget};
use crate::writer::session::{Returned, TransactionRequest};

/// What to do where a prepared statement is gone, which only a pooler brings about.
const FORGETFUL_POOLER: &str = "a pooler gives each transaction another session: have it keep prepared statements \
                                (pgbouncer 1.21 and later: max_prepared_statements), or connect past it";

/// Why a transaction failed for good.
pub(super) enum SegmentFailure {
    /// The server refused one of its rows, which it may have named.
    Row(Error, Option<usize>),
    /// No row could be sent.
    All(Error),
}

impl BatchSender {
    /// Sends rows in one transaction, however often that has to be tried.
    pub(super) async fn send_segment(
        &mut self,
        rows: Rows<'_>,
        budget: &mut RetryBudget,
    ) -> Result<Returned, SegmentFailure> {
        let shared = self.shared.clone();
        self.tried_again = false;
        let part = shared.ledger.as_ref().map(Ledger::part);
        let entries = shared.companion.as_ref().filter(|_| !rows.tags.is_empty());
        let beside = CommitRecord {
            part,
            entries: entries.map(|companion| companion.entries(rows.tags)).unwrap_or_default(),
        };
        let mut doubt = Uncertainty::default();
        let mut sent = self.send_as(rows.bytes, &beside, &mut doubt, budget).await;
        // Before these rows are sent under other numbers, nothing may happen under this one any more.
        if let (Err(SegmentFailure::Row(..)), true, Some(part)) = (&sent, doubt.may_be_in, part) {
            match self.make_void(part).await {
                Ok(true) => {}
                Ok(false) => sent = Ok(Returned::new()),
                Err(error) => sent = Err(SegmentFailure::All(error)),
            }
        }
        self.unknown = part.filter(|_| doubt.may_be_in && matches!(sent, Err(SegmentFailure::All(_))));
        if let (Some(ledger), Some(part)) = (&shared.ledger, part) {
            ledger.settled(part, doubt.may_be_in);
        }
        if sent.is_ok() {
            budget.renew();
            self.abandoned.clear();
        }
        sent
    }

    /// Sends rows with what stands beside them, and what is not known about them in the end.
    async fn send_as(
        &mut self,
        rows: &[Bytes],
        beside: &CommitRecord,
        doubt: &mut Uncertainty,
        budget: &mut RetryBudget,
    ) -> Result<Returned, SegmentFailure> {
        let shared = self.shared.clone();
        let method = self.method(rows.len());
        loop {
            let request = match rows {
                [] => TransactionRequest::CommitRecord(beside),
                rows => TransactionRequest::Rows { rows, method, beside, again: doubt.again },
            };
            let failure = match self.ask(request).await {
                Ok(returned) => {
                    if self.wait_was_cut_short() {
                        self.make_durable().await?;
                    }
                    return Ok(returned);
                }
                Err(failure) => failure,
            };
            if let Some(altered) = self.altered(&failure).await {
                return Err(SegmentFailure::All(unless_it_may_be_in(altered, doubt.may_be_in)));
            }
            let reaction = react(FailedAttempt::of(&failure, shared.ledger.as_ref()), rows.len(), doubt);
            self.tried_again |= doubt.again;
            let (error, row) = failure.into_parts();
            match reaction {
                Reaction::FoundWritten => {
                    shared.recorder.found_out();
                    self.make_durable().await?;
                    return Ok(Returned::new());
                }
                Reaction::PrepareAnew => self.session = None,
                Reaction::RefuseRow => return Err(SegmentFailure::Row(self.explained(error), row)),
                Reaction::GiveUp { session, suspects_pooler } => {
                    self.leave(session);
                    let error = if suspects_pooler { error.with_hint(FORGETFUL_POOLER) } else { error };
                    return Err(SegmentFailure::All(unless_it_may_be_in(error, doubt.may_be_in)));
                }
                Reaction::TryAgain(retry) => {
                    self.prepare_to_retry(&retry, rows.len()).await;
                    self.pause(error, retry.blame, rows.len(), doubt, budget).await?;
                }
            }
        }
    }

    /// Does with the session what is to become of it.
    fn leave(&mut self, session: SessionAfter) {
        match session {
            SessionAfter::Kept => {}
            SessionAfter::Left => self.session = None,
            SessionAfter::Aborted => self.abandon(),
        }
    }

    /// Removes what would be in the way of the next attempt at a transaction of so many `rows`.
    async fn prepare_to_retry(&mut self, retry: &Retry, rows: usize) {
        self.leave(retry.session);
        if retry.ends_abandoned
            && let Some(session) = &self.session
        {
            mark::end(session.connection(), &self.abandoned).await;
        }
        let is_lost = retry.session == SessionAfter::Aborted;
        if is_lost && self.shared.options.delivery == Delivery::AtLeastOnce {
            tracing::warn!(rows, "a connection broke; rows that may be in are sent again");
        }
    }

    /// Pauses before the next attempt at a transaction of so many `rows`.
    ///
    /// # Errors
    /// A row is to fail for `error`; or it was tried for long enough, and nothing was written or nobody knows.
    async fn pause(
        &self,
        error: Error,
        blame: Blame,
        rows: usize,
        doubt: &Uncertainty,
        budget: &mut RetryBudget,
    ) -> Result<(), SegmentFailure> {
        let fails_alone = match (self.wait(&error, budget).await, blame) {
            (Ok(()), Blame::ARow) => true,
            (Ok(()), Blame::ARowInTheEnd | Blame::Nobody) => return Ok(()),
            (Err(Exhausted { for_good }), Blame::ARow | Blame::ARowInTheEnd) => !for_good && rows > 0,
            (Err(_), Blame::Nobody) => false,
        };
        Err(match fails_alone {
            true => {
                SegmentFailure::Row(error.with_visible(Committed::No, "the row is not in the table"), None)
            }
            false => SegmentFailure::All(unless_it_may_be_in(error, doubt.may_be_in)),
        })
    }

    /// Why rows cannot be written any more, where that may come of a table that was altered, and it was.
    async fn altered(&self, failure: &AttemptError) -> Option<Error> {
        // Types that do not meet, columns and tables that are not there, and bytes that are no value of the type.
        const SIGNS: [&str; 8] = ["42883", "42804", "42703", "42704", "08P01", "22P03", "0A000", "42846"];
        let (AttemptError::Failed(error, _), Some(session)) = (failure, &self.session) else { return None };
        if !SIGNS.contains(&error.sqlstate()?) {
            return None;
        }
        let unchanged = self.shared.check_unchanged(session.connection()).await;
        unchanged.err().filter(|error| error.kind() == ErrorKind::Usage)
    }
}

/// What is known of rows that are not tried again.
pub(super) fn unless_it_may_be_in(error: Error, may_be_in: bool) -> Error {
    if may_be_in {
        error.of_kind(ErrorKind::PartlyCommitted).with_visible(
            Committed::Unknown,
            "unknown: the connection broke before the server answered, and it could not be asked again",
        )
    } else {
        error.with_visible(Committed::No, "the row is not in the table")
    }
}
