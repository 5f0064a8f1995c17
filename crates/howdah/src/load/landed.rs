//! Landed rows are promoted into the target, or what is left of them is told.

use std::sync::Arc;
use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::Action;

use super::decide::landing::Landing;
use super::{Load, Setup};
use crate::control::lock_watch::LockWatch;
use crate::error::{Committed, Error, ErrorKind};

/// Dropping a table waits for whoever looks at it; longer than this nobody is kept.
const PATIENCE: Duration = Duration::from_secs(2);

impl Load<'_> {
    /// Promotes what has landed. Unless that works, the target is as it was.
    pub(in crate::load) async fn promote_landed(
        &mut self,
        connection: &Arc<Connection>,
        decision: &Setup,
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
        decision: &Setup,
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
