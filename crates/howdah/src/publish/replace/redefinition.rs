//! What a replacement has otherwise than the table whose place it takes: types of columns, and its primary key.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use super::Replacement;
use crate::catalog::load_id::LoadId;
use crate::catalog::name::{self, quote};
use crate::catalog::table::Table;
use crate::error::Error;

/// As the user declares it; by default nothing is otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redefinition {
    /// Columns and their new types, as `format_type` writes them.
    pub(crate) types: Vec<(String, String)>,
    /// Columns of the new primary key; empty: that of the table stays.
    pub(crate) key: Vec<String>,
}

/// The primary key that the twin gets.
pub(super) struct NewKey {
    /// The definition, as a constraint has it.
    pub(super) clause: String,
    pub(super) named: KeyName,
}

/// What the key is called.
pub(super) enum KeyName {
    /// As the key whose place it takes: name and definition, for people.
    AsBefore(String),
    /// There was none: what the twin calls it until the exchange, and the name in the end.
    New(String, String),
}

/// The primary key of `$1`: its name, its columns, its definition.
const OLD_KEY: &str = "
    select conname::text, pg_catalog.pg_get_constraintdef(oid),
           array(select attname::text from pg_catalog.unnest(conkey) with ordinality as k (attnum, n)
                   join pg_catalog.pg_attribute a on a.attrelid = conrelid and a.attnum = k.attnum order by n)
      from pg_catalog.pg_constraint where conrelid = $1 and contype = 'p'";

/// The first name for a primary key of `$1` that is free, made as the server makes it.
const FREE_NAME: &str = "
    select name from pg_catalog.generate_series(0, 999) as n,
           pg_catalog.pg_class as c,
           -- The longest character has four bytes, and a name has 63.
           lateral (select case when pg_catalog.octet_length(relname::text) > 55 then pg_catalog.left(relname::text, 13)
                                else relname::text end || '_pkey' || coalesce(nullif(n, 0)::text, '')) as candidate (name)
     where c.oid = $1
       and not exists (select from pg_catalog.pg_class where relnamespace = c.relnamespace and relname = name)
       and not exists (select from pg_catalog.pg_constraint where conrelid = c.oid and conname = name)
     order by n limit 1";

impl Redefinition {
    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.key.is_empty()
    }

    /// What gives the columns of the empty twin their types.
    pub(super) fn retype_sql(&self, twin: &str) -> Option<String> {
        let retype = |(column, type_name): &(String, String)| {
            let column = quote(column);
            // There is no row, so every type can be had from every other.
            format!("ALTER COLUMN {column} TYPE {type_name} USING NULL::{type_name}")
        };
        let changes: Vec<String> = self.types.iter().map(retype).collect();
        (!changes.is_empty()).then(|| format!("ALTER TABLE {twin} {}", changes.join(", ")))
    }

    /// The key as it is to be; `None`: as it is.
    ///
    /// # Errors
    /// The server's.
    pub(super) async fn new_key(
        &self,
        connection: &Connection,
        oid: u32,
        id: &str,
    ) -> Result<Option<NewKey>, Error> {
        if self.key.is_empty() {
            return Ok(None);
        }
        let found = connection.client().query_typed(OLD_KEY, &[(&oid, Type::OID)]).await?;
        let old = found.first().map(|row| (row.get(0), row.get(1), row.get(2)));
        if old.as_ref().is_some_and(|(_, _, columns): &(String, String, Vec<String>)| *columns == self.key) {
            return Ok(None);
        }
        let columns: Vec<String> = self.key.iter().map(|column| quote(column)).collect();
        let clause = format!("PRIMARY KEY ({})", columns.join(", "));
        let named = match old {
            Some((name, definition, _)) => {
                KeyName::AsBefore(format!("{} {definition}", name::display(&name)))
            }
            None => {
                let free = connection.client().query_typed_one(FREE_NAME, &[(&oid, Type::OID)]).await?;
                KeyName::New(format!("howdah_constraint_{id}_key"), free.get(0))
            }
        };
        Ok(Some(NewKey { clause, named }))
    }
}

impl Replacement {
    /// Makes the empty twin with everything on it and undoes it: what does not fit a new type or key is found before a row
    /// moves.
    ///
    /// # Errors
    /// What the server refuses of it.
    pub(super) async fn rehearse(
        &self,
        connection: &Connection,
        table: &Table,
        id: LoadId,
    ) -> Result<(), Error> {
        let statements = [&self.create[..], &self.build].concat();
        let sql = format!("BEGIN; {}; ROLLBACK", statements.join("; "));
        if let Err(error) = connection.client().batch_execute(&sql).await {
            connection.client().batch_execute("ROLLBACK").await?;
            let mut names = self.names.clone();
            names.push((id.hidden_name(), table.name.clone()));
            let error = crate::error::HiddenNames::new(names).reveal(Error::from(error));
            return Err(
                error.with_hint("what belongs to the table must fit its new types and key: drop it first")
            );
        }
        Ok(())
    }
}
