//! The end of a staged load: the statements that apply the rows, and the account of what they did.

mod ranges;
mod refused_rows;
mod second_look;
mod self_references;

use std::time::Instant;

use howdah_connect::Connection;
use tokio_postgres::Row;

use crate::control::Phase;
use crate::control::stoppable::stoppable;
use crate::error::{Error, ErrorKind};
use crate::load::{Load, Setup};
use crate::publish::staged::{Apply, KeyRange, Staging};
use crate::send::pool::WorkerPool;

/// What a statement did with staged rows.
#[derive(Debug, Default)]
pub(super) struct Applied {
    inserted: u64,
    updated: u64,
    deleted: u64,
    /// Rows of the input that it found a use for.
    used: u64,
}

impl Applied {
    pub(super) fn add(&mut self, other: &Applied) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
        self.used += other.used;
    }
}

/// What became of the staged rows.
struct Done {
    connections: usize,
    applied: Applied,
    /// Rows of the input that no other had to give way to, where that was counted.
    distinct: Option<u64>,
    /// Rows that the server refused, and that are kept.
    refused: u64,
}

impl Load<'_> {
    /// Applies the `staged` rows to the table: over the connections of `workers`, or in the open transaction. How many rows of
    /// the input that concerns.
    pub(super) async fn apply(
        &mut self,
        connection: &Connection,
        workers: &mut WorkerPool,
        staging: &Staging,
        decision: &Setup,
        staged: u64,
    ) -> Result<u64, Error> {
        let start = Instant::now();
        self.control.enter(Phase::Applying);
        let done = match self.apply_ranges(connection, workers, staging, staged).await? {
            Some(done) => done,
            None => self.apply_at_once(connection, staging, decision, staged).await?,
        };
        let (applied, staged) = (done.applied, staged - done.refused);
        let distinct = done.distinct.unwrap_or(staged);
        let report = &mut *self.report;
        report.apply_jobs = Some(done.connections);
        (report.rows_inserted, report.rows_updated, report.rows_deleted) =
            (applied.inserted, applied.updated, applied.deleted);
        report.rows_duplicate = staged.saturating_sub(distinct);
        report.rows_skipped = distinct.saturating_sub(applied.used);
        report.phases.apply_s = start.elapsed().as_secs_f64();
        match staging.apply {
            Apply::Insert { .. } => {
                report.rows_dropped += staged.saturating_sub(applied.inserted);
                Ok(applied.inserted)
            }
            _ => Ok(staged),
        }
    }

    /// Applies the `staged` rows in the open transaction.
    async fn apply_at_once(
        &self,
        connection: &Connection,
        staging: &Staging,
        decision: &Setup,
        staged: u64,
    ) -> Result<Done, Error> {
        let all = KeyRange::default();
        self.run_all(connection, &[staging.analyze_sql()]).await?;
        let preparations: Vec<String> =
            staging.lock_sql(&all).into_iter().chain(staging.truncate_sql()).collect();
        self.run_all(connection, &preparations).await?;
        let (applied, refused) = match &decision.rejects {
            Some(rejects) => {
                let before = rejects.count();
                let applied = self.apply_tolerantly(connection, staging, decision, rejects).await?;
                (applied, rejects.count() - before)
            }
            None => (self.apply_strictly(connection, staging, decision).await?, 0),
        };
        // Where every row was used there is nothing to tell apart; counting takes a fifth of the statement's time.
        let distinct = match staging.count_sql(&all).filter(|_| applied.used < staged - refused) {
            Some(sql) => {
                let [distinct] = self.counts(connection, &sql).await?;
                Some(distinct)
            }
            None => None,
        };
        Ok(Done { connections: 1, applied, distinct, refused })
    }

    /// Runs a statement that applies staged rows; the inner error is the server's.
    pub(super) async fn run_apply(
        &self,
        connection: &Connection,
        staging: &Staging,
        sql: &str,
    ) -> Result<Result<Applied, tokio_postgres::Error>, Error> {
        if matches!(staging.apply, Apply::Insert { .. } | Apply::Ignore(_)) {
            let running = connection.client().execute_typed(sql, &[]);
            let inserted = stoppable(connection, self.control, running).await?;
            return Ok(inserted.map(|inserted| Applied { inserted, used: inserted, ..Applied::default() }));
        }
        let [touched, other] =
            match stoppable(connection, self.control, connection.client().query_typed(sql, &[])).await? {
                Ok(rows) => numbers(&rows)?,
                Err(error) => return Ok(Err(error)),
            };
        Ok(Ok(match &staging.apply {
            Apply::Update(_) => Applied { updated: touched, used: other, ..Applied::default() },
            Apply::Delete(_) => Applied { deleted: touched, used: other, ..Applied::default() },
            _ => Applied { inserted: touched, updated: other, used: touched + other, deleted: 0 },
        }))
    }

    /// The numbers that a statement answers with.
    pub(super) async fn counts<const N: usize>(
        &self,
        connection: &Connection,
        sql: &str,
    ) -> Result<[u64; N], Error> {
        numbers(&self.stoppable(connection, connection.client().query_typed(sql, &[])).await?)
    }
}

fn numbers<const N: usize>(rows: &[Row]) -> Result<[u64; N], Error> {
    let row = rows
        .first()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "the server did not answer with its counts"))?;
    let mut counts = [0; N];
    for (at, count) in counts.iter_mut().enumerate() {
        *count = u64::try_from(row.get::<_, i64>(at))
            .map_err(|_| Error::new(ErrorKind::Internal, "the server counted fewer than no rows"))?;
    }
    Ok(counts)
}
