//! Which order of a part's rows costs the server least: as they come, or that of an index. A row is cheap in an index that it
//! meets in order, and dear in one that it meets in none, so that one order's gain in its own index is the loss of others.
//!
//! The costs are those of 2 M rows into a table of 3 M with a key and two indexes, in and beyond `shared_buffers`: an index that
//! is met in no order takes some 5 µs of a row, and up to three times that where its pages must be read again.

use std::collections::HashSet;

/// Below so much disorder rows are as good as sorted. Of rows in random order half have a smaller key than the row before.
const DISORDERED: f64 = 0.1;

/// Fewer pages than this (2 MB) stay in a core's cache, whatever the order of rows.
const FEW_PAGES: u64 = 256;

/// Entries of an index in one of its pages, few of them rather than many.
const ENTRIES_OF_PAGE: u64 = 300;

/// What pages that are read again cost at the most, in costs of a row that finds its page in memory.
const MOST_READ: f64 = 2.0;

/// A smaller gain is less than the estimate knows.
const LEAST_GAIN: f64 = 0.1;

/// An index that rows go into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexSample {
    /// The keys of the part's first rows, as they come.
    pub(crate) keys: Vec<u128>,
    /// Pages of the index.
    pub(crate) pages: u64,
}

/// The index in whose order the `rows` of a part are sent, by its place; `None` where they are to stay as they come. `cache` is
/// the pages that the server keeps in memory.
pub(crate) fn choose(indexes: &[IndexSample], rows: u64, cache: u64) -> Option<usize> {
    let as_they_come: f64 = indexes.iter().map(|index| cost(index, &index.keys, rows, cache)).sum();
    let sorted_by = |by: usize| {
        let order = order(&indexes[by].keys);
        let cost = |at: usize| match at == by {
            true => read_again(&indexes[by], rows, cache),
            false => {
                let keys: Vec<u128> = order.iter().map(|row| indexes[at].keys[*row]).collect();
                cost(&indexes[at], &keys, rows, cache)
            }
        };
        (0..indexes.len()).map(cost).sum::<f64>()
    };
    let disordered = (0..indexes.len()).filter(|at| disorder(&indexes[*at].keys) >= DISORDERED);
    let (best, least) = disordered.map(|at| (at, sorted_by(at))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least + LEAST_GAIN < as_they_come).then_some(best)
}

/// The numbers of the rows in the order of their keys.
fn order(keys: &[u128]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|row| keys[*row]);
    order
}

/// How much of a row's keys is in no order: 0 of sorted ones, 1 of random ones.
fn disorder(keys: &[u128]) -> f64 {
    let descents = keys.windows(2).filter(|pair| pair[1] < pair[0]).count();
    (2.0 * descents as f64 / keys.len().max(1) as f64).min(1.0)
}

/// What a row costs in `index` where the keys of the first ones come as `keys`.
fn cost(index: &IndexSample, keys: &[u128], rows: u64, cache: u64) -> f64 {
    let disorder = disorder(keys);
    let wandered = wandered(index, rows);
    if disorder < DISORDERED || wandered < FEW_PAGES {
        return 0.0;
    }
    disorder * (1.0 + share(wandered, cache))
}

/// The pages that the rows wander through where they are in no order. Rows that came in order have pages of their own, which
/// they fill; rows of one key go into one page, and where keys hardly repeat in the sample there are many.
fn wandered(index: &IndexSample, rows: u64) -> u64 {
    let own = if disorder(&index.keys) < DISORDERED { rows / ENTRIES_OF_PAGE } else { u64::MAX };
    let distinct = index.keys.iter().collect::<HashSet<_>>().len();
    let of_keys = if distinct < index.keys.len() / 2 { distinct as u64 } else { u64::MAX };
    index.pages.min(own).min(of_keys)
}

/// What is left for a row in the index by which the part is sorted: each of its pages is read once a part.
fn read_again(index: &IndexSample, rows: u64, cache: u64) -> f64 {
    share(index.pages, cache) * (index.pages as f64 / rows.max(1) as f64).min(1.0)
}

/// `pages` as a share of those that the server keeps, as far as that costs more.
fn share(pages: u64, cache: u64) -> f64 {
    (pages as f64 / cache.max(1) as f64).min(MOST_READ)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u64 = 250_000;
    /// 128 MB.
    const CACHE: u64 = 16_384;

    fn ascending(pages: u64) -> IndexSample {
        IndexSample { keys: (0..4096).collect(), pages }
    }

    /// In no order, and in another one with another `seed`.
    fn scattered(seed: u64, pages: u64) -> IndexSample {
        let key = |n: u64| {
            let mixed = (n + seed * 1_000_003).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            u128::from((mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
        };
        IndexSample { keys: (0..4096).map(key).collect(), pages }
    }

    fn few(pages: u64) -> IndexSample {
        IndexSample { keys: (0..4096).map(|n| n * 7919 % 100).collect(), pages }
    }

    #[test]
    fn the_index_that_is_met_in_no_order_is_sorted_by() {
        assert_eq!(choose(&[scattered(1, 9000)], ROWS, CACHE), Some(0));
        assert_eq!(choose(&[few(9000), scattered(1, 9000)], ROWS, CACHE), Some(1));
        assert_eq!(choose(&[ascending(9000)], ROWS, CACHE), None);
        assert_eq!(choose(&[], ROWS, CACHE), None);
    }

    #[test]
    fn what_two_others_would_lose_is_more_than_one_gains() {
        let (id, at) = (ascending(9000), ascending(9000));
        let customer = scattered(1, 6000);
        assert_eq!(choose(&[id.clone(), customer.clone()], ROWS, CACHE), Some(1));
        assert_eq!(choose(&[id.clone(), customer.clone(), at.clone()], ROWS, CACHE), None);
        // So few rows find the pages that they fill in a core's cache, in whichever order.
        assert_eq!(choose(&[id, customer, at], 10_000, CACHE), Some(1));
    }

    #[test]
    fn of_two_the_larger_one_is_taken_and_none_where_all_is_in_memory() {
        let at = ascending(9000);
        let of = |pages: [u64; 2], cache| {
            choose(&[scattered(1, pages[0]), scattered(2, pages[1]), at.clone()], ROWS, cache)
        };
        assert_eq!(of([11_000, 5000], CACHE), Some(0));
        assert_eq!(of([5000, 11_000], CACHE), Some(1));
        assert_eq!(of([11_000, 5000], 1 << 20), None);
    }

    #[test]
    fn an_index_in_which_no_two_rows_share_a_page_is_read_for_each_row_all_the_same() {
        let (id, at) = (ascending(9000), ascending(9000));
        assert_eq!(choose(&[id, scattered(1, 4_000_000), at.clone()], ROWS, CACHE), None);
        assert_eq!(choose(&[scattered(1, 20_000), at], ROWS, CACHE), Some(0));
    }

    #[test]
    fn indexes_that_are_ordered_alike_gain_together() {
        let id = scattered(1, 6000);
        let pair = IndexSample { keys: id.keys.iter().map(|key| key << 8).collect(), pages: 6000 };
        assert_eq!(choose(&[id, ascending(9000), ascending(9000), pair], ROWS, 1 << 20), None);
        let (id, pair) = (scattered(1, 9000), scattered(1, 9000));
        assert_eq!(choose(&[id, ascending(9000), pair], ROWS, 1 << 20), Some(0));
    }
}
