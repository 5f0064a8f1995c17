//! The attempts at one transaction: what the server's answers mean, whether it is sent again, and what is known in the end.

use bytes::Bytes;
use tokio_postgres::error::{Severity, SqlState};

use super::{BatchSender, Rows, Trouble};
use crate::error::{Committed, Error, ErrorKind};
use crate::send::row_error::is_about_a_row;
use crate::writer::ledger::{Beside, Ledger};
use crate::writer::mark;
use crate::writer::options::Delivery;
use crate::writer::patience::{Exhausted, Patience};
use crate::writer::session::{Request, Returned};

/// So often the server gives the same reason why a batch cannot be written now, until it is looked for among the rows.
const SAME_REASON: u32 = 2;

/// The same where the connection broke instead, or where transactions met: both happen to rows that are as they should be.
const SAME_MISHAP: u32 = 4;

/// What to do where a prepared statement is gone, which only a pooler brings about.
const FORGETFUL_POOLER: &str = "a pooler gives each transaction another session: have it keep prepared statements \
                                (pgbouncer 1.21 and later: max_prepared_statements), or connect past it";

/// Why a transaction failed for good.
pub(super) enum Refused {
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
    /// Statements were prepared anew.
    replanned: bool,
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
    /// Sends rows in one transaction, however often that has to be tried.
    pub(super) async fn send_segment(
        &mut self,
        rows: Rows<'_>,
        patience: &mut Patience,
    ) -> Result<Returned, Refused> {
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
        self.unknown = part.filter(|_| doubt.may_be_in && matches!(sent, Err(Refused::All(_))));
        if let (Some(ledger), Some(part)) = (&shared.ledger, part) {
            ledger.settled(part, doubt.may_be_in);
        }
        if sent.is_ok() {
            patience.renew();
            self.ghosts.clear();
        }
        sent
    }

    /// Pauses before the next attempt.
    ///
    /// # Errors
    /// It was tried for long enough: nothing of it was written, or nobody knows.
    async fn wait_or_give_up(
        &self,
        error: Error,
        doubt: &Doubt,
        patience: &mut Patience,
    ) -> Result<(), Refused> {
        match self.wait(&error, patience).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in))),
        }
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
            let request = match rows {
                [] => Request::Beside(beside),
                rows => Request::Rows { rows, method, beside, again: doubt.again },
            };
            let (error, row) = match self.ask(request).await {
                Ok(returned) => {
                    if self.wait_was_cut_short() {
                        self.make_durable().await?;
                    }
                    return Ok(returned);
                }
                Err(Trouble::Failed(error, row)) => (error, row),
                Err(Trouble::Unreachable(error)) if !error.is_retryable() => {
                    return Err(Refused::All(unless_it_may_be_in(error, doubt.may_be_in)));
                }
                Err(Trouble::Unreachable(error)) => {
                    self.wait_or_give_up(error, doubt, patience).await?;
                    continue;
                }
                Err(Trouble::Silent(error)) => {
                    (doubt.again, doubt.may_be_in, self.tried_again) = (true, true, true);
                    self.wait_or_give_up(error, doubt, patience).await?;
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
            // A prepared statement returns what is of another type now.
            if error.sqlstate() == Some("0A000") && !std::mem::replace(&mut doubt.replanned, true) {
                self.session = None;
                (doubt.again, self.tried_again) = (true, true);
                continue;
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
            let is_held = doubt.again && Ledger::was_waited_for(&error);
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
}

/// Whether the server says that something is wrong with itself, or with the state that it is in: that does not pass, and may be
/// the doing of a single row.
fn is_own_fault(sqlstate: &str) -> bool {
    let passes = ["55006", "55P03"].contains(&sqlstate);
    !passes && ["55", "58", "F0", "XX"].iter().any(|class| sqlstate.starts_with(class))
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
