//! The locks of a load that rebuilds indexes or disables triggers: short waits for them, since whoever waits for such a lock
//! keeps all others behind it waiting.

use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::{Message, setting};

use crate::control::lock_watch::LockWatch;
use crate::error::Error;
use crate::load::Load;
use crate::options::Indexes;
use crate::publish::rebuild::Rebuild;

/// How long such a lock is waited for where nobody says otherwise.
const WAIT: Duration = Duration::from_secs(2);

impl Load<'_> {
    /// Keeps everybody else from the table of `rebuild`, in the open transaction, before the user's own SQL.
    ///
    /// # Errors
    /// Somebody holds such a lock for too long; the table is not what it was when this was planned; the server's.
    pub(in crate::load) async fn lock_out(
        &self,
        connection: &Connection,
        rebuild: &Rebuild,
    ) -> Result<(), Error> {
        self.run_shortly(connection, &[rebuild.lock_sql().to_owned()]).await?;
        self.control.notice(who_waits(rebuild));
        let is_as_planned = self.interruptible(connection, rebuild.is_unchanged(connection)).await?;
        match is_as_planned {
            true => Ok(()),
            false => Err(rebuild.altered("while the load was planned").with_hint("load again")),
        }
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
    if error.hint().is_some() || state == "55P03" || !CLASSES.iter().any(|class| state.starts_with(class)) {
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
