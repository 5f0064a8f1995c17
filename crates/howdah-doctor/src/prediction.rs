//! How long the load that is to come takes: its rows, at the rate at which copies of the table took rows.

use serde::Serialize;

use crate::case::Ask;
use crate::diagnosis::Diagnosis;
use crate::figures::{count, duration};
use crate::measured::Measured;
use crate::trials::{ClientTrial, Trials};

/// What a load over one connection will take. Not in it are checkpoints, and what indexes and parents cost that are larger than
/// the server's memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Rows.
    pub rows: u64,
    /// Whether somebody counted them, or said how many they are: else they are about so many.
    pub is_counted: bool,
    /// As things are.
    pub now: Seconds,
    /// With all remedies of what costs time, or with those that were tried, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Seconds>,
    /// With which remedies that is, in words.
    #[serde(skip)]
    with: &'static str,
}

/// A time with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Seconds {
    /// What `rows` take at `rate`; a machine that encodes more slowly than the server takes rows makes it wait.
    fn of(rows: u64, rate: Measured, client: Option<Measured>) -> Seconds {
        let at = |server: f64, client: Option<f64>| {
            rows as f64 / client.map_or(server, |client| client.min(server)).max(f64::MIN_POSITIVE)
        };
        Seconds {
            median: at(rate.median, client.map(|client| client.median)),
            low: at(rate.high, client.map(|client| client.high)),
            high: at(rate.low, client.map(|client| client.low)),
        }
    }

    fn said(self) -> String {
        format!("{} ({} to {})", duration(self.median), duration(self.low), duration(self.high))
    }
}

impl Prediction {
    /// For a load whose rows are known, into a table that was measured.
    pub(crate) fn of(ask: &Ask, diagnosis: &Diagnosis, trials: Option<&Trials>) -> Option<Prediction> {
        let (rows, is_counted) = match (ask.rows, ask.input) {
            (Some(rows), _) => (rows, true),
            (None, Some(input)) => (input.rows, input.is_counted),
            (None, None) => return None,
        };
        let trials = trials?;
        let client = trials.client.as_ref().and_then(ClientTrial::rate);
        let now = Seconds::of(rows, trials.table.as_ref()?.rate()?, client);
        let (together, with) = match &diagnosis.tried {
            Some(tried) => (Some(&tried.together), "what was tried"),
            None => (diagnosis.prescription.as_ref(), "all of it done"),
        };
        let then = together.map(|together| Seconds::of(rows, together.then, client));
        Some(Prediction { rows, is_counted, now, then, with })
    }

    /// In a line.
    pub fn said(&self) -> String {
        let about = if self.is_counted { "" } else { "about " };
        let then = self.then.map(|then| format!("; with {}: {}", self.with, then.said()));
        let then = then.unwrap_or_default();
        format!(
            "{about}{} rows in {}, 1 connection{then}; checkpoints, and what is larger than the server's memory, are not in it",
            count(self.rows as f64),
            self.now.said()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::Attachment;
    use crate::case::InputEstimate;
    use crate::diagnosis::diagnose;
    use crate::testing::{healthy, trial};

    fn predicted(ask: &Ask, client: Option<f64>) -> Option<Prediction> {
        let mut measured = trial(&[(Attachment::Index("events_pkey".into()), 0.5)]);
        measured.prescribed = measured.attachments();
        let bare = measured.run_of(&crate::Variant::Bare, 0.5);
        measured.runs.extend(bare);
        let client = client.map(|seconds| ClientTrial { rows: 10_000, bytes: 1, seconds: vec![seconds; 5] });
        let trials = Trials { table: Some(measured), client, ..Trials::default() };
        let diagnosis = diagnose(&healthy(), ask, Some(&trials));
        Prediction::of(ask, &diagnosis, Some(&trials))
    }

    #[test]
    fn rows_take_as_long_as_copies_of_the_table_took_for_them() {
        let ask = Ask { rows: Some(12_000_000), ..Ask::default() };
        assert_eq!(
            predicted(&ask, None).unwrap().said(),
            "12,000,000 rows in 20 min (20 min to 20 min), 1 connection; with all of it done: 10 min (10 min to 10 min); \
             checkpoints, and what is larger than the server's memory, are not in it"
        );
        // A machine that encodes 15,000 rows a second is the limit of the one, and not of the other.
        let limited = predicted(&ask, Some(2.0 / 3.0)).unwrap();
        assert_eq!((limited.now.median, limited.then.unwrap().median.round()), (1200.0, 800.0));
    }

    #[test]
    fn rows_of_an_input_are_about_so_many_unless_they_were_counted() {
        let of =
            |is_counted| Ask { input: Some(InputEstimate { rows: 600_000, is_counted }), ..Ask::default() };
        assert!(predicted(&of(false), None).unwrap().said().starts_with("about 600,000 rows in 60 s "));
        assert!(predicted(&of(true), None).unwrap().said().starts_with("600,000 rows in 60 s "));
        assert_eq!(predicted(&Ask::default(), None), None);
    }
}
