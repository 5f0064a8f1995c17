//! How the time of a row grows with the rows that are there: indexes get deeper, and leave the processor's caches.

use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// Rows of the table, led into one copy with its indexes, piece by piece; the copy is not logged, and has neither foreign keys nor
/// triggers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrowthTrial {
    /// Each piece, all of them into the same copy.
    pub pieces: Vec<Piece>,
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
/// How many standard errors the interval reaches, for 95 %.
const REACH: f64 = 2.0;

/// How the seconds of a row grow with the logarithm of the rows that are there.
struct Slope {
    /// Seconds more when the rows double.
    seconds: f64,
    /// Its standard error.
    error: f64,
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
    fn slope(&self) -> Option<Slope> {
        let mut there = 0.0;
        let mut points = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.rows > 0) {
            let rows = piece.rows as f64;
            points.push((mean_log(there, there + rows), piece.seconds / rows));
            there += rows;
        }
        if points.len() < FEWEST {
            return None;
        }
        let count = points.len() as f64;
        let center = points.iter().map(|(log, _)| log).sum::<f64>() / count;
        let mean = points.iter().map(|(_, seconds)| seconds).sum::<f64>() / count;
        let square: f64 = points.iter().map(|(log, _)| (log - center).powi(2)).sum();
        let slope =
            points.iter().map(|(log, seconds)| (log - center) * (seconds - mean)).sum::<f64>() / square;
        let apart = |(log, seconds): &(f64, f64)| (seconds - mean - slope * (log - center)).powi(2);
        let error = (points.iter().map(apart).sum::<f64>() / (count - 2.0) / square).sqrt();
        Some(Slope { seconds: slope.max(0.0), error })
    }

    /// Seconds that a row takes more, on average, while `brought` rows come to `held` than while the `first` ones came into a copy
    /// that began empty. Beyond what was measured it goes on as it went.
    pub(crate) fn added(&self, first: f64, held: f64, brought: f64) -> Option<Measured> {
        let Slope { seconds, error } = self.slope()?;
        let doublings = (mean_log(held, held + brought) - mean_log(0.0, first)).max(0.0);
        Some(Measured {
            median: seconds * doublings,
            low: (seconds - REACH * error).max(0.0) * doublings,
            high: (seconds + REACH * error) * doublings,
            rounds: self.pieces.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row takes a microsecond, and another one when the rows double from a thousand on.
    fn doubling() -> GrowthTrial {
        let piece = |at: u32| {
            let (first, last) = (f64::from(at) * 1000.0, f64::from(at + 1) * 1000.0);
            Piece { rows: 1000, seconds: (1.0 + mean_log(first, last) - 1000_f64.log2()) * 1e-3 }
        };
        GrowthTrial { pieces: (0..100).map(piece).collect() }
    }

    #[test]
    fn a_row_takes_so_much_longer_among_more_rows() {
        let growth = doubling();
        let micro = |held: f64, brought: f64| {
            growth.added(1000.0, held, brought).map(|it| (it.median * 1e8).round() / 100.0)
        };
        // What is there at the first piece is on average 1 / e of its rows: 1.44 doublings fewer.
        assert_eq!(micro(100.0, 0.0), Some(0.0));
        assert_eq!(micro(8000.0, 0.0), Some(4.44));
        // As far again as was measured, and beyond.
        assert_eq!(micro(1_024_000.0, 0.0), Some(11.44));
        assert_eq!(micro(0.0, 1_024_000.0), Some(10.0));
    }

    #[test]
    fn what_does_not_grow_adds_nothing_and_what_wavers_is_unsure() {
        let level = GrowthTrial { pieces: vec![Piece { rows: 1000, seconds: 1e-3 }; 20] };
        assert!(level.added(1e3, 1e9, 1e6).unwrap().median < 1e-12);
        let mut wavering = doubling();
        for (at, piece) in wavering.pieces.iter_mut().enumerate() {
            piece.seconds *= if at % 2 == 0 { 1.2 } else { 0.8 };
        }
        let (sure, unsure) =
            (doubling().added(1e3, 1e7, 0.0).unwrap(), wavering.added(1e3, 1e7, 0.0).unwrap());
        assert!(sure.high - sure.low < 1e-9, "{sure:?}");
        assert!(unsure.low < sure.median && sure.median < unsure.high, "{unsure:?} {sure:?}");
    }

    #[test]
    fn a_few_pieces_show_nothing() {
        let mut few = doubling();
        few.pieces.truncate(3);
        assert_eq!(few.added(1e3, 1e6, 1e6), None);
        assert_eq!(GrowthTrial::default().added(1e3, 1e6, 1e6), None);
    }
}
