//! What follows from an attempt at a transaction that did not succeed. Pure: what is seen of the answer and what is in doubt go
//! in, a [`Reaction`] comes out.

use howdah_connect::sqlstate::{self, Concern};
use tokio_postgres::error::{Severity, SqlState};

use super::AttemptError;
use crate::send::row_error::is_about_a_row;
use crate::writer::ledger::Ledger;

/// So often the server gives the same reason why a batch cannot be written now, until it is looked for among the rows.
const SAME_REASON: u32 = 2;

/// The same where the connection broke instead, or where transactions met: both happen to rows that are as they should be.
const SAME_MISHAP: u32 = 4;

/// The reason of a batch whose connection broke.
const LOST: &str = "lost";

/// What is seen of an attempt that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedAttempt<'e> {
    /// There is no connection, and trying again helps only if the reason `may_pass`.
    Unreachable { may_pass: bool },
    /// None came, and none will.
    Silent,
    /// An error, with its SQLSTATE, or none; trying again helps if it `may_pass`.
    Failed { says: ErrorMeaning, sqlstate: &'e str, may_pass: bool },
}

/// What an error says of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorMeaning {
    /// Its part is in the ledger already.
    InLedger,
    /// One of its rows is bad.
    BadRow,
    /// It waited for somebody who notes the same part, and would wait no longer.
    PartIsHeld,
    /// The server did not do it, and the session goes on.
    NotDone,
    /// The session has ended: the transaction may be in all the same.
    SessionEnded,
    /// What is no answer of PostgreSQL's.
    Gibberish,
}

impl<'e> FailedAttempt<'e> {
    /// What is seen of a failure by a writer with this `ledger`.
    pub(super) fn of(failure: &'e AttemptError, ledger: Option<&Ledger>) -> FailedAttempt<'e> {
        match failure {
            AttemptError::Unreachable(error) => FailedAttempt::Unreachable { may_pass: error.is_retryable() },
            AttemptError::Silent(_) => FailedAttempt::Silent,
            AttemptError::Failed(error, _) => FailedAttempt::Failed {
                says: ErrorMeaning::of(error, ledger),
                sqlstate: error.sqlstate().unwrap_or_default(),
                may_pass: error.is_retryable(),
            },
        }
    }
}

impl ErrorMeaning {
    fn of(error: &howdah_connect::Error, ledger: Option<&Ledger>) -> ErrorMeaning {
        if ledger.is_some_and(|ledger| ledger.says_done(error)) {
            return ErrorMeaning::InLedger;
        }
        if error.as_driver_error().is_some_and(is_about_a_row) {
            return ErrorMeaning::BadRow;
        }
        if error.kind() == howdah_connect::ErrorKind::Protocol {
            return ErrorMeaning::Gibberish;
        }
        // A server that is going down says so in the middle of an answer, and not always in English.
        let goes_on = match error.as_db_error() {
            Some(db) => db.parsed_severity() == Some(Severity::Error),
            None => error.kind() == howdah_connect::ErrorKind::Unsendable,
        };
        match goes_on {
            false => ErrorMeaning::SessionEnded,
            true if Ledger::was_waited_for(error) => ErrorMeaning::PartIsHeld,
            true => ErrorMeaning::NotDone,
        }
    }
}

/// What is not known for sure while a transaction is sent again and again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Uncertainty {
    /// It was sent before.
    pub(super) again: bool,
    /// An attempt was not answered: it may be in, or may arrive yet.
    pub(super) may_be_in: bool,
    /// The last reason why it failed, and how often that was given in a row.
    reason: Option<String>,
    times: u32,
    /// Statements were prepared anew.
    replanned: bool,
}

impl Uncertainty {
    /// Whether a reason was given so often that it may be a row's.
    fn repeats(&mut self, reason: &str) -> bool {
        let same = self.reason.as_deref() == Some(reason);
        self.times = if same { self.times + 1 } else { 1 };
        self.reason = Some(reason.to_owned());
        let is_mishap = reason == LOST || reason.starts_with("40");
        self.times >= if is_mishap { SAME_MISHAP } else { SAME_REASON }
    }
}

/// What is done about an attempt that did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// Its rows are in, by an earlier attempt: that is made durable.
    FoundWritten,
    /// A prepared statement returns what is of another type now: it is sent again at once, on another session.
    PrepareAnew,
    /// One of its rows is refused, the one that the error names if it names one.
    RefuseRow,
    /// No row of it can be sent.
    GiveUp {
        session: SessionAfter,
        /// A pooler that forgets what is prepared, or mixes its sessions up, is the likely cause.
        suspects_pooler: bool,
    },
    /// It is sent again after a pause.
    TryAgain(Retry),
}

/// How a transaction is sent again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Retry {
    pub(super) session: SessionAfter,
    /// Sessions that were given up hold what it waits for: they are ended first.
    pub(super) ends_abandoned: bool,
    pub(super) blame: Blame,
}

/// What becomes of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionAfter {
    Kept,
    /// Another one is opened: the primary may be elsewhere by now.
    Left,
    /// It is broken; what was under way on it may still arrive.
    Aborted,
}

/// Whether a row may be the reason, so that only that row is to fail for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// No row is.
    Nobody,
    /// A row may be, if the reason lasts until it was tried for long enough.
    ARowInTheEnd,
    /// A row is looked for after the pause.
    ARow,
}

impl Reaction {
    /// It is sent again because of what has to do with no row.
    const WAIT: Reaction = Reaction::TryAgain(Retry {
        session: SessionAfter::Kept,
        ends_abandoned: false,
        blame: Blame::Nobody,
    });
}

/// What to do about an attempt at a transaction of so many `rows`; notes in `doubt` what is in doubt from now on.
pub(super) fn react(answer: FailedAttempt<'_>, rows: usize, doubt: &mut Uncertainty) -> Reaction {
    match answer {
        FailedAttempt::Unreachable { may_pass: true } => Reaction::WAIT,
        FailedAttempt::Unreachable { may_pass: false } => {
            Reaction::GiveUp { session: SessionAfter::Kept, suspects_pooler: false }
        }
        FailedAttempt::Silent => {
            (doubt.again, doubt.may_be_in) = (true, true);
            Reaction::WAIT
        }
        FailedAttempt::Failed { says: ErrorMeaning::InLedger, .. } if doubt.again => Reaction::FoundWritten,
        FailedAttempt::Failed { sqlstate: "0A000", .. } if !doubt.replanned => {
            (doubt.again, doubt.replanned) = (true, true);
            Reaction::PrepareAnew
        }
        FailedAttempt::Failed { says: ErrorMeaning::BadRow, .. } => Reaction::RefuseRow,
        // It is none the next time either: a pooler has mixed its sessions up.
        FailedAttempt::Failed { says: ErrorMeaning::Gibberish, .. } => {
            doubt.may_be_in = true;
            Reaction::GiveUp { session: SessionAfter::Aborted, suspects_pooler: true }
        }
        FailedAttempt::Failed { says: ErrorMeaning::SessionEnded, .. } => {
            (doubt.again, doubt.may_be_in) = (true, true);
            let blame = if doubt.repeats(LOST) && rows > 1 { Blame::ARow } else { Blame::ARowInTheEnd };
            Reaction::TryAgain(Retry { session: SessionAfter::Aborted, ends_abandoned: false, blame })
        }
        FailedAttempt::Failed {
            says: says @ (ErrorMeaning::InLedger | ErrorMeaning::PartIsHeld | ErrorMeaning::NotDone),
            sqlstate,
            may_pass,
        } => {
            if !may_pass && !is_own_fault(sqlstate) {
                let suspects_pooler = sqlstate == "26000";
                return Reaction::GiveUp { session: SessionAfter::Kept, suspects_pooler };
            }
            let ends_abandoned = says == ErrorMeaning::PartIsHeld && doubt.again;
            Reaction::TryAgain(not_done(sqlstate, ends_abandoned, rows, doubt))
        }
    }
}

/// The next attempt at what the server did not do, while the session goes on.
fn not_done(sqlstate: &str, ends_abandoned: bool, rows: usize, doubt: &mut Uncertainty) -> Retry {
    doubt.again = true;
    let is_read_only = sqlstate == SqlState::READ_ONLY_SQL_TRANSACTION.code();
    let repeats = doubt.repeats(sqlstate);
    let blame = match is_own_fault(sqlstate) {
        _ if is_read_only || ends_abandoned => Blame::Nobody,
        true => Blame::ARow,
        false if repeats && rows > 1 => Blame::ARow,
        false => Blame::ARowInTheEnd,
    };
    let session = if is_read_only { SessionAfter::Left } else { SessionAfter::Kept };
    Retry { session, ends_abandoned, blame }
}

/// Whether the server says that something is wrong with itself, or with the state that it is in: that does not pass, and may be
/// the doing of a single row.
fn is_own_fault(code: &str) -> bool {
    sqlstate::concern(code) == Concern::Server && !sqlstate::is_transient(code)
}

#[cfg(test)]
mod tests;
