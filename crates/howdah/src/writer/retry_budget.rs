//! For how long a batch is tried again, and with which pauses.

use std::time::{Duration, Instant};

/// The pause before a batch is tried again the first time; each further one is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_secs(2);

/// Counts from the first failure since something succeeded: a batch that merely takes long has lost nothing of it.
pub(super) struct RetryBudget {
    retry_for: Duration,
    failing_since: Option<Instant>,
    pause: Duration,
}

/// It was tried for long enough.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted {
    /// For twice as long: no row may hold up others for longer.
    pub(super) for_good: bool,
}

impl RetryBudget {
    pub(super) fn new(retry_for: Duration) -> RetryBudget {
        RetryBudget { retry_for, failing_since: None, pause: FIRST_PAUSE }
    }

    /// Something failed; how long to wait before the next attempt.
    ///
    /// # Errors
    /// It was tried for long enough.
    pub(super) fn next_pause(&mut self) -> Result<Duration, Exhausted> {
        let failing_for = self.failing_since.get_or_insert_with(Instant::now).elapsed();
        if failing_for + self.pause > self.retry_for {
            return Err(Exhausted { for_good: failing_for > self.retry_for.saturating_mul(2) });
        }
        // Writers that failed together do not come back together.
        let pause = self.pause.mul_f64(0.5 + 0.5 * fastrand::f64());
        self.pause = (self.pause * 2).min(LAST_PAUSE);
        Ok(pause)
    }

    /// Something succeeded.
    pub(super) fn renew(&mut self) {
        (self.failing_since, self.pause) = (None, FIRST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_patience_is_exhausted_and_start_anew_after_a_success() {
        let mut budget = RetryBudget::new(Duration::from_secs(60));
        let pauses: Vec<Duration> = (0..9).map(|_| budget.next_pause().unwrap()).collect();
        assert!(pauses[0] <= FIRST_PAUSE && pauses[8] > FIRST_PAUSE && pauses[8] <= LAST_PAUSE, "{pauses:?}");
        budget.renew();
        assert!(budget.next_pause().unwrap() <= FIRST_PAUSE);
        let mut none = RetryBudget::new(Duration::ZERO);
        assert!(none.next_pause().is_err());
    }
}
