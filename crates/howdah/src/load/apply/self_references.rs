//! Foreign keys of a table to itself while its rows are judged one after the other: a parent may come later in the input.

use howdah_connect::Connection;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::refused_rows::IMMEDIATE;
use crate::catalog::name::quote;
use crate::control::stoppable::stoppable;
use crate::error::Error;
use crate::load::Load;
use crate::publish::staged::{Parents, Round, SelfReference, Staging};
use crate::send::savepoint::Savepoint;

/// The foreign keys of relation `$1` to itself, or to a table that it is a part of: whether they are its own and plain, schema and
/// name, and column, parent's column and operator of each part.
const SELF_REFERENCES: &str = "
    select c.conparentid = 0 and c.confrelid = c.conrelid
             and not coalesce((pg_catalog.to_jsonb(c) ->> 'conperiod')::bool, false),
           n.nspname::text, c.conname::text,
           (select pg_catalog.array_agg(a.attname::text order by k.at)
              from pg_catalog.unnest(c.conkey) with ordinality as k(number, at)
              join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number),
           (select pg_catalog.array_agg(a.attname::text order by k.at)
              from pg_catalog.unnest(c.confkey) with ordinality as k(number, at)
              join pg_catalog.pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number),
           (select pg_catalog.array_agg(pg_catalog.format('OPERATOR(%I.%s)', s.nspname, o.oprname) order by k.at)
              from pg_catalog.unnest(c.conpfeqop) with ordinality as k(number, at)
              join pg_catalog.pg_operator o on o.oid = k.number
              join pg_catalog.pg_namespace s on s.oid = o.oprnamespace)
      from pg_catalog.pg_constraint c join pg_catalog.pg_namespace n on n.oid = c.connamespace
     where c.contype = 'f' and c.conrelid = pg_catalog.to_regclass($1)
       and coalesce(pg_catalog.pg_partition_root(c.confrelid), c.confrelid)
         = coalesce(pg_catalog.pg_partition_root(c.conrelid), c.conrelid)
       -- One that refers to a partitioned table has children that refer to the partitions.
       and not exists(select from pg_catalog.pg_constraint o where o.oid = c.conparentid and o.conrelid = c.conrelid)";

/// The foreign keys of a table to itself, for a transaction that will be rolled back.
#[derive(Default)]
pub(super) struct SelfReferences {
    keys: Vec<SelfReference>,
    /// They are such as can be put off.
    are_deferrable: bool,
}

impl SelfReferences {
    /// What puts the checks off, where they can be.
    pub(super) fn put_off(&self) -> Option<String> {
        self.are_deferrable.then(|| self.deferred())
    }

    fn deferred(&self) -> String {
        let name = |key: &SelfReference| format!("{}.{}", quote(&key.constraint.0), quote(&key.constraint.1));
        format!("SET CONSTRAINTS {} DEFERRED", self.keys.iter().map(name).collect::<Vec<_>>().join(", "))
    }

    /// Whether a load failed because of one of them.
    fn refused(&self, error: &Error) -> bool {
        error.sqlstate() == Some(SqlState::FOREIGN_KEY_VIOLATION.code())
            && self.keys.iter().any(|key| error.constraint() == Some(&key.constraint.1))
    }
}

/// A row, by its rank, and what the server says of it.
type Refusal = (usize, tokio_postgres::Error);

impl Load<'_> {
    /// The foreign keys of `relation` to itself, in an open transaction, if the input has all `columns` of theirs: what is made as
    /// rows come is made in another way when they come again. None where one belongs to the table that it is a part of, or compares
    /// periods. Where nobody else may use the table anyhow, they are made such as can be put off.
    pub(super) async fn self_references(
        &self,
        connection: &Connection,
        relation: &str,
        columns: &[&str],
        is_locked: bool,
    ) -> Result<SelfReferences, Error> {
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&relation, Type::TEXT)];
        let asking = connection.client().query_typed(SELF_REFERENCES, &parameters);
        let rows = self.stoppable(connection, asking).await?;
        let key = |row: &Row| SelfReference {
            constraint: (row.get(1), row.get(2)),
            columns: row.get(3),
            parents: row.get(4),
            operators: row.get(5),
        };
        let mut found = SelfReferences { keys: rows.iter().map(key).collect(), are_deferrable: false };
        let is_there = |name: &String| columns.contains(&name.as_str());
        let are_there = found.keys.iter().all(|key| key.columns.iter().chain(&key.parents).all(is_there));
        if found.keys.is_empty() || !rows.iter().all(|row| row.get(0)) || !are_there {
            return Ok(SelfReferences::default());
        }
        if is_locked {
            found.are_deferrable = self.make_deferrable(connection, relation, &found).await?;
        }
        Ok(found)
    }

    /// Whether it could be done: somebody else may have the table by now.
    async fn make_deferrable(
        &self,
        connection: &Connection,
        relation: &str,
        found: &SelfReferences,
    ) -> Result<bool, Error> {
        let alter = |key: &SelfReference| {
            let name = quote(&key.constraint.1);
            format!("ALTER TABLE {relation} ALTER CONSTRAINT {name} DEFERRABLE INITIALLY DEFERRED")
        };
        // It fails where another constraint of the name cannot be put off.
        let trying = found.keys.iter().map(alter).chain([found.deferred()]).collect::<Vec<_>>().join(";\n");
        self.run_all(connection, &[Savepoint::ROWS.set()]).await?;
        let done = stoppable(connection, self.control, connection.client().batch_execute(&trying)).await?;
        let end = match done {
            Ok(()) => vec![Savepoint::ROWS.release()],
            Err(_) => vec![Savepoint::ROWS.roll_back(), Savepoint::ROWS.release()],
        };
        self.run_all(connection, &end).await?;
        Ok(done.is_ok())
    }

    /// The first of `total` rows that the server refuses, after a load of all failed with `error`; and whether rows whose parent comes
    /// later were told from those whose parent is nowhere.
    pub(super) async fn first_wrong(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        total: usize,
        own: &SelfReferences,
        error: &Error,
    ) -> Result<(Option<Refusal>, bool), Error> {
        // It came to the checks of parents, which are the last.
        if !own.are_deferrable && own.refused(error) {
            let parents = Parents::AppliedOrNot;
            let orphan = self.first_orphan(connection, staging, round, &own.keys, total, parents).await?;
            if orphan.is_some() {
                return Ok((orphan, true));
            }
        }
        let refused = self.first_refused(connection, staging, round, total).await?;
        if !own.are_deferrable {
            return Ok((refused, false));
        }
        let (rows, parents) = match &refused {
            Some((at, _)) => (*at, Parents::AppliedOrNot),
            None => (total, Parents::Applied),
        };
        let orphan = self.first_orphan(connection, staging, round, &own.keys, rows, parents).await?;
        Ok((orphan.or(refused), true))
    }

    /// The first of `rows` rows whose parent by one of `keys` is not there, and what the server says of that row alone.
    async fn first_orphan(
        &self,
        connection: &Connection,
        staging: &Staging,
        round: &Round<'_>,
        keys: &[SelfReference],
        rows: usize,
        parents: Parents,
    ) -> Result<Option<Refusal>, Error> {
        let mut first = None;
        for key in keys {
            let [rank]: [u64; 1] =
                self.counts(connection, &round.first_orphan_sql(key, rows, parents)).await?;
            let found = usize::try_from(rank).ok().and_then(|rank| rank.checked_sub(1));
            first = first.into_iter().chain(found).min();
        }
        let Some(at) = first else { return Ok(None) };
        let alone = [Savepoint::BOTTOM.roll_back(), IMMEDIATE.to_owned(), Savepoint::ROWS.set()];
        self.run_all(connection, &alone).await?;
        let Err(refusal) = self.try_rows(connection, staging, &round.apply_sql(at..at + 1)).await? else {
            // The key is not what it seems to be, so nothing is known.
            self.run_all(connection, &[Savepoint::BOTTOM.roll_back(), Savepoint::ROWS.set()]).await?;
            return Ok(None);
        };
        Ok(Some((at, refusal)))
    }
}
