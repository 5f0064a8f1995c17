//! The carrying where every row commits by itself: what is in stays in, and a failure says how much that is.

use std::sync::Arc;
use std::time::Instant;

use howdah_connect::{Connection, sqlstate};
use howdah_source::MorselSource;

use crate::control::Phase;
use crate::control::lock_watch::LockWatch;
use crate::error::{Committed, Error, ErrorKind};
use crate::load::{Load, Setup};
use crate::publish::confirm::confirm;
use crate::read::queue::InputQueue;
use crate::report::Outcome;
use crate::send::pool::WorkerPool;
use crate::send::row_commits::RowCommits;

impl Load<'_> {
    /// Makes the table when there is none, which commits too, then moves the rows.
    pub(in crate::load) async fn carry_row_by_row(
        &mut self,
        connection: Arc<Connection>,
        morsels: MorselSource,
        decision: Setup,
        commits: &Arc<RowCommits>,
    ) -> Result<(), Error> {
        let Setup { table, strategy, jobs, .. } = &decision;
        let input = InputQueue::new(morsels);
        let target = self.target.pinned_to(&connection);
        let context = Arc::new(self.context(&decision, &target));
        let connecting = WorkerPool::connect(&connection, &target, jobs.count);
        let mut workers = self.interruptible(&connection, connecting).await?;
        self.watch_locks_of(&workers);
        let loading = Instant::now();
        self.control.enter(Phase::Loading);
        // Sent as one message, which is one transaction.
        let mut making = [strategy.before(table), strategy.after(table)].concat();
        if let Some(floor) = self.locks.as_ref().and_then(LockWatch::floor).filter(|_| !making.is_empty()) {
            making.insert(0, floor);
        }
        self.run_all(&connection, &making).await?;
        let sent = self.send(&connection, &input, &context, &mut workers).await;
        if sent.is_err() {
            input.stop();
            commits.halt();
        }
        let settled = sent.is_ok() || workers.wait_until_idle(self.control).await;
        let closed = self.close_rejects(&decision);
        let warned = workers.connections().iter().filter(|of| of.take_standby_warning().is_some()).count();
        if warned > 0 {
            let is_confirmed = confirm(&target, self.control).await;
            self.confirmed(is_confirmed);
        }
        let carried = sent.and_then(|sent| closed.and_then(|()| self.account(&sent, table)));
        self.report.phases.load_s = loading.elapsed().as_secs_f64();
        self.report.rows = commits.rows();
        self.report.rows_inserted = commits.rows();
        match carried {
            Ok(_) => {
                self.report.outcome = Outcome::Loaded;
                self.analyze(&connection, table).await
            }
            Err(error) => Err(what_is_in(workers.told(error), commits.rows(), settled, &decision)),
        }
    }
}

/// The failure, with what it left in the table. Unless all workers `settled`, or where a connection broke, a row was sent of
/// which nobody knows.
fn what_is_in(error: Error, rows: u64, settled: bool, decision: &Setup) -> Error {
    // A server that ends a session says why (57P01, 25P04); the row that it had may be in all the same.
    let is_lost = match error.sqlstate() {
        Some(state) => sqlstate::ends_the_session(state),
        None => matches!(error.kind(), ErrorKind::Server | ErrorKind::Connect),
    };
    let is_certain = settled && !is_lost;
    if rows == 0 && is_certain && !decision.creates {
        return error.nothing_changed();
    }
    let table = decision.table.display();
    let counted = match rows {
        0 => format!("no row is in {table}"),
        1 => format!("1 row is in {table}"),
        rows => format!("{rows} rows are in {table}"),
    };
    let committed = match rows {
        0 if is_certain => Committed::No,
        0 => Committed::Unknown,
        _ => Committed::Partly,
    };
    let made = if decision.creates { ", which this load made" } else { "" };
    let doubt = if is_certain { "" } else { "; rows that were under way may be in too" };
    error
        .of_kind(ErrorKind::PartlyCommitted)
        .with_visible(committed, format!("{counted}{made}: each row was committed by itself{doubt}"))
}
