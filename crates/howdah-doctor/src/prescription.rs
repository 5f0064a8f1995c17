//! All that can be done about what costs time, together. Shares of single remedies overlap, so that what they come to is measured by
//! a copy that lacks all of these things at once.

use serde::Serialize;

use crate::attachment::Attachment;
use crate::finding::Finding;
use crate::measured::Measured;
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
    /// Of what was measured, if it is worth anything.
    pub(crate) fn of(trial: &TableTrial) -> Option<Prescription> {
        let saved = trial.prescription_saved().filter(|saved| trial.is_clear(*saved))?;
        Some(Prescription {
            without: trial.prescribed.iter().map(|attachment| attachment.named(sql::name)).collect(),
            now: trial.rate()?,
            then: trial.prescription_rate()?,
            saved,
        })
    }
}

/// What costs time for sure, and can be done without while rows come.
pub(crate) fn removed(findings: &[Finding]) -> Vec<Attachment> {
    let mut removed: Vec<Attachment> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.cost.is_some() && !finding.remedies.is_empty()) {
        if let Some(attachment) = finding.attachment.as_ref().filter(|it| !removed.contains(it)) {
            removed.push(attachment.clone());
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, index, seen, table, trial};
    use crate::trials::Trials;
    use crate::{Ask, Variant, diagnose};

    fn of(name: &str) -> Attachment {
        Attachment::Index(name.into())
    }

    #[test]
    fn what_costs_for_sure_is_removed_and_what_does_not_stays() {
        let mut facts = healthy();
        seen(&mut table(&mut facts).indexes).extend([index("a", "at"), index("b", "at")]);
        let costs = [(of("a"), 0.2), (of("b"), 0.01), (of("events_pkey"), 0.1)];
        let trials = Trials { table: Some(trial(&costs)), ..Trials::default() };
        let diagnosis = diagnose(&facts, &Ask::default(), Some(&trials));
        assert_eq!(removed(&diagnosis.findings), [of("a"), of("events_pkey")]);
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
        let prescription = Prescription::of(&measured).unwrap();
        assert_eq!(prescription.without, ["index a", "index b"]);
        assert_eq!(prescription.saved.percent(), "50 % (50 to 50)");
        assert_eq!((prescription.now.median, prescription.then.median), (10_000.0, 20_000.0));
        // All that was left out one by one: that is the copy without anything.
        let mut all = trial(&costs[..2]);
        all.prescribed = vec![of("b"), of("a")];
        assert_eq!(Prescription::of(&all), None);
        let bare = all.run_of(&Variant::Bare, 0.4);
        all.runs.extend(bare);
        assert_eq!(Prescription::of(&all).unwrap().saved.percent(), "60 % (60 to 60)");
    }

    #[test]
    fn remedies_that_come_to_nothing_are_no_prescription() {
        let mut measured = trial(&[(of("a"), 0.1)]);
        measured.prescribed = vec![of("a")];
        let bare = measured.run_of(&Variant::Bare, 0.97);
        measured.runs.extend(bare);
        assert_eq!(Prescription::of(&measured), None);
    }
}
