//! Timings: where a worker's time went. The clock is read three times for each half megabyte of input, which costs nothing.

use std::iter::Sum;
use std::time::{Duration, Instant};

/// The time of one worker, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Timings {
    /// Reading, decompressing and cutting the input, and waiting for another worker to do so.
    pub(crate) reading: Duration,
    /// Splitting and encoding; asking the server about literals that the codecs are unsure of.
    pub(crate) encoding: Duration,
    /// Sending, and waiting until the server has taken the rows.
    pub(crate) waiting: Duration,
}

impl Sum for Timings {
    fn sum<I: Iterator<Item = Timings>>(all: I) -> Timings {
        all.fold(Timings::default(), |sum, one| Timings {
            reading: sum.reading + one.reading,
            encoding: sum.encoding + one.encoding,
            waiting: sum.waiting + one.waiting,
        })
    }
}

/// Books every moment on exactly one account.
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
