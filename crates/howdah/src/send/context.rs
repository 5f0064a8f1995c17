//! What the workers of a load share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::control::Control;
use crate::error::HiddenNames;
use crate::plan::Plan;
use crate::rejects::Rejects;
use crate::resolve::Resolver;
use crate::send::deadlock::MutualWaits;
use crate::send::rate_limit::RateLimit;
use crate::send::row_commits::RowCommits;
use crate::send::sort::SortRule;

/// The plan of a load, its target, and the state that its workers have in common.
pub(crate) struct LoadContext {
    pub(crate) plan: Arc<Plan>,
    /// The relation that rows are sent to, quoted and qualified for SQL.
    pub(crate) relation: String,
    /// The relation's bare name, as the server's errors have it: `COPY name, line 7`.
    pub(crate) relation_name: String,
    /// What users call it, and what belongs to it.
    pub(crate) hidden_names: HiddenNames,
    pub(crate) control: Control,
    pub(crate) waits: MutualWaits,
    /// A row was refused in a part that was sorted: others that come before it in the input may be wrong too.
    pub(crate) refused_in_sorted: AtomicBool,
    /// Asks the server about literals that the codecs are unsure of.
    pub(crate) resolver: Resolver,
    /// Set once a column turns up most of whose literals only the server can decide.
    pub(crate) dense: Arc<AtomicBool>,
    /// Takes the records that cannot become rows. `None`: the first of them ends the load.
    pub(crate) rejects: Option<Arc<Rejects>>,
    /// Whether a row that the server refuses is isolated, so that the others of its part get in.
    pub(crate) isolates_rows: bool,
    /// In which order the rows of a part are sent.
    pub(crate) sort: SortRule,
    /// The most bytes a second; `None`: as many as the server takes.
    pub(crate) rate: Option<Arc<RateLimit>>,
    /// The account of rows that commit one by one. `None`: each worker has one transaction.
    pub(crate) commits: Option<Arc<RowCommits>>,
}

impl LoadContext {
    /// Whether each part is sent under a savepoint, to which its worker returns when the server refuses a row.
    pub(crate) fn uses_savepoints(&self) -> bool {
        self.isolates_rows && self.commits.is_none()
    }
}
