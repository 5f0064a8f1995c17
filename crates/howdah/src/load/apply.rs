//! The end of a staged load: the statements that apply the rows, and the account of what they did.

use std::time::Instant;

use super::Load;
use crate::connect::Connection;
use crate::control::Phase;
use crate::error::{Error, ErrorKind};
use crate::staged::{Apply, Staging};

impl Load<'_> {
    /// Applies the `staged` rows to the table in the open transaction. How many rows of the input that concerns.
    pub(super) async fn apply(
        &mut self,
        connection: &Connection,
        staging: &Staging,
        staged: u64,
    ) -> Result<u64, Error> {
        let start = Instant::now();
        self.control.enter(Phase::Applying);
        self.run_all(connection, &[staging.analyze_sql()]).await?;
        let preparations: Vec<String> =
            staging.lock_sql().into_iter().chain(staging.truncate_sql()).collect();
        self.run_all(connection, &preparations).await?;
        let sql = staging.apply_sql();
        let (mut inserted, mut updated, mut deleted) = (0, 0, 0);
        // Rows of the input that the statement found a use for.
        let used = match &staging.apply {
            Apply::Insert { .. } | Apply::Ignore(_) => {
                let running = connection.client().execute_typed(&sql, &[]);
                inserted = self.stoppable(connection, running).await?;
                inserted
            }
            Apply::Upsert(_) => {
                [inserted, updated] = self.counts(connection, &sql).await?;
                inserted + updated
            }
            Apply::Update(_) => {
                let matched;
                [updated, matched] = self.counts(connection, &sql).await?;
                matched
            }
            Apply::Delete(_) => {
                let matched;
                [deleted, matched] = self.counts(connection, &sql).await?;
                matched
            }
        };
        // What is deferred is checked now, while there is somebody to tell.
        self.run_all(connection, &["SET CONSTRAINTS ALL IMMEDIATE".to_owned()]).await?;
        // Where every row was used there is nothing to tell apart; counting takes a fifth of the statement's time.
        let distinct = match staging.count_sql().filter(|_| used < staged) {
            Some(sql) => {
                let [distinct] = self.counts(connection, &sql).await?;
                distinct
            }
            None => staged,
        };
        let report = &mut *self.report;
        (report.rows_inserted, report.rows_updated, report.rows_deleted) = (inserted, updated, deleted);
        report.rows_duplicate = staged.saturating_sub(distinct);
        report.rows_skipped = distinct.saturating_sub(used);
        report.phases.apply_s = start.elapsed().as_secs_f64();
        match staging.apply {
            Apply::Insert { .. } => Ok(inserted),
            _ => Ok(staged),
        }
    }

    /// The numbers that a statement answers with.
    async fn counts<const N: usize>(&self, connection: &Connection, sql: &str) -> Result<[u64; N], Error> {
        let rows = self.stoppable(connection, connection.client().query_typed(sql, &[])).await?;
        let row = rows
            .first()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the server did not answer with its counts"))?;
        Ok(std::array::from_fn(|at| u64::try_from(row.get::<_, i64>(at)).unwrap_or(0)))
    }
}
