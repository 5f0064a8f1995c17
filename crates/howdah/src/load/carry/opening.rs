//! The opening: the transactions, and all that stands in them before the first row.

use std::sync::Arc;

use howdah_connect::Connection;
use howdah_message::setting;

use crate::control::lock_watch::LockWatch;
use crate::error::Error;
use crate::load::{Load, Setup};
use crate::publish::strategy::PublishStrategy;
use crate::publish::triggers::Trigger;
use crate::send::context::LoadContext;
use crate::send::pool::WorkerPool;

impl Load<'_> {
    /// Opens the transactions, with all that stands before the first row. Returns the strategy that holds instead of the decided
    /// one, if any does, and the triggers that are disabled.
    pub(super) async fn open(
        &mut self,
        connection: &Arc<Connection>,
        decision: &Setup,
        context: &LoadContext,
        workers: &mut WorkerPool,
    ) -> Result<(Option<PublishStrategy>, Vec<Trigger>), Error> {
        let Setup { table, strategy, jobs, .. } = decision;
        let alone = jobs.count == 1;
        let floor = self.locks.as_ref().and_then(LockWatch::floor);
        if !alone {
            let making = strategy.prepare_apart(connection, table, floor.as_deref());
            self.interruptible(connection, making).await?;
        }
        if !alone && strategy.hidden_id().is_some() {
            self.run_all(connection, floor.as_slice()).await?;
        }
        self.begin(connection, jobs.count, context, workers).await?;
        let kept = match strategy.rebuild() {
            Some(rebuild) => self.lock_out(connection, rebuild).await?,
            None => None,
        };
        let instead = kept.and_then(|why| {
            self.say_kept(why);
            strategy.keeping_indexes()
        });
        if instead.is_some() {
            self.begin(connection, jobs.count, context, workers).await?;
        }
        let strategy = instead.as_ref().unwrap_or(strategy);
        let nothing = "no row of the input";
        self.run_own_sql(connection, setting::BEFORE, &self.options.target.before, nothing).await?;
        // Staged rows come near them only when they are applied.
        let disabled = match strategy {
            PublishStrategy::Staged(_) => Vec::new(),
            _ => self.disable_triggers(connection, decision).await?,
        };
        match strategy.rebuild() {
            Some(rebuild) => self.take_out(connection, rebuild).await?,
            None if alone => self.run_all(connection, &strategy.before(table)).await?,
            None => {}
        }
        if !matches!(strategy, PublishStrategy::Staged(_)) {
            self.add_columns(connection, decision).await?;
            self.leave_log(connection, decision).await?;
        }
        Ok((instead, disabled))
    }

    /// Opens the transactions of the `jobs` connections, of which a pooler may have no servers for all.
    async fn begin(
        &mut self,
        connection: &Connection,
        jobs: usize,
        context: &LoadContext,
        workers: &mut WorkerPool,
    ) -> Result<(), Error> {
        let mut first = vec!["BEGIN".to_owned()];
        first.extend(self.locks.as_ref().and_then(LockWatch::floor));
        if context.isolates_rows {
            // A deferred constraint would speak up when nobody can tell any more which row it means.
            first.push("SET CONSTRAINTS ALL IMMEDIATE".to_owned());
        }
        if jobs > 1 && context.commits.is_none() {
            first.push(context.waits.together_sql());
        }
        let first = first.join("; ");
        let begun = self.interruptible(connection, workers.begin(&first)).await?;
        if begun < jobs {
            self.report.jobs = begun;
            self.control.notice(format!(
                "the pooler has no server for {} of {} connections: the load goes on with the others",
                jobs - begun,
                jobs
            ));
        }
        Ok(())
    }
}
