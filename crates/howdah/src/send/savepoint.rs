//! Savepoints: what they are called in SQL, and the one under which a part is sent whose rows the server may refuse.

use howdah_connect::Connection;
use tokio_postgres::SimpleQueryMessage;

use crate::error::Error;

/// A savepoint, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Savepoint(&'static str);

impl Savepoint {
    /// What happens to rows is undone up to here.
    pub(crate) const ROWS: Savepoint = Savepoint("howdah");
    /// Above [`Savepoint::ROWS`]: for one segment of them.
    pub(crate) const SEGMENT: Savepoint = Savepoint("howdah_rows");
    /// Below [`Savepoint::ROWS`]: before any row.
    pub(crate) const BOTTOM: Savepoint = Savepoint("howdah_bottom");

    /// Sets it.
    pub(crate) fn set(self) -> String {
        format!("SAVEPOINT {}", self.0)
    }

    /// Forgets what was done under it; it is there again.
    pub(crate) fn roll_back(self) -> String {
        format!("ROLLBACK TO SAVEPOINT {}", self.0)
    }

    /// Ends it: what was done under it stays.
    pub(crate) fn release(self) -> String {
        format!("RELEASE SAVEPOINT {}", self.0)
    }

    /// Ends it and sets it again: what happened so far is not undone by the next refusal.
    pub(crate) fn renew(self) -> String {
        format!("{}; {}", self.release(), self.set())
    }
}

/// Sets [`Savepoint::ROWS`].
pub(super) async fn set(connection: &Connection) -> Result<(), Error> {
    Ok(connection.client().batch_execute(&Savepoint::ROWS.set()).await?)
}

/// Forgets what was done under it; it is there again.
pub(super) async fn roll_back(connection: &Connection) -> Result<(), Error> {
    Ok(connection.client().batch_execute(&Savepoint::ROWS.roll_back()).await?)
}

/// Ends it and sets it again; returns what [`release`] does.
pub(super) async fn renew(connection: &Connection) -> Result<Vec<String>, Error> {
    end(connection, &Savepoint::ROWS.renew()).await
}

/// Ends it, and returns the numbers of the subtransactions under it that have written: rows bear them, and not the number of
/// their transaction, as `xmin`. A transaction holds a lock on each such number, until the subtransaction ends
/// ([`pg_locks`](https://www.postgresql.org/docs/current/view-pg-locks.html)).
pub(super) async fn release(connection: &Connection) -> Result<Vec<String>, Error> {
    end(connection, &Savepoint::ROWS.release()).await
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
