//! All rules over the same facts, and what was measured of what they found.

use howdah::facts::Facts;
use howdah::message::{Respell, Spelling};
use howdah::report::Durability;
use serde::Serialize;

use crate::attachment::{Attachment, Variant};
use crate::case::{Ask, Case};
use crate::finding::{Basis, Finding, Gap, Remedy, Severity};
use crate::measured::Measured;
use crate::prescription::{Prescription, Tried};
use crate::rules;
use crate::scale::Scale;
use crate::sql;
use crate::trials::{ConnectionsTrial, TableTrial, Trials};
use crate::verdict::Verdict;

/// What the rules say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What matters: what fails a load first, then what costs time, by the least that it costs as far as that was measured.
    pub findings: Vec<Finding>,
    /// What all remedies together come to, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prescription: Option<Prescription>,
    /// What the remedies that somebody chose come to together, if that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
    /// What was measured and makes no difference that could be told from none.
    pub no_difference: Vec<NoDifference>,
    /// What could not be seen.
    pub not_seen: Vec<Gap>,
    /// The rules whose things are fine.
    pub fine: Vec<&'static str>,
}

/// Something without which a load is not faster, as far as the measurement can tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoDifference {
    /// What it is.
    pub what: String,
    /// The share of a load's time that goes with it.
    pub cost: Measured,
}

impl Respell for Diagnosis {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.findings.iter_mut().for_each(|finding| finding.respell(spelling));
    }
}

/// Judges `facts`, and what was measured, for the load `ask`.
pub fn diagnose(facts: &Facts, ask: &Ask, trials: Option<&Trials>) -> Diagnosis {
    let case = Case { facts, ask, trials };
    let mut diagnosis = Diagnosis::default();
    for rule in rules::all() {
        match rule.verdict(&case) {
            Verdict::Found(findings) => diagnosis.findings.extend(findings),
            Verdict::Fine => diagnosis.fine.push(rule.id),
            Verdict::NotSeen(gap) if diagnosis.not_seen.contains(&gap) => {}
            Verdict::NotSeen(gap) => diagnosis.not_seen.push(gap),
            Verdict::DoesNotApply => {}
        }
    }
    if let Some(trials) = trials
        && let (Some(trial), Some(scale)) = (trials.table.as_ref(), Scale::of(facts, ask, trials))
    {
        weigh(&mut diagnosis.findings, trial, &scale);
        diagnosis.prescription = Prescription::of(trial, &scale);
        diagnosis.tried = Tried::of(trial, &scale);
        diagnosis.no_difference = no_difference(trial);
    }
    if let Some(trial) = trials.and_then(|trials| trials.connections.as_ref()) {
        diagnosis.no_difference.extend(several_connections(trial));
    }
    // Stable: rules of one severity stay in their order.
    diagnosis.findings.sort_by(|a, b| {
        let least = |finding: &Finding| finding.cost.map_or(0.0, |cost| cost.low);
        a.severity.cmp(&b.severity).then(is_risky(a).cmp(&is_risky(b))).then(least(b).total_cmp(&least(a)))
    });
    diagnosis
}

/// Whether all that can be done about it gives up safety: that is the last thing to do, whatever it gains.
fn is_risky(finding: &Finding) -> bool {
    let is_safe = |remedy: &Remedy| matches!(remedy.label, Durability::Durable);
    !finding.remedies.is_empty() && !finding.remedies.iter().any(is_safe)
}

/// Gives each finding what was measured of its attachment. What makes no difference is good to know at most.
fn weigh(findings: &mut Vec<Finding>, trial: &TableTrial, scale: &Scale) {
    for finding in findings.iter_mut() {
        let Some(attachment) = &finding.attachment else { continue };
        let Some(cost) = trial.cost(attachment) else { continue };
        if trial.is_clear(cost) {
            let of_load = scale.share(std::slice::from_ref(attachment), cost);
            (finding.cost, finding.basis) = (Some(of_load), Basis::Measured);
            // In copies it costs time, and next to nothing in a load that is mostly its beginning.
            if finding.severity == Severity::Costs && !of_load.is_clear(None) {
                finding.severity = Severity::Notice;
            }
        } else {
            finding.evidence.push(format!("measured: no difference, {} of a load's time", cost.percent()));
            if finding.basis == Basis::Known {
                (finding.severity, finding.basis) = (Severity::Notice, Basis::Measured);
            }
        }
    }
    // Another rule knows more of it than that it takes time.
    let known: Vec<Attachment> = findings
        .iter()
        .filter(|finding| finding.id != rules::INDEX_COST)
        .filter_map(|finding| finding.attachment.clone())
        .collect();
    findings.retain(|finding| {
        finding.id != rules::INDEX_COST || finding.attachment.as_ref().is_none_or(|it| !known.contains(it))
    });
}

fn no_difference(trial: &TableTrial) -> Vec<NoDifference> {
    let attached = trial.attachments().into_iter().filter_map(|attachment| {
        Some(NoDifference { what: attachment.named(sql::name), cost: trial.cost(&attachment)? })
    });
    let log = trial.log_cost().map(|cost| NoDifference { what: "the log".to_owned(), cost });
    let forms = [(Variant::Text, "rows as text"), (Variant::Csv, "rows as CSV")].into_iter().filter_map(
        |(form, what)| {
            let cost = trial.saved_by_binary(&form)?;
            // Where they are faster in that form, that is a finding.
            let is_faster = trial.saved_by_form(&form).is_some_and(|saved| trial.is_clear(saved));
            (!is_faster).then(|| NoDifference { what: what.to_owned(), cost })
        },
    );
    attached.chain(log).chain(forms).filter(|found| !trial.is_clear(found.cost)).collect()
}

/// Where not even the fewest connections beside one are faster, or the number that seems to pay may be none.
fn several_connections(trial: &ConnectionsTrial) -> Option<NoDifference> {
    let paying = trial.knee().filter(|knee| *knee > 1);
    let connections = paying.or(trial.tried().first().copied())?;
    let cost = trial.saved(connections)?;
    let what = format!("{connections} connections instead of one");
    (paying.is_none() || !trial.is_clear(cost)).then_some(NoDifference { what, cost })
}

#[cfg(test)]
mod tests {
    use howdah::facts::IndexFacts;

    use super::*;
    use crate::testing::{healthy, index, seen, table, trial};

    /// The table has an index that no query used, and one that many do.
    fn with_two(costs: &[(Attachment, f64)]) -> Diagnosis {
        let mut facts = healthy();
        let indexes = seen(&mut table(&mut facts).indexes);
        indexes.push(IndexFacts { scans: 0.0, ..index("lazy", "at") });
        indexes.push(index("busy", "at"));
        let trials = Trials { table: Some(trial(costs)), ..Trials::default() };
        diagnose(&facts, &Ask::default(), Some(&trials))
    }

    fn of(name: &str) -> Attachment {
        Attachment::Index(name.into())
    }

    #[test]
    fn findings_are_ranked_by_what_was_measured_and_each_index_is_named_once() {
        let diagnosis = with_two(&[(of("lazy"), 0.2), (of("busy"), 0.4), (of("events_pkey"), 0.01)]);
        let found: Vec<(&str, f64)> = diagnosis
            .findings
            .iter()
            .map(|finding| (finding.id, finding.cost.map_or(0.0, |cost| (cost.median * 100.0).round())))
            .collect();
        assert_eq!(found, [("index.cost", 40.0), ("index.unused", 20.0)]);
        assert_eq!(diagnosis.findings[1].basis, Basis::Measured);
        let spared: Vec<&str> = diagnosis.no_difference.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(spared, ["index events_pkey"]);
    }

    #[test]
    fn what_makes_no_difference_is_said_where_it_was_found() {
        let diagnosis = with_two(&[(of("lazy"), 0.0), (of("busy"), 0.0)]);
        assert_eq!(diagnosis.findings.len(), 1);
        // That nobody uses it is so all the same.
        assert_eq!(diagnosis.findings[0].basis, Basis::Counted);
        assert_eq!(
            diagnosis.findings[0].evidence[1],
            "measured: no difference, 0 % (0 to 0) of a load's time"
        );
        assert_eq!(diagnosis.no_difference.len(), 2);
    }
}
