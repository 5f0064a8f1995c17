//! How long something took, many times, as percentiles and whole: a mean, which is all that study 5 printed, hides those
//! that waited.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Milliseconds that a statement took, or a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean; connections that are never idle are as many as this times the statements a second.
    pub mean_ms: f64,
    /// Half of all took at most this long.
    pub p50_ms: f64,
    /// Nine in ten.
    pub p90_ms: f64,
    /// Ninety-five in a hundred; None in records made before it was counted.
    #[serde(default)]
    pub p95_ms: Option<f64>,
    /// Ninety-nine in a hundred.
    pub p99_ms: f64,
    /// All but one in a thousand; None in records made before it was counted.
    #[serde(default)]
    pub p99_9_ms: Option<f64>,
    /// The longest.
    pub max_ms: f64,
}

/// Nanoseconds and how often they were seen, in ascending order, each value rounded up by less than a hundredth.
pub type Counts = Vec<(u64, u64)>;

/// Counts times, to a thousandth of each.
#[derive(Debug)]
pub(crate) struct Recorder {
    nanoseconds: Histogram<u64>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder { nanoseconds: histogram(3) }
    }
}

fn histogram(digits: u8) -> Histogram<u64> {
    // So few digits are among those that it can keep.
    Histogram::new(digits).expect("a histogram of few digits")
}

impl Recorder {
    /// What another process counted.
    pub(crate) fn of(counts: &[(u64, u64)]) -> Self {
        let mut recorder = Recorder::default();
        for &(nanoseconds, count) in counts {
            recorder.put(nanoseconds, count);
        }
        recorder
    }

    pub(crate) fn record(&mut self, took: Duration) {
        self.put(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), 1);
    }

    fn put(&mut self, nanoseconds: u64, count: u64) {
        // Saturating would cut at what it can hold at first; like this it grows, up to centuries.
        self.nanoseconds.record_n(nanoseconds, count).expect("a histogram that grows");
    }

    pub(crate) fn add(&mut self, other: &Recorder) {
        self.nanoseconds.add(&other.nanoseconds).expect("a histogram that grows");
    }

    /// How many times were counted.
    pub(crate) fn len(&self) -> u64 {
        self.nanoseconds.len()
    }

    pub(crate) fn latency(&self) -> Latency {
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        let at = |quantile: f64| ms(self.nanoseconds.value_at_quantile(quantile));
        Latency {
            mean_ms: self.nanoseconds.mean() / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p95_ms: Some(at(0.95)),
            p99_ms: at(0.99),
            p99_9_ms: Some(at(0.999)),
            max_ms: ms(self.nanoseconds.max()),
        }
    }

    /// The whole of it for a record, to a hundredth: some thousand numbers whatever was counted.
    pub(crate) fn counts(&self) -> Counts {
        let mut coarse = histogram(2);
        for bucket in self.nanoseconds.iter_recorded() {
            coarse
                .record_n(bucket.value_iterated_to(), bucket.count_at_value())
                .expect("a histogram that grows");
        }
        coarse.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value())).collect()
    }

    /// Shares of all and the milliseconds that they took at most, closer and closer to the longest: what a curve is drawn
    /// from. Shares of which there is not a single one beyond are left out.
    pub(crate) fn quantiles(&self) -> Vec<(f64, f64)> {
        let mut quantiles: Vec<(f64, f64)> = Vec::new();
        let mut beyond = 1.0;
        while self.len() > 0 && beyond * self.len() as f64 >= 1.0 {
            for part in [1.0, 0.7, 0.5, 0.35, 0.2, 0.14] {
                let share: f64 = 1.0 - beyond * part;
                quantiles.push((share, self.nanoseconds.value_at_quantile(share) as f64 / 1e6));
            }
            beyond /= 10.0;
        }
        quantiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thousand() -> Recorder {
        let mut total = Recorder::default();
        for connection in 0..10 {
            let mut recorder = Recorder::default();
            (1..=100).for_each(|n| recorder.record(Duration::from_millis(connection * 100 + n)));
            total.add(&recorder);
        }
        total
    }

    #[test]
    fn percentiles_are_those_of_all_connections_together() {
        let total = thousand();
        assert_eq!(total.len(), 1_000);
        let latency = total.latency();
        for (is, should) in [
            (latency.mean_ms, 500.5),
            (latency.p50_ms, 500.0),
            (latency.p90_ms, 900.0),
            (latency.p95_ms.unwrap(), 950.0),
            (latency.p99_ms, 990.0),
            (latency.p99_9_ms.unwrap(), 999.0),
            (latency.max_ms, 1000.0),
        ] {
            assert!((is - should).abs() <= should / 500.0, "{is} for {should}: {latency:?}");
        }
        assert_eq!(Recorder::default().latency().max_ms, 0.0);
    }

    #[test]
    fn a_recorded_histogram_says_the_same_as_the_one_it_was_made_of() {
        let (total, again) = (thousand(), Recorder::of(&thousand().counts()));
        assert_eq!(again.len(), 1_000);
        let (is, should) = (again.latency(), total.latency());
        for (is, should) in
            [(is.p50_ms, should.p50_ms), (is.p99_ms, should.p99_ms), (is.max_ms, should.max_ms)]
        {
            assert!((is - should).abs() <= should / 90.0, "{is} for {should}");
        }
        assert!(total.counts().len() < 1_000, "{}", total.counts().len());
    }

    #[test]
    fn quantiles_rise_and_do_not_go_beyond_what_was_counted() {
        let quantiles = thousand().quantiles();
        assert!(quantiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{quantiles:?}");
        let last = quantiles.last().unwrap();
        assert!(last.0 > 0.99 && last.0 < 1.0, "{quantiles:?}");
        assert!(Recorder::default().quantiles().is_empty());
    }
}
