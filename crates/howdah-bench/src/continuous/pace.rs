//! When which row is to be offered: rates one after the other, fixed before the first row.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A rate for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Rows a second.
    pub rows_per_s: f64,
    /// The length of the step in seconds.
    pub seconds: f64,
}

/// The moments of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSchedule {
    steps: Vec<Step>,
}

impl RowSchedule {
    /// # Errors
    /// There is no step, or one of them is no rate or takes no time.
    pub fn new(steps: &[Step]) -> Result<RowSchedule, Error> {
        let is_one = |step: &Step| {
            let figures = [step.rows_per_s, step.seconds];
            figures.iter().all(|figure| figure.is_finite() && *figure > 0.0)
        };
        if steps.is_empty() || !steps.iter().all(is_one) {
            return Err(Error::Usage(format!("no pace can be kept at {steps:?}")));
        }
        Ok(RowSchedule { steps: steps.to_vec() })
    }

    /// Rows until the end of the last step.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "row counts stay far below 2^53")]
    pub fn rows(&self) -> u64 {
        self.steps.iter().map(|step| step.rows_per_s * step.seconds).sum::<f64>().max(1.0) as u64
    }

    /// This pace, cut short where there are no more than `rows` rows.
    #[must_use]
    pub fn within(mut self, rows: u64) -> RowSchedule {
        // Exact: row counts stay far below 2^53.
        let share = rows as f64 / self.rows() as f64;
        if share < 1.0 {
            self.steps.iter_mut().for_each(|step| step.seconds *= share);
        }
        self
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the time from the start at which the row, counted from 0, is due. Rows beyond the last step keep its
    /// rate.
    #[must_use]
    pub fn moment(&self, row: u64) -> Duration {
        let (mut before, mut left) = (0.0, row as f64);
        for (index, step) in self.steps.iter().enumerate() {
            let rows = step.rows_per_s * step.seconds;
            if left < rows || index + 1 == self.steps.len() {
                return Duration::from_secs_f64(before + left / step.rows_per_s);
            }
            (before, left) = (before + step.seconds, left - rows);
        }
        Duration::ZERO
    }

    /// Rows a second that are due at a moment.
    #[must_use]
    pub fn rate_at(&self, moment: Duration) -> f64 {
        let mut end = 0.0;
        for step in &self.steps {
            end += step.seconds;
            if moment.as_secs_f64() < end {
                return step.rows_per_s;
            }
        }
        self.steps.last().map_or(0.0, |step| step.rows_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> RowSchedule {
        RowSchedule::new(&[
            Step { rows_per_s: 100.0, seconds: 2.0 },
            Step { rows_per_s: 1_000.0, seconds: 1.0 },
        ])
        .unwrap()
    }

    #[test]
    fn rows_are_due_at_the_rate_of_their_step() {
        let pace = steps();
        assert_eq!(pace.rows(), 1_200);
        for (row, seconds) in [(0, 0.0), (100, 1.0), (200, 2.0), (201, 2.001), (1_200, 3.0), (2_200, 4.0)] {
            let moment = pace.moment(row).as_secs_f64();
            assert!((moment - seconds).abs() < 1e-9, "{row} is due at {moment}");
        }
        let rates = [0.0, 1.999, 2.0, 9.0].map(|at| pace.rate_at(Duration::from_secs_f64(at)));
        assert_eq!(rates, [100.0, 100.0, 1_000.0, 1_000.0]);
    }

    #[test]
    fn fewer_rows_make_steps_shorter_and_leave_their_rates() {
        let pace = steps().within(600);
        assert_eq!(pace.rows(), 600);
        assert_eq!(pace.steps()[1], Step { rows_per_s: 1_000.0, seconds: 0.5 });
        assert_eq!(steps().within(5_000), steps());
    }

    #[test]
    fn what_is_no_rate_is_refused_and_not_waited_for() {
        for rows_per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(RowSchedule::new(&[Step { rows_per_s, seconds: 1.0 }]).is_err());
        }
        assert!(RowSchedule::new(&[]).is_err());
    }
}
