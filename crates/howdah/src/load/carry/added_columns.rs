//! The columns that the table gets, in the load's transaction: nobody else sees them, or the table, before that has committed.

use howdah_connect::Connection;

use crate::error::Error;
use crate::load::{Load, Setup};

/// The table has a column of that name.
const DUPLICATE_COLUMN: &str = "42701";

impl Load<'_> {
    /// Adds the columns that `decision` says to the table itself, in the open transaction.
    ///
    /// # Errors
    /// Somebody uses the table for too long, or has added such a column since this was planned; the server's.
    pub(in crate::load) async fn add_columns(
        &self,
        connection: &Connection,
        decision: &Setup,
    ) -> Result<(), Error> {
        let Some(sql) = decision.adding_sql() else { return Ok(()) };
        self.run_shortly(connection, &[sql]).await.map_err(|error| match error.sqlstate() {
            Some(DUPLICATE_COLUMN) => error.with_hint("it was added while the load was planned: load again"),
            _ => self.explain_in_use(error),
        })
    }
}
