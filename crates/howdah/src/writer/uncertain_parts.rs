//! Parts that were given up while nobody knew what became of them. Where the order of rows counts, none of their lane's rows
//! is sent before they are void: an attempt that arrives after those would put older values in their place.

use parking_lot::Mutex;
use std::collections::BTreeMap;

use super::mark::Mark;

/// The doubts of a writer, by the lane whose rows they are about.
#[derive(Default)]
pub(super) struct UncertainParts(Mutex<BTreeMap<usize, Vec<UncertainPart>>>);

/// A part of which an attempt may still arrive, or be in.
#[derive(Clone)]
pub(super) struct UncertainPart {
    pub(super) part: i64,
    /// The sessions of its attempts: each may still hold locks.
    pub(super) abandoned: Vec<Mark>,
}

impl UncertainParts {
    pub(super) fn add(&self, lane: usize, doubtful: UncertainPart) {
        self.with(|lanes| lanes.entry(lane).or_default().push(doubtful));
    }

    /// The doubts that rows of a lane wait for, with the lanes they are of; `all`, those of every lane.
    pub(super) fn of(&self, lane: usize, all: bool) -> Vec<(usize, UncertainPart)> {
        let is_meant = |other: &usize| all || *other == lane;
        self.with(|lanes| {
            let meant = lanes.iter().filter(|(lane, _)| is_meant(lane));
            meant.flat_map(|(lane, doubts)| doubts.iter().map(|doubt| (*lane, doubt.clone()))).collect()
        })
    }

    /// Nothing happens under this part any more.
    pub(super) fn settled(&self, lane: usize, part: i64) {
        self.with(|lanes| {
            if let Some(doubts) = lanes.get_mut(&lane) {
                doubts.retain(|doubt| doubt.part != part);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<usize, Vec<UncertainPart>>) -> T) -> T {
        act(&mut self.0.lock())
    }
}

#[test]
fn rows_wait_for_the_doubts_of_their_lane_or_of_all() {
    let doubts = UncertainParts::default();
    for (lane, part) in [(0, 5), (1, 6), (1, 7)] {
        doubts.add(lane, UncertainPart { part, abandoned: vec![Mark::new()] });
    }
    let parts =
        |lane, all| -> Vec<i64> { doubts.of(lane, all).iter().map(|(_, doubtful)| doubtful.part).collect() };
    assert_eq!((parts(1, false), parts(2, false), parts(0, true)), (vec![6, 7], vec![], vec![5, 6, 7]));
    doubts.settled(1, 6);
    assert_eq!(parts(1, false), [7]);
}
