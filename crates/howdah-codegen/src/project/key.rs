//! By what rows of a TABLE are the same: the index that `:upsert` or `:ignore` means, or why there is none.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::server_error::ServerError;
use crate::diagnostic::nearest;
use crate::model::{TableColumn, UniqueKey};
use crate::source::Modifier;

/// All indexes of a table. An index's equality is that of DISTINCT if its collation and its operator are those that the
/// column has by itself; of collations it is enough if both are deterministic.
const INDEXES: &str = "
select i.relname::text, x.indisprimary, x.indisunique and not x.indisexclusion, x.indisvalid, x.indimmediate,
       x.indpred is null, x.indexprs is null, x.indnullsnotdistinct, k.names, k.plain
from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid
cross join lateral (
  select coalesce(pg_catalog.array_agg(a.attname::text order by n), '{}') as names, coalesce(pg_catalog.bool_and(
      (x.indcollation[n] = a.attcollation or not exists (select from pg_catalog.pg_collation c
         where c.oid in (x.indcollation[n], a.attcollation) and not c.collisdeterministic))
      and exists (select from pg_catalog.pg_opclass o
        join pg_catalog.pg_amop p on p.amopfamily = o.opcfamily and p.amoplefttype = o.opcintype
          and p.amoprighttype = o.opcintype and p.amopstrategy = 3
        join pg_catalog.pg_opclass d on d.opcdefault and d.opcmethod = o.opcmethod and d.opcintype = o.opcintype
        join pg_catalog.pg_amop q on q.amopfamily = d.opcfamily and q.amoplefttype = d.opcintype
          and q.amoprighttype = d.opcintype and q.amopstrategy = 3
        where o.oid = x.indclass[n] and p.amopopr = q.amopopr)), true) as plain
  from pg_catalog.generate_series(0, x.indnkeyatts - 1) n
  join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[n]) k
where x.indrelid = pg_catalog.to_regclass($1) order by i.relname";

/// An index of a table.
pub(super) struct Index {
    name: String,
    primary: bool,
    unique: bool,
    valid: bool,
    immediate: bool,
    /// It has all rows of the table.
    total: bool,
    /// It has columns only, no expressions.
    columns_only: bool,
    nulls_equal: bool,
    columns: Vec<String>,
    /// It compares as the columns do by themselves.
    plain: bool,
}

/// Reads the indexes of a table.
pub(super) async fn read(client: &Client, full: &str) -> Result<Vec<Index>, ServerError> {
    let rows = client.query_typed(INDEXES, &[(&full, Type::TEXT)]).await?;
    let index = |row: &tokio_postgres::Row| -> Result<Index, tokio_postgres::Error> {
        Ok(Index {
            name: row.try_get(0)?,
            primary: row.try_get(1)?,
            unique: row.try_get(2)?,
            valid: row.try_get(3)?,
            immediate: row.try_get(4)?,
            total: row.try_get(5)?,
            columns_only: row.try_get(6)?,
            nulls_equal: row.try_get(7)?,
            columns: row.try_get(8)?,
            plain: row.try_get(9)?,
        })
    };
    Ok(rows.iter().map(index).collect::<Result<_, _>>()?)
}

/// The key that a modifier means; or what is wrong, and what to do.
pub(super) fn choose(
    indexes: &[Index],
    modifier: &Modifier,
    columns: &[TableColumn],
) -> Result<UniqueKey, (String, String)> {
    let index = match &modifier.value {
        Some(name) => named(indexes, name)?,
        None => own(indexes, &modifier.name)?,
    };
    let written = |name: &String| columns.iter().any(|column| column.written && column.name == *name);
    if let Some(missing) = index.columns.iter().find(|name| !written(name)) {
        let message = format!("rows do not have `{missing}`, a column of the key {}", described(index));
        let others =
            indexes.iter().find(|other| fault(indexes, other).is_none() && other.columns.iter().all(written));
        let help = match others {
            Some(other) => format!("write `:{}={}`, or give it in `:appender(…)`", modifier.name, other.name),
            None => "give it in `:appender(…)`, whose columns are those of rows".to_owned(),
        };
        return Err((message, help));
    }
    let takes_null = |name: &String| columns.iter().any(|column| column.nullable && column.name == *name);
    // The server takes all unique indexes of the same columns for the same key.
    let nulls_equal = alike(indexes, index).any(|other| other.nulls_equal);
    Ok(UniqueKey {
        name: index.name.clone(),
        columns: index.columns.clone(),
        nulls_distinct: !nulls_equal && index.columns.iter().any(takes_null),
    })
}

/// The index of a name.
fn named<'i>(indexes: &'i [Index], name: &str) -> Result<&'i Index, (String, String)> {
    let lower = name.to_lowercase();
    let found = indexes.iter().find(|index| index.name == name);
    let Some(index) = found.or_else(|| indexes.iter().find(|index| index.name == lower)) else {
        let names = indexes.iter().filter(|index| index.unique).map(|index| index.name.as_str());
        let help = match nearest(name, names.clone()) {
            Some(near) => format!("perhaps you meant `{near}`"),
            None => keys_of(indexes, names.collect()),
        };
        return Err((format!("the table has no unique constraint or index `{name}`"), help));
    };
    match fault(indexes, index) {
        None => Ok(index),
        Some(why) => {
            let usable = indexes.iter().filter(|other| fault(indexes, other).is_none());
            let names = usable.map(|other| other.name.as_str()).collect();
            Err((format!("`{}` cannot be the key: {why}", index.name), keys_of(indexes, names)))
        }
    }
}

/// The primary key, or the only unique index.
fn own<'i>(indexes: &'i [Index], modifier: &str) -> Result<&'i Index, (String, String)> {
    if let Some(primary) = indexes.iter().find(|index| index.primary) {
        return match fault(indexes, primary) {
            None => Ok(primary),
            Some(why) => {
                let help = format!("name another key: `:{modifier}=name`");
                Err((format!("the primary key {} cannot be the key: {why}", described(primary)), help))
            }
        };
    }
    let usable = indexes.iter().filter(|index| fault(indexes, index).is_none()).collect::<Vec<_>>();
    match usable.as_slice() {
        [only] => Ok(only),
        [] => {
            let unique = indexes.iter().filter(|index| index.unique);
            let faults =
                unique.filter_map(|index| Some(format!("`{}`: {}", index.name, fault(indexes, index)?)));
            let faults = faults.collect::<Vec<_>>();
            let help = if faults.is_empty() {
                "it takes a primary key or a unique index".to_owned()
            } else {
                faults.join("; ")
            };
            Err(("the table has no key".to_owned(), help))
        }
        several => {
            let list = several.iter().map(|index| described(index)).collect::<Vec<_>>().join(", ");
            let help = several.first().map_or_else(String::new, |index| {
                format!("name one of them, as `:{modifier}={}`", index.name)
            });
            Err((format!("the table has several keys: {list}"), help))
        }
    }
}

/// Why ON CONFLICT cannot take an index, or would not do what is meant.
fn fault(indexes: &[Index], index: &Index) -> Option<&'static str> {
    let rules = [
        (index.unique, "it is not unique"),
        (index.valid, "it is not valid"),
        (index.total, "it is partial"),
        (index.columns_only, "it has expressions"),
        (index.immediate, "it is deferrable"),
        (index.plain, "it compares by another collation or operator than its columns do"),
        (alike(indexes, index).all(|other| other.immediate), "another one of the same columns is deferrable"),
        (
            alike(indexes, index).all(|other| other.plain),
            "another one of the same columns compares otherwise",
        ),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, why)| why)
}

/// The unique indexes that ON CONFLICT takes for the same key: those of the same columns, in any order.
fn alike<'i>(indexes: &'i [Index], index: &'i Index) -> impl Iterator<Item = &'i Index> {
    let same = |one: &Index, other: &Index| one.columns.iter().all(|name| other.columns.contains(name));
    let takes = |other: &&Index| other.unique && other.valid && other.total && other.columns_only;
    indexes.iter().filter(takes).filter(move |other| same(index, other) && same(other, index))
}

/// `users_pkey (id)`.
fn described(index: &Index) -> String {
    format!("{} ({})", index.name, index.columns.join(", "))
}

fn keys_of(indexes: &[Index], names: Vec<&str>) -> String {
    if names.is_empty() {
        return "it has none".to_owned();
    }
    let list = indexes.iter().filter(|index| names.contains(&index.name.as_str())).map(described);
    format!("it has {}", list.collect::<Vec<_>>().join(", "))
}
