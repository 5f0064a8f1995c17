//! A table that is not logged while the rows of a load come: out of the write-ahead log and back in one transaction.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::table::Table;
use crate::error::Error;

/// What keeps table `$1` from leaving the log: publications, which would miss the rows, and a logged table whose foreign key
/// refers to it. And whose it is, where it is not the role's.
const OBSTACLES: &str = "
    select (select pg_catalog.string_agg(p.pubname::text, ', ' order by p.pubname)
              from pg_catalog.pg_publication_tables p where p.schemaname = n.nspname and p.tablename = c.relname),
           (select x.conrelid::pg_catalog.regclass::text from pg_catalog.pg_constraint x
              join pg_catalog.pg_class r on r.oid = x.conrelid
             where x.contype = 'f' and x.confrelid = c.oid and x.conrelid <> c.oid and r.relpersistence = 'p' limit 1),
           case when not pg_catalog.pg_has_role(c.relowner, 'usage') then pg_catalog.pg_get_userbyid(c.relowner)::text end
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.oid = $1";

/// The publications of every table that is made in schema `$1`.
const PUBLICATIONS: &str = "
    select pg_catalog.string_agg(p.pubname::text, ', ' order by p.pubname) from pg_catalog.pg_publication p
     where p.puballtables or exists (select from pg_catalog.pg_publication_namespace s
                 join pg_catalog.pg_namespace n on n.oid = s.pnnspid where s.pnpubid = p.oid and n.nspname = $1)";

/// Why a table cannot leave the log.
pub(crate) enum Obstacle {
    /// These publications would miss the rows.
    Published(String),
    /// This table, which is logged, refers to it.
    ReferredToBy(String),
    /// It belongs to this role.
    ForeignOwner(String),
}

/// What keeps `table`, which exists, from leaving the log; `None`: nothing.
///
/// # Errors
/// The server's.
pub(crate) async fn obstacle(connection: &Connection, table: &Table) -> Result<Option<Obstacle>, Error> {
    let row = connection.client().query_typed_one(OBSTACLES, &[(&table.oid, Type::OID)]).await?;
    Ok(row
        .get::<_, Option<String>>(0)
        .map(Obstacle::Published)
        .or_else(|| row.get::<_, Option<String>>(1).map(Obstacle::ReferredToBy))
        .or_else(|| row.get::<_, Option<String>>(2).map(Obstacle::ForeignOwner)))
}

/// What keeps a table that is made in `schema` from being filled beside the log; `None`: nothing.
///
/// # Errors
/// The server's.
pub(crate) async fn obstacle_in(connection: &Connection, schema: &str) -> Result<Option<Obstacle>, Error> {
    let row = connection.client().query_typed_one(PUBLICATIONS, &[(&schema, Type::NAME)]).await?;
    Ok(row.get::<_, Option<String>>(0).map(Obstacle::Published))
}

/// Takes `relation` out of the log: what it holds is copied.
pub(crate) fn leave_sql(relation: &str) -> String {
    format!("ALTER TABLE {relation} SET UNLOGGED")
}

/// Puts `relation` into the log, with all that it holds.
pub(crate) fn return_sql(relation: &str) -> String {
    format!("ALTER TABLE {relation} SET LOGGED")
}
