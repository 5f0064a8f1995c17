//! A measured figure with its interval.

use serde::Serialize;

/// The median of paired runs, and the interval that holds the true one as far as they can tell: a share of a load's time from
/// 0 to 1 (below 0: it was slower without), or rows a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// Rounds that it was made of.
    pub rounds: usize,
}

/// Below this share of the time nothing is worth a remedy.
const LEAST: f64 = 0.05;

impl Measured {
    /// Whether the share is more than nothing, worth a remedy, and more than two runs of the same are apart.
    pub(crate) fn is_clear(self, noise: Option<f64>) -> bool {
        self.low > 0.0 && self.median > LEAST.max(noise.unwrap_or(0.0))
    }

    /// As per cent of a load's time: `38 % (34 to 41)`.
    pub fn percent(&self) -> String {
        // There is no minus nothing.
        let whole = |share: f64| (share * 100.0).round() + 0.0;
        format!("{} % ({} to {})", whole(self.median), whole(self.low), whole(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_whole_per_cent_and_never_minus_nothing() {
        let share = |median, low, high| Measured { median, low, high, rounds: 5 }.percent();
        assert_eq!(share(0.376, 0.341, 0.412), "38 % (34 to 41)");
        assert_eq!(share(-0.001, -0.034, 0.004), "0 % (-3 to 0)");
    }
}
