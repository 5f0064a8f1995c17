//! How much is measured: the sizes that the promises speak of, or small ones for a smoke test.

use std::time::Duration;

/// Rows, bytes and repetitions.
pub(super) struct Scale {
    pub(super) readings: u64,
    pub(super) events: u64,
    /// Rounds of throughput after the warm-up.
    pub(super) rounds: usize,
    /// The two sizes whose memory must not differ.
    pub(super) memory_rows: [u64; 2],
    /// Runs per input: a peak varies less than a time.
    pub(super) memory_rounds: usize,
    pub(super) long_field: u64,
    pub(super) small_rows: u64,
    pub(super) small_rounds: usize,
    /// How long a stream runs.
    pub(super) endurance: Duration,
}

impl Scale {
    pub(super) fn new(quick: bool, rounds: usize) -> Self {
        if quick {
            return Scale {
                readings: 50_000,
                events: 20_000,
                rounds: 2,
                memory_rows: [20_000, 100_000],
                memory_rounds: 1,
                long_field: 5_000_000,
                small_rows: 1_000,
                small_rounds: 3,
                endurance: Duration::from_secs(2),
            };
        }
        Scale {
            readings: 5_000_000,
            events: 1_000_000,
            rounds,
            memory_rows: [1_000_000, 20_000_000],
            memory_rounds: 2,
            long_field: 200_000_000,
            small_rows: 1_000,
            small_rounds: 30,
            endurance: Duration::from_secs(600),
        }
    }
}
