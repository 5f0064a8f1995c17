//! Several remedies together: all that can be done about what costs time, or those that somebody wants tried. Shares of single ones
//! overlap, so that what they come to is measured by a copy that lacks all of these things at once.

use howdah::facts::TableFacts;
use serde::Serialize;

use crate::attachment::Attachment;
use crate::finding::Finding;
use crate::measured::Measured;
use crate::scale::Scale;
use crate::sql;
use crate::trials::TableTrial;

/// What the remedies of single findings come to together, over one connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prescription {
    /// What goes, or is made again after the rows.
    pub without: Vec<String>,
    /// Rows a second that the table takes now.
    pub now: Measured,
    /// Rows a second without all of these.
    pub then: Measured,
    /// The share of a load's time that goes with them.
    pub saved: Measured,
}

impl Prescription {
    /// Of what was measured, if nobody chose what is left out, and it is worth anything.
    pub(crate) fn of(trial: &TableTrial, scale: &Scale) -> Option<Prescription> {
        let is_worth = trial.tried.is_empty() && trial.is_clear(trial.prescription_saved()?);
        Prescription::measured(trial, scale).filter(|_| is_worth)
    }

    /// What was left out together, whatever it is worth.
    pub(crate) fn measured(trial: &TableTrial, scale: &Scale) -> Option<Prescription> {
        let saved = trial.prescription_saved()?;
        Some(Prescription {
            without: trial.prescribed.iter().map(|attachment| attachment.named(sql::name)).collect(),
            now: scale.rate(),
            then: scale.rate_without(&trial.prescribed, saved),
            saved: scale.share(&trial.prescribed, saved),
        })
    }
}

/// What the remedies of chosen findings come to together, over one connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// The findings.
    pub ids: Vec<String>,
    /// What was left out, and what that came to.
    #[serde(flatten)]
    pub together: Prescription,
    /// Whether it is more than nothing, more than 5 % and more than two runs of the same are apart.
    pub is_clear: bool,
}

impl Tried {
    /// Of what was measured, whatever it is worth.
    pub(crate) fn of(trial: &TableTrial, scale: &Scale) -> Option<Tried> {
        if trial.tried.is_empty() {
            return None;
        }
        let is_clear = trial.is_clear(trial.prescription_saved()?);
        Some(Tried { ids: trial.tried.clone(), is_clear, together: Prescription::measured(trial, scale)? })
    }
}

/// What costs time for sure, and can be done without while rows come. The log is not among it: what a crash empties is no remedy
/// for everybody. Nor are CHECKs, which stay. Where one index of a table is built after the rows, all are that can be.
pub(crate) fn removed(findings: &[Finding], table: &TableFacts, trial: &TableTrial) -> Vec<Attachment> {
    let mut removed: Vec<Attachment> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.cost.is_some() && !finding.remedies.is_empty()) {
        let stays = |it: &&Attachment| matches!(it, Attachment::Log | Attachment::Checks);
        removed.extend(finding.attachment.as_ref().filter(|it| !stays(it)).cloned());
    }
    if table.kind == "r" && removed.iter().any(|it| matches!(it, Attachment::Index(_))) {
        removed.extend(built_afterwards(table, trial));
    }
    let mut seen: Vec<Attachment> = Vec::new();
    removed.retain(|it| {
        !seen.contains(it) && {
            seen.push(it.clone());
            true
        }
    });
    removed
}

/// The indexes that a load can drop and build again: not the keys that others refer to.
fn built_afterwards(table: &TableFacts, trial: &TableTrial) -> Vec<Attachment> {
    let is_referred_to = table.references.seen().is_none_or(|references| !references.is_empty());
    let indexes = table.indexes.seen().into_iter().flatten();
    let indexes = indexes.filter(|index| !(index.is_key && is_referred_to));
    let named = indexes.map(|index| Attachment::Index(index.name.clone()));
    let measured = trial.attachments();
    named.filter(|index| measured.contains(index)).collect()
}

#[cfg(test)]
mod tests {
    use howdah::facts::Facts;

    use super::*;
    use crate::testing::{healthy, index, seen, table, trial};
    use crate::trials::Trials;
    use crate::{Ask, Report, Saved, Variant, diagnose};

    fn of(name: &str) -> Attachment {
        Attachment::Index(name.into())
    }

    /// For a load of which nobody said how large it is.
    fn scale(trial: &TableTrial) -> Scale {
        let trials = Trials { table: Some(trial.clone()), ..Trials::default() };
        Scale::of(&healthy(), &Ask::default(), &trials).unwrap()
    }

    fn prescribed_by(trial: &TableTrial) -> Option<Prescription> {
        Prescription::of(trial, &scale(trial))
    }

    fn attempted(trial: &TableTrial) -> Option<Tried> {
        Tried::of(trial, &scale(trial))
    }

    #[test]
    fn what_costs_for_sure_is_removed_and_what_does_not_stays() {
        let mut facts = healthy();
        seen(&mut table(&mut facts).indexes).extend([index("a", "at"), index("b", "at")]);
        let costs = [(of("a"), 0.2), (of("b"), 0.01), (of("events_pkey"), 0.1)];
        let trials = Trials { table: Some(trial(&costs)), ..Trials::default() };
        let diagnosis = diagnose(&facts, &Ask::default(), Some(&trials));
        let removed = |facts: &mut Facts| {
            let trial = trials.table.as_ref().unwrap();
            removed(&diagnosis.findings, table(facts), trial)
        };
        // What is built afterwards is all that can be.
        assert_eq!(removed(&mut facts), [of("a"), of("events_pkey"), of("b")]);
        table(&mut facts).kind = "p".into();
        assert_eq!(removed(&mut facts), [of("a"), of("events_pkey")]);
        // Nothing was measured of them together.
        assert_eq!(diagnosis.prescription, None);
    }

    #[test]
    fn together_they_come_to_what_was_measured_and_not_to_their_sum() {
        let costs = [(of("a"), 0.3), (of("b"), 0.3), (of("c"), 0.0)];
        let mut measured = trial(&costs);
        measured.prescribed = vec![of("a"), of("b")];
        let without = measured.run_of(&Variant::Prescribed, 0.5);
        measured.runs.extend(without);
        let prescription = prescribed_by(&measured).unwrap();
        assert_eq!(prescription.without, ["index a", "index b"]);
        assert_eq!(prescription.saved.percent(), "50 % (50 to 50)");
        assert_eq!((prescription.now.median.round(), prescription.then.median.round()), (10_000.0, 20_000.0));
        // All that was left out one by one: that is the copy without anything.
        let mut all = trial(&costs[..2]);
        all.prescribed = vec![of("b"), of("a")];
        assert_eq!(prescribed_by(&all), None);
        let bare = all.run_of(&Variant::Bare, 0.4);
        all.runs.extend(bare);
        assert_eq!(prescribed_by(&all).unwrap().saved.percent(), "60 % (60 to 60)");
    }

    #[test]
    fn remedies_that_come_to_nothing_are_no_prescription() {
        let mut measured = trial(&[(of("a"), 0.1)]);
        measured.prescribed = vec![of("a")];
        let bare = measured.run_of(&Variant::Bare, 0.97);
        measured.runs.extend(bare);
        assert_eq!(prescribed_by(&measured), None);
    }

    /// A report on copies that lacked two indexes together, which took so many seconds instead of one.
    fn tried(seconds: f64) -> Report {
        let mut measured = trial(&[(of("a"), 0.1), (of("b"), 0.1), (of("c"), 0.1)]);
        (measured.prescribed, measured.tried) = (vec![of("a"), of("b")], vec!["index.unused".into()]);
        let without = measured.run_of(&Variant::Prescribed, seconds);
        measured.runs.extend(without);
        let trials = Trials { table: Some(measured), ..Trials::default() };
        Report::new(healthy(), Ask { rows: Some(1_000_000), ..Ask::default() }, Some(trials))
    }

    #[test]
    fn what_was_tried_is_said_whatever_it_is_worth_and_is_no_prescription() {
        let report = tried(0.5);
        assert_eq!(report.diagnosis.prescription, None);
        assert_eq!(
            report.tried().unwrap(),
            "50 % (50 to 50) of the time goes with index.unused: 20,000 rows a second instead of 10,000, \
             without index a, index b while rows come"
        );
        let to_come = report.prediction.as_ref().unwrap().said();
        assert!(to_come.contains("; with what was tried: at least 50 s (50 s to 50 s); "), "{to_come}");
        let saved = Saved::read(&serde_json::to_string(&report).unwrap()).unwrap();
        let again = Report::new(saved.facts, saved.ask, saved.trials);
        assert_eq!(again.diagnosis.tried, report.diagnosis.tried);
        let nothing = tried(0.99).tried().unwrap();
        assert!(
            nothing.starts_with("1 % (1 to 1) of the time goes with index.unused, which is no difference"),
            "{nothing}"
        );
        // Without the log, the copy that lacks all else is another one.
        let mut measured = trial(&[(of("a"), 0.1)]);
        (measured.prescribed, measured.tried) = (vec![of("a"), Attachment::Log], vec!["x".into()]);
        let bare = measured.run_of(&Variant::Bare, 0.9);
        measured.runs.extend(bare);
        assert_eq!(attempted(&measured), None);
        let without = measured.run_of(&Variant::Prescribed, 0.6);
        measured.runs.extend(without);
        let tried = attempted(&measured).unwrap();
        assert_eq!(
            (tried.together.without, tried.is_clear),
            (vec!["index a".to_owned(), "the log".to_owned()], true)
        );
    }
}
