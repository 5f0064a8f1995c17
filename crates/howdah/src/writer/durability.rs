//! What an acknowledgement is worth: where the server itself promises less than that a row is in and survives a crash.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use super::statements::may_drop_rows;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::writer::options::OnConflict;

/// What a program should know before it relies on acknowledgements, a sentence each.
#[derive(Default)]
pub(super) struct Notices {
    pub(super) all: Vec<String>,
    /// Those that whoever chose the server need not know already.
    pub(super) surprising: Vec<String>,
}

/// What there is to say of the table and the session.
///
/// # Errors
/// The server could not be asked.
pub(super) async fn notices(
    connection: &Connection,
    table: &Table,
    on_conflict: Option<OnConflict>,
) -> Result<Notices, Error> {
    let sql = "with recursive own(oid) as (
                   select $1 union select i.inhrelid from pg_catalog.pg_inherits i join own on own.oid = i.inhparent)
               select pg_catalog.current_setting('synchronous_commit') = 'off',
                      (select pg_catalog.count(*) from own join pg_catalog.pg_class c using (oid)
                        where c.relpersistence <> 'p' and c.relkind in ('r', 'm')),
                      pg_catalog.current_setting('fsync') = 'off'";
    let rows = connection.client().query_typed(sql, &[(&table.oid, Type::OID)]).await?;
    let Some(row) = rows.first() else { return Ok(Notices::default()) };
    let mut surprising = Vec::new();
    if row.get::<_, i64>(1) > 0 {
        surprising.push(format!(
            "{} is UNLOGGED: a crash of the server empties it, acknowledged rows included",
            table.display()
        ));
    }
    if may_drop_rows(connection, table, on_conflict).await? {
        surprising.push(format!(
            "triggers or rules of {} may drop rows: such a row is acknowledged, and counted, like one that is in",
            table.display()
        ));
    }
    let mut all = surprising.clone();
    if row.get(0) {
        let lazy =
            "synchronous_commit is off: a crash of the server may lose rows that were just acknowledged";
        all.push(lazy.to_owned());
        // A server without fsync was made for tests, throwaway servers of ours among them.
        if !row.get::<_, bool>(2) {
            surprising.push(lazy.to_owned());
        }
    }
    Ok(Notices { all, surprising })
}
