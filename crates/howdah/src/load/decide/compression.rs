//! Which columns of a new table get a compression method of their own.

use std::collections::HashSet;

use howdah_message::setting;
use tokio_postgres::types::Type;

use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::{Circumstances, Load};
use crate::options::ColumnCompression;
use crate::publish::creation::Compression;

/// Whether the server has LZ4, and whether somebody chose what it does by default.
const OF_THE_SERVER: &str = "
    select coalesce('lz4' = any(enumvals), false), source <> 'default'
      from pg_catalog.pg_settings where name = 'default_toast_compression'";

/// Those of types `$1` whose values the server compresses before it stores them elsewhere.
const COMPRESSIBLE: &str = "
    select oid from pg_catalog.pg_type where oid = any($1) and typlen = -1 and typstorage = 'x'";

impl Load<'_> {
    /// What is said of the columns of `table`, a new one, in some of which `wide` values were seen; `None`: nothing.
    ///
    /// # Errors
    /// The server lacks what was asked for; the server's.
    pub(super) async fn compression(
        &self,
        found: Circumstances<'_>,
        table: &Table,
        wide: &[String],
    ) -> Result<Option<Compression>, Error> {
        let asked = self.options.target.column_compression;
        let is_wide = |name: &String| asked != ColumnCompression::Auto || wide.contains(name);
        let columns: Vec<_> = table.columns.iter().filter(|column| is_wide(&column.name)).collect();
        if asked == ColumnCompression::Default || columns.is_empty() {
            return Ok(None);
        }
        let client = found.connection.client();
        let server = client.query_typed(OF_THE_SERVER, &[]).await?;
        let (has_lz4, is_chosen) = server.first().map_or((false, true), |row| (row.get(0), row.get(1)));
        let method = match asked {
            ColumnCompression::Pglz => "pglz",
            ColumnCompression::Auto if is_chosen || !has_lz4 => return Ok(None),
            ColumnCompression::Lz4 if !has_lz4 => {
                return Err(Error::usage(message![
                    setting::COLUMN_COMPRESSION.word("lz4"),
                    " is not possible: the server, PostgreSQL ",
                    &found.session.version,
                    ", was built without it"
                ])
                .with_sqlstate("0A000")
                .with_hint(message![setting::COLUMN_COMPRESSION.word("pglz"), " every server has"]));
            }
            _ => "lz4",
        };
        let types: Vec<u32> = columns.iter().map(|column| column.base_type.0).collect();
        let types = client.query_typed(COMPRESSIBLE, &[(&types, Type::OID_ARRAY)]).await?;
        let types: HashSet<u32> = types.iter().map(|row| row.get(0)).collect();
        let names = columns.iter().filter(|column| types.contains(&column.base_type.0));
        let columns: Vec<String> = names.map(|column| column.name.clone()).collect();
        let is_guessed = asked == ColumnCompression::Auto;
        Ok((!columns.is_empty()).then_some(Compression { method, columns, is_guessed }))
    }
}
