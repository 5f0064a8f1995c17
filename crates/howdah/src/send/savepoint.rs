//! The savepoint under which a part is sent whose rows the server may refuse.

use howdah_connect::Connection;
use tokio_postgres::SimpleQueryMessage;

use crate::error::Error;

/// Sets it.
pub(super) async fn set(connection: &Connection) -> Result<(), Error> {
    Ok(connection.client().batch_execute("SAVEPOINT howdah").await?)
}

/// Forgets what was done under it; it is there again.
pub(super) async fn roll_back(connection: &Connection) -> Result<(), Error> {
    Ok(connection.client().batch_execute("ROLLBACK TO SAVEPOINT howdah").await?)
}

/// Ends it and sets it again; returns what [`release`] does.
pub(super) async fn renew(connection: &Connection) -> Result<Vec<String>, Error> {
    end(connection, "RELEASE SAVEPOINT howdah; SAVEPOINT howdah").await
}

/// Ends it, and returns the numbers of the subtransactions under it that have written: rows bear them, and not the number of
/// their transaction, as `xmin`. A transaction holds a lock on each such number, until the subtransaction ends
/// ([`pg_locks`](https://www.postgresql.org/docs/current/view-pg-locks.html)).
pub(super) async fn release(connection: &Connection) -> Result<Vec<String>, Error> {
    end(connection, "RELEASE SAVEPOINT howdah").await
}

async fn end(connection: &Connection, release: &str) -> Result<Vec<String>, Error> {
    let numbers = "SELECT transactionid FROM pg_catalog.pg_locks
                WHERE pid = pg_catalog.pg_backend_pid() AND locktype = 'transactionid' AND mode = 'ExclusiveLock'
                  AND transactionid <> pg_catalog.pg_current_xact_id()::xid";
    let answers = connection.client().simple_query(&format!("{numbers}; {release}")).await?;
    let numbers = answers.iter().filter_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(numbers.collect())
}
