//! The turns of contenders: on a noisy machine each has one in every round, and ratios are taken within a round.

/// The order of `contenders` in each of `rounds` rounds, shuffled anew per round, so that none always follows the
/// same neighbour. The same seed gives the same orders.
#[must_use]
pub fn orders(contenders: usize, rounds: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let shuffled = (0..rounds).map(|_| {
        let mut order: Vec<usize> = (0..contenders).collect();
        rng.shuffle(&mut order);
        order
    });
    shuffled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_contender_once_and_orders_differ() {
        let orders = orders(4, 40, 1);
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        let first = (0..4).map(|who| orders.iter().filter(|order| order[0] == who).count());
        assert!(first.into_iter().all(|times| times > 2), "each begins now and then");
    }
}
