//! The locks of a load that rebuilds indexes, disables triggers or adds columns: short waits for them, since whoever waits for
//! such a lock keeps all others behind it waiting.

use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::{Message, setting};

use crate::control::lock_watch::LockWatch;
use crate::error::Error;
use crate::load::Load;
use crate::options::Indexes;
use crate::publish::rebuild::Rebuild;

/// Somebody else has it.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// How long such a lock is waited for where nobody says otherwise.
const WAIT: Duration = Duration::from_secs(2);

impl Load<'_> {
    /// Keeps everybody else from the table of `rebuild`, in the open transaction, before the user's own SQL. `Some`: why
    /// indexes are kept instead, where that is left to the load; then the transaction is over.
    ///
    /// # Errors
    /// Somebody holds such a lock for too long; the table is not what it was when this was planned; the server's.
    pub(in crate::load) async fn lock_out(
        &mut self,
        connection: &Connection,
        rebuild: &Rebuild,
    ) -> Result<Option<Message>, Error> {
        let may_keep = self.options.writing.indexes == Indexes::Auto;
        // Whoever waits for such a lock keeps all others behind it waiting, and this load has another way.
        let locked = match may_keep {
            true => self.run_all(connection, &[format!("{} NOWAIT", rebuild.lock_sql())]).await,
            false => self.run_shortly(connection, &[rebuild.lock_sql().to_owned()]).await,
        };
        let why = match locked {
            Err(error) if may_keep && error.sqlstate() == Some(LOCK_NOT_AVAILABLE) => {
                format!("somebody else uses {} by now", rebuild.display())
            }
            Err(error) => return Err(error),
            Ok(()) if self.interruptible(connection, rebuild.is_unchanged(connection)).await? => {
                self.control.notice(who_waits(rebuild));
                return Ok(None);
            }
            Ok(()) if may_keep => "they were altered while the load was planned".to_owned(),
            Ok(()) => return Err(rebuild.altered("while the load was planned").with_hint("load again")),
        };
        self.run_all(connection, &["ROLLBACK".to_owned()]).await?;
        if let Some(plan) = &mut self.report.plan {
            plan.rebuilt.clear();
        }
        Ok(Some(why.into()))
    }

    /// Takes out what is built again, which locks the tables that foreign keys refer to. Not before the user's own SQL has
    /// run: that may rely on all of it.
    ///
    /// # Errors
    /// As those of [`Load::lock_out`].
    pub(in crate::load) async fn take_out(
        &self,
        connection: &Connection,
        rebuild: &Rebuild,
    ) -> Result<(), Error> {
        let has_own_sql = !self.options.target.before.is_empty();
        if has_own_sql && !self.interruptible(connection, rebuild.is_unchanged(connection)).await? {
            let hint = message!["leave ", setting::INDEXES, " out, or do that in another transaction"];
            return Err(rebuild.altered("by the SQL").prefixed(setting::BEFORE).with_hint(hint));
        }
        self.run_shortly(connection, &rebuild.drop_sql()).await.map_err(of_the_table)
    }

    /// Runs statements that wait for locks shortly.
    pub(super) async fn run_shortly(
        &self,
        connection: &Connection,
        statements: &[String],
    ) -> Result<(), Error> {
        let asked = self.options.writing.lock_timeout;
        let Some(locks) = &self.locks else { return self.run_all(connection, statements).await };
        locks.limit_to(asked.or(Some(WAIT)));
        self.run_all(connection, locks.floor().as_slice()).await?;
        self.run_all(connection, statements).await?;
        locks.limit_to(asked);
        let usual = locks.floor().unwrap_or_else(|| LockWatch::NO_FLOOR.to_owned());
        self.run_all(connection, &[usual]).await
    }
}

/// What failed because of the table or of what others do with it, and of no row, would not have failed without.
pub(super) fn of_the_table(error: Error) -> Error {
    const CLASSES: [&str; 8] = ["0A", "2B", "38", "39", "40", "42", "55", "P0"];
    let state = error.sqlstate().unwrap_or_default();
    if error.hint().is_some()
        || state == LOCK_NOT_AVAILABLE
        || !CLASSES.iter().any(|class| state.starts_with(class))
    {
        return error;
    }
    error.with_hint(message![
        "the indexes could not be dropped and built again: without ",
        setting::INDEXES.word(Indexes::Rebuild.name()),
        " they stay"
    ])
}

/// Whom the locks keep waiting.
fn who_waits(rebuild: &Rebuild) -> Message {
    let count = |n: usize, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let (indexes, keys) = rebuild.counts();
    let what = [count(indexes, "index", "indexes"), count(keys, "foreign key", "foreign keys")];
    let what: Vec<String> = what.into_iter().flatten().collect();
    let locked = rebuild.locked();
    let are = if locked.len() == 1 { "is" } else { "are" };
    Message::from(format!(
        "{} {are} locked until the load commits, against reading too: {} built again",
        locked.join(", "),
        match (indexes + keys, what.join(" and ")) {
            (1, what) => format!("{what} is"),
            (_, what) => format!("{what} are"),
        }
    ))
}
