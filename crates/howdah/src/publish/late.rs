//! COMMITs that are late: how long they are waited for, and the sessions that are ended so that they cannot come later still.

use parking_lot::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, ErrorKind};
use crate::publish::transaction_state::TransactionState;

/// A COMMIT may be so late where none has committed: TCP sends again what was lost for a sixth time after 13 s. What is swallowed
/// for good must be found out within 30 s.
const WHILE_NOTHING_IS_IN: Duration = Duration::from_secs(15);
/// The same where others have committed: ending it makes half a load of a whole one.
const WHILE_OTHERS_ARE_IN: Duration = Duration::from_secs(60);
/// The same where others have committed and its connection broke: only what was on its way by then can still arrive.
const BEHIND_A_BROKEN_CONNECTION: Duration = Duration::from_secs(2);

/// The COMMITs of one load, from the moment in which they were sent.
pub(super) struct LateCommits {
    since: Instant,
    state: Mutex<LateState>,
}

struct LateState {
    /// By transaction: when its connection was found broken.
    broken: Vec<Option<Instant>>,
    /// By transaction: whether we ended its session.
    ended: Vec<bool>,
    is_stopped: bool,
}

impl LateCommits {
    /// COMMIT is sent now on so many connections.
    pub(super) fn new(count: usize) -> LateCommits {
        let state = LateState { broken: vec![None; count], ended: vec![false; count], is_stopped: false };
        LateCommits { since: Instant::now(), state: Mutex::new(state) }
    }

    /// The connection of this transaction is broken: whether COMMIT arrived is not said any more.
    pub(super) fn broke(&self, at: usize) {
        self.state.lock().broken[at].get_or_insert_with(Instant::now);
    }

    /// Somebody said stop: nothing is waited for.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
    }

    /// Which of the transactions in whose sessions COMMIT `is_late` are to be ended now, given what is known of all. They count
    /// as ended by us from here on.
    pub(super) fn to_end(&self, states: &[TransactionState], is_late: &[bool]) -> Vec<bool> {
        let mut state = self.state.lock();
        let others_are_in = states.contains(&TransactionState::Committed);
        let is_over = |at: usize| match (state.broken[at], others_are_in) {
            _ if state.is_stopped => true,
            (Some(_), false) => true,
            (Some(broken), true) => broken.elapsed() >= BEHIND_A_BROKEN_CONNECTION,
            (None, false) => self.since.elapsed() >= WHILE_NOTHING_IS_IN,
            (None, true) => self.since.elapsed() >= WHILE_OTHERS_ARE_IN,
        };
        let ends: Vec<bool> = is_late.iter().enumerate().map(|(at, late)| *late && is_over(at)).collect();
        for (ended, ends) in state.ended.iter_mut().zip(&ends) {
            *ended |= ends;
        }
        ends
    }

    /// Whether we ended the session of this transaction; of any, where none is given.
    pub(super) fn is_ended(&self, at: Option<usize>) -> bool {
        let state = self.state.lock();
        at.map_or_else(|| state.ended.contains(&true), |at| state.ended[at])
    }

    /// The failure of a load whose COMMIT we did not let arrive any more.
    pub(super) fn failure(&self) -> Error {
        let waited = self.since.elapsed().as_secs();
        Error::new(
            ErrorKind::Server,
            format!("COMMIT did not reach the server within {waited} s: howdah ended its session, so that it cannot arrive later"),
        )
        .with_hint("the network loses what is sent, or delays it: look there, then load again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransactionState::{Committed, Open};

    fn sent(ago: Duration) -> LateCommits {
        LateCommits { since: Instant::now().checked_sub(ago).unwrap(), ..LateCommits::new(2) }
    }

    #[test]
    fn a_late_commit_is_waited_for_longer_where_others_are_in() {
        for (ago, alone, beside_others) in [(8, false, false), (16, true, false), (61, true, true)] {
            let ago = Duration::from_secs(ago);
            assert_eq!(sent(ago).to_end(&[Open, Open], &[false, true]), [false, alone], "{ago:?}");
            assert_eq!(
                sent(ago).to_end(&[Committed, Open], &[false, true]),
                [false, beside_others],
                "{ago:?}"
            );
        }
    }

    #[test]
    fn nothing_is_waited_for_after_a_stop_or_on_a_broken_connection_with_nothing_to_save() {
        let commits = sent(Duration::ZERO);
        commits.broke(1);
        assert_eq!(commits.to_end(&[Committed, Open], &[false, true]), [false, false]);
        assert!(!commits.is_ended(None));
        assert_eq!(commits.to_end(&[Open, Open], &[true, true]), [false, true]);
        assert!(commits.is_ended(Some(1)) && !commits.is_ended(Some(0)));
        commits.stop();
        assert_eq!(commits.to_end(&[Committed, Open], &[false, true]), [false, true]);
    }
}
