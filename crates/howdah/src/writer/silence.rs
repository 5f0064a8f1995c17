//! Notices that no answer will come: who waits for a machine that is gone, or on a connection of which something between
//! swallows everything, waits in vain, and TCP alone would not say so within minutes (see `peer`).

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::mark::{Mark, Sign};
use crate::connect::Target;

/// Without an answer for so long, the machine is asked for another connection, and has as long again for that.
const SILENCE: Duration = Duration::from_secs(8);

/// A session that waits for us is looked at again after so long. One that takes rows over a slow line has taken some by then.
const SECOND_LOOK: Duration = Duration::from_secs(4);

/// Its timer is kept from one transaction to the next: setting it each time wakes the runtime, which makes two system calls.
#[derive(Default)]
pub(super) struct Silence {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    /// Returns when no answer is to be expected any more: the server's machine takes no connection, or the server waits for
    /// us as we wait for it. Ghosts are sessions that were given up: what they hold may be what the server waits for.
    pub(super) async fn lasts(&mut self, target: &Target, mark: &Mark, ghosts: &[Mark]) {
        let mut end = Instant::now() + SILENCE;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        loop {
            timer.as_mut().await;
            // It may have been set for an earlier transaction.
            if Instant::now() >= end {
                if is_over(target, mark, ghosts).await {
                    return;
                }
                end = Instant::now() + SILENCE;
            }
            timer.as_mut().reset(end);
        }
    }
}

async fn is_over(target: &Target, mark: &Mark, ghosts: &[Mark]) -> bool {
    if !target.answers(SILENCE).await {
        return true;
    }
    let first = mark.look(target, ghosts, SILENCE).await;
    if !matches!(first, Sign::Waits(_)) {
        return false;
    }
    sleep(SECOND_LOOK).await;
    mark.look(target, ghosts, SILENCE).await == first
}
