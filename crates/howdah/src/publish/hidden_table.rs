//! A table that nobody looks for: made in a transaction of its own, so that several connections can fill it, and named so that
//! others remove it where its maker died.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::load_id::{HIDDEN_PREFIX, LoadId};
use crate::catalog::name::quote;
use crate::error::Error;

/// A table under a hidden name, which is there while an advisory lock is held. Where that is free, the next load into the schema
/// removes the table.
pub struct HiddenTable {
    id: LoadId,
    schema: String,
}

impl HiddenTable {
    /// A name in `schema` that no other table has.
    pub fn new(schema: impl Into<String>) -> HiddenTable {
        HiddenTable { id: LoadId::new(), schema: schema.into() }
    }

    /// The table, quoted and qualified, for SQL.
    pub fn sql(&self) -> String {
        format!("{}.{}", quote(&self.schema), quote(&self.id.hidden_name()))
    }

    /// Makes the table by `statements`, and commits it, although the session's transactions may be read-only. The connection is then in a transaction that holds the lock, and is to
    /// stay there while the table is needed.
    ///
    /// # Errors
    /// The server refuses it, and nothing was made; or the connection is lost.
    pub async fn make(
        &self,
        connection: &Connection,
        statements: &[String],
    ) -> Result<(), tokio_postgres::Error> {
        let made =
            connection.client().batch_execute(&make_sql(self.id, "BEGIN READ WRITE", None, statements)).await;
        if made.is_err() {
            let key = self.id.lock_key();
            let undo = format!("ROLLBACK; SELECT pg_catalog.pg_advisory_unlock({key})");
            connection.client().batch_execute(&undo).await?;
        }
        made
    }

    /// Ends the transaction that holds the lock, and removes the table.
    ///
    /// # Errors
    /// Somebody holds a lock on the table for longer than the session waits; or the connection is lost.
    pub async fn remove(&self, connection: &Connection) -> Result<(), tokio_postgres::Error> {
        let sql = format!("ROLLBACK; BEGIN READ WRITE; DROP TABLE IF EXISTS {}; COMMIT", self.sql());
        connection.client().batch_execute(&sql).await
    }

    /// Removes the hidden tables of `schema` whose makers died. Returns their names.
    ///
    /// # Errors
    /// The server's errors.
    pub async fn sweep(connection: &Connection, schema: &str) -> Result<Vec<String>, Error> {
        sweep(connection, schema, None).await
    }
}

/// Makes what `statements` make in a transaction of its own, which `begin` begins, and begins the one that holds the lock of `id`: behind a connection
/// pooler, nothing else stays with a client.
///
/// In one message, without a moment in which the table is there and the lock is not: without it, the table is a leftover to
/// every other load.
pub(crate) fn make_sql(id: LoadId, begin: &str, floor: Option<&str>, statements: &[String]) -> String {
    let key = id.lock_key();
    format!(
        "{begin}; SELECT pg_catalog.pg_advisory_lock({key}); {}; {}; COMMIT; BEGIN ISOLATION LEVEL READ COMMITTED; \
         SELECT pg_catalog.pg_advisory_xact_lock({key}); SELECT pg_catalog.pg_advisory_unlock({key})",
        floor.unwrap_or_default(),
        statements.join("; ")
    )
}

/// Drops the hidden tables that loads which died left in `schema`: those whose advisory lock is free. Returns their names.
///
/// # Errors
/// The server's errors.
pub(crate) async fn sweep(
    connection: &Connection,
    schema: &str,
    floor: Option<&str>,
) -> Result<Vec<String>, Error> {
    let client = connection.client();
    let rows = client
        .query_typed(
            "select c.relname::text from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
              where n.nspname = $1 and c.relkind = 'r' and c.relname ~ '^howdah_load_[0-9a-f]{16}$'
                and pg_catalog.pg_has_role(c.relowner, 'usage')",
            &[(&schema, Type::TEXT)],
        )
        .await?;
    let mut dropped = Vec::new();
    for row in rows {
        let name: String = row.get(0);
        let Some(id) = LoadId::parse(name.trim_start_matches(HIDDEN_PREFIX)) else { continue };
        client.batch_execute(&format!("BEGIN READ WRITE; {}", floor.unwrap_or_default())).await?;
        let lock = "select pg_catalog.pg_try_advisory_xact_lock($1)";
        let free = client.query_typed(lock, &[(&id.lock_key(), Type::INT8)]).await?;
        if !free.first().is_some_and(|row| row.get(0)) {
            client.batch_execute("ROLLBACK").await?;
            continue;
        }
        let drop = format!("DROP TABLE IF EXISTS {}.{}; COMMIT", quote(schema), quote(&name));
        client.batch_execute(&drop).await?;
        dropped.push(name);
    }
    Ok(dropped)
}
