//! What a rule says.

use crate::finding::{Finding, Gap};

/// What a rule says of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Something matters.
    Found(Vec<Finding>),
    /// It was looked at and is no reason to do anything.
    Fine,
    /// What it would look at was not seen.
    NotSeen(Gap),
    /// There is nothing that it could look at.
    DoesNotApply,
}

impl Verdict {
    /// The findings, or fine.
    pub(crate) fn of(findings: Vec<Finding>) -> Verdict {
        if findings.is_empty() { Verdict::Fine } else { Verdict::Found(findings) }
    }
}

/// A verdict; `Err` is one that was reached early.
pub(crate) type Judged = Result<Verdict, Verdict>;
