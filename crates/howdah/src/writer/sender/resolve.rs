//! What became of an attempt of which no answer came: it is made certain, and durable, before anything is said about its rows.

use tokio_postgres::error::Severity;

use super::attempts::{SegmentFailure, unless_it_may_be_in};
use super::{AttemptError, BatchSender};
use crate::error::{Committed, Error, ErrorKind};
use crate::writer::ledger::{CommitRecord, Ledger};
use crate::writer::mark;
use crate::writer::session::TransactionRequest;
use crate::writer::uncertain_parts::UncertainPart;

/// What is known of rows whose transaction is in, where no commit behind it was answered as it should be.
const NOT_CONFIRMED: &str = "the row is committed, but not known to be as durable as the server promises: its wait for a \
                             standby may have been cut short";

impl BatchSender {
    /// Makes sure that nothing happens under a part any more: whether its rows are not in. An attempt that arrives from now
    /// on finds the part noted.
    ///
    /// # Errors
    /// That could not be written for as long as batches are tried again.
    pub(super) async fn make_void(&mut self, part: i64) -> Result<bool, Error> {
        let shared = self.shared.clone();
        let Some(ledger) = &shared.ledger else { return Ok(true) };
        let mut budget = self.retry_budget();
        loop {
            let error = match self.ask(TransactionRequest::Void { ledger, part }).await {
                Ok(_) => return Ok(true),
                Err(AttemptError::Unreachable(error) | AttemptError::Silent(error)) => error,
                Err(AttemptError::Failed(error, _)) if ledger.says_done(&error) => {
                    shared.recorder.found_out();
                    return match self.make_durable().await {
                        Err(SegmentFailure::All(error) | SegmentFailure::Row(error, _)) => Err(error),
                        Ok(()) => Ok(false),
                    };
                }
                Err(AttemptError::Failed(error, _)) => {
                    if Ledger::was_waited_for(&error)
                        && let Some(session) = &self.session
                    {
                        mark::end(session.connection(), &self.abandoned).await;
                    }
                    let can_go_on = error.as_db_error().is_some_and(|db| {
                        db.parsed_severity() == Some(Severity::Error) && db.code().code() != "25006"
                    });
                    if !can_go_on {
                        self.abandon();
                    }
                    Error::from(error)
                }
            };
            if self.wait(&error, &mut budget).await.is_err() {
                return Err(unless_it_may_be_in(error, true));
            }
        }
    }

    /// Notes, where the order of rows counts, that nobody knows what became of the last part.
    pub(super) fn note_doubt(&mut self, lane: usize) {
        if let (Some(doubts), Some(part)) = (&self.shared.doubts, self.unknown.take()) {
            doubts.add(lane, UncertainPart { part, abandoned: self.abandoned.clone() });
        }
    }

    /// Makes certain what became of earlier rows of a lane, so that none of them arrives behind those that follow: whether
    /// there was any doubt.
    ///
    /// # Errors
    /// That could not be done for as long as batches are tried again; what follows was not sent.
    pub(super) async fn settle_doubts(&mut self, lane: usize) -> Result<bool, Error> {
        let shared = self.shared.clone();
        let Some(doubts) = &shared.doubts else { return Ok(false) };
        let unsettled = doubts.of(lane, shared.queue.is_narrow());
        for (lane, UncertainPart { part, abandoned }) in &unsettled {
            let new = abandoned
                .iter()
                .filter(|abandoned| !self.abandoned.contains(abandoned))
                .cloned()
                .collect::<Vec<_>>();
            self.abandoned.extend(new);
            self.make_void(*part).await.map_err(|error| unless_it_may_be_in(error, false))?;
            doubts.settled(*lane, *part);
        }
        Ok(!unsettled.is_empty())
    }

    /// Whether somebody cut the server's wait for a standby short since this was last asked: an answer since then is no promise
    /// that a standby has what it was about.
    pub(super) fn wait_was_cut_short(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.connection().take_standby_warning().is_some())
    }

    /// A transaction is in the table; whether it is as durable as the server promises is not said: what it waited for, a
    /// standby say, may have been cut short. A transaction that commits now does so behind it, and its answer holds for both.
    ///
    /// # Errors
    /// None was committed for as long as batches are tried again.
    pub(super) async fn make_durable(&mut self) -> Result<(), SegmentFailure> {
        let shared = self.shared.clone();
        let mut budget = self.retry_budget();
        loop {
            let answer = match &shared.ledger {
                // A new number each time: one that is noted already says nothing of its own durability.
                Some(ledger) => {
                    let part = ledger.part();
                    let beside = CommitRecord { part: Some(part), entries: Vec::new() };
                    let answer = self.ask(TransactionRequest::CommitRecord(&beside)).await;
                    ledger.settled(part, answer.is_err());
                    answer
                }
                None => self.ask(TransactionRequest::Confirm).await,
            };
            let error = match answer {
                Ok(_) if self.wait_was_cut_short() => {
                    Error::new(ErrorKind::Server, "the server's wait for a standby was cut short")
                }
                Ok(_) => return Ok(()),
                Err(AttemptError::Unreachable(error) | AttemptError::Silent(error)) => error,
                Err(AttemptError::Failed(error, _)) => {
                    self.abandon();
                    Error::from(error)
                }
            };
            if self.wait(&error, &mut budget).await.is_err() {
                let error = error.of_kind(ErrorKind::PartlyCommitted);
                return Err(SegmentFailure::All(error.with_visible(Committed::Unknown, NOT_CONFIRMED)));
            }
        }
    }
}
