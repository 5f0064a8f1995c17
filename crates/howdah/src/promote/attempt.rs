//! Statements of a promotion: those that must work, and those of which the server may refuse a row.

use std::sync::Arc;

use howdah_connect::Connection;

use super::Promotion;
use crate::control::Control;
use crate::control::stoppable::stoppable;
use crate::error::Error;

/// The class of SQLSTATEs for rows whose values are fine and that break a rule of the table.
const VIOLATIONS: &str = "23";

/// What the steps of a promotion share.
pub(super) struct PromotionRun<'a> {
    pub(super) promotion: &'a Promotion,
    pub(super) connection: &'a Arc<Connection>,
    pub(super) control: &'a Control,
}

impl PromotionRun<'_> {
    /// Whether the refusal of a row ends the promotion.
    pub(super) fn ends_with(&self, refusal: &tokio_postgres::Error) -> bool {
        is_violation(refusal) && !self.promotion.rejects_violations
    }

    /// Runs a statement that the server may refuse; how many rows it counted.
    pub(super) async fn attempt(&self, sql: &str) -> Result<Result<u64, tokio_postgres::Error>, Error> {
        stoppable(self.connection, self.control, self.connection.client().execute_typed(sql, &[])).await
    }

    /// Runs statements that must work.
    pub(super) async fn execute(&self, sql: &str) -> Result<(), Error> {
        Ok(stoppable(self.connection, self.control, self.connection.client().batch_execute(sql)).await??)
    }
}

/// Whether a row breaks a rule of the table.
pub(super) fn is_violation(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| db.code().code().starts_with(VIOLATIONS))
}
