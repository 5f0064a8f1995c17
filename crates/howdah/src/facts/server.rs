//! Settings out of a list, counters of the log and of checkpoints, connections, long transactions.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact, Unseen};

/// A setting as the session has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingFacts {
    /// Its name.
    pub name: String,
    /// Its value, in its unit.
    pub value: String,
    /// The unit: `ms`, `kB`, `8kB`, `MB`.
    pub unit: Option<String>,
    /// Where the value is from, in the words of `pg_settings`: `default`, `configuration file`, `user`, `database`, …
    pub source: String,
    /// When it can be changed: `user`, `superuser`, `sighup`, `postmaster`, …
    pub context: String,
    /// The values that it knows.
    pub choices: Option<Vec<String>>,
    /// `ALTER SYSTEM` set it; `None`: the role may not see that.
    pub is_altered: Option<bool>,
}

impl SettingFacts {
    /// Its value as a number, in its unit.
    pub fn number(&self) -> Option<f64> {
        self.value.parse().ok()
    }

    /// Its value in bytes.
    pub fn bytes(&self) -> Option<f64> {
        let unit = match self.unit.as_deref()? {
            "B" => 1.0,
            "kB" => 1024.0,
            "8kB" => 8192.0,
            "MB" => 1024.0 * 1024.0,
            "GB" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some(self.number()? * unit)
    }

    /// Whether it is on, of one that is on or off.
    pub fn is_on(&self) -> bool {
        self.value == "on"
    }

    /// Whether it knows the value `choice`.
    pub fn can_be(&self, choice: &str) -> bool {
        self.choices.iter().flatten().any(|known| known == choice)
    }
}

/// What is looked at. Nothing that may hold a secret or a command is among it.
const SETTINGS: &str = "
    select name, setting as value, unit, source, context, enumvals as choices,
           sourcefile like '%postgresql.auto.conf' as is_altered
      from pg_catalog.pg_settings
     where name = any (array[
        'archive_mode', 'autovacuum', 'checkpoint_completion_target', 'checkpoint_timeout', 'commit_delay',
        'commit_siblings', 'default_toast_compression', 'default_transaction_read_only', 'fsync', 'full_page_writes',
        'idle_in_transaction_session_timeout', 'lock_timeout', 'log_duration', 'log_min_duration_statement', 'log_statement',
        'maintenance_work_mem', 'max_connections', 'max_slot_wal_keep_size', 'max_wal_size', 'min_wal_size',
        'reserved_connections', 'shared_buffers', 'statement_timeout', 'superuser_reserved_connections',
        'synchronous_commit', 'synchronous_standby_names', 'track_functions', 'transaction_timeout', 'wal_compression',
        'wal_level', 'auto_explain.log_analyze', 'auto_explain.log_min_duration', 'pgaudit.log'])
     order by name";

/// The settings, with the values that the session was given: nothing is set before this question.
pub(super) async fn settings(client: &Client) -> Result<Fact<Vec<SettingFacts>>, Error> {
    #[derive(Deserialize)]
    struct All {
        all: Vec<SettingFacts>,
    }
    let sql = format!("select pg_catalog.json_agg(s) as \"all\" from ({SETTINGS}) as s");
    Ok(fact::own_row::<All>(client, &sql).await?.map(|found| found.all))
}

/// The log's counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogFacts {
    /// Pages that were logged whole.
    pub full_pages: f64,
    /// Bytes that were logged.
    pub bytes: f64,
}

pub(super) async fn log(client: &Client) -> Result<Fact<LogFacts>, Error> {
    let sql = "select wal_fpi::float8 as full_pages, wal_bytes::float8 as bytes from pg_stat_wal";
    fact::row(client, sql).await
}

/// The checkpointer's counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointFacts {
    /// Checkpoints whose time had come.
    pub timed: f64,
    /// Checkpoints that were asked for: by the log, which had grown, or by somebody.
    pub requested: f64,
}

pub(super) async fn checkpoints(client: &Client, version: i32) -> Result<Fact<CheckpointFacts>, Error> {
    let sql = if version >= 170_000 {
        "select num_timed::float8 as timed, num_requested::float8 as requested from pg_stat_checkpointer"
    } else {
        "select checkpoints_timed::float8 as timed, checkpoints_req::float8 as requested from pg_stat_bgwriter"
    };
    fact::row(client, sql).await
}

pub(super) async fn connections(client: &Client) -> Result<Fact<u32>, Error> {
    #[derive(Deserialize)]
    struct Count {
        count: u32,
    }
    // Processes of the server itself are in no database. Everybody sees that much of others.
    let sql =
        "select count(*) as count from pg_stat_activity where datid is not null and pid <> pg_backend_pid()";
    Ok(fact::row::<Count>(client, sql).await?.map(|found| found.count))
}

/// A transaction of somebody else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransactionFacts {
    /// Its backend.
    pub pid: i32,
    /// Its role.
    pub role: Option<String>,
    /// What the backend does: `active`, `idle in transaction`.
    pub state: Option<String>,
    /// Seconds since it began.
    pub seconds: f64,
    /// It keeps rows that were deleted since from being cleared away.
    pub holds_rows: bool,
}

pub(super) async fn transactions(
    client: &Client,
    reads_activity: bool,
) -> Result<Fact<Vec<TransactionFacts>>, Error> {
    if !reads_activity {
        return Ok(Fact::Hidden(Unseen::NoRight));
    }
    let sql = "select pid, usename as role, state, extract(epoch from now() - xact_start)::float8 as seconds,
                      backend_xmin is not null or backend_xid is not null as holds_rows
                 from pg_stat_activity
                where backend_type = 'client backend' and pid <> pg_backend_pid()
                  and xact_start < now() - interval '1 minute'
                order by xact_start limit 20";
    fact::rows(client, sql).await
}
