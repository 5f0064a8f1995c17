//! The lock watch: says who holds a lock for which a load waits, and ends the wait when it has lasted long enough. The server
//! ends it after `lock_timeout` too, but does not tell who holds the lock: it is left to that only where no further connection
//! is to be had.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use howdah_connect::{Connection, LockWait, Target};
use howdah_message::{Message, setting};
use tokio::time::Instant;
use tokio_postgres::types::Type;

use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// How often is looked. `pg_blocking_pids` takes the lock manager's locks for a moment, which nobody notices so seldom.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// A load whose counters stand still for so long may be waiting: then a connection is opened to look.
const QUIET: Duration = Duration::from_secs(1);
/// A wait that has lasted so long is told.
const WORTH_SAYING_S: f64 = 2.0;
/// So much later than the watch the server ends a wait: the watch has looked twice by then, and can say who holds the lock.
const SERVER_LATER: Duration = Duration::from_secs(1);

/// Watches the sessions of one load, until it is dropped.
pub(crate) struct LockWatch {
    shared: Arc<LockWatchShared>,
    task: tokio::task::AbortHandle,
}

struct LockWatchShared {
    target: Target,
    control: Control,
    state: Mutex<LockWatchState>,
}

#[derive(Default)]
struct LockWatchState {
    /// How long a wait may last; `None`: for ever.
    limit: Option<Duration>,
    /// The load's backends.
    pids: Vec<i32>,
    /// What was told last.
    told: Option<String>,
    /// The wait that was ended: what for, and who holds it.
    ended: Option<(String, String)>,
}

impl LockWatch {
    /// What ends the effect of a [floor](LockWatch::floor) where there is none any more.
    pub(crate) const NO_FLOOR: &str = "SET LOCAL lock_timeout TO DEFAULT";

    /// Begins to watch, in a task of the runtime; `target` is the server that the load goes to.
    pub(crate) fn start(target: &Target, control: &Control, limit: Option<Duration>) -> LockWatch {
        let shared = Arc::new(LockWatchShared {
            target: target.clone(),
            control: control.clone(),
            state: Mutex::new(LockWatchState { limit, ..LockWatchState::default() }),
        });
        let task = tokio::spawn(watch(shared.clone())).abort_handle();
        LockWatch { shared, task }
    }

    /// These backends are the load's, too.
    pub(crate) fn add(&self, pids: impl IntoIterator<Item = i32>) {
        self.shared.state.lock().pids.extend(pids);
    }

    /// Waits that begin from now on may last so long.
    pub(crate) fn limit_to(&self, limit: Option<Duration>) {
        self.shared.state.lock().limit = limit;
    }

    /// What a transaction of the load begins with, so that its waits end where this watch has no connection.
    pub(crate) fn floor(&self) -> Option<String> {
        let limit = self.shared.limit()?.saturating_add(SERVER_LATER).as_millis();
        Some(format!("SET LOCAL lock_timeout = {}", limit.min(i32::MAX as u128)))
    }

    /// The error of a load, which is about the lock where this watch ended the wait for one.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let ended = self.shared.state.lock().ended.clone();
        let (lock, holders) = match (error.sqlstate(), ended) {
            (Some("57014"), Some((lock, holders))) => (lock, Some(holders)),
            (Some("55P03"), _) if is_timeout(&error) => ("a lock".to_owned(), None),
            _ => return error,
        };
        let Some(limit) = self.shared.limit() else { return error };
        let ended = Error::new(
            ErrorKind::Server,
            message![
                format!("{lock} was not to be had within {} s (", limit.as_secs_f64()),
                setting::LOCK_TIMEOUT,
                ")"
            ],
        );
        let ended = ended.with_sqlstate("55P03").with_detail(holders.unwrap_or_else(|| {
            "nobody can say who holds it: there was no further connection to look for that".to_owned()
        }));
        match error.visible() {
            Some(visible) => ended.with_visible(error.committed(), visible.to_owned()),
            None => ended,
        }
        .caused_by(error)
    }
}

/// The outcome of `work` on `connection`, whose waits end by the [floor](LockWatch::floor) where there is one: then it has a
/// transaction of its own.
///
/// # Errors
/// Those of `work`, behind which the transaction stays open; the server's.
pub(crate) async fn within<T>(
    floor: Option<&str>,
    connection: &Connection,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let Some(floor) = floor else { return work.await };
    connection.client().batch_execute(&format!("BEGIN; {floor}")).await?;
    let done = work.await?;
    connection.client().batch_execute("COMMIT").await?;
    Ok(done)
}

/// Whether the server ended a wait: NOWAIT has the same SQLSTATE.
fn is_timeout(error: &Error) -> bool {
    let mut causes = std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |e| e.source());
    causes.any(|cause| {
        let db = cause.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::as_db_error);
        let db = db.or_else(|| cause.downcast_ref::<tokio_postgres::error::DbError>());
        db.is_some_and(|db| db.routine() == Some("ProcessInterrupts"))
    })
}

impl Drop for LockWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LockWatchShared {
    fn limit(&self) -> Option<Duration> {
        self.state.lock().limit
    }

    /// Looks once, over a connection of its own, which is opened when it is needed.
    async fn look(&self, own: &mut Option<Connection>) -> Result<(), Error> {
        let connection = match own {
            Some(connection) => connection,
            none => none.insert(self.target.connect().await?),
        };
        let pids = self.state.lock().pids.clone();
        let Some(wait) = LockWait::longest(connection.client(), &pids).await? else {
            self.state.lock().told = None;
            return Ok(());
        };
        if self.limit().is_some_and(|limit| wait.seconds >= limit.as_secs_f64()) {
            self.state.lock().ended.get_or_insert((wait.lock, wait.holders));
            let cancel = "select pg_catalog.pg_cancel_backend($1)";
            connection.client().query_typed(cancel, &[(&wait.pid, Type::INT4)]).await?;
        } else if wait.seconds >= WORTH_SAYING_S {
            let said = format!("waiting for {}: {}", wait.lock, wait.holders);
            let mut state = self.state.lock();
            if state.told.as_ref() != Some(&said) {
                self.control.notice(Message::from(said.clone()));
                state.told = Some(said);
            }
        }
        Ok(())
    }
}

/// Looks again and again: always where a limit is set, else while nothing seems to happen.
async fn watch(shared: Arc<LockWatchShared>) {
    let mut own = None;
    let mut seen = shared.control.snapshot();
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let now = shared.control.snapshot();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if shared.limit().is_none() && since.elapsed() < QUIET {
            own = None;
            continue;
        }
        // Without an answer nobody can be named, and the load waits as it would without a watch.
        if shared.look(&mut own).await.is_err() {
            own = None;
        }
    }
}
