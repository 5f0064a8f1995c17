use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Bisection, SHORT_SEGMENT};

/// How a server names the row that it refuses.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Names {
    Truthful,
    Absent,
    /// A row outside the segment.
    Outside,
    /// The last row of the segment, as of rows that are buffered.
    Last,
    /// Any row of the segment from the bad one on.
    Late,
    /// One of the others each time.
    Mixed,
    /// Any row of the segment.
    Wild,
}

impl Names {
    /// All whose names are no earlier than the bad row.
    const IN_ORDER: [Names; 6] =
        [Names::Truthful, Names::Absent, Names::Outside, Names::Last, Names::Late, Names::Mixed];

    /// The name of `bad` in a segment of `rows` rows; `random` decides what is open.
    fn of(self, bad: usize, rows: usize, random: usize) -> Option<usize> {
        match self {
            Names::Truthful => Some(bad),
            Names::Absent => None,
            Names::Outside => Some(rows + random % 3 * (usize::MAX / 4)),
            Names::Last => Some(rows - 1),
            Names::Late => Some(bad + random % (rows - bad)),
            Names::Mixed => Names::IN_ORDER[random % 5].of(bad, rows, random / 5),
            Names::Wild => Some(random % rows),
        }
    }
}

/// What a search did.
#[derive(Debug, Default, PartialEq)]
struct SearchRun {
    accepted: Vec<usize>,
    refused: Vec<usize>,
    segments: usize,
}

/// Searches `rows` rows of a server that refuses every segment with a row of `bad` in it.
fn search(rows: usize, bad: &BTreeSet<usize>, names: Names, seed: u64) -> SearchRun {
    let mut random = seed;
    let mut found = SearchRun::default();
    let mut search = Bisection::new(rows);
    let mut before = 0;
    while let Some(sent) = search.segment() {
        assert_eq!(sent.start, before, "a segment starts where the settled rows end");
        assert!(sent.end <= rows);
        found.segments += 1;
        assert!(found.segments <= 40 * (rows + 1), "the search does not end");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let refused = match bad.range(sent.clone()).next() {
            None => {
                found.accepted.extend(sent.clone());
                before = sent.end;
                search.accepted()
            }
            Some(first) => {
                let name = names.of(first - sent.start, sent.len(), usize::try_from(random >> 33).unwrap());
                search.refused(name, ())
            }
        };
        if let Some((row, ())) = refused {
            assert_eq!(row, before, "a row is refused after all rows before it");
            found.refused.push(row);
            before = row + 1;
        }
    }
    assert_eq!(before, rows, "a row was left out");
    found
}

fn log2(x: f64) -> f64 {
    x.max(1.0).log2()
}

/// The documented bound for `refused` rows among `rows`.
fn bound(refused: usize, rows: usize) -> f64 {
    let (k, n) = (refused as f64, rows as f64);
    let each = if refused == 0 { 0.0 } else { 3.0 * log2(n / k) + 10.0 };
    k * each + log2(n) + 2.0
}

/// The documented bound where all names are true.
fn bound_of_truthful(bad: &BTreeSet<usize>, rows: usize) -> f64 {
    let (mut most, mut from) = (0.0, 0);
    for row in bad.iter().copied().chain([rows]) {
        most += 2.0 + log2((row - from) as f64 / SHORT_SEGMENT as f64 + 1.0);
        from = row + 1;
    }
    most
}

fn check(rows: usize, bad: &BTreeSet<usize>, names: Names, seed: u64) {
    let found = search(rows, bad, names, seed);
    let good: Vec<usize> = (0..rows).filter(|row| !bad.contains(row)).collect();
    let refused: Vec<usize> = bad.iter().copied().collect();
    assert_eq!(found.accepted, good, "{names:?}: every good row is accepted once, in order");
    assert_eq!(found.refused, refused, "{names:?}: exactly the bad rows are refused");
    let most = match names {
        Names::Truthful => bound_of_truthful(bad, rows).min(bound(bad.len(), rows)),
        _ => bound(bad.len(), rows),
    };
    assert!(found.segments as f64 <= most, "{names:?}: {} segments, at most {most}", found.segments);
}

#[test]
fn no_pattern_of_bad_rows_costs_a_good_row_or_hides_a_bad_one() {
    for rows in 0..=11_usize {
        for pattern in 0..1_u64 << rows {
            let bad = (0..rows).filter(|row| pattern >> row & 1 == 1).collect();
            for names in Names::IN_ORDER {
                check(rows, &bad, names, pattern);
            }
        }
    }
}

#[test]
fn rows_that_are_all_good_take_one_segment_and_no_rows_take_none() {
    assert_eq!(search(100_000, &BTreeSet::new(), Names::Absent, 0).segments, 1);
    assert_eq!(search(0, &BTreeSet::new(), Names::Absent, 0), SearchRun::default());
}

#[test]
fn a_named_row_is_gone_to_directly() {
    let mut search = Bisection::new(1000);
    assert_eq!(search.segment(), Some(0..1000));
    assert_eq!(search.refused(Some(700), "bad"), None);
    assert_eq!(search.segment(), Some(0..700));
    assert_eq!(search.accepted(), Some((700, "bad")));
    assert_eq!(search.segment(), Some(701..1000));
    assert_eq!(search.refused(Some(0), "too"), Some((701, "too")));
    assert_eq!(search.segment(), Some(702..702 + SHORT_SEGMENT));
}

#[test]
fn segments_halve_to_the_bad_row_and_double_behind_it() {
    let bad = BTreeSet::from([5]);
    let mut search = Bisection::new(64);
    let mut sent = Vec::new();
    while let Some(segment) = search.segment() {
        sent.push((segment.start, segment.end));
        let _ = match bad.range(segment).next() {
            Some(_) => search.refused(None, ()),
            None => search.accepted(),
        };
    }
    let halving = [(0, 64), (0, 32), (0, 16), (0, 8), (0, 4), (4, 6), (4, 5), (5, 6)];
    let doubling = [(6, 8), (8, 12), (12, 20), (20, 36), (36, 64)];
    assert_eq!(sent, [&halving[..], &doubling[..]].concat());
}

#[test]
fn a_server_that_always_names_the_last_row_is_not_followed_row_by_row() {
    let found = search(4096, &BTreeSet::from([0]), Names::Last, 0);
    assert_eq!(found.refused, [0]);
    assert!(found.segments <= 32, "{}", found.segments);
}

#[test]
fn the_error_of_a_wrong_name_is_not_that_of_the_row() {
    let mut search = Bisection::new(4);
    assert_eq!(search.refused(Some(2), "named row 2"), None);
    // Rows 0 and 1 are refused as well.
    assert_eq!(search.refused(None, "no name"), None);
    assert_eq!(search.segment(), Some(0..1));
    assert_eq!(search.accepted(), None);
    assert_eq!(search.refused(None, "row 1"), Some((1, "row 1")));
    assert_eq!(search.segment(), Some(2..3));
    assert_eq!(search.accepted(), None);
    assert_eq!(search.segment(), Some(3..4));
}

#[test]
fn answers_after_the_end_change_nothing() {
    let mut search = Bisection::new(1);
    assert_eq!(search.accepted(), None);
    assert_eq!((search.accepted(), search.refused(Some(0), ()), search.segment()), (None, None, None));
}

/// Bad rows: anywhere, in runs, or at equal distances.
fn patterns() -> impl Strategy<Value = (usize, BTreeSet<usize>)> {
    (1..3000_usize).prop_flat_map(|rows| {
        let scattered = proptest::collection::btree_set(0..rows, 0..=rows.min(200));
        let runs = proptest::collection::vec((0..rows, 1..50_usize), 0..6).prop_map(move |runs| {
            runs.into_iter().flat_map(|(start, length)| start..rows.min(start + length)).collect()
        });
        let spaced =
            (1..rows + 1, 0..rows).prop_map(move |(step, start)| (start..rows).step_by(step).collect());
        (Just(rows), prop_oneof![scattered, runs, spaced])
    })
}

proptest! {
    #[test]
    fn exactly_the_bad_rows_are_refused_within_the_bound((rows, bad) in patterns(), seed in any::<u64>()) {
        for names in Names::IN_ORDER {
            check(rows, &bad, names, seed);
        }
    }

    #[test]
    fn names_that_are_made_up_lose_no_row_and_hide_no_bad_one((rows, bad) in patterns(), seed in any::<u64>()) {
        let found = search(rows, &bad, Names::Wild, seed);
        prop_assert!(found.accepted.iter().all(|row| !bad.contains(row)));
        prop_assert!(bad.iter().all(|row| found.refused.binary_search(row).is_ok()));
        prop_assert_eq!(found.accepted.len() + found.refused.len(), rows);
        prop_assert!(found.segments as f64 <= bound(found.refused.len(), rows));
    }
}
