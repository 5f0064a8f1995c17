//! Who follows the server, what is kept for them, and transactions that wait for their second phase.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact, Unseen};

/// A transaction that was prepared and neither committed nor rolled back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PreparedTransaction {
    /// The name that it was given.
    pub gid: String,
    /// Whose it is.
    pub owner: String,
    /// In which database.
    pub database: String,
    /// Seconds since it was prepared.
    pub seconds: f64,
}

pub(super) async fn prepared(client: &Client) -> Result<Fact<Vec<PreparedTransaction>>, Error> {
    let sql = "select gid, owner, database, extract(epoch from now() - prepared)::float8 as seconds
                 from pg_prepared_xacts order by prepared limit 20";
    fact::rows(client, sql).await
}

/// The standbys together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandbyFacts {
    /// Those that stream.
    pub streaming: u32,
    /// Those that commits wait for.
    pub synchronous: u32,
    /// By how many seconds the last of them is behind.
    pub lag_s: Option<f64>,
}

pub(super) async fn standbys(client: &Client, reads_activity: bool) -> Result<Fact<StandbyFacts>, Error> {
    if !reads_activity {
        return Ok(Fact::Hidden(Unseen::NoRight));
    }
    let sql = "select count(*) filter (where state = 'streaming') as streaming,
                      count(*) filter (where sync_state in ('sync', 'quorum')) as synchronous,
                      extract(epoch from max(replay_lag))::float8 as lag_s from pg_stat_replication";
    fact::row(client, sql).await
}

/// A replication slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotFacts {
    /// Its name.
    pub name: String,
    /// Somebody reads from it.
    pub is_active: bool,
    /// Bytes of the log that are kept for it.
    pub kept: f64,
    /// What can yet be written before it loses its place; `None`: no limit is set.
    pub left: Option<f64>,
    /// Its place is lost.
    pub is_lost: bool,
}

pub(super) async fn slots(client: &Client) -> Result<Fact<Vec<SlotFacts>>, Error> {
    let sql = "select slot_name as name, active as is_active, safe_wal_size::float8 as \"left\", wal_status = 'lost' as is_lost,
                      coalesce(pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
                                                    else pg_current_wal_lsn() end, restart_lsn), 0)::float8 as kept
                 from pg_replication_slots where not temporary and restart_lsn is not null or wal_status = 'lost'
                order by slot_name";
    fact::rows(client, sql).await
}

/// The archiver's counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArchiverFacts {
    /// Files that were archived.
    pub archived: f64,
    /// Attempts that failed.
    pub failed: f64,
    /// The last attempt failed.
    pub is_failing: bool,
}

pub(super) async fn archiver(client: &Client) -> Result<Fact<ArchiverFacts>, Error> {
    let sql = "select archived_count::float8 as archived, failed_count::float8 as failed,
                      coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as is_failing
                 from pg_stat_archiver";
    fact::row(client, sql).await
}
