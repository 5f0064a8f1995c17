//! How much is loaded, and how long the doctor may measure.

use super::columns::Columns;

const MB: u64 = 1_000_000;

/// How much a load brings: enough to be long beside a program's start, a tenth of that where a row takes long, or enough for many
/// checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Light,
    Usual,
    Large,
}

/// The amounts of one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount {
    usual_mb: u64,
    large_mb: u64,
    /// Seconds of `--measure`.
    pub(super) seconds: u64,
    /// MiB of log of `--measure`.
    pub(super) log_mib: u64,
}

/// The table holds a tenth of what comes; from fewer rows the doctor can measure nothing.
const FEWEST_HELD: u64 = 5000;

impl Amount {
    /// Loads of so many megabytes; a `quick` one shows that everything runs.
    pub(super) fn new(megabytes: u64, seconds: u64, quick: bool) -> Amount {
        match quick {
            true => Amount { usual_mb: 2, large_mb: 4, seconds: 4, log_mib: 64 },
            false => Amount {
                usual_mb: megabytes,
                // 2 GB beside 300 MB.
                large_mb: megabytes * 20 / 3,
                seconds,
                log_mib: 512,
            },
        }
    }

    /// Rows of the file.
    pub(super) fn brought(&self, columns: Columns, weight: Weight) -> u64 {
        let megabytes = match weight {
            Weight::Light => self.usual_mb / 10,
            Weight::Usual => self.usual_mb,
            Weight::Large => self.large_mb,
        };
        megabytes.max(1) * MB / columns.bytes()
    }

    /// Rows that the table holds before.
    pub(super) fn held(&self, columns: Columns, weight: Weight) -> u64 {
        (self.brought(columns, weight) / 10).max(FEWEST_HELD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_the_size_that_was_asked_for() {
        let amount = Amount::new(300, 60, false);
        let bytes = |weight| amount.brought(Columns::Readings, weight) * Columns::Readings.bytes();
        assert!((299 * MB..=300 * MB).contains(&bytes(Weight::Usual)));
        assert!((29 * MB..=30 * MB).contains(&bytes(Weight::Light)));
        assert!((1999 * MB..=2000 * MB).contains(&bytes(Weight::Large)));
        assert!(amount.held(Columns::Readings, Weight::Usual) > 100_000);
        assert_eq!(Amount::new(300, 60, true).held(Columns::Readings, Weight::Usual), FEWEST_HELD);
    }
}
