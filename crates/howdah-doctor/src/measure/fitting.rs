//! Finds how many rows a run may have: how long all of them take is not known yet, and may be minutes.

use std::time::Instant;

use howdah::tokio_postgres::Error;

use super::Limits;
use super::sample::Rows;
use super::turns::ROUNDS;

/// The first run has one of so many parts of the rows.
const PARTS: f64 = 16.0;
/// The second and the third have so many times the rows that seem to fit, since a row takes longer among many.
const MORE: f64 = 2.0;

/// What a run takes.
#[derive(Clone, Copy)]
pub(super) struct Expense {
    /// Seconds in which rows are sent.
    pub(super) seconds: f64,
    /// Seconds in which the copy is made and goes.
    pub(super) making: f64,
    /// Bytes of log.
    pub(super) log: f64,
}

/// How many of the rows fit.
pub(super) struct Fitting {
    /// The share of them.
    pub(super) share: f64,
    /// What a run of all of them takes.
    pub(super) expense: Expense,
    /// Bytes of log that it took to find out.
    pub(super) log: f64,
}

impl Expense {
    /// The share of the rows with which rounds of so many turns fit. What it takes to make a copy stays.
    pub(super) fn share(&self, limits: &Limits, turns: f64) -> f64 {
        let in_time = (limits.seconds / (ROUNDS * turns) - self.making) / self.seconds;
        let in_log = (limits.bytes - self.log) / (ROUNDS * turns * self.log.max(1.0));
        in_time.min(in_log).clamp(0.0, 1.0)
    }

    /// That of so many times the rows.
    fn times(self, rows: f64) -> Expense {
        Expense { seconds: self.seconds * rows, making: self.making, log: self.log * rows }
    }
}

/// Finds how many of `rows`, and no fewer than `fewest`, fit what `share` says of the expense of all of them. `run` sends rows
/// into a copy, and says in how many seconds, and with how many bytes of log.
///
/// # Errors
/// Those of `run`.
pub(super) async fn fit(
    rows: &Rows,
    fewest: u64,
    share: impl Fn(&Expense) -> f64,
    run: impl AsyncFn(&Rows) -> Result<(f64, f64), Error>,
) -> Result<Fitting, Error> {
    let mut log = 0.0;
    let mut expense = async |part: f64| {
        let mut some = rows.clone();
        some.shorten(part, fewest);
        let began = Instant::now();
        let (seconds, written) = run(&some).await?;
        log += written;
        let making = began.elapsed().as_secs_f64() - seconds;
        let expense = Expense { seconds, making, log: written };
        Ok(expense.times(rows.count as f64 / some.count.max(1) as f64))
    };
    let first = expense(1.0 / PARTS).await?;
    let part = share(&first) * MORE;
    // What others do meanwhile is in a run's figures: of two, the smaller ones are its own.
    let (one, other) = (expense(part).await?, expense(part).await?);
    let expense = Expense {
        seconds: one.seconds.min(other.seconds),
        making: one.making.min(other.making),
        log: one.log.min(other.log),
    };
    Ok(Fitting { share: share(&expense), expense, log })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_fewer_where_time_or_log_have_no_room() {
        let limits = Limits { seconds: 16.0, bytes: 1700.0, ..Limits::default() };
        let share = |seconds, making, log| Expense { seconds, making, log }.share(&limits, 4.0);
        // Half a second a run, of which a tenth goes into making the copy.
        assert!((share(1.0, 0.1, 10.0) - 0.4).abs() < 1e-9);
        assert_eq!(share(0.2, 0.1, 10.0), 1.0);
        assert_eq!(share(0.2, 0.6, 10.0), 0.0);
        assert_eq!(share(0.1, 0.0, 100.0), 0.5);
    }
}
