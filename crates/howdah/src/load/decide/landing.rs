//! The landing path: rows land as text in a table of their own, from which they are promoted into the target.

use std::sync::Arc;
use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::{Action, setting};

use crate::catalog::name::TableName;
use crate::catalog::session::Session;
use crate::catalog::table::Table;
use crate::control::lock_watch::LockWatch;
use crate::error::{Committed, Error, ErrorKind};
use crate::load::{Decision, Load};
use crate::options::OnError;
use crate::plan::declared;
use crate::plan::mapping::Mapping;
use crate::promote::{Promotion, rejects_name};

/// Dropping a table waits for whoever looks at it; longer than this nobody is kept.
const PATIENCE: Duration = Duration::from_secs(2);

/// A landing table and what follows once the rows are in it.
pub(in crate::load) struct Landing {
    pub(in crate::load) promotion: Promotion,
    /// The typed target.
    pub(in crate::load) into: Table,
    /// The landing table, which this load makes.
    pub(in crate::load) name: TableName,
}

impl Load<'_> {
    /// Decides where rows land on their way into `into`.
    ///
    /// # Errors
    /// A usage error: the landing table is there already.
    pub(super) async fn plan_landing(
        &self,
        connection: &Connection,
        session: &Session,
        mut into: Table,
        mapping: &Mapping,
    ) -> Result<Landing, Error> {
        let options = self.options;
        declared::apply(connection, &mut into, false, &options.columns.types, &session.rules).await?;
        let usual =
            || TableName { schema: Some(into.schema.clone()), table: format!("{}_landing", into.name) };
        let name = options.writing.landing_table.clone().unwrap_or_else(usual);
        if let Some(there) = Table::lookup(connection, &name, &session.rules).await? {
            return Err(Error::usage(format!("the landing table {} exists already", there.display()))
                .with_sqlstate("42P07")
                .with_hint(message![
                    Action::Promote { landing: there.display(), into: into.display() },
                    " promotes what is in it; ",
                    setting::LANDING_TABLE,
                    " names another"
                ]));
        }
        let schema = name.schema.clone().unwrap_or_else(|| into.schema.clone());
        let name = TableName { schema: Some(schema.clone()), table: name.table };
        crate::catalog::name::check(&name.table)?;
        let table = Table { oid: 0, schema, name: name.table.clone(), ..into.clone() };
        let names: Vec<&str> = mapping.pairs.iter().map(|pair| pair.target.as_str()).collect();
        let mut promotion = Promotion::new(connection, session, &table, &into, &names).await?;
        if options.tolerance.on_error == OnError::Ignore {
            promotion.keep_rejects(&rejects_name(&table), true);
        }
        if !options.writing.keep_landing {
            promotion.drop_landing();
        }
        Ok(Landing { promotion, into, name })
    }

    /// Promotes what has landed. Unless that works, the target is as it was.
    pub(in crate::load) async fn promote_landed(
        &mut self,
        connection: &Arc<Connection>,
        decision: &Decision,
        landing: &Landing,
    ) -> Result<(), Error> {
        let mut promotion = landing.promotion.clone();
        if let Some(limit) = self.options.tolerance.reject_limit {
            promotion.limit_rejects(limit, self.report.rows_rejected, self.control.snapshot().rows_read);
        }
        promotion.limit_waits(self.locks.as_ref().and_then(LockWatch::floor));
        let target = self.target.pinned_to(connection);
        let promoted = match promotion.run(connection, &target, self.control).await {
            Ok(promoted) => promoted,
            Err(error) => return Err(self.not_promoted(connection, decision, landing, error).await),
        };
        self.confirmed(promoted.is_confirmed);
        let sent = self.report.rows;
        if promoted.rows + promoted.rows_rejected != sent {
            self.control.notice(format!(
                "{sent} rows landed; the server counted {} into {} and {} apart: triggers or rules can do that, or somebody who wrote into the landing table",
                promoted.rows,
                landing.into.display(),
                promoted.rows_rejected
            ));
        }
        let report = &mut *self.report;
        report.rejects_table = promotion.rejects_display(promoted.rows_rejected);
        report.rows_dropped += sent.saturating_sub(promoted.rows + promoted.rows_rejected);
        report.rows_rejected += promoted.rows_rejected;
        (report.rows, report.rows_inserted) = (promoted.rows, promoted.rows);
        report.phases.promote_s = promoted.promote_s;
        report.phases.commit_s += promoted.commit_s;
        Ok(())
    }

    /// Removes the landing table, unless it is wanted; the error then says what is there.
    async fn not_promoted(
        &self,
        connection: &Connection,
        decision: &Decision,
        landing: &Landing,
        error: Error,
    ) -> Error {
        if error.kind() == ErrorKind::PartlyCommitted {
            return error;
        }
        let (from, into) = (decision.table.display(), landing.into.display());
        let kept = |error: Error| {
            let visible = format!("nothing was changed in {into}; the rows are in {from}, as text");
            let promote = Action::Promote { landing: from.clone(), into: into.clone() };
            let hint = message![promote, " keeps rows apart that cannot be promoted"];
            let error = error.with_visible(Committed::No, visible);
            if error.hint().is_none() { error.with_hint(hint) } else { error }
        };
        if self.options.writing.keep_landing {
            return kept(error);
        }
        let sql = format!("DROP TABLE {}", decision.table.sql());
        let dropped = tokio::time::timeout(PATIENCE, connection.client().batch_execute(&sql));
        match self.control.clean_up(dropped).await {
            Some(Ok(Ok(()))) => error.nothing_changed(),
            _ => kept(error),
        }
    }
}
