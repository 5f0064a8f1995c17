//! What became of a server since an earlier report: findings that are gone or new, and whether the table takes rows faster.

use howdah::facts::Facts;
use howdah::{Error, ErrorKind};
use serde::Serialize;

use crate::case::Ask;
use crate::diagnosis::diagnose;
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
    /// The same of columns alone: what the server, its settings and the machine's other work did meanwhile.
    pub columns: Ratio,
    /// What is left of it: keys, indexes, triggers and whatever else the table has beside columns. Both are told apart within the
    /// rounds of each report, so that a machine which is busier than before is not taken for a remedy.
    pub table: Ratio,
    /// Whether the table's own differs from 1 by more than nothing, more than 5 % and more than two runs of the same did.
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

    /// Time with what is beside columns ÷ time without, then over now.
    fn of_costs(now: Measured, before: Measured) -> Ratio {
        let left = |now: f64, before: f64| (1.0 - now) / (1.0 - before);
        Ratio {
            median: left(now.median, before.median),
            low: left(now.high, before.low),
            high: left(now.low, before.high),
        }
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
    /// Holds what `facts`, `ask` and `trials` come to against a saved report.
    ///
    /// # Errors
    /// The saved report is of another table.
    pub(crate) fn with(
        before: &Saved,
        facts: &Facts,
        ask: &Ask,
        trials: Option<&Trials>,
    ) -> Result<Comparison, Error> {
        let table = |facts: &Facts| facts.table.as_ref().map(sql::table);
        let (then, now) = (table(&before.facts), table(facts));
        if then != now {
            let said = |table: Option<String>| table.unwrap_or_else(|| "the server alone".to_owned());
            let message = format!("the baseline is of {}, and this is of {}", said(then), said(now));
            return Err(Error::new(ErrorKind::Usage, message));
        }
        // What only measuring finds is neither gone nor new where one of them did not measure: they are told by looks alone.
        let both_measured = before.trials.is_some() && trials.is_some();
        let found = |facts: &Facts, ask: &Ask, trials: Option<&Trials>| -> Vec<String> {
            let diagnosis = diagnose(facts, ask, trials.filter(|_| both_measured));
            diagnosis.findings.iter().map(|finding| format!("{}: {}", finding.id, finding.title)).collect()
        };
        let then = found(&before.facts, &before.ask, before.trials.as_ref());
        let now = found(facts, ask, trials);
        let missing_in = |others: &[String], found: &&String| {
            others.iter().all(|other| without_figures(other) != without_figures(found))
        };
        let table_trial = |trials: Option<&Trials>| trials.and_then(|trials| trials.table.clone());
        let rate = table_trial(before.trials.as_ref()).zip(table_trial(trials));
        Ok(Comparison {
            gone: then.iter().filter(|found| missing_in(&now, found)).cloned().collect(),
            new: now.iter().filter(|found| missing_in(&then, found)).cloned().collect(),
            rate: rate.and_then(|(before, now)| RateComparison::of(&before, &now)),
        })
    }
}

/// A finding as it is called: its figures are other ones each time.
fn without_figures(finding: &str) -> String {
    let is_figure = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    finding.split(' ').filter(|word| !is_figure(word)).collect::<Vec<_>>().join(" ")
}

impl RateComparison {
    fn of(before: &TableTrial, now: &TableTrial) -> Option<RateComparison> {
        let noise = before.noise().unwrap_or(0.0).max(now.noise().unwrap_or(0.0));
        let table = Ratio::of_costs(now.attachments_cost()?, before.attachments_cost()?);
        let columns = Ratio::of(now.columns_rate()?, before.columns_rate()?);
        let (before, now) = (before.rate()?, now.rate()?);
        let ratio = Ratio::of(now, before);
        Some(RateComparison { before, now, ratio, columns, table, differs: table.is_clear(noise) })
    }

    /// In a line.
    pub fn said(&self) -> String {
        let clear = if self.differs { "" } else { ", no difference that could be told from none" };
        format!(
            "{} rows a second then, {} now: {}. Columns alone: {}; keys, indexes and all else of the table: {}{clear}",
            rate(self.before.median),
            rate(self.now.median),
            self.ratio.said(),
            self.columns.said(),
            self.table.said()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::{Attachment, Variant};
    use crate::report::Report;
    use crate::testing::{healthy, table, trial};

    /// A report of a server on which `change` was made, whose table takes so many seconds, half of them for its index if it
    /// has one.
    fn saved(change: impl Fn(&mut Facts), seconds: f64, has_index: bool) -> Saved {
        let mut facts = healthy();
        change(&mut facts);
        let index = (Attachment::Index("i".into()), 0.5);
        let mut measured = trial(if has_index { std::slice::from_ref(&index) } else { &[] });
        if has_index {
            let bare = measured.run_of(&Variant::Bare, 0.5);
            measured.runs.extend(bare);
        }
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
        let indexed = saved(|facts| table(facts).is_unlogged = true, 2.0, true);
        let plain = saved(|_| (), 1.0, false);
        let found = compared(&indexed, &plain).unwrap();
        assert_eq!(found.gone, ["table.unlogged: public.events is unlogged"]);
        assert!(found.new.is_empty(), "{found:?}");
        assert_eq!(
            found.rate.as_ref().unwrap().said(),
            "5,000 rows a second then, 10,000 now: 2.00 × (2.00 to 2.00). Columns alone: 1.00 × (1.00 to 1.00); \
             keys, indexes and all else of the table: 2.00 × (2.00 to 2.00)"
        );
        assert!(found.rate.unwrap().differs);
        let back = compared(&plain, &indexed).unwrap();
        assert_eq!((back.gone.len(), back.new.len()), (0, 1));
    }

    #[test]
    fn a_machine_that_is_less_busy_than_before_is_no_remedy() {
        for has_index in [false, true] {
            let busy = saved(|_| (), 1.6, has_index);
            let rate = compared(&busy, &saved(|_| (), 1.0, has_index)).unwrap().rate.unwrap();
            assert!((rate.ratio.median - 1.6).abs() < 1e-9 && rate.columns == rate.ratio, "{rate:?}");
            assert!(!rate.differs && (rate.table.median - 1.0).abs() < 1e-9, "{rate:?}");
            assert!(rate.said().ends_with(", no difference that could be told from none"), "{}", rate.said());
        }
    }

    #[test]
    fn what_was_not_measured_is_not_gone_and_another_figure_is_not_new() {
        let measured = saved(|_| (), 1.0, true);
        let mut looked = saved(|_| (), 1.0, true);
        looked.trials = None;
        let found = compared(&measured, &looked).unwrap();
        assert_eq!((found.gone.len(), found.new.len()), (0, 0), "{found:?}");
        assert_eq!(
            without_figures("commit.flush: a commit waits 4.2 ms"),
            without_figures("commit.flush: a commit waits 17 ms")
        );
        assert_ne!(without_figures("index.cost: of a"), without_figures("index.cost: of b"));
    }

    #[test]
    fn a_report_of_another_table_is_no_baseline() {
        let other = saved(|facts| table(facts).name = "others".into(), 1.0, false);
        let error = compared(&other, &saved(|_| (), 1.0, false)).unwrap_err();
        assert_eq!(error.message(), "the baseline is of public.others, and this is of public.events");
    }
}
