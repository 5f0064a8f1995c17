//! Where a lane's time went. The clock is read three times a piece, which is nothing beside the half megabyte in it.

use std::iter::Sum;
use std::time::{Duration, Instant};

/// The time of one lane, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Reading, decompressing and cutting the input, and waiting for the lane that did.
    pub(crate) reading: Duration,
    /// Splitting and encoding; asking the server what the codecs are not sure of.
    pub(crate) encoding: Duration,
    /// Sending, and waiting until the server has taken it.
    pub(crate) waiting: Duration,
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Spent>>(all: I) -> Spent {
        all.fold(Spent::default(), |sum, one| Spent {
            reading: sum.reading + one.reading,
            encoding: sum.encoding + one.encoding,
            waiting: sum.waiting + one.waiting,
        })
    }
}

/// Gives every moment to exactly one account.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Books the time since the last lap.
    pub(crate) fn lap(&mut self, account: &mut Duration) {
        let now = Instant::now();
        *account += now.duration_since(self.0);
        self.0 = now;
    }
}
