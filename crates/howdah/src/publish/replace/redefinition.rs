//! What a replacement has otherwise than the table whose place it takes: more columns, types of columns, and its primary key.

use howdah_connect::Connection;
use tokio_postgres::types::{ToSql, Type};

use super::Replacement;
use crate::catalog::load_id::LoadId;
use crate::catalog::name::{self, quote};
use crate::catalog::table::Table;
use crate::error::{Error, HiddenNames};
use crate::publish::added_columns::AddedColumns;

/// As the user declares it; by default nothing is otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redefinition {
    /// Columns and their new types, as `format_type` writes them.
    pub(crate) types: Vec<(String, String)>,
    /// Columns of the new primary key; empty: that of the table stays.
    pub(crate) key: Vec<String>,
    /// Columns that the input has and the table has not.
    pub(crate) added: Option<AddedColumns>,
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

/// What must not depend on columns `$2` of `$1` whose types change, as ALTER TABLE has it; statistics only where they are of
/// expressions.
const IN_THE_WAY: &str = "
    select distinct pg_catalog.pg_describe_object(d.classid, d.objid, 0)
      from pg_catalog.pg_attribute as a
      join pg_catalog.pg_depend as d on d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                                    and d.refobjid = a.attrelid and d.refobjsubid = a.attnum
      left join pg_catalog.pg_trigger as t on d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass and t.oid = d.objid
      left join pg_catalog.pg_statistic_ext as s
             on d.classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass and s.oid = d.objid
     where a.attrelid = $1 and a.attname = any ($2)
       and (d.classid in ('pg_catalog.pg_policy'::pg_catalog.regclass, 'pg_catalog.pg_rewrite'::pg_catalog.regclass)
            or not t.tgisinternal or s.stxexprs is not null)";

/// What forbids NULL in columns `$2`, which are those of the new key, of twin `$3`, by the names that the server would give such
/// constraints of the table `$1`: before PostgreSQL 18 they have none.
const NOT_NULLS: &str = "
    select pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I NOT NULL %I', $3::text, name, attname)
      from pg_catalog.pg_attribute as a
      join pg_catalog.pg_class as c on c.oid = a.attrelid
     cross join lateral (
           select stem || '_not_null' || coalesce(nullif(n, 0)::text, '')
             from pg_catalog.generate_series(0, 999) as n,
                  -- The longest character has four bytes, and a name has 63.
                  (select case when pg_catalog.octet_length(relname::text || attname::text) > 50
                               then pg_catalog.left(relname::text, 6) || '_' || pg_catalog.left(attname::text, 5)
                               else relname::text || '_' || attname::text end) as of (stem)
            where not exists (select from pg_catalog.pg_constraint
                               where conrelid = $1 and conname = stem || '_not_null' || coalesce(nullif(n, 0)::text, ''))
            order by n limit 1) as free (name)
     where attrelid = $1 and attname = any ($2) and not attnotnull
       and pg_catalog.current_setting('server_version_num')::int >= 180000";

impl Redefinition {
    /// Refuses what depends on columns whose types change and cannot follow them.
    ///
    /// # Errors
    /// A usage error that names it.
    pub(super) async fn check(&self, connection: &Connection, table: &Table) -> Result<(), Error> {
        let columns: Vec<&str> = self.types.iter().map(|(column, _)| column.as_str()).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&table.oid, Type::OID), (&columns, Type::TEXT_ARRAY)];
        let found = connection.client().query_typed(IN_THE_WAY, &parameters).await?;
        let names: Vec<String> = found.iter().map(|row| row.get(0)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} cannot be replaced with other types: {} depends on their columns",
            table.display(),
            names.join(", ")
        );
        Err(Error::usage(message)
            .with_sqlstate("0A000")
            .with_hint("drop it first, and make it again for the new types"))
    }

    /// What forbids NULL in the columns of the key of the twin, where that has a name.
    ///
    /// # Errors
    /// The server's.
    pub(super) async fn not_nulls(
        &self,
        connection: &Connection,
        oid: u32,
        twin: &str,
    ) -> Result<Vec<String>, Error> {
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&oid, Type::OID), (&self.key, Type::TEXT_ARRAY), (&twin, Type::TEXT)];
        let rows = connection.client().query_typed(NOT_NULLS, &parameters).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.key.is_empty() && self.added.is_none()
    }

    /// What adds columns to the twin.
    pub(super) fn add_sql(&self, twin: &str) -> Option<String> {
        self.added.as_ref().map(|added| added.sql(twin))
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
        let client = connection.client();
        client.batch_execute("BEGIN").await?;
        let mut refused = None;
        for sql in self.create.iter().chain(&self.build) {
            if let Err(error) = client.batch_execute(sql).await {
                refused = Some((Error::from(error), sql));
                break;
            }
        }
        client.batch_execute("ROLLBACK").await?;
        if let Some((error, sql)) = refused {
            let mut names = self.names.clone();
            names.push((id.hidden_name(), table.name.clone()));
            let detail = error.detail().map_or_else(String::new, |detail| format!("{detail}; "));
            let error = error.with_detail(format!("{detail}refused of the new table: {sql}")).with_hint(
                "what belongs to the table must fit its new columns, types and key: drop or change it first",
            );
            return Err(HiddenNames::new(names).reveal(error));
        }
        Ok(())
    }
}
