//! The B-tree indexes that rows of a table go into.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::table::Table;
use crate::error::Error;

/// A B-tree index of a table, or of a partitioned table and its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BtreeIndex {
    pub(crate) name: String,
    /// The columns of its key, up to the first expression.
    pub(crate) columns: Vec<String>,
    /// Its size, in pages.
    pub(crate) pages: u64,
}

impl BtreeIndex {
    /// Those of `table`, by name.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn of(connection: &Connection, table: &Table) -> Result<Vec<BtreeIndex>, Error> {
        let rows = connection
            .client()
            .query_typed(
                "select i.relname::text,
                        array(select a.attname::text
                                from pg_catalog.generate_series(0, x.indnkeyatts - 1) as at
                                left join pg_catalog.pg_attribute a
                                  on a.attrelid = x.indrelid and a.attnum = x.indkey[at] and a.attnum > 0
                               order by at),
                        (select sum(pg_catalog.pg_relation_size(relid)) from
                            (select relid from pg_catalog.pg_partition_tree(i.oid) union select i.oid) as family)::int8
                            / pg_catalog.current_setting('block_size')::int8
                   from pg_catalog.pg_index x
                   join pg_catalog.pg_class i on i.oid = x.indexrelid
                   join pg_catalog.pg_am m on m.oid = i.relam
                  where x.indrelid = $1 and x.indisready and m.amname = 'btree'
                  order by i.relname",
                &[(&table.oid, Type::OID)],
            )
            .await?;
        let index = |row: &tokio_postgres::Row| BtreeIndex {
            name: row.get(0),
            columns: row.get::<_, Vec<Option<String>>>(1).into_iter().map_while(|name| name).collect(),
            pages: row.get::<_, Option<i64>>(2).and_then(|pages| u64::try_from(pages).ok()).unwrap_or(0),
        };
        Ok(rows.iter().map(index).collect())
    }
}

/// The pages that the server keeps in memory of its own.
///
/// # Errors
/// The server's.
pub(crate) async fn cache_pages(connection: &Connection) -> Result<u64, Error> {
    let sql = "select (pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers'))
                       / pg_catalog.current_setting('block_size')::int8)::int8";
    let row = connection.client().query_typed_one(sql, &[]).await?;
    Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or(0))
}
