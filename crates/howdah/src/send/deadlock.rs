//! Workers of one load that wait for each other, or for those of another load that waits for them. PostgreSQL sees no deadlock
//! where the worker that holds the lock waits for its load to end and not for the server: both would wait forever. The watcher
//! finds them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::setting;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::error::{Error, ErrorKind};

/// `pg_blocking_pids` takes the lock manager's locks for a moment, which nobody notices at two checks a second.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// A worker counts as blocked when so many checks in a row find it waiting, so within a second.
const CHECKS: usize = 2;
/// Another load that finds the same has given way by then.
const CHECKS_AFTER_ANOTHER: usize = 6;

/// The first half of the key of an advisory lock that all workers of a load share; the second is the load's own. Others see by
/// it which sessions end their transactions together. The letters `hwdh`.
const TOGETHER: i32 = 0x6877_6468;

/// The first of the backends `$1` that waits for another of them, and the session through which it does: that waits for the
/// other, or is of a load of which a worker does. And whether this load, whose workers share lock `$2`, gives way, or that
/// other one. Locks that are let go before the transaction ends, as those by which a table grows, are waited for all the time.
const WAITING: &str = "
    with recursive together (pid, load) as materialized (
        select l.pid, l.objid::int8
          from pg_catalog.pg_locks l join pg_catalog.pg_database d on d.oid = l.database
         where d.datname = pg_catalog.current_database() and l.locktype = 'advisory' and l.granted
           and l.objsubid = 2 and l.classid::int8 = $3
    ), waits (pid, blocker, through) as (
        select worker, blocker, null::int4
          from pg_catalog.unnest($1::int4[]) as worker, pg_catalog.unnest(pg_catalog.pg_blocking_pids(worker)) as blocker
         where exists(select from pg_catalog.pg_locks l
                       where l.pid = worker and not l.granted and l.locktype not in ('extend', 'page'))
        union
        select w.pid, further, coalesce(w.through, w.blocker)
          from waits w, lateral (
                   select pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.blocker))
                   union
                   select its.pid from together one join together its using (load) where one.pid = w.blocker
               ) as others (further)
         where w.blocker <> all ($1::int4[]))
    select w.pid, w.through, coalesce($2 > (select t.load from together t where t.pid = w.through limit 1), true)
      from waits w where w.blocker = any ($1::int4[]) order by w.through nulls first, w.pid limit 1";

/// What is known of waits among the workers of a load.
#[derive(Debug)]
pub(crate) struct MutualWaits {
    /// The second half of the key that the workers share.
    load: u32,
    /// The workers' backends.
    pids: OnceLock<Vec<i32>>,
    /// The backend whose statement the watcher cancelled; 0 while there is none.
    cancelled: AtomicI32,
    /// The session through which it waits for another worker; 0 where it does so itself.
    through: AtomicI32,
    /// A worker failed because it waited for another itself.
    was_found: AtomicBool,
}

impl MutualWaits {
    pub(crate) fn new() -> Self {
        MutualWaits {
            load: getrandom::u32().unwrap_or_else(|_| fastrand::u32(..)),
            pids: OnceLock::new(),
            cancelled: AtomicI32::new(0),
            through: AtomicI32::new(0),
            was_found: AtomicBool::new(false),
        }
    }

    /// What a worker's transaction begins with, so that other loads know to whom it belongs.
    pub(crate) fn together_sql(&self) -> String {
        format!("SELECT pg_catalog.pg_advisory_xact_lock_shared({TOGETHER}, {})", self.load.cast_signed())
    }

    /// Checks until the load ends whether one of the workers, whose backends are `pids`, waits for another, and cancels the
    /// statement of the first that does.
    ///
    /// # Errors
    /// The server's; otherwise this never returns.
    pub(crate) async fn watch(
        &self,
        connection: &Connection,
        pids: Vec<i32>,
    ) -> Result<std::convert::Infallible, Error> {
        let pids = self.pids.get_or_init(|| pids);
        let params = [
            (pids as &(dyn ToSql + Sync), Type::INT4_ARRAY),
            (&i64::from(self.load), Type::INT8),
            (&i64::from(TOGETHER), Type::INT8),
        ];
        let (mut before, mut checks) = (None, 0);
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            let rows = connection.client().query_typed(WAITING, &params).await?;
            let waiting: Option<(i32, Option<i32>, bool)> =
                rows.first().map(|row| (row.get(0), row.get(1), row.get(2)));
            checks = if before == waiting { checks + 1 } else { 1 };
            if let Some((pid, through, gives_way)) = waiting
                && checks >= if gives_way { CHECKS } else { CHECKS_AFTER_ANOTHER }
                && self.cancelled.load(Ordering::Relaxed) == 0
            {
                self.through.store(through.unwrap_or(0), Ordering::Relaxed);
                self.cancelled.store(pid, Ordering::Relaxed);
                let sql = "select pg_catalog.pg_cancel_backend($1)";
                connection.client().query_typed(sql, &[(&pid, Type::INT4)]).await?;
            }
            before = waiting;
        }
    }

    /// The violation behind an `error` of backend `pid`: its statement was cancelled because it waited for another worker,
    /// or the server found a circle of such waits. `None` for any other error.
    pub(crate) fn explain(&self, error: &tokio_postgres::Error, pid: i32) -> Option<Error> {
        let db = error.as_db_error()?;
        let is_ours = match *db.code() {
            SqlState::QUERY_CANCELED => self.cancelled.load(Ordering::Relaxed) == pid,
            SqlState::T_R_DEADLOCK_DETECTED => {
                let pids = self.pids.get().map(Vec::as_slice).unwrap_or_default();
                is_circle_of(pids, db.detail().unwrap_or_default())
            }
            _ => false,
        };
        if is_ours && let through @ 1.. = self.through.load(Ordering::Relaxed) {
            return Some(through_another(through));
        }
        is_ours.then(|| {
            self.was_found.store(true, Ordering::Relaxed);
            violation_behind(db.where_().unwrap_or_default())
        })
    }

    /// Whether a worker failed because it waited for another, not through a session of somebody else.
    pub(crate) fn was_found(&self) -> bool {
        self.was_found.load(Ordering::Relaxed)
    }
}

/// Whether all who wait in a deadlock are among `pids`. In each language of the server a line of the `detail` ends with the
/// process that is waited for: `Process 7 waits for ShareLock on transaction 11; blocked by process 8.`
fn is_circle_of(pids: &[i32], detail: &str) -> bool {
    let mut blocking = detail.lines().map(|line| {
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<i32>().ok()).next_back()
    });
    !detail.is_empty() && blocking.all(|pid| pid.is_some_and(|pid| pids.contains(&pid)))
}

/// A deadlock of which session `through` is a part, which is none of the load's.
fn through_another(through: i32) -> Error {
    let message = format!(
        "deadlock with process {through}: a connection of this load waits for it, and it waits for another one"
    );
    Error::new(ErrorKind::Server, message).with_sqlstate("40P01").with_hint(message![
        "try again when that is done, or load with ",
        setting::JOBS.number(1),
        ", which waits its turn"
    ])
}

/// The violation that made two workers wait for each other, as the CONTEXT of the cancelled statement shows it.
fn violation_behind(context: &str) -> Error {
    let index = context
        .split("while inserting index tuple")
        .nth(1)
        .or_else(|| context.split("while checking exclusion constraint").nth(1))
        .and_then(|text| text.split("in relation \"").nth(1).or_else(|| text.split("on tuple").nth(1)))
        .and_then(|text| text.split('"').next());
    if context.contains("while inserting index tuple")
        && let Some(index) = index
    {
        return Error::new(
            ErrorKind::Data,
            format!("duplicate key value violates unique constraint {index:?}: two rows of this load have the same key"),
        )
        .with_sqlstate("23505")
        .with_constraint(index)
        .with_detail("the other row was sent on another connection of the same load, which is why the server waited instead of refusing");
    }
    if context.contains("while checking exclusion constraint") {
        return Error::new(ErrorKind::Data, "two rows of this load conflict under an exclusion constraint")
            .with_sqlstate("23P01");
    }
    Error::new(ErrorKind::Server, "the connections of this load wait for each other")
        .with_sqlstate("55P03")
        .with_detail(context.to_owned())
        .with_hint(message![
            "a trigger or constraint makes them touch the same row: load with ",
            setting::JOBS.number(1)
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadlock_with_somebody_else_is_none_of_ours() {
        let detail = "Process 7 waits for ShareLock on transaction 11; blocked by process 8.\n\
                      Process 8 waits for ShareLock on transaction 12; blocked by process 7.";
        assert!(is_circle_of(&[7, 8, 9], detail));
        assert!(!is_circle_of(&[7, 9], detail));
        assert!(!is_circle_of(&[7, 8], ""));
    }

    #[test]
    fn a_wait_inside_a_unique_index_is_called_a_duplicate_key() {
        let error =
            violation_behind("while inserting index tuple (0,5) in relation \"t_pkey\"\nCOPY t, line 3");
        assert_eq!((error.sqlstate(), error.constraint()), (Some("23505"), Some("t_pkey")));
        assert_eq!(violation_behind("COPY t, line 3").sqlstate(), Some("55P03"));
    }
}
