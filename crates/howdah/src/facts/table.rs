//! A table: what it is, who may do what with it, how large it is, and who holds it.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact};
use crate::facts::{CheckFacts, ColumnFacts, ForeignKeyFacts, IndexFacts, TriggerFacts};
use crate::facts::{columns, constraints, indexes};

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableFacts {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What `pg_class.relkind` says: `r` a table, `p` a partitioned one, `v` a view, `f` a foreign table.
    pub kind: String,
    /// A crash leaves it empty.
    pub is_unlogged: bool,
    /// Its owner.
    pub owner: String,
    /// The role may do what its owner may.
    pub is_owned: bool,
    /// The role may use the schema.
    pub uses_schema: bool,
    /// The rights on it that the role has, of INSERT, SELECT, UPDATE, DELETE and TRUNCATE.
    pub rights: Vec<String>,
    /// Row-level security applies to the role.
    pub has_row_security: bool,
    /// Rows, as the server last estimated them; `None`: it never did.
    pub rows: Option<f64>,
    /// Its bytes, without indexes, as the server last knew them.
    pub bytes: f64,
    /// How full a page gets, in percent.
    pub fillfactor: Option<f64>,
    /// Autovacuum leaves it alone.
    pub without_autovacuum: bool,
    /// Its partitions, where it is partitioned.
    pub partitions: u32,
    /// A publication sends its updates and deletes to subscribers.
    pub publishes_changes: bool,
    /// Subscribers can find its rows.
    pub has_identity: bool,
    /// Subscribers are sent whole rows, to find them by all columns.
    pub has_full_identity: bool,
    /// Somebody said that rows are not to be told apart by subscribers: `REPLICA IDENTITY NOTHING`.
    pub wants_no_identity: bool,
    /// It has a primary key.
    pub has_primary_key: bool,
    /// Rows that are there, as counters have it.
    pub live_rows: f64,
    /// Rows that were deleted or updated and take room.
    pub dead_rows: f64,
    /// Updates since the counters were set back.
    pub updates: f64,
    /// Rows that came, changed or went since the last ANALYZE.
    pub changed_rows: f64,
    /// It was analysed once.
    pub is_analyzed: bool,
    /// Bytes on disk now.
    pub size: Fact<TableSize>,
    /// Its columns.
    pub columns: Fact<Vec<ColumnFacts>>,
    /// Its indexes.
    pub indexes: Fact<Vec<IndexFacts>>,
    /// Its foreign keys.
    pub foreign_keys: Fact<Vec<ForeignKeyFacts>>,
    /// Foreign keys of other tables that refer to it.
    pub references: Fact<Vec<ForeignKeyFacts>>,
    /// Its CHECKs.
    pub checks: Fact<Vec<CheckFacts>>,
    /// Triggers that an insert runs.
    pub triggers: Fact<Vec<TriggerFacts>>,
    /// Locks of others that an insert would wait for.
    pub locks: Fact<Vec<LockFacts>>,
}

impl TableFacts {
    /// Its bytes on disk, without indexes: those of now, if they were seen, since the server's own memory of them is as old as
    /// the last VACUUM or ANALYZE.
    pub fn bytes_now(&self) -> f64 {
        self.size.seen().map_or(self.bytes, |size| size.table)
    }
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableSize {
    /// Of the table and its TOAST table.
    pub table: f64,
    /// Of its TOAST table alone.
    pub toast: f64,
    /// Of its indexes.
    pub indexes: f64,
}

/// A lock that an insert would wait for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockFacts {
    /// Its backend; `None`: a prepared transaction.
    pub pid: Option<i32>,
    /// The prepared transaction.
    pub gid: Option<String>,
    /// Its mode: `AccessExclusiveLock`.
    pub mode: String,
    /// It is held; `false`: it is waited for, and whoever comes later waits behind it.
    pub is_held: bool,
    /// The role.
    pub role: Option<String>,
    /// What the backend does; `None`: the role that looks may not see it.
    pub state: Option<String>,
    /// Seconds since the transaction began.
    pub seconds: Option<f64>,
}

const TABLE: &str = "
    select n.nspname as schema, c.relname as name, c.relkind as kind, c.relpersistence = 'u' as is_unlogged,
           pg_get_userbyid(c.relowner) as owner, pg_has_role(c.relowner, 'usage') as is_owned,
           has_schema_privilege(n.oid, 'usage') as uses_schema,
           array(select r from unnest(array['INSERT', 'SELECT', 'UPDATE', 'DELETE', 'TRUNCATE']) r
                  where has_table_privilege(c.oid, r)
                     or r = 'INSERT' and has_any_column_privilege(c.oid, r)) as rights,
           row_security_active(c.oid) as has_row_security,
           nullif(c.reltuples, -1)::float8 as rows, c.relpages::float8 * current_setting('block_size')::int4 as bytes,
           (select option_value::float8 from pg_options_to_table(c.reloptions) where option_name = 'fillfactor') as fillfactor,
           coalesce((select option_value in ('false', 'off', 'no', '0') from pg_options_to_table(c.reloptions)
                      where option_name = 'autovacuum_enabled'), false) as without_autovacuum,
           (select count(*) from pg_inherits where inhparent = c.oid and c.relkind = 'p') as partitions,
           exists(select from pg_publication p where (p.pubupdate or p.pubdelete) and c.relpersistence = 'p'
                   and (p.puballtables
                        or exists(select from pg_publication_rel r where r.prpubid = p.oid and r.prrelid = c.oid)
                        or exists(select from pg_publication_namespace s where s.pnpubid = p.oid and s.pnnspid = n.oid)))
             as publishes_changes,
           case c.relreplident when 'n' then false when 'f' then true
                when 'd' then exists(select from pg_index where indrelid = c.oid and indisprimary)
                else exists(select from pg_index where indrelid = c.oid and indisreplident) end as has_identity,
           c.relreplident = 'f' as has_full_identity,
           c.relreplident = 'n' as wants_no_identity,
           exists(select from pg_index where indrelid = c.oid and indisprimary and indisvalid) as has_primary_key,
           coalesce(s.n_live_tup, 0)::float8 as live_rows, coalesce(s.n_dead_tup, 0)::float8 as dead_rows,
           coalesce(s.n_tup_upd, 0)::float8 as updates, coalesce(s.n_mod_since_analyze, 0)::float8 as changed_rows,
           coalesce(s.last_analyze, s.last_autoanalyze) is not null as is_analyzed
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      left join pg_stat_all_tables s on s.relid = c.oid";

/// Of locks, those that an insert's RowExclusiveLock waits for.
const LOCKS: &str = "
    select l.pid, p.gid, l.mode, l.granted as is_held, coalesce(a.usename, p.owner) as role, a.state,
           extract(epoch from now() - coalesce(a.xact_start, p.prepared))::float8 as seconds
      from pg_locks l
      left join pg_stat_activity a on a.pid = l.pid
      -- A prepared transaction is known by its number, on which it holds a lock too.
      left join pg_locks x on l.pid is null and x.pid is null and x.locktype = 'transactionid' and x.granted
                          and x.virtualtransaction = l.virtualtransaction
      left join pg_prepared_xacts p on p.transaction = x.transactionid
     where l.locktype = 'relation' and l.pid is distinct from pg_backend_pid()
       and l.database = (select oid from pg_database where datname = current_database())
       and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

/// The table `oid`.
///
/// # Errors
/// The connection is lost.
pub(super) async fn read(client: &Client, oid: u32) -> Result<TableFacts, Error> {
    let main = format!("{TABLE} where c.oid = {oid}");
    // It takes a lock, if the weakest one.
    let size = format!(
        "select pg_table_size({oid}::oid)::float8 as \"table\", pg_indexes_size({oid}::oid)::float8 as indexes,
                coalesce((select pg_relation_size(reltoastrelid) from pg_class where oid = {oid}), 0)::float8 as toast"
    );
    let locks = format!("{LOCKS} and l.relation = {oid} order by l.granted desc, l.pid");
    let (table, size, columns, indexes, foreign_keys, references, checks, triggers, locks) = tokio::try_join!(
        fact::row::<TableFacts>(client, &main),
        fact::row(client, &size),
        columns::read(client, oid),
        indexes::read(client, oid),
        constraints::foreign_keys(client, oid),
        constraints::references(client, oid),
        constraints::checks(client, oid),
        constraints::triggers(client, oid),
        fact::rows(client, &locks),
    )?;
    let table = table.seen().cloned().unwrap_or_default();
    Ok(TableFacts { size, columns, indexes, foreign_keys, references, checks, triggers, locks, ..table })
}
