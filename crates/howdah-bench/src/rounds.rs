//! Comparing on a noisy machine: contenders take turns in every round, and ratios are taken within a round.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

/// Median and extremes of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the two.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// None for an empty sample.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Spread { median: f64::midpoint(low, high), min, max })
    }
}

/// The order of `contenders` in each of `rounds` rounds, shuffled anew per round, so that nobody always follows the
/// same neighbour. The same seed gives the same orders.
#[must_use]
pub fn orders(contenders: usize, rounds: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let shuffled = (0..rounds).map(|_| {
        let mut order: Vec<usize> = (0..contenders).collect();
        for last in (1..order.len()).rev() {
            let place = random.next_u64() % (last as u64 + 1);
            order.swap(last, usize::try_from(place).unwrap_or(last));
        }
        order
    });
    shuffled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
    }

    #[test]
    fn every_round_has_everybody_once_and_orders_differ() {
        let orders = orders(4, 40, 1);
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        let first = (0..4).map(|who| orders.iter().filter(|order| order[0] == who).count());
        assert!(first.into_iter().all(|times| times > 2), "everybody begins now and then");
    }
}
