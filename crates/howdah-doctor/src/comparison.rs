//! What became of a server since an earlier report: findings that are gone or new, and whether the table takes rows faster.

use howdah::facts::Facts;
use howdah::{Error, ErrorKind};
use serde::Serialize;

use crate::diagnosis::{Diagnosis, diagnose};
use crate::figures::rate;
use crate::measured::Measured;
use crate::saved::Saved;
use crate::sql;
use crate::trials::{TableTrial, Trials};

/// A report beside an earlier one of the same table, or of the server alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What was found then and is not any more, as `id: title`.
    pub gone: Vec<String>,
    /// What is found now and was not then.
    pub new: Vec<String>,
    /// How fast the table takes rows, if that was measured both times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateComparison>,
}

/// How fast the table took rows over one connection then, and does now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateComparison {
    /// Rows a second then.
    pub before: Measured,
    /// Rows a second now.
    pub now: Measured,
    /// Now ÷ then.
    pub ratio: Ratio,
    /// The same of the copy that has columns and nothing else: what changed that has nothing to do with the table, the machine's
    /// other work among it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bare: Option<Ratio>,
    /// Whether the two differ by more than nothing, more than 5 % and more than two runs of the same did.
    pub differs: bool,
}

/// A ratio with its interval, from the least that it can be to the most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio of the medians.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Ratio {
    fn of(now: Measured, before: Measured) -> Ratio {
        Ratio { median: now.median / before.median, low: now.low / before.high, high: now.high / before.low }
    }

    /// Whether it is not 1, nor nearly so, nor within `noise`.
    fn is_clear(self, noise: f64) -> bool {
        let excludes_one = self.low > 1.0 || self.high < 1.0;
        excludes_one && (self.median - 1.0).abs() > noise.max(LEAST)
    }

    fn said(self) -> String {
        format!("{:.2} × ({:.2} to {:.2})", self.median, self.low, self.high)
    }
}

/// A smaller difference is worth nothing.
const LEAST: f64 = 0.05;

impl Comparison {
    /// Holds `diagnosis`, which is of `facts` and `trials`, against a saved report.
    ///
    /// # Errors
    /// The saved report is of another table.
    pub(crate) fn with(
        before: &Saved,
        facts: &Facts,
        diagnosis: &Diagnosis,
        trials: Option<&Trials>,
    ) -> Result<Comparison, Error> {
        let table = |facts: &Facts| facts.table.as_ref().map(sql::table);
        let (then, now) = (table(&before.facts), table(facts));
        if then != now {
            let said = |table: Option<String>| table.unwrap_or_else(|| "the server alone".to_owned());
            let message = format!("the baseline is of {}, and this is of {}", said(then), said(now));
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let found = |diagnosis: &Diagnosis| -> Vec<String> {
            diagnosis.findings.iter().map(|finding| format!("{}: {}", finding.id, finding.title)).collect()
        };
        let then = found(&diagnose(&before.facts, &before.ask, before.trials.as_ref()));
        let now = found(diagnosis);
        let table_trial = |trials: Option<&Trials>| trials.and_then(|trials| trials.table.clone());
        let rate = table_trial(before.trials.as_ref()).zip(table_trial(trials));
        Ok(Comparison {
            gone: then.iter().filter(|found| !now.contains(found)).cloned().collect(),
            new: now.iter().filter(|found| !then.contains(found)).cloned().collect(),
            rate: rate.and_then(|(before, now)| RateComparison::of(&before, &now)),
        })
    }
}

impl RateComparison {
    fn of(before: &TableTrial, now: &TableTrial) -> Option<RateComparison> {
        let noise = before.noise().unwrap_or(0.0).max(now.noise().unwrap_or(0.0));
        let bare = now.bare_rate().zip(before.bare_rate()).map(|(now, before)| Ratio::of(now, before));
        let (before, now) = (before.rate()?, now.rate()?);
        let ratio = Ratio::of(now, before);
        Some(RateComparison { before, now, ratio, bare, differs: ratio.is_clear(noise) })
    }

    /// In a line.
    pub fn said(&self) -> String {
        let bare = self.bare.map(|bare| format!("; columns alone {}", bare.said())).unwrap_or_default();
        let figures = format!(
            "{} rows a second then, {} now: {}{bare}",
            rate(self.before.median),
            rate(self.now.median),
            self.ratio.said()
        );
        match self.differs {
            true => figures,
            false => format!("{figures}, no difference that could be told from none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Ask;
    use crate::report::Report;
    use crate::testing::{healthy, table, trial};

    fn saved(change: impl Fn(&mut Facts), seconds: f64) -> Saved {
        let mut facts = healthy();
        change(&mut facts);
        let mut measured = trial(&[]);
        measured.runs.iter_mut().for_each(|run| run.seconds *= seconds);
        let trials = Trials { table: Some(measured), ..Trials::default() };
        let report = Report::new(facts, Ask::default(), Some(trials));
        Saved::read(&serde_json::to_string(&report).unwrap()).unwrap()
    }

    fn compared(before: &Saved, now: &Saved) -> Result<Comparison, Error> {
        let report = Report::new(now.facts.clone(), now.ask.clone(), now.trials.clone());
        Ok(report.compared_with(before)?.comparison.unwrap())
    }

    #[test]
    fn what_is_gone_what_is_new_and_how_much_faster_it_is() {
        let unlogged = saved(|facts| table(facts).is_unlogged = true, 2.0);
        let logged = saved(|_| (), 1.0);
        let found = compared(&unlogged, &logged).unwrap();
        assert_eq!(found.gone, ["table.unlogged: public.events is unlogged"]);
        assert!(found.new.is_empty(), "{found:?}");
        let rate = found.rate.unwrap();
        assert!(rate.differs && (rate.ratio.median - 2.0).abs() < 1e-9, "{rate:?}");
        assert!(rate.said().starts_with("5,000 rows a second then, 10,000 now: 2.00 × (2.00 to 2.00)"));
        let back = compared(&logged, &unlogged).unwrap();
        assert_eq!((back.gone.len(), back.new.len()), (0, 1));
        let same = compared(&logged, &saved(|_| (), 0.97)).unwrap().rate.unwrap();
        assert!(!same.differs && same.said().ends_with("no difference that could be told from none"));
    }

    #[test]
    fn a_report_of_another_table_is_no_baseline() {
        let other = saved(|facts| table(facts).name = "others".into(), 1.0);
        let error = compared(&other, &saved(|_| (), 1.0)).unwrap_err();
        assert_eq!(error.message(), "the baseline is of public.others, and this is of public.events");
    }
}
