//! The session that migrates: its waits can be stopped, and a wait for a lock says who holds it and ends in time.

use std::time::Duration;

use howdah_connect::{Connection, LockWait, Target, advisory_lock_holders};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::{Event, FrontEnd};
use crate::bookkeeping::{ISOLATION, KEEP_LOCK, KEY, LET_GO, LOCK, TRY_LOCK};
use crate::describe;

/// How often a wait looks whether somebody said stop.
const TICK: Duration = Duration::from_millis(50);
/// How often it is looked who holds a lock.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A wait for a lock that has lasted so long is reported.
const WORTH_SAYING: Duration = Duration::from_secs(2);
/// So much later than this program the server ends a wait, if no further connection is to be had to look.
const SERVER_LATER: Duration = Duration::from_secs(1);
/// How long a request to cancel, and a look, may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Why the session did not do what it was asked to.
#[derive(Debug)]
pub(super) enum SessionError {
    /// The server refused, or is gone.
    Server(describe::Error),
    /// A lock was not to be had in time: which, and who holds it.
    Locked { lock: String, holders: String },
    /// Somebody said stop.
    Stopped,
}

impl From<tokio_postgres::Error> for SessionError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(describe::Error::of_question(error))
    }
}

impl From<howdah_connect::Error> for SessionError {
    fn from(error: howdah_connect::Error) -> Self {
        Self::Server(describe::Error::unexpected(error.to_string()))
    }
}

/// An open session, for one project.
pub(super) struct Session<'a> {
    connection: Connection,
    target: Target,
    pid: i32,
    /// Of the project's lock.
    key: i64,
    lock_timeout: Option<Duration>,
    front_end: &'a dyn FrontEnd,
}

impl<'a> Session<'a> {
    pub(super) async fn open(
        target: &Target,
        project: &str,
        lock_timeout: Option<Duration>,
        front_end: &'a dyn FrontEnd,
    ) -> Result<Self, howdah_connect::Error> {
        let target = target.clone().with_fallback_application_name("howdah migrate");
        let connection = target.connect().await?;
        let pid = connection.pid().await?;
        let lock = format!("{LOCK}{project}");
        let rows = connection.client().query_typed(KEY, &[(&lock, Type::TEXT)]).await?;
        let key = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        let target = target.pinned_to(&connection);
        Ok(Self { connection, target, pid, key, lock_timeout, front_end })
    }

    pub(super) fn client(&self) -> &Client {
        self.connection.client()
    }

    pub(super) fn notify(&self, event: Event<'_>) {
        self.front_end.notify(event);
    }

    /// Begins a transaction that holds the project's lock.
    pub(super) async fn begin(&self) -> Result<(), SessionError> {
        let wait = match self.lock_timeout {
            Some(limit) => {
                let limit = limit.saturating_add(SERVER_LATER).as_millis().min(i32::MAX as u128);
                format!("; SET LOCAL lock_timeout = {limit}")
            }
            None => String::new(),
        };
        let begin = format!("BEGIN {ISOLATION}{wait}");
        let since = Instant::now();
        let mut reported = None;
        loop {
            self.run(self.client().batch_execute(&begin)).await?;
            if self.ask(TRY_LOCK).await? {
                return Ok(());
            }
            self.run(self.client().batch_execute("ROLLBACK")).await?;
            let holders = advisory_lock_holders(self.client(), self.key).await?;
            let waited = since.elapsed();
            if let Some(holders) = holders {
                let lock = "the lock of the project's migrations".to_owned();
                if self.lock_timeout.is_some_and(|limit| waited >= limit) {
                    return Err(SessionError::Locked { lock, holders });
                }
                if waited >= WORTH_SAYING && reported.as_ref() != Some(&holders) {
                    self.notify(Event::Waiting(&format!("waiting for {lock}: {holders}")));
                    reported = Some(holders);
                }
            }
            self.run(async {
                sleep(TICK * 2).await;
                Ok(())
            })
            .await?;
        }
    }

    /// Holds the project's lock beyond the transaction, until the session ends or lets it go.
    pub(super) async fn keep_lock(&self) -> Result<(), SessionError> {
        self.ask(KEEP_LOCK).await.map(drop)
    }

    /// Lets go of what [`keep_lock`](Self::keep_lock) holds.
    pub(super) async fn let_go(&self) -> Result<(), SessionError> {
        self.ask(LET_GO).await.map(drop)
    }

    async fn ask(&self, sql: &str) -> Result<bool, SessionError> {
        let rows = self.run(self.client().query_typed(sql, &[(&self.key, Type::INT8)])).await?;
        Ok(rows.first().map_or(Ok(false), |row| row.try_get(0))?)
    }

    /// The answer to `asked`, unless somebody says stop or a lock is not to be had.
    pub(super) async fn run<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, SessionError> {
        if self.front_end.is_stopped() {
            return Err(SessionError::Stopped);
        }
        tokio::pin!(asked);
        let began = Instant::now();
        let mut watch = Watch::default();
        loop {
            tokio::select! {
                biased;
                done = &mut asked => return done.map_err(|error| self.fault(error, watch.ended.take())),
                () = sleep(TICK) => {}
            }
            if self.front_end.is_stopped() {
                let ended = async {
                    let _ = self.connection.cancel().await;
                    let _ = asked.await;
                };
                let _ = timeout(ANSWER_WITHIN, ended).await;
                return Err(SessionError::Stopped);
            }
            let due = watch.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
            if due && (self.lock_timeout.is_some() || began.elapsed() >= WORTH_SAYING) {
                // Without an answer nobody can be named, and the server ends the wait.
                if !matches!(timeout(ANSWER_WITHIN, self.look(&mut watch)).await, Ok(Ok(()))) {
                    watch.own = None;
                }
                watch.looked = Some(Instant::now());
            }
        }
    }

    /// Looks over a connection of its own what this session waits for, and ends a wait that has lasted long enough.
    async fn look(&self, watch: &mut Watch) -> Result<(), howdah_connect::Error> {
        let connection = match &watch.own {
            Some(connection) => connection,
            None => watch.own.insert(self.target.connect().await?),
        };
        let Some(wait) = LockWait::longest(connection.client(), &[self.pid]).await? else { return Ok(()) };
        if self.lock_timeout.is_some_and(|limit| wait.seconds >= limit.as_secs_f64()) {
            watch.ended = Some(wait);
            let cancel = "select pg_catalog.pg_cancel_backend($1)";
            connection.client().query_typed(cancel, &[(&self.pid, Type::INT4)]).await?;
        } else if wait.seconds >= WORTH_SAYING.as_secs_f64() {
            let said = format!("waiting for {}: {}", wait.lock, wait.holders);
            if watch.reported.as_ref() != Some(&said) {
                self.notify(Event::Waiting(&said));
                watch.reported = Some(said);
            }
        }
        Ok(())
    }

    fn fault(&self, error: tokio_postgres::Error, ended: Option<LockWait>) -> SessionError {
        let code = error.code().cloned();
        match (code, ended) {
            (Some(SqlState::QUERY_CANCELED), Some(wait)) => {
                SessionError::Locked { lock: wait.lock, holders: wait.holders }
            }
            // NOWAIT has the same code.
            (Some(SqlState::LOCK_NOT_AVAILABLE), _) if self.lock_timeout.is_some() && is_timeout(&error) => {
                SessionError::Locked {
                    lock: "a lock".to_owned(),
                    holders: "nobody can say who holds it: there was no further connection to look"
                        .to_owned(),
                }
            }
            _ => SessionError::Server(error.into()),
        }
    }
}

/// Whether the server ended a wait.
fn is_timeout(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| said.routine() == Some("ProcessInterrupts"))
}

/// What one wait has seen.
#[derive(Default)]
struct Watch {
    own: Option<Connection>,
    looked: Option<Instant>,
    reported: Option<String>,
    /// The wait that was ended.
    ended: Option<LockWait>,
}
