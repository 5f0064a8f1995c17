//! The locks of a load that rebuilds indexes: short waits for them, since whoever waits for such a lock keeps all readers behind
//! it waiting.

use std::time::Duration;

use howdah_connect::Connection;

use crate::control::lock_watch::LockWatch;
use crate::error::Error;
use crate::load::Load;
use crate::publish::rebuild::Rebuild;

/// How long such a lock is waited for where nobody says otherwise.
const WAIT: Duration = Duration::from_secs(2);

impl Load<'_> {
    /// Keeps everybody else from the table of `rebuild` and from those that it refers to, in the open transaction.
    ///
    /// # Errors
    /// Somebody holds such a lock for too long; the table is not what it was when this was planned; the server's.
    pub(in crate::load) async fn lock_out(
        &self,
        connection: &Connection,
        rebuild: &Rebuild,
    ) -> Result<(), Error> {
        let asked = self.options.writing.lock_timeout;
        let Some(locks) = &self.locks else { return Ok(()) };
        locks.limit_to(asked.or(Some(WAIT)));
        self.run_all(connection, locks.floor().as_slice()).await?;
        self.run_all(connection, &[rebuild.lock_sql().to_owned()]).await?;
        self.interruptible(connection, rebuild.check_unchanged(connection)).await?;
        self.run_all(connection, &rebuild.drop_keys()).await?;
        locks.limit_to(asked);
        let usual = locks.floor().unwrap_or_else(|| LockWatch::NO_FLOOR.to_owned());
        self.run_all(connection, &[usual]).await
    }
}
