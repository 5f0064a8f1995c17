//! The deadlock watcher: finds workers of one load that wait for each other. PostgreSQL cannot detect that deadlock, since
//! the worker that holds the lock waits for the load to end and not for the server. Both would wait forever.

use std::sync::atomic::Ordering;
use std::time::Duration;

use howdah_connect::Connection;
use howdah_message::setting;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::error::{Error, ErrorKind};
use crate::send::context::LoadContext;

/// A worker counts as blocked when two checks in a row find it waiting, so within a second. `pg_blocking_pids` takes the
/// lock manager's locks for a moment, which nobody notices at two checks a second.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// Checks until the load ends whether one of the backends `pids` waits for another, and cancels the statement of the first
/// that does. Its backend is noted in [`LoadContext::deadlocked`].
///
/// # Errors
/// The server's; otherwise this never returns.
pub(crate) async fn watch_for_deadlocks(
    connection: &Connection,
    pids: Vec<i32>,
    context: &LoadContext,
) -> Result<std::convert::Infallible, Error> {
    let mut before = None;
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let rows = connection
            .client()
            .query_typed(
                "select pid from pg_catalog.unnest($1::int4[]) as pid where pg_catalog.pg_blocking_pids(pid) && $1::int4[]",
                &[(&pids, Type::INT4_ARRAY)],
            )
            .await?;
        let waiting: Option<i32> = rows.first().map(|row| row.get(0));
        if let Some(pid) = waiting
            && before == waiting
            && context.deadlocked.load(Ordering::Relaxed) == 0
        {
            context.deadlocked.store(pid, Ordering::Relaxed);
            connection
                .client()
                .query_typed("select pg_catalog.pg_cancel_backend($1)", &[(&pid, Type::INT4)])
                .await?;
        }
        before = waiting;
    }
}

/// The violation behind a statement of backend `pid` that the deadlock watcher cancelled; `None` for any other error.
pub(crate) fn deadlock_error(
    error: &tokio_postgres::Error,
    context: &LoadContext,
    pid: i32,
) -> Option<Error> {
    let db = error.as_db_error()?;
    let cancelled_by_us =
        context.deadlocked.load(Ordering::Relaxed) == pid && db.code() == &SqlState::QUERY_CANCELED;
    cancelled_by_us.then(|| violation_behind(db.where_().unwrap_or_default()))
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
    fn a_wait_inside_a_unique_index_is_called_a_duplicate_key() {
        let error =
            violation_behind("while inserting index tuple (0,5) in relation \"t_pkey\"\nCOPY t, line 3");
        assert_eq!(error.sqlstate(), Some("23505"));
        assert!(error.message().contains("t_pkey"));
        assert_eq!(violation_behind("COPY t, line 3").sqlstate(), Some("55P03"));
    }
}
