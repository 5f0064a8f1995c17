//! Runs in which statements of 1, 10, 100 and 1,000 rows led rows into one copy of the table, each way in which programs send them,
//! and the line that their times lie on.

use serde::{Deserialize, Serialize};

use crate::statistics::Spread;

/// How a program sends rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchPath {
    /// `INSERT … VALUES` as text, with literals.
    Insert,
    /// The same, prepared, with parameters.
    Prepared,
    /// `INSERT … SELECT … FROM unnest`, prepared: an array for each column.
    Unnest,
    /// `COPY`.
    Copy,
}

impl BatchPath {
    /// All of them.
    pub const ALL: [BatchPath; 4] =
        [BatchPath::Insert, BatchPath::Prepared, BatchPath::Unnest, BatchPath::Copy];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            BatchPath::Insert => "INSERT with literals",
            BatchPath::Prepared => "prepared INSERT",
            BatchPath::Unnest => "INSERT from arrays (unnest)",
            BatchPath::Copy => "COPY",
        }
    }
}

/// One run: each connection sent statements one after the other, and rolled them back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchRun {
    /// The round; round 0 warms up and counts for nothing.
    pub round: u32,
    /// How rows were sent.
    pub path: BatchPath,
    /// Connections that sent at once.
    pub connections: u32,
    /// Rows of a statement.
    pub rows: u32,
    /// Statements of each connection.
    pub statements: u32,
    /// Seconds until the last connection was done.
    pub seconds: f64,
    /// Bytes that were written to the log meanwhile, by whomever.
    pub log: f64,
}

/// Rows of the table, led into a copy by statements of several sizes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchTrial {
    /// Every run.
    pub runs: Vec<BatchRun>,
}

/// Fewer sizes are no line.
const FEWEST_SIZES: usize = 3;
/// A time may be so far from its line.
const OFF: f64 = 0.25;

/// What a statement takes: so many seconds, and so many for each of its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) statement: f64,
    pub(crate) row: f64,
}

impl Line {
    /// The line whose times are off by the least share. `None`: no line fits.
    pub(crate) fn through(times: &[(f64, f64)]) -> Option<Line> {
        if times.len() < FEWEST_SIZES || times.iter().any(|(_, seconds)| *seconds <= 0.0) {
            return None;
        }
        // Each equation is divided by its time, since a share is what counts.
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            times.iter().map(|(rows, seconds)| of(*rows, *seconds)).sum::<f64>()
        };
        let [aa, ab, bb] =
            [sum(&|_, t| 1.0 / (t * t)), sum(&|n, t| n / (t * t)), sum(&|n, t| n * n / (t * t))];
        let [a, b] = [sum(&|_, t| 1.0 / t), sum(&|n, t| n / t)];
        let determinant = aa * bb - ab * ab;
        let line = Line { statement: (a * bb - b * ab) / determinant, row: (b * aa - a * ab) / determinant };
        let fits = |(rows, seconds): &(f64, f64)| (line.seconds(*rows) / seconds - 1.0).abs() <= OFF;
        (line.statement > 0.0 && line.row > 0.0 && times.iter().all(fits)).then_some(line)
    }

    /// Seconds of a statement of so many rows.
    pub(crate) fn seconds(&self, rows: f64) -> f64 {
        self.statement + self.row * rows
    }

    /// The share of what is possible that statements of so many rows reach.
    pub(crate) fn reached(&self, rows: f64) -> f64 {
        self.row * rows / self.seconds(rows)
    }

    /// The rows with which a `share` of what is possible is reached.
    pub(crate) fn rows_for(&self, share: f64) -> f64 {
        let rows = self.statement / self.row * share / (1.0 - share);
        // What is a whole number but for the last digits is one.
        (rows * (1.0 - 1e-6)).ceil().max(1.0)
    }
}

impl BatchTrial {
    /// The numbers of connections that sent at once.
    pub(crate) fn connections(&self) -> Vec<u32> {
        let mut tried: Vec<u32> = self.runs.iter().map(|run| run.connections).collect();
        tried.sort_unstable();
        tried.dedup();
        tried
    }

    /// Seconds of a statement, by its rows: the median of all rounds but the first.
    pub(crate) fn times(&self, path: BatchPath, connections: u32) -> Vec<(f64, f64)> {
        let runs = || {
            self.runs
                .iter()
                .filter(move |run| run.round > 0 && (run.path, run.connections) == (path, connections))
        };
        let mut sizes: Vec<u32> = runs().map(|run| run.rows).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let median = |size: u32| {
            let seconds = runs().filter(|run| run.rows == size);
            let seconds = seconds.map(|run| run.seconds / f64::from(run.statements.max(1)));
            Spread::of(seconds).map(|spread| (f64::from(size), spread.median))
        };
        sizes.into_iter().filter_map(median).collect()
    }

    /// Rounds, without the one that warms up.
    pub(crate) fn rounds(&self) -> u32 {
        self.runs.iter().map(|run| run.round).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [1.0, 10.0, 100.0, 1000.0].map(|rows| (rows, of(rows))).into()
    }

    #[test]
    fn a_line_is_found_with_the_sizes_that_follow() {
        let line = Line::through(&times(|rows| 0.9e-3 + 6e-6 * rows)).unwrap();
        assert!((line.statement - 0.9e-3).abs() < 1e-9 && (line.row - 6e-6).abs() < 1e-12, "{line:?}");
        assert_eq!((line.rows_for(0.5), line.rows_for(0.9)), (150.0, 1350.0));
        assert!((line.reached(150.0) - 0.5).abs() < 1e-9 && line.reached(1.0) < 0.01);
        assert!((line.seconds(1350.0) - 9e-3).abs() < 1e-9);
    }

    #[test]
    fn what_wavers_by_a_tenth_is_a_line_and_what_bends_is_none() {
        let wavering = times(|rows| (1e-3 + 1e-5 * rows) * if rows > 50.0 { 1.1 } else { 0.9 });
        assert!(Line::through(&wavering).is_some());
        assert_eq!(Line::through(&times(|rows| 1e-4 * rows.sqrt())), None);
        assert_eq!(Line::through(&times(|_| 1e-3)[..2]), None);
        assert_eq!(Line::through(&times(|_| 0.0)), None);
        // Rows that cost nothing would be no end of rows.
        assert_eq!(Line::through(&times(|rows| 1e-3 - 1e-9 * rows)), None);
    }

    #[test]
    fn a_time_is_the_median_of_rounds_but_the_first() {
        let run = |round, statements, seconds| BatchRun {
            round,
            path: BatchPath::Copy,
            connections: 4,
            rows: 10,
            statements,
            seconds,
            log: 0.0,
        };
        let trial =
            BatchTrial { runs: vec![run(0, 1, 99.0), run(1, 2, 2.0), run(2, 1, 3.0), run(3, 1, 1.5)] };
        assert_eq!(trial.times(BatchPath::Copy, 4), [(10.0, 1.5)]);
        assert_eq!(
            (trial.times(BatchPath::Copy, 1), trial.connections(), trial.rounds()),
            (vec![], vec![4], 3)
        );
    }
}
