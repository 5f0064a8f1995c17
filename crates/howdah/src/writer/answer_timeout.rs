//! Notices that no answer will come: who waits for a machine that is gone, or on a connection of which something between
//! swallows everything, waits in vain, and TCP alone would not say so within minutes (see `peer`).
//!
//! What tells a swallowed connection from a slow one is whether bytes pass, not what the server's session seems to do: it has
//! nothing to show for a message before that is whole. What is asked of the server counts only where nothing passes.

use std::pin::Pin;
use std::time::Duration;

use howdah_connect::{Target, Traffic};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::mark::{Mark, Sign};

/// How often is looked whether bytes pass.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// When nothing has passed for so long, the machine is asked for another connection, and has as long again for that.
const SILENCE: Duration = Duration::from_secs(8);

/// A session that waits for us is looked at again after so long; twice as long after each time that was in vain, up to the
/// last. Something between may have taken much, and hand it on slowly: then a later attempt has the time that takes.
const SECOND_LOOK: Duration = Duration::from_secs(4);
const LAST_SECOND_LOOK: Duration = Duration::from_secs(128);

/// Its timer is kept from one transaction to the next: setting it each time wakes the runtime, which makes two system calls.
#[derive(Default)]
pub(super) struct AnswerTimeout {
    timer: Option<Pin<Box<Sleep>>>,
    /// So many connections in a row swallowed what they were given.
    in_vain: u32,
}

/// What is waited for.
pub(super) struct Awaited<'a> {
    pub(super) target: &'a Target,
    pub(super) traffic: &'a Traffic,
    pub(super) mark: &'a Mark,
    /// Sessions that were given up: what they hold may be what the server waits for.
    pub(super) abandoned: &'a [Mark],
}

impl AnswerTimeout {
    /// Returns when no answer is to be expected any more: nothing passes, and the server's machine takes no connection, or
    /// the server waits for us as we wait for it.
    pub(super) async fn lasts(&mut self, awaited: &Awaited<'_>) {
        // It may have been set for an earlier transaction, and only rings too early then.
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(LOOK_EVERY)));
        let (mut since, mut passed) = (Instant::now(), None);
        loop {
            timer.as_mut().await;
            let now = awaited.traffic.passed().await;
            // What passed before the first look has all the same.
            if passed.replace(now).is_some_and(|before| before != now) {
                since = Instant::now();
            }
            if since.elapsed() >= SILENCE {
                if awaited.is_over(self.in_vain).await {
                    self.in_vain = self.in_vain.saturating_add(1);
                    return;
                }
                since = Instant::now();
            }
            timer.as_mut().reset(Instant::now() + LOOK_EVERY);
        }
    }

    /// An answer came.
    pub(super) fn broken(&mut self) {
        self.in_vain = 0;
    }
}

impl Awaited<'_> {
    async fn is_over(&self, in_vain: u32) -> bool {
        let before = self.traffic.passed().await;
        if !self.target.answers(SILENCE).await {
            return self.traffic.passed().await == before;
        }
        let first = self.mark.look(self.target, self.abandoned, SILENCE).await;
        if !matches!(first, Sign::Waits(_)) {
            return false;
        }
        let end = Instant::now() + second_look(in_vain);
        while Instant::now() < end {
            sleep_until(end.min(Instant::now() + LOOK_EVERY)).await;
            if self.traffic.passed().await != before {
                return false;
            }
        }
        self.mark.look(self.target, self.abandoned, SILENCE).await == first
            && self.traffic.passed().await == before
    }
}

/// How long a session is given that waits for us, where it was so with others before.
fn second_look(in_vain: u32) -> Duration {
    SECOND_LOOK.saturating_mul(2_u32.saturating_pow(in_vain)).min(LAST_SECOND_LOOK)
}

#[test]
fn each_connection_that_is_given_up_gives_the_next_one_more_time() {
    let looks: Vec<u64> = [0, 1, 2, 5, 6, u32::MAX].map(|times| second_look(times).as_secs()).into();
    assert_eq!(looks, [4, 8, 16, 128, 128, 128]);
}
