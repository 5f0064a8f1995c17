//! All rules over the same facts.

use howdah::facts::Facts;
use howdah::message::{Respell, Spelling};
use serde::Serialize;

use crate::case::{Ask, Case};
use crate::finding::{Finding, Gap};
use crate::rules;
use crate::verdict::Verdict;

/// What the rules say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What matters: what fails a load first, then what costs time.
    pub findings: Vec<Finding>,
    /// What could not be seen.
    pub not_seen: Vec<Gap>,
    /// The rules whose things are fine.
    pub fine: Vec<&'static str>,
}

impl Respell for Diagnosis {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.findings.iter_mut().for_each(|finding| finding.respell(spelling));
    }
}

/// Judges `facts` for the load `ask`.
pub fn diagnose(facts: &Facts, ask: &Ask) -> Diagnosis {
    let case = Case { facts, ask };
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
    // Stable: rules of one severity stay in their order.
    diagnosis.findings.sort_by_key(|finding| finding.severity);
    diagnosis
}
