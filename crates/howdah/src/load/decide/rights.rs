//! What the role may do with the table, asked before a row moves: a right that is missing is named, and with it all others that
//! the load would miss later. SQL that runs before the first row may change all of it; then nothing is asked.

use howdah_connect::Connection;
use howdah_message::setting;
use tokio_postgres::types::Type;

use crate::catalog::name;
use crate::catalog::table::{RelationKind, Table};
use crate::error::{Error, ErrorKind};
use crate::load::Load;
use crate::options::Mode;
use crate::plan::mapping::Mapping;
use crate::publish::staged::Apply;

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Server, message).with_sqlstate("42501")
}

impl Load<'_> {
    /// Whether rows can go to `table` as the mode has it; `apply` is what becomes of staged ones.
    ///
    /// # Errors
    /// A right is missing, or a foreign key keeps the table from being emptied.
    pub(super) async fn check_rights(
        &self,
        connection: &Connection,
        table: &Table,
        mapping: &Mapping,
        apply: Option<&Apply>,
    ) -> Result<(), Error> {
        let target = &self.options.target;
        // Whoever replaces a table owns it: that is asked elsewhere.
        if !target.before.is_empty() || target.mode == Mode::Replace {
            return Ok(());
        }
        let (mut columns, mut of_columns, mut of_table) = (Vec::new(), Vec::new(), Vec::new());
        for pair in &mapping.pairs {
            for right in apply.map_or(&["INSERT"][..], |apply| apply.rights_on(&pair.target)) {
                // A column that is added has the rights of the table.
                if mapping.added.contains(&pair.target) {
                    of_table.push(*right);
                } else {
                    columns.push(pair.target.as_str());
                    of_columns.push(*right);
                }
            }
        }
        match target.mode {
            Mode::Truncate => of_table.push("TRUNCATE"),
            Mode::Delete => of_table.push("DELETE"),
            _ => {}
        }
        let missing = connection
            .client()
            .query_typed(
                "select r from rows from (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) as needed(c, r)
                  where not pg_catalog.has_column_privilege($1::oid, c, r)
                 union select r from pg_catalog.unnest($4::text[]) as r where not pg_catalog.has_table_privilege($1::oid, r)
                  order by 1",
                &[
                    (&table.oid, Type::OID),
                    (&columns, Type::TEXT_ARRAY),
                    (&of_columns, Type::TEXT_ARRAY),
                    (&of_table, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        if !missing.is_empty() {
            let rights: Vec<&str> = missing.iter().map(|row| row.get(0)).collect();
            let kind = match table.kind {
                RelationKind::View => "view",
                RelationKind::Foreign => "foreign table",
                RelationKind::Table | RelationKind::Partitioned => "table",
            };
            let message = format!("permission denied for {kind} {}", name::display(&table.name));
            return Err(refused(message).with_hint(format!(
                "its owner can allow it: GRANT {} ON {} TO {}",
                rights.join(", "),
                table.display(),
                name::display(self.target.user())
            )));
        }
        if table.kind == RelationKind::Foreign && apply.is_none() {
            takes_rows(connection, table).await?;
        }
        if target.mode == Mode::Truncate { referenced(connection, table).await } else { Ok(()) }
    }

    /// Whether the role may make a table in `schema`, or the schema itself where `with_schema`.
    ///
    /// # Errors
    /// It may not.
    pub(super) async fn check_creation(
        &self,
        connection: &Connection,
        schema: &str,
        with_schema: bool,
    ) -> Result<(), Error> {
        if !self.options.target.before.is_empty() {
            return Ok(());
        }
        let sql = match with_schema {
            true => {
                "select pg_catalog.has_database_privilege(pg_catalog.current_database(), 'create'),
                             'database ' || pg_catalog.quote_ident(pg_catalog.current_database()) from (select $1) as s"
            }
            false => {
                "select pg_catalog.has_schema_privilege(oid, 'create'), 'schema ' || pg_catalog.quote_ident(nspname)
                   from pg_catalog.pg_namespace where nspname = $1"
            }
        };
        let rows = connection.client().query_typed(sql, &[(&schema, Type::TEXT)]).await?;
        match rows.first().map(|row| (row.get(0), row.get::<_, &str>(1))) {
            Some((false, place)) => Err(refused(format!("permission denied for {place}"))),
            _ => Ok(()),
        }
    }
}

/// A foreign table takes rows only where its wrapper can insert.
async fn takes_rows(connection: &Connection, table: &Table) -> Result<(), Error> {
    let sql = "select pg_catalog.pg_relation_is_updatable($1::oid::regclass, false) & 8 <> 0";
    let row = connection.client().query_typed_one(sql, &[(&table.oid, Type::OID)]).await?;
    if row.get(0) {
        return Ok(());
    }
    let said = format!("cannot insert into foreign table {}", table.display());
    Err(Error::new(ErrorKind::Server, said)
        .with_sqlstate("0A000")
        .with_hint("its foreign data wrapper takes no rows: load into a table of the server"))
}

/// TRUNCATE refuses a table that others refer to, whether they hold rows or not.
async fn referenced(connection: &Connection, table: &Table) -> Result<(), Error> {
    let rows = connection
        .client()
        .query_typed(
            "select pg_catalog.format('%I of %s', k.conname, k.conrelid::pg_catalog.regclass) from pg_catalog.pg_constraint k
              where k.contype = 'f' and k.confrelid = $1 and k.conrelid <> $1 and k.conparentid = 0 order by 1",
            &[(&table.oid, Type::OID)],
        )
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    Err(Error::usage(format!(
        "{} cannot be emptied: a foreign key refers to it ({})",
        table.display(),
        keys.join(", ")
    ))
    .with_sqlstate("0A000")
    .with_hint(message![
        setting::MODE.word("upsert"),
        " changes and adds rows by their key, and ",
        setting::MODE.word("delete"),
        " removes them"
    ]))
}
