//! How long the load that is to come takes: its rows, at the rate at which copies of the table took rows, slowed down as indexes grow.

use howdah::facts::{Facts, IndexFacts, IndexUpkeep, TableFacts};
use serde::Serialize;

use crate::attachment::Attachment;
use crate::case::Ask;
use crate::diagnosis::Diagnosis;
use crate::figures::{duration, rows};
use crate::measured::Measured;
use crate::scale::Scale;
use crate::sql;
use crate::trials::{ClientTrial, TableTrial, Trials};

/// What a load over one connection will take, from its start to its commit. Not in it are checkpoints, and what was not measured.
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
    /// Seconds more in which the indexes are built again that these remedies take away while rows come: an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub building: Option<f64>,
    /// What costs time of each row and was not measured, so that it takes longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// With which remedies that is, in words.
    #[serde(skip)]
    with: &'static str,
    /// Seconds of a row, and of one in a copy that begins empty, if that is much less.
    #[serde(skip)]
    slower: Option<(f64, f64)>,
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
    /// What `rows` take at `rate`, after so many seconds; a machine that encodes more slowly than the server takes rows makes it
    /// wait.
    fn of(rows: u64, rate: Measured, client: Option<Measured>, start: f64) -> Seconds {
        let at = |server: f64, client: Option<f64>| {
            start + rows as f64 / client.map_or(server, |client| client.min(server)).max(f64::MIN_POSITIVE)
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
    pub(crate) fn of(
        facts: &Facts,
        ask: &Ask,
        diagnosis: &Diagnosis,
        trials: Option<&Trials>,
    ) -> Option<Prediction> {
        let rows = ask.rows_to_come()?;
        let is_counted = ask.rows.is_some() || ask.input.is_some_and(|input| input.is_counted);
        let trials = trials?;
        let scale = Scale::of(facts, ask, trials)?;
        let client = trials.client.as_ref().and_then(ClientTrial::rate);
        let now = Seconds::of(rows, scale.rate(), client, scale.start_s);
        let (together, with) = match &diagnosis.tried {
            Some(tried) => (Some(&tried.together), "what was tried"),
            None => (diagnosis.prescription.as_ref(), "all of it done"),
        };
        let then = together.map(|together| Seconds::of(rows, together.then, client, scale.start_s));
        let table = facts.table.as_ref()?;
        let building = then.and_then(|_| building(table, trials.table.as_ref()?, rows));
        let without = not_measured(table, trials.table.as_ref(), rows);
        Some(Prediction { rows, is_counted, now, then, building, without, with, slower: scale.slower() })
    }

    /// In a line.
    pub fn said(&self) -> String {
        let about = if self.is_counted { "" } else { "about " };
        let least = if self.without.is_empty() { "" } else { "at least " };
        let building = self
            .building
            .map(|seconds| format!(", and about {} more where indexes are built again", duration(seconds)));
        let building = building.unwrap_or_default();
        let then = self.then.map(|then| format!("; with {}: {least}{}{building}", self.with, then.said()));
        let slower = self.slower.map(|(row, copied)| {
            format!(
                "; indexes grow, so that a row takes {} where it took {} in a copy",
                short(row),
                short(copied)
            )
        });
        let missing = ["checkpoints".to_owned()].into_iter().chain(self.without.iter().cloned());
        format!(
            "{about}{} in {least}{}, 1 connection{}{}; not in it: {}",
            rows(self.rows as f64),
            self.now.said(),
            then.unwrap_or_default(),
            slower.unwrap_or_default(),
            missing.collect::<Vec<_>>().join(", ")
        )
    }
}

/// A time of a row.
fn short(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}

/// Seconds in which the indexes are built again that were left out together.
fn building(table: &TableFacts, trial: &TableTrial, brought: u64) -> Option<f64> {
    let left_out = |index: &&IndexFacts| trial.prescribed.contains(&Attachment::Index(index.name.clone()));
    let indexes: Vec<&IndexFacts> = table.indexes.seen()?.iter().filter(left_out).collect();
    let keys = indexes.iter().filter(|index| index.is_key).count();
    let upkeep = IndexUpkeep {
        held: table.rows.unwrap_or(0.0).max(table.live_rows),
        brought: brought as f64,
        keys,
        indexes: indexes.len() - keys,
        staying: 0,
        foreign_keys: 0,
        connections: 1,
    };
    (!indexes.is_empty()).then(|| upkeep.building_s())
}

/// What costs time of each row, and was not measured: it is left out of copies since it runs functions of the user's or cannot be
/// copied, or takes a copy that grows.
fn not_measured(table: &TableFacts, trial: Option<&TableTrial>, rows: u64) -> Vec<String> {
    let there = rows as f64 + table.rows.unwrap_or(0.0);
    let grows = trial.is_some_and(|trial| trial.lacks_growth(there));
    let growth = grows.then(|| "the growth of indexes".to_owned());
    let rows = table.has_row_security.then(|| "row-level security".to_owned());
    let checks = table.checks.seen().into_iter().flatten().filter(|check| !check.may_judge_rows());
    let checks = checks.map(sql::check);
    let columns =
        table.columns.seen().into_iter().flatten().filter(|column| !column.default_calls.is_empty());
    let defaults =
        columns.map(|column| format!("the default of {}, where the input lacks it", sql::name(&column.name)));
    growth.into_iter().chain(rows).chain(checks).chain(defaults).collect()
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
        Prediction::of(&healthy(), ask, &diagnosis, Some(&trials))
    }

    #[test]
    fn rows_take_as_long_as_copies_of_the_table_took_for_them() {
        let ask = Ask { rows: Some(12_000_000), ..Ask::default() };
        assert_eq!(
            predicted(&ask, None).unwrap().said(),
            "12,000,000 rows in at least 20 min (20 min to 20 min), 1 connection; with all of it done: at least 10 min (10 min to 10 min), \
             and about 8 s more where indexes are built again; \
             not in it: checkpoints, the growth of indexes"
        );
        // A machine that encodes 15,000 rows a second is the limit of the one, and not of the other.
        let limited = predicted(&ask, Some(2.0 / 3.0)).unwrap();
        assert_eq!((limited.now.median.round(), limited.then.unwrap().median.round()), (1200.0, 800.0));
    }

    #[test]
    fn what_could_not_be_measured_is_said_and_makes_it_the_least() {
        let mut facts = healthy();
        let table = crate::testing::table(&mut facts);
        table.has_row_security = true;
        crate::testing::seen(&mut table.columns)[0].default_calls = vec!["gen_random_uuid".into()];
        let trials = Trials { table: Some(trial(&[])), ..Trials::default() };
        let ask = Ask { rows: Some(600_000), ..Ask::default() };
        let prediction =
            Prediction::of(&facts, &ask, &diagnose(&facts, &ask, Some(&trials)), Some(&trials)).unwrap();
        assert_eq!(
            prediction.said(),
            "600,000 rows in at least 60 s (60 s to 60 s), 1 connection; not in it: checkpoints, row-level security, \
             the default of id, where the input lacks it"
        );
    }

    #[test]
    fn rows_of_an_input_are_about_so_many_unless_they_were_counted() {
        let of =
            |is_counted| Ask { input: Some(InputEstimate { rows: 600_000, is_counted }), ..Ask::default() };
        assert!(
            predicted(&of(false), None).unwrap().said().starts_with("about 600,000 rows in at least 60 s ")
        );
        assert!(predicted(&of(true), None).unwrap().said().starts_with("600,000 rows in at least 60 s "));
        assert_eq!(predicted(&Ask::default(), None), None);
    }
}
