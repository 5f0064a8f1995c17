//! What the server's session says about reading values and about durability.

use howdah_connect::Connection;
use howdah_encode::SessionRules;

use crate::error::{Error, ErrorKind};

words! {
    /// What a crash of the server right after a commit costs.
    Durability {
        /// Nothing.
        Durable = "durable",
        /// Nothing, unless a standby takes over: it may lack the rows, since the wait for it was cut short.
        Unconfirmed = "not known to be on a standby",
        /// The last commits: `synchronous_commit` is off.
        LosesLastCommits = "loses the last commits on a crash",
        /// The table's rows: it is unlogged.
        NotCrashSafe = "not crash-safe",
        /// The whole cluster: `fsync` or `full_page_writes` is off.
        LabOnly = "lab only",
    }
}

/// The server then qualifies every name in a definition: it means the same whatever the search path is later.
pub(crate) const PINNED_SEARCH_PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// Settings of the sessions of one load; all its connections share role and database, so one look is enough.
pub(crate) struct SessionSettings {
    pub(crate) version: String,
    pub(crate) version_num: i32,
    pub(crate) rules: SessionRules,
    pub(crate) encoding: String,
    synchronous_commit: String,
    crash_safe: bool,
}

/// The oldest server we are tested against.
const OLDEST: i32 = 150_000;

impl SessionSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// The server is older than PostgreSQL 15.
    pub(crate) async fn read(connection: &Connection) -> Result<SessionSettings, Error> {
        let rows = connection
            .client()
            .query_typed(
                "select pg_catalog.current_setting('server_version'),
                        pg_catalog.current_setting('server_version_num')::int4,
                        pg_catalog.current_setting('TimeZone'), pg_catalog.current_setting('DateStyle'),
                        pg_catalog.current_setting('IntervalStyle'), pg_catalog.current_setting('lc_monetary'),
                        pg_catalog.current_setting('server_encoding'),
                        pg_catalog.current_setting('synchronous_commit'),
                        pg_catalog.current_setting('fsync')::bool and pg_catalog.current_setting('full_page_writes')::bool",
                &[],
            )
            .await?;
        let Some(row) = rows.first() else {
            return Err(Error::new(ErrorKind::Internal, "the server did not answer with its settings"));
        };
        let session = SessionSettings {
            version: row.get(0),
            version_num: row.get(1),
            rules: SessionRules::from_settings(row.get(2), row.get(3), row.get(4), row.get(5)),
            encoding: row.get(6),
            synchronous_commit: row.get(7),
            crash_safe: row.get(8),
        };
        if session.version_num < OLDEST {
            return Err(Error::new(
                ErrorKind::Connect,
                format!("the server is PostgreSQL {}", session.version),
            )
            .with_hint("howdah needs PostgreSQL 15 or later"));
        }
        Ok(session)
    }

    /// What a crash right after the commit costs.
    pub(crate) fn durability(&self, is_logged: bool) -> Durability {
        if !self.crash_safe {
            Durability::LabOnly
        } else if !is_logged {
            Durability::NotCrashSafe
        } else if self.synchronous_commit == "off" {
            Durability::LosesLastCommits
        } else {
            Durability::Durable
        }
    }
}
