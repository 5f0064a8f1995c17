//! The load that several processes share: each takes parts that nobody has, until all parts of the load are in.
//!
//! Every part has a row in a ledger beside the table. Who loads it holds that row locked, in the transaction that brings its
//! rows and that notes it as loaded: a part is in with its note or not at all, and the lock ends with its holder.

pub(super) mod check;
mod ledger;
mod parts;
mod settings;
mod taking;
mod waiting;

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use howdah_connect::Connection;
use howdah_message::{Message, setting};
use howdah_source::MorselSource;

use self::ledger::{PartCounts, PartLedger};
use self::parts::SharedParts;
use self::taking::{Common, Tally};
use crate::control::Phase;
use crate::error::{Committed, Error, ErrorKind};
use crate::load::carry::clean_up::clean_up;
use crate::load::{Load, Setup};
use crate::publish::server_identity::ServerIdentity;
use crate::report::{CommitUnit, Outcome, SharedLoad};
use crate::send::pool::WorkerPool;

impl Load<'_> {
    /// Loads parts of the inputs, each in a transaction of its own, until this and other processes have loaded all.
    pub(super) async fn carry_shared(
        &mut self,
        connection: &Arc<Connection>,
        morsels: MorselSource,
        mut decision: Setup,
    ) -> Result<(), Error> {
        let id = self.options.target.load_id.clone().unwrap_or_default();
        let parts = SharedParts::of(&self.inputs, morsels)?;
        decision.jobs.count = decision.jobs.count.min(parts.list.len()).max(1);
        self.report.jobs = decision.jobs.count;
        self.report.commit = Some(CommitUnit::Part);
        // What was read to make the plan is read again.
        self.control.rewind_to(0);
        let ledger = PartLedger::new(&decision.table, id.clone(), self.id.to_string());
        let mut settings = settings::of(self.options, &decision.plan, self.report.plan.as_ref());
        let target = self.target.pinned_to(connection);
        let joining = async {
            ledger.make(connection).await?;
            settings.extend(settings::of_session(connection).await?);
            ledger.join(connection, &settings, &parts.list).await?;
            let standing = ledger.standing(connection).await?;
            let workers = WorkerPool::connect(connection, &target, decision.jobs.count).await?;
            Ok((standing, workers, ServerIdentity::read(connection).await))
        };
        let (standing, mut workers, server) = self.interruptible(connection, joining).await?;
        self.watch_locks_of(&workers);
        let held = match standing.parts_in {
            0 => self.interruptible(connection, decision.table.holds_rows(connection)).await?,
            _ => None,
        };
        let beside = match held {
            Some(true) => format!(", and {} holds rows already", decision.table.display()),
            _ => String::new(),
        };
        let are = if standing.parts == 1 { "is" } else { "are" };
        self.control.notice(format!(
            "load {id} is shared: {} of {} {are} in already{beside}",
            standing.parts_in,
            parts::counted(standing.parts)
        ));
        let loading = Instant::now();
        self.control.enter(Phase::Loading);
        let (done, tally, sent) = {
            let load: &Load<'_> = self;
            let context = Arc::new(load.context(&decision, &target));
            let ledger = (&ledger, standing);
            let common = Common::new(load, &decision, &parts, ledger, context, &target, server.as_ref());
            let done = join_all(workers.apart().map(|worker| common.run(worker))).await;
            let (tally, sent) = common.end();
            (done.into_iter().find_map(Result::err), tally, sent)
        };
        self.report.phases.load_s = loading.elapsed().as_secs_f64();
        self.tell_sent(&sent);
        self.take_over(&tally, &id);
        self.confirmed(tally.is_confirmed);
        let closed = self.close_rejects(&decision);
        if let Some(error) = done.or(closed.err()) {
            let error = what_is_in(workers.told(error), &tally, &decision);
            let (error, _) = clean_up(self.control, connection, &target, workers, &decision, error).await;
            if decision.jobs.count == 1 {
                connection.abort();
            }
            return Err(error);
        }
        self.report.outcome = Outcome::Loaded;
        // Whoever loaded the last part knows that it was the last.
        if tally.was_last { self.analyze(connection, &decision.table).await } else { Ok(()) }
    }

    /// What this process did, and what others did, as the ledger had it last.
    fn take_over(&mut self, tally: &Tally, id: &str) {
        let report = &mut *self.report;
        report.rows = tally.rows;
        report.rows_inserted = tally.rows;
        report.rows_dropped = tally.dropped;
        let PartCounts { parts, parts_in, rows_in, rejected_in, .. } = tally.standing;
        report.shared = Some(SharedLoad {
            load_id: id.to_owned(),
            parts,
            parts_here: tally.parts,
            parts_elsewhere: parts_in.saturating_sub(tally.parts),
            rows_elsewhere: rows_in.saturating_sub(tally.rows),
            rejected_elsewhere: rejected_in.saturating_sub(tally.refused),
        });
    }
}

/// The failure, with what this process left in the table, and what goes on with the rest.
fn what_is_in(error: Error, tally: &Tally, decision: &Setup) -> Error {
    let table = decision.table.display();
    let again = message![
        "the same command, with the same ",
        setting::LOAD_ID,
        ", goes on with the parts that are not in; the ledger knows those that are"
    ];
    let is_unknown = error.committed() == Committed::Unknown;
    // Where a COMMIT was not answered, nothing has to be found out or undone by hand.
    let [.., hint] = error.messages();
    let hint = hint.filter(|_| !is_unknown).cloned();
    // Where the ledger itself is not what it was, nothing goes on.
    let again = (error.kind() != ErrorKind::Usage).then_some(again);
    let error = error.with_hint(Message::joined(hint.into_iter().chain(again), "; "));
    let counted = format!("{} of {}", tally.parts, parts::counted(tally.standing.parts));
    match (tally.parts, is_unknown) {
        (0, false) => error.nothing_changed(),
        (0, true) => error,
        (_, false) => error.of_kind(ErrorKind::PartlyCommitted).with_visible(
            Committed::Partly,
            format!("{} rows are in {table}: this process loaded {counted}, each as a whole", tally.rows),
        ),
        (_, true) => error.of_kind(ErrorKind::PartlyCommitted).with_visible(
            Committed::Unknown,
            format!("this process loaded {counted} into {table}, and of another COMMIT no answer came"),
        ),
    }
}
