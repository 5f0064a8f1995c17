//! The key by which rows of the input find their rows in the table: as asked, or as the catalog says.

use howdah_connect::Connection;
use howdah_message::{Message, Setting, setting};
use tokio_postgres::types::Type;

use crate::catalog::name::{display, quote};
use crate::catalog::table::{RelationKind, Table};
use crate::error::Error;
use crate::options::{ColumnNames, LoadOptions, Mode};
use crate::plan::columns::find_column;
use crate::plan::mapping::Mapping;

/// Columns of the table that are all in the input.
pub(crate) struct MatchKey {
    /// In the order of their index, else of the table: the same for every load, however the key was named.
    pub(crate) columns: Vec<String>,
    /// Two rows with a NULL in the key can both be there.
    nulls_differ: bool,
}

/// What a key is looked for by.
pub(crate) struct Search<'a> {
    /// The columns that somebody named; none: the key that goes without saying.
    pub(crate) named: &'a [String],
    /// How the user says that, and what for.
    pub(crate) option: Setting,
    pub(crate) purpose: Message,
    /// What to do where the input lacks a column of the key.
    pub(crate) lacking: Option<Message>,
    /// ON CONFLICT goes by it.
    pub(crate) conflicts: bool,
}

/// A plain unique index: no expressions, no condition.
struct Unique {
    name: String,
    columns: Vec<String>,
    is_primary: bool,
    is_deferrable: bool,
    nulls_differ: bool,
}

impl MatchKey {
    /// The key of `options`, else the primary key, else the only plain unique index.
    ///
    /// # Errors
    /// As [`MatchKey::search`].
    pub(crate) async fn find(
        connection: &Connection,
        table: &Table,
        options: &LoadOptions,
        mapping: &Mapping,
    ) -> Result<MatchKey, Error> {
        let search = Search {
            named: &options.target.key,
            option: setting::KEY,
            purpose: message![setting::MODE.word(options.target.mode.name())],
            lacking: Some(message![
                setting::KEY,
                " names another key; ",
                setting::MAP.entry("NAME", "COLUMN"),
                " renames a column of the input"
            ]),
            conflicts: matches!(options.target.mode, Mode::Upsert | Mode::Ignore),
        };
        let loaded = |name: &str| mapping.pairs.iter().any(|pair| pair.target == name);
        MatchKey::search(connection, table, &search, &loaded).await
    }

    /// The key that is named, else the primary key, else the only plain unique index. All its columns must be `loaded`.
    ///
    /// # Errors
    /// A usage error that says which keys there are, or how to make one.
    pub(crate) async fn search(
        connection: &Connection,
        table: &Table,
        search: &Search<'_>,
        loaded: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<MatchKey, Error> {
        let conflicts = search.conflicts;
        if conflicts && !matches!(table.kind, RelationKind::Table | RelationKind::Partitioned) {
            return Err(Error::usage(message![
                table.display(),
                " is not a table: ",
                &search.purpose,
                " needs one with a unique index"
            ]));
        }
        let mut indexes = unique_indexes(connection, table).await?;
        let asked = asked(table, search)?;
        let found = match &asked {
            Some(columns) => {
                let is_it = |index: &Unique| {
                    index.columns.len() == columns.len()
                        && columns.iter().all(|name| index.columns.contains(name))
                };
                indexes.retain(is_it);
                // One that can be used, if there is one.
                indexes.sort_by_key(|index| index.is_deferrable);
                indexes.into_iter().next()
            }
            None => Some(only(table, search, indexes, loaded)?),
        };
        if conflicts {
            check_arbiter(table, search, found.as_ref(), asked.as_deref().unwrap_or_default())?;
        }
        let key = match found {
            Some(index) => {
                MatchKey { nulls_differ: index.nulls_differ || !conflicts, columns: index.columns }
            }
            None => MatchKey { columns: asked.unwrap_or_default(), nulls_differ: true },
        };
        let missing: Vec<String> =
            key.columns.iter().filter(|name| !loaded(name)).map(|name| display(name)).collect();
        if !missing.is_empty() {
            let error = format!("the input lacks the key: {} is not in it", missing.join(", "));
            let error = Error::usage(error);
            return Err(match &search.lacking {
                Some(hint) => error.with_hint(hint.clone()),
                None => error,
            });
        }
        let nullable =
            |name: &String| table.columns.iter().any(|column| column.name == *name && !column.not_null);
        let nulls_differ = key.nulls_differ && (!conflicts || key.columns.iter().any(nullable));
        Ok(MatchKey { nulls_differ, ..key })
    }

    /// What makes two rows rows of one key; `ordinal` is their number. A NULL equals nothing, not even another NULL, so there
    /// each row is its own.
    pub(crate) fn distinction(&self, ordinal: &str) -> String {
        let list = self.list("");
        if !self.nulls_differ {
            return list;
        }
        let nulls: Vec<String> = self.columns.iter().map(|name| format!("{} IS NULL", quote(name))).collect();
        format!("{list}, CASE WHEN {} THEN {ordinal} END", nulls.join(" OR "))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    /// The columns, each behind `prefix`.
    pub(crate) fn list(&self, prefix: &str) -> String {
        let names: Vec<String> = self.columns.iter().map(|name| format!("{prefix}{}", quote(name))).collect();
        names.join(", ")
    }

    /// That a row `t` of the table has the key of a row `s` of the input.
    pub(crate) fn equal(&self) -> String {
        let equal: Vec<String> =
            self.columns.iter().map(|name| format!("t.{0} = s.{0}", quote(name))).collect();
        equal.join(" AND ")
    }

    pub(crate) fn display(&self) -> String {
        self.columns.iter().map(|name| display(name)).collect::<Vec<_>>().join(", ")
    }
}

/// The named key as columns of the table, in the table's order.
fn asked(table: &Table, search: &Search<'_>) -> Result<Option<Vec<String>>, Error> {
    if search.named.is_empty() {
        return Ok(None);
    }
    let mut names = Vec::new();
    for name in search.named {
        let Some(column) = find_column(table, name, ColumnNames::Keep) else {
            let table = table.display();
            return Err(Error::usage(message![
                search.option,
                " names {name:?}, which {table} does not have"
            ]));
        };
        names.push(column.name.clone());
    }
    let in_order = table.columns.iter().map(|column| &column.name).filter(|name| names.contains(name));
    Ok(Some(in_order.cloned().collect()))
}

/// The key that goes without saying.
fn only(
    table: &Table,
    search: &Search<'_>,
    indexes: Vec<Unique>,
    loaded: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Unique, Error> {
    let several = indexes.len() > 1 && !indexes.iter().any(|index| index.is_primary);
    let listed: Vec<String> = indexes.iter().map(Unique::display).collect();
    // A key that can be typed as it is shown, though it may not be the one that is meant.
    let first = table.columns.iter().map(|column| &column.name).find(|name| loaded(name));
    let example: Vec<&str> = match indexes.first() {
        Some(index) => index.columns.iter().map(String::as_str).collect(),
        None => first.map(String::as_str).into_iter().collect(),
    };
    let key = example.iter().map(|name| display(name)).collect::<Vec<_>>().join(", ");
    let option = search.option.texts(&example);
    let hint = message![option.clone(), " says by which columns rows are matched"];
    // A primary key comes first.
    match indexes.into_iter().next() {
        Some(index) if !several => Ok(index),
        // Naming the columns would only bring the next refusal.
        None if search.conflicts => Err(Error::usage(message![
            table.display(),
            " has no primary key and no plain unique index, and ",
            &search.purpose,
            " goes by one"
        ])
        .with_hint(message![
            "ALTER TABLE ",
            table.display(),
            format!(" ADD PRIMARY KEY ({key}), with the columns that tell rows apart, makes one; where there are several, "),
            option,
            " says which"
        ])),
        None => {
            Err(Error::usage(format!("{} has no primary key and no plain unique index", table.display()))
                .with_hint(hint))
        }
        Some(_) => {
            Err(Error::usage(format!("{} has no primary key and several unique indexes", table.display()))
                .with_detail(listed.join("; "))
                .with_hint(hint))
        }
    }
}

/// ON CONFLICT works by an index that refuses at once.
fn check_arbiter(
    table: &Table,
    search: &Search<'_>,
    found: Option<&Unique>,
    asked: &[String],
) -> Result<(), Error> {
    let columns: Vec<String> = asked.iter().map(|name| display(name)).collect();
    let columns = columns.join(", ");
    match found {
        Some(index) if index.is_deferrable => Err(Error::usage(message![
            index.display(),
            " is deferrable: ",
            &search.purpose,
            " cannot go by it"
        ])
        .with_hint(message!["make the constraint NOT DEFERRABLE, or name another ", search.option])),
        Some(_) => Ok(()),
        None => Err(Error::usage(message![
            &search.purpose,
            " needs a unique index on exactly {columns}, and ",
            table.display(),
            " has none"
        ])
        .with_hint(format!("CREATE UNIQUE INDEX ON {} ({columns})", table.display()))),
    }
}

impl Unique {
    fn display(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| display(name)).collect();
        format!("{} ({})", display(&self.name), columns.join(", "))
    }
}

/// The plain unique indexes of the table, a primary key first.
async fn unique_indexes(connection: &Connection, table: &Table) -> Result<Vec<Unique>, Error> {
    let rows = connection
        .client()
        .query_typed(
            "select c.relname::text, i.indisprimary, not i.indimmediate, not i.indnullsnotdistinct,
                    array(select a.attname::text
                            from pg_catalog.unnest(i.indkey::int2[]) with ordinality as k(attnum, n)
                            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
                           where k.n <= i.indnkeyatts order by k.n)
               from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
              where i.indrelid = $1 and i.indisunique and i.indisvalid and not i.indisexclusion
                and i.indpred is null and i.indexprs is null
              order by i.indisprimary desc, c.relname",
            &[(&table.oid, Type::OID)],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| Unique {
            name: row.get(0),
            is_primary: row.get(1),
            is_deferrable: row.get(2),
            nulls_differ: row.get(3),
            columns: row.get(4),
        })
        .collect())
}
