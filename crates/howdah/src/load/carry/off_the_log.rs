//! The table out of the write-ahead log, and back in it, around the rows.

use std::time::Instant;

use howdah_connect::Connection;

use crate::error::Error;
use crate::load::{Load, OffTheLog, Setup};
use crate::publish::off_the_log::{leave_sql, return_sql};

impl Load<'_> {
    /// Takes a table that exists out of the log, in the open transaction.
    ///
    /// # Errors
    /// Somebody uses the table for too long; the server's.
    pub(super) async fn leave_log(&mut self, connection: &Connection, decision: &Setup) -> Result<(), Error> {
        let table = &decision.table;
        if decision.off_the_log != Some(OffTheLog::Existing) {
            return Ok(());
        }
        self.control.notice(format!(
            "{0} is copied out of the write-ahead log, and written into it with all its rows in the end; until the load commits, \
             nobody else reads or writes {0}",
            table.display()
        ));
        let start = Instant::now();
        self.run_shortly(connection, &[leave_sql(&table.sql())]).await?;
        self.report.phases.logging_s += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Puts `relation` into the log, where it is not.
    ///
    /// # Errors
    /// The server's.
    pub(super) async fn return_to_log(
        &mut self,
        connection: &Connection,
        decision: &Setup,
        relation: &str,
    ) -> Result<(), Error> {
        if decision.off_the_log.is_none() {
            return Ok(());
        }
        let start = Instant::now();
        self.run_all(connection, &[return_sql(relation)]).await?;
        self.report.phases.logging_s += start.elapsed().as_secs_f64();
        Ok(())
    }
}
