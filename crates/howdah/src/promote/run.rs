//! One promotion under way: first all rows at once; where the server refuses some, these are found and kept apart.

use std::time::Instant;

use howdah_connect::Target;
use howdah_message::setting;

use super::attempt::{PromotionRun, is_violation};
use super::statements::RejectsTable;
use super::{Promoted, segments};
use crate::control::stoppable::{interruptible, stoppable};
use crate::error::{Error, ErrorKind};
use crate::publish::commit::{Commit, Makes};
use crate::publish::server_identity::ServerIdentity;
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint::Savepoint;

impl PromotionRun<'_> {
    /// Everything, in one transaction, which is open when this fails.
    pub(super) async fn promote(&self, target: &Target) -> Result<Promoted, Error> {
        let start = Instant::now();
        let asked = async { Ok(ServerIdentity::read(self.connection).await) };
        let server = interruptible(self.connection, self.control, asked).await?;
        // All statements see the same rows of the landing table, whoever else writes into it; where it is to be dropped nobody
        // does, or what is committed there meanwhile would go with it. A deferred constraint would speak up when nobody can
        // tell any more which row it means.
        let lock = if self.promotion.drops_landing { self.promotion.lock_sql() } else { String::new() };
        let floor = self.promotion.lock_floor.as_deref().unwrap_or_default();
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; {floor}; {lock}SET CONSTRAINTS ALL IMMEDIATE; {}",
            Savepoint::ROWS.set()
        );
        self.execute(&begin).await?;
        let (rows, rows_rejected) = match self.attempt(&self.promotion.insert_sql("")).await? {
            Ok(rows) => (rows, 0),
            Err(refusal) => self.sort_out(refusal).await?,
        };
        if let Some((limit, refused, read)) = self.promotion.reject_limit
            && limit.is_passed(refused + rows_rejected, read)
        {
            let refused = refused + rows_rejected;
            return Err(Error::new(
                ErrorKind::TooManyRejects,
                message![
                    "{refused} records were rejected, more than ",
                    setting::REJECT_LIMIT.word(limit.to_string()),
                    " allows"
                ],
            )
            .with_hint(message![
                "without ",
                setting::REJECT_LIMIT,
                " they are kept in a table, with the reasons"
            ]));
        }
        if self.promotion.drops_landing {
            self.execute(&self.promotion.drop_sql()).await?;
        }
        let promote_s = start.elapsed().as_secs_f64();
        let commit = Commit {
            connections: std::slice::from_ref(self.connection),
            target,
            control: self.control,
            server: server.as_ref(),
            makes: Makes::AllAtOnce,
        };
        let is_confirmed = commit.run().await?;
        let commit_s = start.elapsed().as_secs_f64() - promote_s;
        Ok(Promoted { rows, rows_rejected, promote_s, commit_s, is_confirmed })
    }

    /// What can be promoted after the server refused some row, and how many go to the table for such rows.
    async fn sort_out(&self, refusal: tokio_postgres::Error) -> Result<(u64, u64), Error> {
        let promotion = self.promotion;
        if !is_about_a_row(&refusal) || is_violation(&refusal) && !promotion.rejects_violations {
            return Err(refusal.into());
        }
        self.execute(&Savepoint::ROWS.roll_back()).await?;
        let Some(rejects) = &promotion.rejects else { return Err(self.in_column(refusal).await) };
        self.execute(&promotion.create_rejects_sql(rejects)).await?;
        self.execute(&Savepoint::ROWS.renew()).await?;
        let (mut rejected, mut filter, mut refusal) = (0, "true".to_owned(), refusal);
        if let Some(kept) = self.judge(rejects).await? {
            (rejected, filter) = (kept, promotion.is_valid());
            match self.attempt(&promotion.insert_sql(&filter)).await? {
                Ok(rows) => return Ok((rows, rejected)),
                Err(refusal) if !is_about_a_row(&refusal) || self.ends_with(&refusal) => {
                    return Err(refusal.into());
                }
                Err(another) => refusal = another,
            }
            self.execute(&Savepoint::ROWS.roll_back()).await?;
        }
        let counts = segments::promote(self, rejects, &filter, refusal).await?;
        rejected += counts.rejected;
        Ok((counts.inserted, rejected))
    }

    /// Keeps the rows apart that have a value which is none. `None`: the server cannot tell, since it is too old or an input
    /// function raises its errors instead of reporting them. The savepoint is where it was, behind them.
    async fn judge(&self, rejects: &RejectsTable) -> Result<Option<u64>, Error> {
        let Some(sql) = self.promotion.reject_sql(rejects).filter(|_| self.promotion.has_soft_errors) else {
            return Ok(None);
        };
        match self.attempt(&sql).await? {
            Ok(rows) => {
                self.execute(&Savepoint::ROWS.renew()).await?;
                Ok(Some(rows))
            }
            Err(error) if is_about_a_row(&error) => {
                self.execute(&Savepoint::ROWS.roll_back()).await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The refusal, with the column where the server can tell it.
    async fn in_column(&self, refusal: tokio_postgres::Error) -> Error {
        let error: Error = refusal.into();
        let Some(sql) = self.promotion.bad_column_sql().filter(|_| self.promotion.has_soft_errors) else {
            return error;
        };
        let found = stoppable(self.connection, self.control, self.connection.client().query_typed(&sql, &[]));
        match found.await {
            Ok(Ok(rows)) if error.column().is_none() && !rows.is_empty() => {
                error.in_column(rows[0].get::<_, String>(0))
            }
            _ => error,
        }
    }
}
