//! The commit: all transactions of a load together, and the truth about them when an answer is lost.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, try_join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use howdah_connect::{Connection, Target};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::control::Control;
use crate::control::liveness::{ANSWER_WITHIN, PATIENCE, lost};
use crate::control::stoppable::{cancelled, interruptible};
use crate::error::Error;
use crate::publish::confirm::confirm;
use crate::publish::late::LateCommits;
use crate::publish::server_identity::ServerIdentity;
use crate::publish::transaction_state::{Account, InquiryAnswer, Remedy, Transaction, TransactionState, ask};

/// A server that restarts is back within seconds; longer than this nobody is kept waiting for the truth.
const WAIT_FOR_SERVER: Duration = Duration::from_secs(15);
/// The same where the machine gives no sign of life, which took [`PATIENCE`] and [`ANSWER_WITHIN`] to find out.
const WAIT_FOR_MACHINE: Duration = Duration::from_secs(6);
/// Between two questions what became of the transactions: while the server may still answer by itself, and when it cannot.
const ASK_EVERY: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// Open transactions that are to be committed together; their constraints are checked already.
pub(crate) struct Commit<'a> {
    pub(crate) connections: &'a [Arc<Connection>],
    /// The one server that all of them are connected to.
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control,
    /// The server, as it was before the transactions were begun.
    pub(crate) server: Option<&'a ServerIdentity>,
    pub(crate) makes: Makes<'a>,
}

/// What the transactions make visible.
pub(crate) enum Makes<'a> {
    /// Nothing: their rows are in a table that nobody looks for.
    Nothing,
    /// Changes that come all at once, from one transaction.
    AllAtOnce,
    /// Rows that are added to a table, which is quoted and qualified for SQL; and the numbers of subtransactions that added
    /// some, by connection.
    Rows { table: &'a str, subtransactions: Vec<Vec<String>> },
    /// Changes of rows of a table, which is quoted and qualified for SQL: nobody can undo them, and made again they come to the
    /// same.
    Changes { table: &'a str },
}

impl Commit<'_> {
    /// Commits. Returns whether the rows are as safe as the server's settings promise: not, where its wait for a standby was
    /// cut short.
    ///
    /// # Errors
    /// Before the first COMMIT was sent: the server's error, nothing is visible. After it: what became of each transaction, as
    /// the server says; [`crate::ErrorKind::PartlyCommitted`] where some are committed, or where it cannot be found out.
    pub(crate) async fn run(mut self) -> Result<bool, Error> {
        let Some(first) = self.connections.first() else { return Ok(true) };
        let mut subtransactions = match &mut self.makes {
            Makes::Rows { subtransactions, .. } => std::mem::take(subtransactions),
            Makes::Nothing | Makes::AllAtOnce | Makes::Changes { .. } => Vec::new(),
        };
        subtransactions.resize(self.connections.len(), Vec::new());
        let open = self.connections.iter().zip(subtransactions).map(|(of, subs)| Transaction::open(of, subs));
        let transactions = interruptible(first, self.control, try_join_all(open)).await?;
        let late = LateCommits::new(transactions.len());
        let found = self.find_out(&transactions, &late).await;
        if found.states.iter().all(|state| *state == TransactionState::Committed) {
            if found.is_by_inquiry {
                self.control.notice("the answer to COMMIT was lost; the server says that it committed");
            }
            return Ok(self.is_confirmed(found.is_by_inquiry).await);
        }
        let failure = found.failure.unwrap_or_else(|| match late.is_ended(None) {
            true => late.failure(),
            false => lost(first),
        });
        let remedy = match &self.makes {
            Makes::Nothing => return Err(failure.nothing_changed()),
            Makes::AllAtOnce => Remedy::None,
            Makes::Rows { table, .. } => Remedy::TakeOut(table),
            Makes::Changes { table } => Remedy::RunAgain(table),
        };
        let account =
            Account { transactions: &transactions, states: &found.states, server: self.server, remedy };
        Err(account.explain(failure))
    }

    /// Whether standbys have what is committed. It is asked where the server's wait for them was cut short, and where no answer
    /// says that it was not.
    async fn is_confirmed(&self, is_in_doubt: bool) -> bool {
        let warnings: Vec<_> = self.connections.iter().filter_map(|of| of.take_standby_warning()).collect();
        if let Some(warning) = warnings.first() {
            let detail = warning.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            self.control.notice(format!("the server warns: {}{detail}", warning.message()));
        }
        if matches!(self.makes, Makes::Nothing) || warnings.is_empty() && !is_in_doubt {
            return true;
        }
        confirm(self.target, self.control).await
    }

    /// Sends COMMIT on all connections and waits for the answers. Where one is lost or does not come, the server is asked what
    /// became of the transactions, until that is known or waiting is over.
    async fn find_out(&self, transactions: &[Transaction], late: &LateCommits) -> CommitFindings {
        let mut found = CommitFindings {
            states: vec![TransactionState::Open; transactions.len()],
            failure: None,
            is_by_inquiry: false,
        };
        let commit =
            |at: usize| async move { (at, self.connections[at].client().batch_execute("COMMIT").await) };
        let mut answers: FuturesUnordered<_> = (0..transactions.len()).map(commit).collect();
        let ask_after = |wait| self.ask_after(wait, transactions, late);
        let mut inquiry = ask_after(PATIENCE);
        let mut deadline: Option<Instant> = None;
        let mut is_stopped = false;
        let mut has_told = false;
        while found.states.contains(&TransactionState::Open) {
            tokio::select! {
                Some((at, answer)) = answers.next(), if !answers.is_empty() => {
                    found.states[at] = TransactionState::told_by(&answer);
                    if let Err(error) = answer {
                        // The server calls it an administrator's doing whoever ended a session.
                        let is_ours = late.is_ended(Some(at)) && found.states[at] == TransactionState::Open;
                        found.failure.get_or_insert_with(|| if is_ours { late.failure() } else { error.into() });
                        late.broke(at);
                        inquiry = ask_after(Duration::ZERO);
                    }
                    if answers.is_empty() {
                        deadline = sooner(deadline, WAIT_FOR_SERVER);
                    }
                }
                seen = &mut inquiry => {
                    let may_answer = !answers.is_empty() && !is_stopped;
                    inquiry = ask_after(if may_answer { ASK_EVERY } else { ASK_AGAIN });
                    match seen {
                        Some(InquiryAnswer::States(states)) => {
                            if may_answer {
                                // COMMIT may take its time, as where it waits for a standby.
                                deadline = None;
                            }
                            self.settle(&mut found, &states);
                            let open = found.states.iter().filter(|state| **state == TransactionState::Open).count();
                            if may_answer && open > 0 && open < found.states.len() && !has_told {
                                has_told = true;
                                let total = found.states.len();
                                self.control.notice(format!(
                                    "{} of {total} connections have committed; COMMIT of the others is waited for",
                                    total - open
                                ));
                            }
                        }
                        None if may_answer => deadline = sooner(deadline, WAIT_FOR_MACHINE),
                        Some(InquiryAnswer::Another) if !may_answer => break,
                        Some(InquiryAnswer::Another) | None => {}
                    }
                }
                () = self.control.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    late.stop();
                    found.failure.get_or_insert_with(cancelled);
                    inquiry = ask_after(Duration::ZERO);
                    let by = self.control.stop_by();
                    deadline = Some(deadline.map_or(by, |old| old.min(by)));
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => break,
            }
        }
        found
    }

    /// Asks the server, after a while, what became of `transactions`; sessions in which COMMIT is too `late` are ended. `None`:
    /// it does not answer.
    fn ask_after<'s>(
        &'s self,
        wait: Duration,
        transactions: &'s [Transaction],
        late: &'s LateCommits,
    ) -> BoxFuture<'s, Option<InquiryAnswer>> {
        let asked = async move {
            sleep(wait).await;
            let to_end = |states: &[TransactionState], is_late: &[bool]| late.to_end(states, is_late);
            let asked = timeout(ANSWER_WITHIN, ask(self.target, self.server, transactions, to_end));
            asked.await.ok().and_then(Result::ok)
        };
        asked.boxed()
    }

    /// Takes over what the server said of transactions whose COMMIT it has not answered. Their connections are of no use any
    /// more.
    fn settle(&self, found: &mut CommitFindings, states: &[TransactionState]) {
        for ((state, seen), connection) in found.states.iter_mut().zip(states).zip(self.connections) {
            if *state == TransactionState::Open && *seen != TransactionState::Open {
                *state = *seen;
                found.is_by_inquiry = true;
                connection.abort();
            }
        }
    }
}

/// What was found out about a commit.
struct CommitFindings {
    states: Vec<TransactionState>,
    /// What went wrong first.
    failure: Option<Error>,
    /// Whether the server had to be asked.
    is_by_inquiry: bool,
}

/// The deadline that is `wait` away, unless there is an earlier one.
fn sooner(deadline: Option<Instant>, wait: Duration) -> Option<Instant> {
    let new = Instant::now() + wait;
    Some(deadline.map_or(new, |old| old.min(new)))
}
