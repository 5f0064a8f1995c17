//! The report as data: what was looked at and what follows. It is made to be shown to others.

use howdah::Error;
use howdah::facts::Facts;
use howdah::message::{Respell, Spelling};
use serde::Serialize;

use crate::applied::Applied;
use crate::case::Ask;
use crate::comparison::Comparison;
use crate::diagnosis::{Diagnosis, diagnose};
use crate::figures::rate;
use crate::prediction::Prediction;
use crate::saved::{FORMAT, NAME, Saved};
use crate::trials::Trials;
use crate::watched;

/// A report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub report_format: u32,
    /// What it is a report of.
    pub report: &'static str,
    /// Who wrote it.
    pub howdah_version: &'static str,
    /// Whether anything was measured.
    pub measured: bool,
    /// The load that is to come.
    pub ask: Ask,
    /// What follows.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
    /// How long the load will take, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// What became of it since an earlier report, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What became of settings that were applied: the rest of the report is of the server as it is now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<Applied>,
    /// What was measured, run by run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<Trials>,
    /// What was looked at.
    pub facts: Facts,
}

impl Report {
    /// The report on `facts`, and on what was measured, for the load `ask`.
    pub fn new(facts: Facts, ask: Ask, trials: Option<Trials>) -> Report {
        let diagnosis = diagnose(&facts, &ask, trials.as_ref());
        Report {
            report_format: FORMAT,
            report: NAME,
            howdah_version: env!("CARGO_PKG_VERSION"),
            measured: trials.is_some(),
            prediction: Prediction::of(&facts, &ask, &diagnosis, trials.as_ref()),
            ask,
            diagnosis,
            comparison: None,
            applied: Vec::new(),
            trials,
            facts,
        }
    }

    /// The same report beside an earlier one.
    ///
    /// # Errors
    /// The earlier one is of another table.
    pub fn compared_with(self, before: &Saved) -> Result<Report, Error> {
        let comparison = Comparison::with(before, &self.facts, &self.ask, self.trials.as_ref())?;
        Ok(Report { comparison: Some(comparison), ..self })
    }

    /// The same report of a server to which settings were applied before.
    #[must_use]
    pub fn with_applied(self, applied: Vec<Applied>) -> Report {
        Report { applied, ..self }
    }
}

impl Report {
    /// How fast the table takes rows, in a line, if that was measured.
    pub fn rate(&self) -> Option<String> {
        let whole = self.trials.as_ref()?.table.as_ref()?.rate()?;
        Some(format!(
            "{} rows a second over one connection ({} to {}), into a copy of the table that begins empty",
            rate(whole.median),
            rate(whole.low),
            rate(whole.high)
        ))
    }

    /// What was seen while the server was watched, in a line, if it was.
    pub fn watched(&self) -> Option<String> {
        let of_all = self.facts.session.reads_activity;
        self.facts.watched.as_ref().map(|watched| watched::said(watched, of_all))
    }

    /// How fast the table takes rows when all that can be done about what costs time is done, in a line, if that was measured.
    pub fn prescription(&self) -> Option<String> {
        let prescription = self.diagnosis.prescription.as_ref()?;
        let then = prescription.then;
        Some(format!(
            "{} rows a second ({} to {}), {} of the time off, without {} while rows come",
            rate(then.median),
            rate(then.low),
            rate(then.high),
            prescription.saved.percent(),
            prescription.without.join(", ")
        ))
    }
}

impl Report {
    /// What the remedies that somebody wanted tried came to, in a line, if that was measured.
    pub fn tried(&self) -> Option<String> {
        let tried = self.diagnosis.tried.as_ref()?;
        let together = &tried.together;
        let unclear =
            if tried.is_clear { "" } else { ", which is no difference that could be told from none" };
        Some(format!(
            "{} of the time goes with {}{unclear}: {} rows a second instead of {}, without {} while rows come",
            together.saved.percent(),
            tried.ids.join(", "),
            rate(together.then.median),
            rate(together.now.median),
            together.without.join(", ")
        ))
    }
}

impl Respell for Report {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.diagnosis.respell(spelling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::Attachment;
    use crate::testing::{healthy, trial};

    #[test]
    fn a_saved_report_gives_the_same_findings() {
        let mut facts = healthy();
        facts.session.in_recovery = true;
        let costs = [(Attachment::Index("events_pkey".into()), 0.3), (Attachment::Checks, 0.01)];
        let trials = Trials { seconds: 2.5, table: Some(trial(&costs)), ..Trials::default() };
        let report = Report::new(facts, Ask { rows: Some(7), ..Ask::default() }, Some(trials));
        let text = serde_json::to_string(&report).unwrap();
        let saved = Saved::read(&text).unwrap();
        assert_eq!((&saved.facts, &saved.ask), (&report.facts, &report.ask));
        let again = Report::new(saved.facts, saved.ask, saved.trials);
        assert!(!again.diagnosis.findings.is_empty());
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }

    #[test]
    fn the_rate_is_said_with_its_interval_and_no_more_digits_than_it_bears() {
        let said = |table| {
            let trials = Trials { table: Some(table), ..Trials::default() };
            Report::new(healthy(), Ask::default(), Some(trials)).rate()
        };
        let text = said(trial(&[])).unwrap();
        assert_eq!(
            text,
            "10,000 rows a second over one connection (10,000 to 10,000), into a copy of the table that begins empty"
        );
        assert_eq!(said(crate::TableTrial::default()), None);
    }
}
