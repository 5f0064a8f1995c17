//! A rule: a pure function from facts to a verdict, and what there is to say of it without any facts.

use crate::case::Case;
use crate::verdict::{Judged, Verdict};

/// One thing that is looked for.
pub struct Rule {
    /// Its name: `family.thing`.
    pub id: &'static str,
    /// What it is about, in a line.
    pub title: &'static str,
    /// What is looked at, and when it is a finding.
    pub condition: &'static str,
    /// Why that matters to a load.
    pub why: &'static str,
    /// What can be done.
    pub remedy: &'static str,
    pub(crate) judge: fn(&Case<'_>) -> Judged,
}

impl Rule {
    /// What the rule says; findings get its name and its reason.
    pub(crate) fn verdict(&self, case: &Case<'_>) -> Verdict {
        match (self.judge)(case).unwrap_or_else(|early| early) {
            Verdict::Found(mut findings) => {
                for finding in &mut findings {
                    (finding.id, finding.why) = (self.id, self.why);
                }
                Verdict::Found(findings)
            }
            other => other,
        }
    }
}
