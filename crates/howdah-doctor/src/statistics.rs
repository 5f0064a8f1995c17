//! What a sample of measurements comes to: median, extremes, and how sure the median is.

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
    /// Returns the median with the least and the greatest; None for an empty sample.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Spread { median: f64::midpoint(low, high), min, max })
    }
}

/// An interval that holds the median of all runs that could have been made, as far as the runs that were made can tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The share of such intervals that hold the median, 0 to 1.
    pub confidence: f64,
}

impl Interval {
    /// How many standard deviations the interval of a share reaches, for 95 %.
    const REACH: f64 = 1.96;

    /// That of a share of which `hits` were seen in `of` looks, by Wilson's score. None without a look.
    pub fn of_share(hits: f64, of: f64) -> Option<Self> {
        if of <= 0.0 {
            return None;
        }
        let (share, square) = ((hits / of).clamp(0.0, 1.0), Self::REACH * Self::REACH);
        let middle = (share + square / (2.0 * of)) / (1.0 + square / of);
        let reach = Self::REACH / (1.0 + square / of)
            * (share * (1.0 - share) / of + square / (4.0 * of * of)).sqrt();
        let (low, high) = ((middle - reach).max(0.0), (middle + reach).min(1.0));
        Some(Interval { low, high, confidence: Self::WANTED })
    }

    /// The confidence that is wanted. Fewer than six runs cannot give it: theirs is from the least to the greatest, and
    /// its confidence is what it is.
    const WANTED: f64 = 0.95;

    /// From order statistics, which assume nothing about how times are distributed: the median lies below the least of
    /// `n` runs as often as a coin shows heads `n` times. None for fewer than two values.
    pub fn of_median(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        if count < 2 {
            return None;
        }
        // Probability of 0, 1, 2… of `count` runs below the median; the interval narrows while enough is left.
        let mut probability = 0.5_f64.powf(count as f64);
        let mut outside = 2.0 * probability;
        let mut from = 0;
        while from + 1 < count / 2 {
            probability *= (count - from) as f64 / (from + 1) as f64;
            if 1.0 - (outside + 2.0 * probability) < Self::WANTED {
                break;
            }
            outside += 2.0 * probability;
            from += 1;
        }
        Some(Interval { low: sorted[from], high: sorted[count - 1 - from], confidence: 1.0 - outside })
    }
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
    fn the_interval_of_a_share_is_wilsons() {
        assert_eq!(Interval::of_share(0.0, 0.0), None);
        let near = |hits: f64, of: f64, low: f64, high: f64| {
            let interval = Interval::of_share(hits, of).unwrap();
            assert!((interval.low - low).abs() < 5e-4 && (interval.high - high).abs() < 5e-4, "{interval:?}");
        };
        // Printed in Newcombe's tables (1998).
        near(81.0, 263.0, 0.2553, 0.3662);
        near(15.0, 148.0, 0.0624, 0.1605);
        near(0.0, 20.0, 0.0, 0.1611);
        near(1.0, 29.0, 0.0061, 0.1718);
    }

    #[test]
    fn the_interval_of_the_median_claims_no_more_than_its_runs_can_tell() {
        let of = |count: u32| Interval::of_median((1..=count).map(f64::from));
        assert_eq!(of(1), None);
        assert_eq!(of(3), Some(Interval { low: 1.0, high: 3.0, confidence: 0.75 }));
        assert_eq!(of(5), Some(Interval { low: 1.0, high: 5.0, confidence: 0.9375 }));
        assert_eq!(of(6).map(|it| (it.low, it.high)), Some((1.0, 6.0)));
        // As in printed tables of the sign test: the 2nd and 8th of 9 (96.1 %), the 6th and 15th of 20 (95.9 %).
        let nine = of(9).unwrap();
        assert_eq!((nine.low, nine.high), (2.0, 8.0));
        assert!((nine.confidence - 0.9609).abs() < 1e-4, "{nine:?}");
        let twenty = of(20).unwrap();
        assert_eq!((twenty.low, twenty.high), (6.0, 15.0));
        assert!((twenty.confidence - 0.9586).abs() < 1e-4, "{twenty:?}");
    }
}
