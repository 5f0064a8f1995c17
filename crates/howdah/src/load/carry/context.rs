//! What the workers of a load share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howdah_connect::Target;

use crate::load::{Load, Setup};
use crate::plan::sending::RowStrategy;
use crate::resolve::Resolver;
use crate::send::context::LoadContext;
use crate::send::deadlock::MutualWaits;
use crate::send::rate_limit::RateLimit;

impl Load<'_> {
    /// What the workers of this load share.
    pub(in crate::load) fn context(&self, decision: &Setup, target: &Target) -> LoadContext {
        let Setup { plan, table, strategy, rejects, .. } = decision;
        let (relation_name, relation) = strategy.relation(table);
        // Elsewhere than in UTF-8, characters of the input may have no place.
        // And a literal that travels unread is judged where it arrives.
        let unread = plan.sending.strategy == RowStrategy::PassTuples
            || plan.columns.iter().any(|column| column.as_text);
        let can_refuse = strategy.can_refuse_rows(table) || !decision.server_is_utf8 || unread;
        LoadContext {
            plan: plan.clone(),
            relation,
            relation_name,
            hidden_names: strategy.hidden_names(table),
            control: self.control.clone(),
            waits: MutualWaits::new(),
            refused_in_sorted: AtomicBool::new(false),
            resolver: Resolver::start(target.clone(), decision.server_version_num),
            dense: Arc::new(AtomicBool::new(false)),
            rejects: rejects.clone(),
            isolates_rows: rejects.is_some() && can_refuse,
            rate: self.options.writing.max_rate.map(|rate| Arc::new(RateLimit::new(rate))),
            sort: decision.sort.clone(),
            commits: decision.commits.clone(),
        }
    }
}
