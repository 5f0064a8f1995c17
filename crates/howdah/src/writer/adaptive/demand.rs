//! How many rows a second a program writes when nothing holds it back.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::arrivals::Arrived;

/// Samples that the median is taken of.
const SAMPLES: usize = 32;

/// From so many samples on something is known.
const KNOWN: usize = 4;

/// A sample is as much time with room as this: some flushes, and some of the moments at which a program writes.
const OPEN: Duration = Duration::from_millis(5);

/// Or what there was in this time.
const PASSED: Duration = Duration::from_millis(50);

/// The rate at which rows come while there is room for them: the median of some samples.
///
/// The rows of a program that keeps the queue full come as fast as it can make them in the moments in which there is room:
/// mostly faster than a server takes them. One that writes at a rate of its own is known by the time before the queue was
/// full. What it could not write meanwhile comes all at once when there is room again; that takes little time, and so makes
/// few samples.
#[derive(Debug, Default)]
pub(super) struct Demand {
    /// Where the present sample begins.
    began: Option<(Duration, Arrived)>,
    samples: VecDeque<f64>,
    rate: Option<f64>,
}

impl Demand {
    /// Learns what came until now.
    pub(super) fn observe(&mut self, now: Duration, arrived: Arrived) {
        let (at, before) = *self.began.get_or_insert((now, arrived));
        let open = arrived.open.saturating_sub(before.open);
        if open < OPEN && now.saturating_sub(at) < PASSED {
            return;
        }
        self.began = Some((now, arrived));
        let rate = arrived.rows.saturating_sub(before.rows) as f64 / open.as_secs_f64().max(1e-6);
        self.samples.push_back(rate);
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        if self.samples.len() >= KNOWN {
            let mut sorted: Vec<f64> = self.samples.iter().copied().collect();
            sorted.sort_unstable_by(f64::total_cmp);
            self.rate = Some(sorted[sorted.len() / 2]);
        }
    }

    /// Rows a second; infinitely many where nothing is known.
    pub(super) fn rate(&self) -> f64 {
        self.rate.unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program, and what it wrote so far.
    #[derive(Default)]
    struct Program {
        demand: Demand,
        now: Duration,
        arrived: Arrived,
    }

    impl Program {
        /// So often, so many rows come while there is room for so long, and none for as long as that.
        fn writes(&mut self, times: usize, rows: u64, open: Duration, shut: Duration) -> f64 {
            for _ in 0..times {
                self.now += open + shut;
                self.arrived.rows += rows;
                self.arrived.open += open;
                self.demand.observe(self.now, self.arrived);
            }
            self.demand.rate()
        }
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn rows_that_were_held_back_are_no_rate_unless_they_go_on_coming_so() {
        let mut program = Program::default();
        assert!(program.demand.rate().is_infinite());
        let rate = program.writes(300, 100, MS, Duration::ZERO);
        assert!((99e3..101e3).contains(&rate), "{rate}");
        // The load is half as much from one moment to the next, and is again what it was.
        assert!(program.writes(120, 50, MS, Duration::ZERO) < 51e3);
        assert!(program.writes(120, 100, MS, Duration::ZERO) > 99e3);
        // A stall of half a second, whose rows come in pieces when it is over.
        assert!(program.writes(1, 0, Duration::ZERO, 500 * MS) < 101e3);
        assert!(program.writes(250, 200, MS / 10, 2 * MS) < 101e3);
        assert!(program.writes(300, 100, MS, Duration::ZERO) < 101e3);
        // The queue is kept full.
        assert!(program.writes(1_000, 200, MS / 10, 2 * MS) > 1e6);
        // An hour without rows is one sample.
        assert!(program.writes(1, 0, 3_600_000 * MS, Duration::ZERO) > 1e6);
    }
}
