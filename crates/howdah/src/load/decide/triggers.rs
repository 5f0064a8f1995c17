//! Whether the table's own triggers are disabled for the rows.

use howdah_connect::Connection;
use howdah_message::setting;

use crate::catalog::table::{RelationKind, Table};
use crate::error::Error;
use crate::load::decide::straight::{detour, not_owned, refused};
use crate::load::{DisabledTriggers, Load};
use crate::options::Mode;
use crate::publish::triggers::{self, TriggerScope};

impl DisabledTriggers {
    /// What disables them, under the lock, and what enables them again.
    pub(super) fn planned_sql(&self) -> (Vec<String>, Vec<String>) {
        let lock = self.scope.lock_sql().cloned();
        let disable = lock.into_iter().chain(triggers::disable_sql(&self.planned)).collect();
        (disable, triggers::enable_sql(&self.planned))
    }

    /// Their names.
    pub(super) fn planned_names(&self) -> Vec<String> {
        triggers::names(&self.planned, &self.scope.table)
    }
}

impl Load<'_> {
    /// What is disabled of `table`, if it exists, which is then one without these triggers; `None`: nothing.
    ///
    /// # Errors
    /// A usage error: rows do not come in one transaction, or not straight into a table that exists; the role may not; the
    /// server's.
    pub(in crate::load) async fn without_triggers(
        &self,
        connection: &Connection,
        table: Option<&mut Table>,
    ) -> Result<Option<DisabledTriggers>, Error> {
        if !self.options.writing.disable_triggers {
            return Ok(None);
        }
        let mode = self.options.target.mode;
        let view = table.as_ref().filter(|table| table.kind == RelationKind::View);
        let why = if matches!(mode, Mode::Create | Mode::Replace) {
            Some(message![setting::MODE.word(mode.name()), " makes a new table, whose rows meet none"])
        } else {
            detour(self.options.writing.write_path).or_else(|| {
                view.map(|view| message![view.display(), " is a view, which takes rows by its trigger alone"])
            })
        };
        if let Some(why) = why {
            return Err(refused("triggers cannot be disabled", why, setting::DISABLE_TRIGGERS));
        }
        let Some(table) = table else {
            self.control.notice("a new table has no triggers to disable");
            return Ok(None);
        };
        let scope = TriggerScope::new(table, mode);
        let triggers = scope.read(connection).await?;
        if triggers.is_empty() {
            self.control.notice(format!("{} has no trigger that would fire for these rows", scope.table));
            return Ok(None);
        }
        // SQL that runs before the first row may take another role.
        let is_foreign = triggers.iter().find(|trigger| trigger.foreign_owner.is_some());
        if let Some(trigger) = is_foreign.filter(|_| self.options.target.before.is_empty()) {
            let what = format!("the triggers of {} cannot be disabled", trigger.relation_display());
            let owner = trigger.foreign_owner.as_deref().unwrap_or_default();
            return Err(not_owned(&what, owner, setting::DISABLE_TRIGGERS));
        }
        table.forget_triggers();
        Ok(Some(DisabledTriggers { scope, planned: triggers }))
    }
}
