//! Watches for lanes of one load that wait for each other: PostgreSQL sees no deadlock there, since the lane that holds
//! the lock waits for the load, not for the server, and would wait for ever.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_postgres::types::Type;

use crate::connect::Connection;
use crate::error::Error;
use crate::lane::Freight;

/// Two looks in a row make a lane blocked, so that one is noticed within a second; `pg_blocking_pids` takes the lock
/// manager's locks for a moment, which two looks a second do not make felt.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Looks until the load ends; cancels the statement of a lane that waits for another lane and notes its backend in
/// `freight.blocked`.
///
/// # Errors
/// The server's errors; otherwise it never returns.
pub(crate) async fn watch(
    connection: &Connection,
    pids: Vec<i32>,
    freight: &Freight,
) -> Result<std::convert::Infallible, Error> {
    let mut before = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
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
            && freight.blocked.load(Ordering::Relaxed) == 0
        {
            freight.blocked.store(pid, Ordering::Relaxed);
            connection
                .client()
                .query_typed("select pg_catalog.pg_cancel_backend($1)", &[(&pid, Type::INT4)])
                .await?;
        }
        before = waiting;
    }
}
