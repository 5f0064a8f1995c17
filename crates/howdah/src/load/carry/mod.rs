//! The carrying: rows on their way, the commit, or everything as it was.

mod added_columns;
pub(in crate::load) mod clean_up;
mod context;
mod disabled_triggers;
mod lock_out;
mod off_the_log;
mod opening;
mod own_sql;
mod row_by_row;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use howdah_connect::{Connection, Target};
use howdah_message::setting;
use howdah_source::MorselSource;

use self::clean_up::{clean_up, drop_stage, tell_dead_space};
use crate::catalog::inferred_type::InferredType;
use crate::catalog::table::Table;
use crate::control::Phase;
use crate::control::liveness::server_lost;
use crate::control::lock_watch::{LockWatch, within};
use crate::control::stoppable::{cancelled, interruptible, stoppable};
use crate::error::{Error, ErrorKind};
use crate::infer::columns::merge;
use crate::infer::lattice::ColumnLattice;
use crate::load::{Load, Setup};
use crate::plan::{ColumnTypes, Plan};
use crate::publish::commit::{Commit, Makes};
use crate::publish::hidden_table::sweep;
use crate::publish::server_identity::ServerIdentity;
use crate::publish::strategy::PublishStrategy;
use crate::publish::triggers;
use crate::read::queue::InputQueue;
use crate::report::{CopyFormat, Durability, Outcome};
use crate::send::context::LoadContext;
use crate::send::pool::WorkerPool;
use crate::send::timings::Timings;
use crate::send::worker::Sent;

impl Load<'_> {
    /// Moves the rows and makes them visible, or leaves nothing behind.
    pub(super) async fn carry(
        &mut self,
        connection: &Arc<Connection>,
        morsels: MorselSource,
        decision: &Setup,
    ) -> Result<(), Error> {
        let Setup { table, strategy, jobs, .. } = decision;
        let input = InputQueue::new(morsels);
        let target = self.target.pinned_to(connection);
        let context = Arc::new(self.context(decision, &target));
        let floor = self.locks.as_ref().and_then(LockWatch::floor);
        let floor = floor.as_deref();
        let preparing = async {
            for name in sweep(connection, &table.schema, floor).await? {
                self.control.notice(format!("removed {name}, left by a load that died"));
            }
            let size_before = match strategy {
                PublishStrategy::Append | PublishStrategy::Staged(_) => {
                    within(floor, connection, table.size(connection)).await?
                }
                _ => u64::MAX,
            };
            Ok((size_before, WorkerPool::connect(connection, &target, jobs.count).await?))
        };
        let (size_before, mut workers) = self.interruptible(connection, preparing).await?;
        self.watch_locks_of(&workers);
        let Err(error) =
            self.send_and_publish(connection, &target, &input, decision, &context, &mut workers).await
        else {
            return Ok(());
        };
        let error = strategy.hidden_names(table).reveal(workers.told(error));
        input.stop();
        // On failure too the file tells what was refused so far. The load's error is the one to report; that the file is
        // not whole must not be lost beside it.
        if let Err(unwritten) = self.close_rejects(decision)
            && unwritten.kind() == ErrorKind::Source
            && error.kind() != ErrorKind::Source
        {
            self.control.notice(format!("the file of rejected records is incomplete: {unwritten}"));
        }
        if error.kind() == ErrorKind::PartlyCommitted {
            return Err(error);
        }
        let (error, is_clean) = clean_up(self.control, connection, &target, workers, decision, error).await;
        let is_out_of_order = context.waits.was_found() || context.refused_in_sorted.load(Ordering::Relaxed);
        let mut error = self.look_again(&target, decision, is_out_of_order, error).await;
        if is_clean {
            error = tell_dead_space(self.control, connection, decision, size_before, error).await;
        }
        if jobs.count == 1 {
            connection.abort();
        }
        Err(error)
    }

    async fn send_and_publish(
        &mut self,
        connection: &Arc<Connection>,
        target: &Target,
        input: &Arc<InputQueue>,
        decision: &Setup,
        context: &Arc<LoadContext>,
        workers: &mut WorkerPool,
    ) -> Result<(), Error> {
        let Setup { plan, table, strategy, jobs, .. } = decision;
        let alone = jobs.count == 1;
        let server =
            self.interruptible(connection, async { Ok(ServerIdentity::read(connection).await) }).await?;
        let loading = Instant::now();
        self.control.enter(Phase::Loading);
        let (instead, mut disabled) = self.open(connection, decision, context, workers).await?;
        let strategy = instead.as_ref().unwrap_or(strategy);
        let connections = workers.connections();
        let sent = self.send(connection, input, context, workers).await?;
        self.close_rejects(decision)?;
        let mut rows = self.account(&sent, table)?;
        let subtransactions = sent.iter().map(|sent| sent.subtransactions.clone()).collect();
        self.report.phases.load_s = loading.elapsed().as_secs_f64();

        self.control.enter(Phase::Indexing);
        let indexing = Instant::now();
        if !alone && strategy.hidden_id().is_some() {
            self.commit(&connections, target, server.as_ref(), Makes::Nothing).await?;
        }
        let lattices = merge(sent.into_iter().map(|sent| sent.lattices));
        let found: Vec<InferredType> = lattices.iter().map(ColumnLattice::decide).collect();
        if plan.types == ColumnTypes::Observed {
            self.hint_null_markers(plan, &lattices);
            self.say_what_keeps(plan, &lattices);
            self.show_found_types(plan, &found);
        }
        if let PublishStrategy::Staged(staging) = strategy {
            disabled = self.disable_triggers(connection, decision).await?;
            self.add_columns(connection, decision).await?;
            self.leave_log(connection, decision).await?;
            rows = self.apply(connection, workers, staging, decision, rows).await?;
            self.return_to_log(connection, decision, &table.sql()).await?;
            self.close_rejects(decision)?;
        } else {
            self.run_all(connection, strategy.retype(table, plan, &found).as_slice()).await?;
            let before_logging = self.report.phases.logging_s;
            self.return_to_log(connection, decision, &strategy.relation(table).1).await?;
            let logging_s = self.report.phases.logging_s - before_logging;
            let after = strategy.after(table);
            match strategy.rebuild() {
                // Everybody waits behind the lock on the table, so nobody else is waited for.
                Some(_) => self.run_shortly(connection, &after).await.map_err(lock_out::of_the_table)?,
                None => self.run_all(connection, &after).await?,
            }
            self.report.phases.index_s = indexing.elapsed().as_secs_f64() - logging_s;
            self.report.rows_inserted = rows;
        }
        self.run_all(connection, &triggers::enable_sql(&disabled)).await?;
        let ranges = self.report.apply_jobs.filter(|jobs| *jobs > 1);

        self.control.enter(Phase::Committing);
        let committing = Instant::now();
        if let Some(replacement) = strategy.replacement() {
            self.run_all(connection, std::slice::from_ref(&replacement.lock)).await?;
            self.interruptible(connection, replacement.check_unchanged(connection)).await?;
        }
        if ranges.is_none() {
            self.run_all(connection, &strategy.publish()).await?;
        }
        if let Some(replacement) = strategy.replacement() {
            let rights = self.interruptible(connection, replacement.restore_rights(connection)).await?;
            self.run_all(connection, &rights).await?;
        }
        let all = format!("all {rows} rows, in {}", table.display());
        self.run_own_sql(connection, setting::AFTER, &self.options.target.after, &all).await?;
        let table = &table.sql();
        let (open, makes) = match strategy {
            PublishStrategy::Append => (connections, Makes::Rows { table, subtransactions }),
            _ => match ranges {
                Some(ranges) => {
                    (workers.connections().into_iter().take(ranges).collect(), Makes::Changes { table })
                }
                None => (vec![connection.clone()], Makes::AllAtOnce),
            },
        };
        let committed = self.commit(&open, target, server.as_ref(), makes).await;
        let is_in = committed.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::PartlyCommitted);
        if ranges.is_some() && is_in {
            drop_stage(self.control, connection, target, decision).await;
        }
        self.confirmed(committed?);
        self.report.phases.commit_s = committing.elapsed().as_secs_f64();
        self.report.rows = rows;
        self.report.outcome = Outcome::Loaded;
        Ok(())
    }

    /// Lets the workers send until the input ends, one of them fails, or the load is cancelled.
    pub(super) async fn send(
        &self,
        connection: &Connection,
        input: &Arc<InputQueue>,
        context: &Arc<LoadContext>,
        workers: &mut WorkerPool,
    ) -> Result<Vec<Sent>, Error> {
        let pids = workers.pids();
        let watch = async {
            match pids.len() {
                1 => std::future::pending().await,
                // A row that waits for another's commit waits for moments.
                _ if context.commits.is_some() => std::future::pending().await,
                _ => context.waits.watch(connection, pids).await,
            }
        };
        tokio::select! {
            sent = workers.run(context, input) => sent,
            lost = server_lost(connection, self.control) => Err(lost),
            watched = watch => watched.map(|never| match never {}),
            () = self.control.cancelled() => Err(cancelled()),
        }
    }

    /// Completes the reject file and judges whether the load may go on with so many.
    pub(super) fn close_rejects(&mut self, decision: &Setup) -> Result<(), Error> {
        let Some(rejects) = &decision.rejects else { return Ok(()) };
        let closed = rejects.finish(self.control.snapshot().rows_read);
        self.report.rows_rejected = rejects.count();
        self.report.rejects_path = rejects.path().map(|path| path.display().to_string());
        closed
    }

    /// Compares what was read with what the server counted.
    pub(super) fn account(&mut self, sent: &[Sent], table: &Table) -> Result<u64, Error> {
        let rows: u64 = sent.iter().map(|sent| sent.rows).sum();
        self.tell_sent(sent);
        let (read, rejected) = (self.control.snapshot().rows_read, self.report.rows_rejected);
        self.report.rows_dropped = read.saturating_sub(rejected + rows);
        if rows + rejected != read {
            if !table.has_row_triggers {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!("{read} rows were read, {rejected} refused, and the server counted {rows}"),
                ));
            }
            self.control
                .notice(format!("{} rows were sent; triggers let {rows} of them in", read - rejected));
        }
        Ok(rows)
    }

    /// Says in the report what each connection `sent`, in which form, and where its time went.
    pub(super) fn tell_sent(&mut self, sent: &[Sent]) {
        self.report.parts = sent.iter().map(|sent| sent.parts).sum();
        for (index, parts) in sent.iter().flat_map(|sent| &sent.sorted) {
            *self.report.sorted_parts.entry(index.clone()).or_default() += parts;
        }
        let timings: Timings = sent.iter().map(|sent| sent.timings).sum();
        let mean = |sum: Duration| sum.as_secs_f64() / sent.len().max(1) as f64;
        let phases = &mut self.report.phases;
        (phases.read_s, phases.encode_s, phases.wait_s) =
            (mean(timings.reading), mean(timings.encoding), mean(timings.waiting));
        self.report.copy_format =
            match (sent.iter().any(|sent| sent.binary), sent.iter().any(|sent| sent.text)) {
                (true, true) => Some(CopyFormat::Mixed),
                (false, true) => Some(CopyFormat::Text),
                (true, false) => Some(CopyFormat::Binary),
                (false, false) => self.report.copy_format,
            };
    }

    /// Runs statements that may take long, unless somebody says stop.
    pub(super) async fn run_all(&self, connection: &Connection, statements: &[String]) -> Result<(), Error> {
        if statements.is_empty() {
            return Ok(());
        }
        let sql = statements.join(";\n");
        self.stoppable(connection, connection.client().batch_execute(&sql)).await
    }

    /// Waits for a statement, unless somebody says stop.
    pub(super) async fn stoppable<T>(
        &self,
        connection: &Connection,
        running: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        Ok(stoppable(connection, self.control, running).await??)
    }

    /// Waits for `work`, which may be dropped at any moment, unless somebody says stop.
    pub(super) async fn interruptible<T>(
        &self,
        connection: &Connection,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        interruptible(connection, self.control, work).await
    }

    /// Who holds a lock that one of `workers` waits for is said, too.
    pub(super) fn watch_locks_of(&self, workers: &WorkerPool) {
        if let Some(locks) = &self.locks {
            locks.add(workers.pids());
        }
    }

    /// What standbys may lack is not called durable.
    pub(super) fn confirmed(&mut self, is_confirmed: bool) {
        let durability = &mut self.report.durability;
        if !is_confirmed && *durability == Some(Durability::Durable) {
            *durability = Some(Durability::Unconfirmed);
        }
    }

    /// Commits the transactions of `connections` together. Returns whether standbys have them, where they must.
    async fn commit(
        &self,
        connections: &[Arc<Connection>],
        target: &Target,
        server: Option<&ServerIdentity>,
        makes: Makes<'_>,
    ) -> Result<bool, Error> {
        Commit { connections, target, control: self.control, server, makes }.run().await
    }

    fn show_found_types(&mut self, plan: &Plan, found: &[InferredType]) {
        let because = &self.because;
        let Some(summary) = &mut self.report.plan else { return };
        for ((column, planned), found) in summary.columns.iter_mut().zip(&plan.columns).zip(found) {
            if !planned.is_declared {
                found.sql().clone_into(&mut column.r#type);
                column.because = because.iter().find(|of| of.0 == planned.name).map(|of| of.1.clone());
            }
        }
    }

    pub(super) async fn analyze(&mut self, connection: &Connection, table: &Table) -> Result<(), Error> {
        if !self.options.target.analyze {
            return Ok(());
        }
        self.control.enter(Phase::Analyzing);
        let start = Instant::now();
        // Sent as one message, which is one transaction.
        let mut analyze = Vec::from_iter(self.locks.as_ref().and_then(LockWatch::floor));
        analyze.push(format!("ANALYZE {}", table.sql()));
        if let Err(error) = self.run_all(connection, &analyze).await {
            self.control.notice(format!("the rows are in, but ANALYZE did not end well: {error}"));
        }
        self.report.phases.analyze_s = start.elapsed().as_secs_f64();
        Ok(())
    }
}
