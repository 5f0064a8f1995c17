//! The table's own triggers while the rows come: out of the way, and as they were before anybody else sees the table.

use howdah_connect::Connection;
use howdah_message::setting;

use crate::error::Error;
use crate::load::{DisabledTriggers, Load, Setup};
use crate::publish::triggers::{self, Trigger};

/// The table waits for checks of rows that the transaction has changed already.
const OBJECT_IN_USE: &str = "55006";

impl Load<'_> {
    /// Disables the triggers that `decision` says, in the open transaction: those that the table has under the lock. Returns
    /// them.
    ///
    /// # Errors
    /// Somebody writes to the table for too long; the server's.
    pub(in crate::load) async fn disable_triggers(
        &mut self,
        connection: &Connection,
        decision: &Setup,
    ) -> Result<Vec<Trigger>, Error> {
        let Some(of) = &decision.triggers else { return Ok(Vec::new()) };
        let disabled = self.take_triggers(connection, of).await?;
        let names = triggers::names(&disabled, &of.scope.table);
        self.control.notice(who_waits(&names, &of.scope.table));
        if let Some(plan) = &mut self.report.plan {
            plan.disabled_triggers = names;
        }
        Ok(disabled)
    }

    /// The same without a word.
    ///
    /// # Errors
    /// As those of [`Load::disable_triggers`].
    pub(in crate::load) async fn take_triggers(
        &self,
        connection: &Connection,
        of: &DisabledTriggers,
    ) -> Result<Vec<Trigger>, Error> {
        if let Some(lock) = of.scope.lock_sql() {
            self.run_shortly(connection, std::slice::from_ref(lock)).await?;
        }
        let found = self.interruptible(connection, of.scope.read(connection)).await?;
        let disabled = self.run_shortly(connection, &triggers::disable_sql(&found)).await;
        disabled.map_err(|error| self.explain_in_use(error))?;
        Ok(found)
    }

    /// The `error` of an ALTER TABLE, which the user's own SQL can have made impossible.
    pub(super) fn explain_in_use(&self, error: Error) -> Error {
        match error.sqlstate() {
            Some(OBJECT_IN_USE) if !self.options.target.before.is_empty() => error
                .prefixed(setting::BEFORE)
                .with_hint("the SQL left checks of the table for later: SET CONSTRAINTS ALL IMMEDIATE at its end makes them"),
            _ => error,
        }
    }
}

/// Which triggers do not fire, and whom that keeps waiting.
fn who_waits(names: &[String], table: &str) -> String {
    let (triggers, do_not) = match names {
        [_] => ("trigger", "does not"),
        _ => ("triggers", "do not"),
    };
    format!(
        "{triggers} {} {do_not} fire for these rows; until the load commits, others read {table} and wait to write to it",
        names.join(", ")
    )
}
