//! Which server it is: a transaction's number means something only to the one that gave it.

use howdah_connect::Connection;

/// The cluster and the history that a connection's server writes. After a failover another server may give the same numbers
/// to other transactions: it goes on in another timeline
/// ([Timelines](https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerIdentity {
    /// Of the cluster, given by initdb.
    pub(crate) system: String,
    /// The history that is written, as in the names of WAL files.
    pub(crate) timeline: String,
}

impl ServerIdentity {
    /// Asks the server, outside of any transaction. `None`: it does not say, or it is a standby, which writes no history.
    pub(crate) async fn read(connection: &Connection) -> Option<ServerIdentity> {
        let sql = "select s.system_identifier::text,
                          case when not pg_catalog.pg_is_in_recovery()
                               then pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) end
                     from pg_catalog.pg_control_system() as s";
        let row = connection.client().query_typed_one(sql, &[]).await.ok()?;
        Some(ServerIdentity {
            system: row.try_get(0).ok()?,
            timeline: row.try_get::<_, Option<String>>(1).ok()??,
        })
    }
}
