//! One connection of a shared load: it takes a part that nobody has, loads it in a transaction, and takes the next.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use howdah_connect::{Connection, Target};
use tokio::time::{Instant, sleep};

use super::ledger::{PartCounts, PartLedger};
use super::parts::SharedParts;
use super::waiting::who_holds;
use crate::control::Phase;
use crate::control::liveness::server_lost;
use crate::control::lock_watch::LockWatch;
use crate::control::stoppable::cancelled;
use crate::error::{Error, ErrorKind};
use crate::load::{Load, Setup};
use crate::publish::commit::{Commit, Makes};
use crate::publish::server_identity::ServerIdentity;
use crate::read::queue::InputQueue;
use crate::send::context::LoadContext;
use crate::send::pool::PoolWorker;
use crate::send::worker::Sent;

/// Between two looks whether a part became free: nobody wants to wait, and a look costs the server next to nothing.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// After so long it is said for whom a process waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection of a machine that is gone is given up within a minute, and its part is free: by the system's own settings that
/// would take hours.
const KEEPALIVES: [&str; 3] = [
    "SET LOCAL tcp_keepalives_idle = 30",
    "SET LOCAL tcp_keepalives_interval = 10",
    "SET LOCAL tcp_keepalives_count = 3",
];

/// What the connections of a process share.
pub(super) struct Common<'a> {
    load: &'a Load<'a>,
    decision: &'a Setup,
    parts: &'a SharedParts,
    ledger: &'a PartLedger,
    context: Arc<LoadContext>,
    target: &'a Target,
    server: Option<&'a ServerIdentity>,
    /// All bytes of the inputs.
    bytes: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tally: Tally,
    /// Connections that load a part.
    busy: usize,
    /// One has failed: the others finish what they have, and take no more.
    is_over: bool,
    has_told: bool,
    /// What each that has ended sent and committed.
    sent: Vec<Sent>,
}

/// What this process has done, and what the ledger said last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) parts: u64,
    pub(super) rows: u64,
    pub(super) refused: u64,
    /// Rows that triggers dropped.
    pub(super) dropped: u64,
    /// Whether standbys have what was committed, where they must.
    pub(super) is_confirmed: bool,
    /// With the last part that this process loaded, all were in.
    pub(super) was_last: bool,
    pub(super) standing: PartCounts,
}

impl<'a> Common<'a> {
    pub(super) fn new(
        load: &'a Load<'a>,
        decision: &'a Setup,
        parts: &'a SharedParts,
        (ledger, standing): (&'a PartLedger, PartCounts),
        context: Arc<LoadContext>,
        target: &'a Target,
        server: Option<&'a ServerIdentity>,
    ) -> Self {
        let bytes = parts.list.iter().map(|part| part.bytes).sum();
        let tally = Tally { is_confirmed: true, standing, ..Tally::default() };
        let state = Mutex::new(State { tally, ..State::default() });
        Common { load, decision, parts, ledger, context, target, server, bytes, state }
    }

    /// What came of it, and what each connection sent.
    pub(super) fn end(self) -> (Tally, Vec<Sent>) {
        let state = self.state.into_inner();
        (state.tally, state.sent)
    }

    /// Takes parts until all are in, or one of the connections fails.
    ///
    /// # Errors
    /// Why a part could not be loaded.
    pub(super) async fn run(&self, mut worker: PoolWorker<'_>) -> Result<(), Error> {
        let mut all = Sent::default();
        let done = self.take_parts(&mut worker, &mut all).await;
        let mut state = self.state.lock();
        state.is_over |= done.is_err();
        state.sent.push(all);
        done
    }

    async fn take_parts(&self, worker: &mut PoolWorker<'_>, all: &mut Sent) -> Result<(), Error> {
        let connection = worker.connection().clone();
        let mut idle_since: Option<Instant> = None;
        while !self.state.lock().is_over {
            let claimed = self.load.interruptible(&connection, self.claim(&connection)).await;
            let claimed = claimed.map_err(Error::nothing_changed)?;
            if let Some(at) = claimed {
                idle_since = None;
                self.begin_part();
                let loaded = self.load_part(worker, &connection, at).await;
                self.state.lock().busy -= 1;
                all.add(loaded?);
            }
            let standing = self.look(&connection, claimed.is_some()).await;
            if standing.map_err(Error::nothing_changed)?.is_complete() {
                return Ok(());
            }
            if claimed.is_none() {
                let since = *idle_since.get_or_insert_with(Instant::now);
                self.wait(&connection, since).await.map_err(Error::nothing_changed)?;
            }
        }
        Ok(())
    }

    fn begin_part(&self) {
        self.state.lock().busy += 1;
        self.load.control.enter(Phase::Loading);
    }

    /// How far the load is by now; `has_loaded`: this connection has just loaded a part.
    async fn look(&self, connection: &Connection, has_loaded: bool) -> Result<PartCounts, Error> {
        let standing = self.load.interruptible(connection, self.ledger.standing(connection)).await?;
        self.load.control.set_bytes_total(self.bytes.saturating_sub(standing.bytes_elsewhere));
        let tally = &mut self.state.lock().tally;
        tally.was_last |= has_loaded && standing.is_complete();
        tally.standing = standing;
        Ok(standing)
    }

    /// Waits without a transaction; who has the parts that are left is said once.
    async fn wait(&self, connection: &Connection, since: Instant) -> Result<(), Error> {
        let control = self.load.control;
        if self.state.lock().busy == 0 {
            control.enter(Phase::Waiting);
            if since.elapsed() >= PATIENCE && !std::mem::replace(&mut self.state.lock().has_told, true) {
                let asking = who_holds(connection, self.ledger, &self.parts.list);
                if let Some(told) = self.load.interruptible(connection, asking).await? {
                    control.notice(told);
                }
            }
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => Ok(()),
            lost = server_lost(connection, control) => Err(lost),
            () = control.cancelled() => Err(cancelled()),
        }
    }

    /// Begins a transaction that holds a part; without a part it ends at once.
    async fn claim(&self, connection: &Connection) -> Result<Option<usize>, Error> {
        let mut begin = vec!["BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE".to_owned()];
        begin.extend(KEEPALIVES.map(str::to_owned));
        begin.extend(self.load.locks.as_ref().and_then(LockWatch::floor));
        if self.context.isolates_rows {
            // A deferred constraint would speak up when nobody can tell any more which row it means.
            begin.push("SET CONSTRAINTS ALL IMMEDIATE".to_owned());
        }
        connection.client().batch_execute(&begin.join("; ")).await?;
        let claimed = self.ledger.claim(connection).await?;
        if claimed.is_none() {
            connection.client().batch_execute("ROLLBACK").await?;
        }
        Ok(claimed)
    }

    /// Loads the part that the open transaction holds, and commits it with its note.
    async fn load_part(
        &self,
        worker: &mut PoolWorker<'_>,
        connection: &Arc<Connection>,
        at: usize,
    ) -> Result<Sent, Error> {
        let (sent, dropped) =
            self.bring_part(worker, connection, at).await.map_err(Error::nothing_changed)?;
        let commit = Commit {
            connections: std::slice::from_ref(connection),
            target: self.target,
            control: self.load.control,
            server: self.server,
            makes: Makes::AllAtOnce,
        };
        let is_confirmed = commit.run().await?;
        let tally = &mut self.state.lock().tally;
        tally.parts += 1;
        tally.rows += sent.rows;
        tally.refused += sent.refused;
        tally.dropped += dropped;
        tally.is_confirmed &= is_confirmed;
        Ok(sent)
    }

    /// Brings the rows of the part, and notes it, in the open transaction: whatever fails, nothing of it is in. Returns how many
    /// rows triggers dropped, too.
    async fn bring_part(
        &self,
        worker: &mut PoolWorker<'_>,
        connection: &Arc<Connection>,
        at: usize,
    ) -> Result<(Sent, u64), Error> {
        let control = self.load.control;
        let input = InputQueue::new(self.parts.records(at, self.load, &self.decision.plan));
        let sent = tokio::select! {
            sent = worker.run(&self.context, &input) => sent,
            lost = server_lost(connection, control) => Err(lost),
            () = control.cancelled() => Err(cancelled()),
        };
        input.stop();
        let sent = sent?;
        let dropped = self.account(&sent)?;
        if let Some(rejects) = &self.context.rejects {
            // What was refused is on disk before the ledger says that it was.
            rejects.finish(control.snapshot().rows_read)?;
        }
        let noting = self.ledger.note(connection, at, (sent.rows, sent.refused));
        self.load.interruptible(connection, noting).await?;
        Ok((sent, dropped))
    }

    /// Compares what was read with what the server counted. Returns how many rows triggers dropped.
    fn account(&self, sent: &Sent) -> Result<u64, Error> {
        let Sent { read, refused, rows, .. } = *sent;
        if rows + refused != read && !self.decision.table.has_row_triggers {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("{read} rows were read, {refused} refused, and the server counted {rows}"),
            ));
        }
        Ok(read.saturating_sub(refused + rows))
    }
}
