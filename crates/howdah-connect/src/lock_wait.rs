//! Who holds a lock that sessions wait for, in words.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use crate::error::Error;

/// More holders than this are only counted.
const NAMED_HOLDERS: usize = 3;

/// Who waits for what, and who holds it. A lock on a row is one on the transaction that changed it, and has no table.
const WAITS: &str = "
    select b.pid, a.application_name, a.usename::text, a.state,
           w.pid, extract(epoch from pg_catalog.clock_timestamp() - w.waitstart)::float8,
           case when w.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
                then w.relation::regclass::text end
      from pg_catalog.pg_locks as w
      cross join lateral pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) as b(pid)
      left join pg_catalog.pg_stat_activity as a on a.pid = b.pid
     where not w.granted and w.waitstart is not null and w.pid = any ($1) and b.pid <> all ($1)
     order by w.waitstart, b.pid";

/// Who holds an advisory lock of this database whose key is one number.
const ADVISORY: &str = "
    select l.pid, a.application_name, a.usename::text, a.state
      from pg_catalog.pg_locks as l
      left join pg_catalog.pg_stat_activity as a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
       and (l.classid::int8 << 32) | l.objid::int8 = $1
     order by l.pid";

/// A session that waits for a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct LockWait {
    /// Its backend.
    pub pid: i32,
    /// For how long it has waited.
    pub seconds: f64,
    /// What for: `a lock on orders`.
    pub lock: String,
    /// Who holds it: `process 4711 (psql, role ann, idle in transaction) holds it`.
    pub holders: String,
}

impl LockWait {
    /// The wait that has lasted longest among those of the backends `pids`, with all others who hold what it waits for.
    ///
    /// # Errors
    /// The server could not be asked.
    pub async fn longest(client: &Client, pids: &[i32]) -> Result<Option<LockWait>, Error> {
        let rows = client.query_typed(WAITS, &[(&pids, Type::INT4_ARRAY)]).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let pid: i32 = first.try_get(4)?;
        let mut held = Vec::new();
        for row in &rows {
            if row.try_get::<_, i32>(4)? == pid {
                held.push(row);
            }
        }
        let lock = match first.try_get::<_, Option<String>>(6)? {
            Some(table) => format!("a lock on {table}"),
            None => "a row that another transaction has written".to_owned(),
        };
        Ok(Some(LockWait { pid, seconds: first.try_get(5)?, lock, holders: holders(&held)? }))
    }
}

/// Who holds the advisory lock `key` of the session's database; `None` if nobody does.
///
/// # Errors
/// The server could not be asked.
pub async fn advisory_lock_holders(client: &Client, key: i64) -> Result<Option<String>, Error> {
    let rows = client.query_typed(ADVISORY, &[(&key, Type::INT8)]).await?;
    if rows.is_empty() { Ok(None) } else { Ok(Some(holders(&rows.iter().collect::<Vec<_>>())?)) }
}

/// Sessions that hold something.
fn holders(rows: &[&Row]) -> Result<String, Error> {
    let held = rows.iter().map(|row| holder(row)).collect::<Result<Vec<_>, _>>()?;
    let others = held.len().saturating_sub(NAMED_HOLDERS);
    let more = if others > 0 { format!(", and {others} more") } else { String::new() };
    let verb = if held.len() == 1 { "holds" } else { "hold" };
    Ok(format!("{}{more} {verb} it", held[..held.len() - others].join(", ")))
}

/// A session that holds something, as far as the server tells.
fn holder(row: &Row) -> Result<String, Error> {
    let pid: i32 = row.try_get(0)?;
    if pid == 0 {
        return Ok("a prepared transaction".to_owned());
    }
    let known: Vec<String> = [
        row.try_get::<_, Option<String>>(1)?.filter(|name| !name.is_empty()),
        row.try_get::<_, Option<String>>(2)?.map(|role| format!("role {role}")),
        row.try_get::<_, Option<String>>(3)?,
    ]
    .into_iter()
    .flatten()
    .collect();
    Ok(match known.is_empty() {
        true => format!("process {pid}"),
        false => format!("process {pid} ({})", known.join(", ")),
    })
}
