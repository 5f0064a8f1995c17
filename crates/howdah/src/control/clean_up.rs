//! Cleaning up: one deadline for all its steps, however many there are.

use parking_lot::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Who says stop hears within two seconds what became of it: what cleaning up cannot do in this time, closing the connections
/// does.
const AFTER_A_STOP: Duration = Duration::from_millis(1500);
/// The same where nobody waits, as when a machine is gone: with the time that it takes to find that out, less than 30 seconds.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

/// By when cleaning up ends. It counts from the stop, or from its first step where nobody said stop.
#[derive(Default)]
pub(super) struct CleanUp(Mutex<CleanUpState>);

#[derive(Default)]
struct CleanUpState {
    stopped: Option<Instant>,
    begun: Option<Instant>,
}

impl CleanUp {
    /// Another piece of work begins: an earlier one's failure is over. A stop is for ever.
    pub(super) fn begin(&self) {
        self.0.lock().begun = None;
    }

    /// By when all is to end where somebody has said stop; the first call says when that was.
    pub(super) fn stop(&self) -> Instant {
        *self.0.lock().stopped.get_or_insert_with(Instant::now) + AFTER_A_STOP
    }

    /// By when all is to end as long as nobody says stop; the first call begins it.
    pub(super) fn fail(&self) -> Instant {
        *self.0.lock().begun.get_or_insert_with(Instant::now) + AFTER_A_FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn all_steps_of_stopping_have_one_deadline() {
        let control = Control::new();
        control.cancel();
        let by = control.stop_by();
        runtime().block_on(async {
            for _ in 0..3 {
                assert!(control.clean_up(std::future::pending::<()>()).await.is_none());
                assert_eq!(control.stop_by(), by);
            }
            // What needs no waiting is done all the same.
            assert_eq!(control.clean_up(async { 1 }).await, Some(1));
        });
    }

    #[test]
    fn a_failure_has_one_deadline_too_and_a_stop_brings_it_forward() {
        let clean_up = CleanUp::default();
        let by = clean_up.fail();
        assert_eq!(clean_up.fail(), by);
        assert!(clean_up.stop() < by);
        clean_up.begin();
        assert!(clean_up.fail() > by);
    }
}
