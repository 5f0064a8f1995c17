//! How long statements took, as percentiles: a mean, which is all that study 5 printed, hides those that waited.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Milliseconds that a statement took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean; connections that are never idle are as many as this times the statements a second.
    pub mean_ms: f64,
    /// Half of all took at most this long.
    pub p50_ms: f64,
    /// Nine in ten.
    pub p90_ms: f64,
    /// Ninety-nine in a hundred.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// Counts statements, their rows and their times, to a thousandth of each.
#[derive(Debug)]
pub(super) struct Recorder {
    rows: u64,
    nanoseconds: Histogram<u64>,
}

impl Default for Recorder {
    fn default() -> Self {
        // Three digits are among those that it can keep.
        Recorder { rows: 0, nanoseconds: Histogram::new(3).expect("a histogram of three digits") }
    }
}

impl Recorder {
    pub(super) fn record(&mut self, rows: u64, took: Duration) {
        self.rows += rows;
        // Saturating would cut at what it can hold at first; like this it grows, up to centuries.
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.record(nanoseconds).expect("a histogram that grows");
    }

    pub(super) fn add(&mut self, other: &Recorder) {
        self.rows += other.rows;
        self.nanoseconds.add(&other.nanoseconds).expect("a histogram that grows");
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn statements(&self) -> u64 {
        self.nanoseconds.len()
    }

    pub(super) fn latency(&self) -> Latency {
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let at = |quantile: f64| ms(self.nanoseconds.value_at_quantile(quantile));
        Latency {
            mean_ms: self.nanoseconds.mean() / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            max_ms: ms(self.nanoseconds.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_connections_together() {
        let mut total = Recorder::default();
        for connection in 0..10 {
            let mut recorder = Recorder::default();
            (1..=100).for_each(|n| recorder.record(2, Duration::from_millis(connection * 100 + n)));
            total.add(&recorder);
        }
        assert_eq!((total.rows(), total.statements()), (2_000, 1_000));
        let latency = total.latency();
        for (is, should) in [
            (latency.mean_ms, 500.5),
            (latency.p50_ms, 500.0),
            (latency.p90_ms, 900.0),
            (latency.p99_ms, 990.0),
            (latency.max_ms, 1000.0),
        ] {
            assert!((is - should).abs() <= should / 500.0, "{is} for {should}: {latency:?}");
        }
        assert_eq!(Recorder::default().latency(), Latency::default());
    }
}
