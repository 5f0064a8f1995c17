//! Runs in which one connection, or several at once, led the same rows into one copy of the table.

use serde::{Deserialize, Serialize};

use super::FEWEST_ROUNDS;
use crate::measured::Measured;
use crate::statistics::Spread;

/// More connections that are less than so much faster are not worth having.
const LEAST_GAIN: f64 = 1.05;

/// One run: each connection sent its share of the rows, and rolled them back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionsRun {
    /// The round; round 0 warms up and counts for nothing. Each has one connection twice.
    pub round: u32,
    /// Connections that sent at once.
    pub connections: u32,
    /// Seconds until the last of them was done.
    pub seconds: f64,
    /// Bytes that were written to the log meanwhile, by whomever.
    pub log: f64,
}

/// Rows of the table, led by several connections at once into a copy that begins empty, and has neither foreign keys nor triggers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionsTrial {
    /// Rows of a run, of all connections together.
    pub rows: u64,
    /// Every run.
    pub runs: Vec<ConnectionsRun>,
}

impl ConnectionsTrial {
    /// Seconds of so many connections in each round: of one, the mean of its two runs.
    fn seconds(&self, connections: u32) -> Vec<(u32, f64)> {
        let mut rounds: Vec<u32> = self.runs.iter().map(|run| run.round).filter(|round| *round > 0).collect();
        rounds.dedup();
        let of = |round: u32| {
            let runs =
                self.runs.iter().filter(move |run| run.round == round && run.connections == connections);
            let seconds: Vec<f64> = runs.map(|run| run.seconds).filter(|seconds| *seconds > 0.0).collect();
            let is_whole = seconds.len() == if connections == 1 { 2 } else { 1 };
            is_whole.then(|| (round, seconds.iter().sum::<f64>() / seconds.len() as f64))
        };
        rounds.into_iter().filter_map(of).collect()
    }

    /// Seconds of so many connections and of so many others, in the rounds that have both.
    fn paired(&self, connections: u32, others: u32) -> Vec<(f64, f64)> {
        let others = self.seconds(others);
        let pair = |(round, seconds): (u32, f64)| {
            others.iter().find(|(other, _)| *other == round).map(|(_, other)| (seconds, *other))
        };
        self.seconds(connections).into_iter().filter_map(pair).collect()
    }

    /// The numbers of connections that were tried, beside one.
    pub fn tried(&self) -> Vec<u32> {
        let mut tried: Vec<u32> =
            self.runs.iter().map(|run| run.connections).filter(|count| *count > 1).collect();
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// How many connections pay: with the next larger number that was tried, rows are less than a twentieth faster there.
    /// `None`: there are too few rounds.
    pub fn knee(&self) -> Option<u32> {
        let mut knee = 1;
        for count in self.tried() {
            let pairs = self.paired(knee, count);
            if pairs.len() < FEWEST_ROUNDS {
                return (knee > 1).then_some(knee);
            }
            let gain = Spread::of(pairs.into_iter().map(|(fewer, more)| fewer / more))?.median;
            if gain < LEAST_GAIN {
                return Some(knee);
            }
            knee = count;
        }
        (knee > 1).then_some(knee)
    }

    /// The share of one connection's time that goes with so many; `None`: there are too few rounds.
    pub fn saved(&self, connections: u32) -> Option<Measured> {
        Measured::of(self.paired(connections, 1).into_iter().map(|(several, one)| 1.0 - several / one))
    }

    /// How far apart two runs of one connection are, as a share.
    pub fn noise(&self) -> Option<f64> {
        let apart = self.seconds(1).into_iter().filter_map(|(round, mean)| {
            let first = self.runs.iter().find(|run| run.round == round && run.connections == 1)?;
            Some(((first.seconds - mean) / mean).abs() * 2.0)
        });
        Spread::of(apart).map(|spread| spread.median)
    }

    /// Whether a share is more than nothing, and more than this machine's noise.
    pub fn is_clear(&self, share: Measured) -> bool {
        share.is_clear(self.noise())
    }

    /// Whole rounds, without the one that warms up.
    pub fn rounds(&self) -> usize {
        self.seconds(1).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::connections;

    #[test]
    fn the_knee_is_where_more_connections_are_less_than_a_twentieth_faster() {
        assert_eq!(connections(&[(2, 0.6), (4, 0.4), (8, 0.39)]).knee(), Some(4));
        assert_eq!(connections(&[(2, 0.6), (4, 0.4), (8, 0.38)]).knee(), Some(8));
        assert_eq!(connections(&[(2, 0.96), (4, 0.5)]).knee(), Some(1));
        assert_eq!(connections(&[(2, 1.7), (4, 2.0)]).knee(), Some(1));
        assert_eq!(connections(&[(2, 0.5)]).knee(), Some(2));
        assert_eq!(ConnectionsTrial::default().knee(), None);
    }

    #[test]
    fn what_was_tried_in_too_few_rounds_counts_for_nothing() {
        let mut trial = connections(&[(2, 0.6), (4, 0.3)]);
        trial.runs.retain(|run| run.connections != 4 || run.round < 3);
        assert_eq!((trial.tried(), trial.knee()), (vec![2, 4], Some(2)));
        trial.runs.retain(|run| run.round < 3);
        assert_eq!((trial.knee(), trial.saved(2), trial.rounds()), (None, None, 2));
    }

    #[test]
    fn a_share_is_of_the_mean_of_both_runs_of_one_connection() {
        let mut trial = connections(&[(2, 0.6)]);
        for run in trial.runs.iter_mut().filter(|run| run.connections == 1).step_by(2) {
            run.seconds = 1.4;
        }
        let saved = trial.saved(2).unwrap();
        assert_eq!((saved.percent().as_str(), saved.rounds), ("50 % (50 to 50)", 7));
        assert!((trial.noise().unwrap() - 1.0 / 3.0).abs() < 1e-9);
        assert!(trial.is_clear(saved));
        assert!(!trial.is_clear(Measured { median: 0.3, ..saved }));
    }
}
