//! How the time of a row grows with the rows that are there: indexes get deeper, and leave the processor's caches.

use serde::{Deserialize, Serialize};

use super::LONGEST_ROW_S;
use crate::measured::Measured;
use crate::statistics::Spread;

/// Rows of the table, led into one copy with its indexes, piece by piece; the copy has neither foreign keys nor triggers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrowthTrial {
    /// Each piece, all of them into the same copy.
    pub pieces: Vec<Piece>,
    /// How large a share of the rows that are there a load sorts together, and each piece is, if there are so many: the first ones are
    /// larger shares. 0: rows are not sorted.
    pub sorted: f64,
}

/// Some rows that were sent together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Piece {
    /// Rows.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Fewer pieces show no slope.
const FEWEST: usize = 4;
/// More than are ever measured: all pairs of them are looked at.
const MOST_PIECES: usize = 1000;
/// A share that is so many times as large is another one.
const MOST_OF_SHARE: f64 = 1.5;
/// How many standard errors the interval reaches, for 95 %.
const REACH: f64 = 2.0;
/// The standard deviation of what lies half of the time no further from its median than 1.
const DEVIATION: f64 = 1.4826;

/// Seconds of a row as a line over the logarithm of the rows that are there. Its slope is the median of those between all pairs of
/// pieces (Theil and Sen), since a few pieces take much longer than others: while the server writes pages, or makes a file of the
/// log.
struct Fit {
    /// The median logarithm of what was measured.
    center: f64,
    /// The seconds there.
    middle: f64,
    /// Seconds more when the rows double.
    slope: f64,
    /// How sure the slope is.
    error: f64,
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Spread::of(values).map(|spread| spread.median)
}

/// The mean of the logarithm, to the base of 2, while rows grow from `first` to `last`.
fn mean_log(first: f64, last: f64) -> f64 {
    let term = |rows: f64| if rows > 0.0 { rows * rows.log2() } else { 0.0 };
    match last - first {
        grown if grown > first * 1e-6 => (term(last) - term(first)) / grown - std::f64::consts::LOG2_E,
        _ => last.max(1.0).log2(),
    }
}

impl GrowthTrial {
    /// For each piece the logarithm of the rows, and the seconds of one. Sorted rows take less the larger a share of what is there
    /// comes together, so shares that are larger than the others are left out, where enough remain to show a slope.
    fn points(&self) -> Vec<(f64, f64)> {
        let mut there = 0.0;
        let (mut all, mut alike) = (Vec::new(), Vec::new());
        for piece in self.pieces.iter().take(MOST_PIECES).filter(|piece| piece.rows > 0) {
            let rows = piece.rows as f64;
            let point = (mean_log(there, there + rows), piece.seconds / rows);
            all.push(point);
            if rows <= there * self.sorted * MOST_OF_SHARE {
                alike.push(point);
            }
            there += rows;
        }
        let doublings = |points: &[(f64, f64)]| Some(points.last()?.0 - points.first()?.0);
        let is_enough = alike.len() >= FEWEST && doublings(&alike).is_some_and(|doublings| doublings >= 1.0);
        if is_enough { alike } else { all }
    }

    fn fit(&self) -> Option<Fit> {
        let points = self.points();
        if points.len() < FEWEST {
            return None;
        }
        let pairs =
            points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
        let slope = median(pairs.map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)))?;
        let center = median(points.iter().map(|(log, _)| *log))?;
        let middle = median(points.iter().map(|(log, seconds)| seconds - slope * (log - center)))?;
        let apart =
            median(points.iter().map(|(log, seconds)| (seconds - middle - slope * (log - center)).abs()))?;
        let square: f64 = points.iter().map(|(log, _)| (log - center).powi(2)).sum();
        Some(Fit { center, middle, slope: slope.max(0.0), error: apart * DEVIATION / square.sqrt() })
    }

    /// Seconds of a row, on average, while `brought` rows come to `held`. Beyond what was measured they go on as they went.
    pub(crate) fn row_s(&self, held: f64, brought: f64) -> Option<Measured> {
        let Fit { center, middle, slope, error } = self.fit()?;
        let beyond = mean_log(held, held + brought) - center;
        let at = |slope: f64| (middle + slope * beyond).max(0.0);
        // Rows that are far beyond what was measured multiply the error: what is unsure of a slope counts for less (James and Stein).
        let sure = if slope > 0.0 { slope * (1.0 - (error / slope).powi(2)).max(0.0) } else { 0.0 };
        let [less, more] = [(slope - REACH * error).max(0.0), slope + REACH * error].map(at);
        let row = Measured {
            median: at(sure),
            low: less.min(more),
            high: less.max(more),
            rounds: self.pieces.len(),
        };
        // A report that somebody wrote by hand may hold anything.
        [row.median, row.low, row.high].iter().all(|seconds| *seconds < LONGEST_ROW_S).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row takes a microsecond among a thousand rows, and another one when the rows double.
    fn doubling() -> GrowthTrial {
        let piece = |at: u32| {
            let (first, last) = (f64::from(at) * 1000.0, f64::from(at + 1) * 1000.0);
            Piece { rows: 1000, seconds: (1.0 + mean_log(first, last) - 1000_f64.log2()) * 1e-3 }
        };
        GrowthTrial { pieces: (0..100).map(piece).collect(), ..GrowthTrial::default() }
    }

    #[test]
    fn a_row_takes_so_much_longer_among_more_rows() {
        let growth = doubling();
        let micro =
            |held: f64, brought: f64| growth.row_s(held, brought).map(|it| (it.median * 1e8).round() / 100.0);
        assert_eq!(micro(8000.0, 0.0), Some(4.0));
        // Beyond what was measured; while rows come there are fewer of them: 1.44 doublings.
        assert_eq!(micro(1_024_000.0, 0.0), Some(11.0));
        assert_eq!(micro(0.0, 1_024_000.0), Some(9.56));
    }

    #[test]
    fn what_does_not_grow_stays_and_what_wavers_is_unsure() {
        let pieces = vec![Piece { rows: 1000, seconds: 1e-3 }; 20];
        let level = GrowthTrial { pieces, ..GrowthTrial::default() };
        assert!((level.row_s(1e9, 1e6).unwrap().median - 1e-6).abs() < 1e-12);
        let mut wavering = doubling();
        for (at, piece) in wavering.pieces.iter_mut().enumerate() {
            piece.seconds *= if at % 2 == 0 { 1.2 } else { 0.8 };
        }
        let (sure, unsure) = (doubling().row_s(1e7, 0.0).unwrap(), wavering.row_s(1e7, 0.0).unwrap());
        assert!(sure.high - sure.low < 1e-9, "{sure:?}");
        assert!(unsure.low < unsure.median && unsure.median < unsure.high, "{unsure:?}");
    }

    #[test]
    fn a_few_pieces_that_take_long_change_nothing() {
        let mut disturbed = doubling();
        for at in [3, 40, 99] {
            disturbed.pieces[at].seconds *= 5.0;
        }
        let (found, true_one) = (disturbed.row_s(1e7, 0.0).unwrap(), doubling().row_s(1e7, 0.0).unwrap());
        assert!((found.median / true_one.median - 1.0).abs() < 0.02, "{found:?} {true_one:?}");
    }

    #[test]
    fn shares_that_are_larger_than_a_load_sorts_show_nothing() {
        // A row of a quarter takes 4 µs whatever is there; among fewer rows a piece was a larger share, and took less.
        let mut pieces = vec![Piece { rows: 1000, seconds: 1e-3 }, Piece { rows: 1000, seconds: 2e-3 }];
        let growing = [500, 625, 781, 977, 1221, 1526, 1907, 2384];
        pieces.extend(growing.map(|rows: u32| Piece { rows: rows.into(), seconds: f64::from(rows) * 4e-6 }));
        let growth = GrowthTrial { pieces, sorted: 0.25 };
        let row = growth.row_s(1e6, 1e6).unwrap();
        assert!((row.median * 1e6 - 4.0).abs() < 0.1, "{row:?}");
        assert_eq!(growth.points().len(), 8);
        assert_eq!(GrowthTrial { sorted: 0.0, ..growth }.points().len(), 10);
    }

    #[test]
    fn a_few_pieces_show_nothing() {
        let mut few = doubling();
        few.pieces.truncate(3);
        assert_eq!(few.row_s(1e6, 1e6), None);
        let mut absurd = doubling();
        absurd.pieces.iter_mut().for_each(|piece| piece.rows = u64::MAX);
        absurd.pieces.iter_mut().for_each(|piece| piece.seconds = f64::MAX);
        assert_eq!(absurd.row_s(1e6, 1e6), None);
        assert_eq!(GrowthTrial::default().row_s(1e6, 1e6), None);
    }
}
