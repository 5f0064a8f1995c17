//! Staged rows applied by several connections, each a range of the key in a transaction of its own, which stays open. Where the
//! server refuses a row, or two of them wait for each other, all of it is taken back, and one statement is to do it.

use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};
use howdah_connect::Connection;
use tokio_postgres::error::SqlState;

use super::refused_rows::IMMEDIATE;
use super::{Applied, Done};
use crate::control::lock_watch::LockWatch;
use crate::control::stoppable::stoppable;
use crate::error::Error;
use crate::load::Load;
use crate::publish::staged::{AppliedBy, KeyRange, Staging};
use crate::send::deadlock::MutualWaits;
use crate::send::pool::WorkerPool;
use crate::send::row_error::is_about_a_row;

/// Why a range was not applied.
enum RangeFailure {
    Load(Error),
    /// The server's, in the session with this backend.
    Server(tokio_postgres::Error, i32),
}

impl From<Error> for RangeFailure {
    fn from(error: Error) -> Self {
        RangeFailure::Load(error)
    }
}

impl RangeFailure {
    fn is_about_a_row(&self) -> bool {
        matches!(self, RangeFailure::Server(error, _) if is_about_a_row(error))
    }

    /// Whether one statement gets further, or says better why not.
    fn is_of_ranges(&self, waits: &MutualWaits) -> bool {
        let RangeFailure::Server(error, pid) = self else { return false };
        is_about_a_row(error)
            || error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
            || waits.explain(error, *pid).is_some()
    }
}

impl Load<'_> {
    /// Applies the `staged` rows over the connections of `workers`, which have committed them. `None`: it is left to one
    /// statement, and no row has been touched.
    ///
    /// # Errors
    /// What one statement could not do either.
    pub(super) async fn apply_ranges(
        &self,
        connection: &Connection,
        workers: &mut WorkerPool,
        staging: &Staging,
        staged: u64,
    ) -> Result<Option<Done>, Error> {
        let AppliedBy::Ranges(_) = &staging.applied_by else { return Ok(None) };
        let Some(first) = workers.connections().into_iter().next() else { return Ok(None) };
        // Others see what is known of the rows when that is committed.
        self.run_all(&first, &[staging.analyze_sql()]).await?;
        let floor = self.locks.as_ref().and_then(LockWatch::floor);
        let waits = MutualWaits::new();
        let begin = ["BEGIN ISOLATION LEVEL READ COMMITTED".to_owned()].into_iter().chain(floor);
        let begin = begin.chain([waits.together_sql()]).collect::<Vec<_>>().join("; ");
        self.interruptible(connection, workers.begin(&begin)).await?;
        let sessions = workers.connections();
        let ranges = self.cut(connection, staging, staged, sessions.len()).await?;
        if ranges.len() < 2 {
            self.take_back(&sessions).await?;
            return Ok(None);
        }
        let mut pids = Vec::new();
        for session in &sessions {
            pids.push(self.interruptible(connection, async { Ok(session.pid().await?) }).await?);
        }
        if let Some(locks) = &self.locks {
            locks.add(pids.iter().copied());
        }
        let applying =
            try_join_all(sessions.iter().zip(&pids).zip(&ranges).map(|((session, pid), range)| async move {
                self.apply_range(session, staging, range)
                    .await?
                    .map_err(|error| RangeFailure::Server(error, *pid))
            }));
        let done = tokio::select! {
            done = applying => done,
            watched = waits.watch(connection, pids.clone()) => Err(watched.map_or_else(RangeFailure::Load, |never| match never {})),
        };
        match done {
            Ok(done) => {
                let mut applied = Applied::default();
                done.iter().for_each(|range| applied.add(range));
                let distinct = self.distinct(&sessions, staging, &ranges, applied.used < staged).await?;
                Ok(Some(Done { connections: ranges.len(), applied, distinct, refused: 0 }))
            }
            Err(failure) if failure.is_of_ranges(&waits) => {
                self.take_back(&sessions).await?;
                if !failure.is_about_a_row() {
                    self.control.notice(
                        "a deadlock among the connections of this load, or with another session: their ranges were taken back, \
                         and one statement applies the rows",
                    );
                }
                Ok(None)
            }
            Err(RangeFailure::Load(error)) => Err(error),
            Err(RangeFailure::Server(error, _)) => Err(error.into()),
        }
    }

    /// Cuts the keys of `staged` rows into `count` ranges: by the first column whose values make so many, or else by that whose
    /// values make most.
    async fn cut(
        &self,
        connection: &Connection,
        staging: &Staging,
        staged: u64,
        count: usize,
    ) -> Result<Vec<KeyRange>, Error> {
        let AppliedBy::Ranges(columns) = &staging.applied_by else { return Ok(Vec::new()) };
        let mut best = Vec::new();
        for column in columns {
            if best.len() >= count {
                break;
            }
            let sql = staging.cuts_sql(column, staged, count);
            let rows = self.stoppable(connection, connection.client().query_typed(&sql, &[])).await?;
            let cuts: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            if cuts.len() >= best.len() {
                best = staging.ranges(column, &cuts);
            }
        }
        Ok(best)
    }

    /// Applies one range; the inner error is the server's.
    async fn apply_range(
        &self,
        session: &Connection,
        staging: &Staging,
        range: &KeyRange,
    ) -> Result<Result<Applied, tokio_postgres::Error>, Error> {
        let run =
            async |sql: &str| stoppable(session, self.control, session.client().batch_execute(sql)).await;
        if let Some(lock) = staging.lock_sql(range)
            && let Err(error) = run(&lock).await?
        {
            return Ok(Err(error));
        }
        let applied = match self.run_apply(session, staging, &staging.apply_sql(range)).await? {
            Ok(applied) => applied,
            Err(error) => return Ok(Err(error)),
        };
        Ok(run(IMMEDIATE).await?.map(|()| applied))
    }

    /// Counts the rows that no other had to give way to, if that `is_asked`.
    async fn distinct(
        &self,
        sessions: &[Arc<Connection>],
        staging: &Staging,
        ranges: &[KeyRange],
        is_asked: bool,
    ) -> Result<Option<u64>, Error> {
        if !is_asked {
            return Ok(None);
        }
        let counting = sessions.iter().zip(ranges).map(|(session, range)| async move {
            let Some(sql) = staging.count_sql(range) else { return Ok::<_, Error>(0) };
            let [count] = self.counts(session, &sql).await?;
            Ok(count)
        });
        Ok(Some(try_join_all(counting).await?.iter().sum()))
    }

    /// Ends what the `sessions` are doing, and their transactions.
    async fn take_back(&self, sessions: &[Arc<Connection>]) -> Result<(), Error> {
        let ended = join_all(sessions.iter().map(|session| async move {
            // It may be done by now.
            let _ = session.cancel().await;
            self.run_all(session, &["ROLLBACK".to_owned()]).await
        }));
        ended.await.into_iter().collect()
    }
}
