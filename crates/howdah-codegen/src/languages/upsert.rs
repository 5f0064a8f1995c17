//! What a TABLE's `:upsert` and `:ignore` run, in every language: the same four texts around one COPY.
//!
//! All of it is in the caller's transaction, below a savepoint, or in a transaction of its own where there is none:
//! 1. [`create`](Staged::create) makes the stage, a temporary table of the session. Only rows of one call are ever in it.
//! 2. [`copy`](Staged::copy) takes the rows as an appender of the table does: binary where every column has a binary codec,
//!    else as text; the same values are refused in the same words. [`place`](Staged::place) is one column more, behind the
//!    others: an int8, the number of the row in the input, from 1. Nothing but the end of the input ends it with CopyDone.
//! 3. [`write`](Staged::write) is the one statement that changes the table; its count of rows is what the method gives.
//! 4. [`drop`](Staged::drop) removes the stage.
//!
//! Whatever fails before the end is followed by a rollback to the savepoint, or of the own transaction. The stage goes with it.

use super::literal::sql_comment;
use crate::model::{Module, Table, UniqueKey};

/// The stage's schema.
pub(crate) const SCHEMA: &str = "pg_temp";
/// The stage. It is a name that nobody else has, so that one for all calls is enough: a session has one call at a time, and
/// none leaves its stage.
pub(crate) const STAGE: &str = "howdah_upsert_5d0f8c2e9a714b36";

/// What becomes of a row whose key is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// It is updated: `:upsert`.
    Update,
    /// Nothing: `:ignore`.
    Nothing,
}

impl Conflict {
    /// What the method's documentation says: what it does, and what it gives.
    pub(crate) fn documentation(self) -> [&'static str; 2] {
        match self {
            Self::Update => [
                "Inserts rows, or updates those whose key is there; of several with one key the last counts.",
                "Gives the number of rows inserted or updated.",
            ],
            Self::Nothing => [
                "Inserts the rows whose key is not there yet; of several with one key the first counts.",
                "Gives the number of rows inserted.",
            ],
        }
    }
}

/// The texts of one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Staged {
    /// What becomes of rows whose key is there, which the method's documentation says.
    pub(crate) conflict: Conflict,
    /// The verb in the method's name: `upsert`, `ignore`.
    pub(crate) verb: &'static str,
    /// Makes the stage.
    pub(crate) create: String,
    /// The COPY up to its format: `COPY … FROM STDIN`.
    pub(crate) copy: String,
    /// The name of the column behind those of the rows.
    pub(crate) place: String,
    /// Writes the table.
    pub(crate) write: String,
    /// Removes the stage.
    pub(crate) drop: String,
}

/// What a table's rows are written by, besides its appender.
pub(crate) fn staged(module: &Module, table: &Table) -> Vec<Staged> {
    let update = table.upsert.iter().map(|key| texts(&module.name, table, key, Conflict::Update));
    update.chain(table.ignore.iter().map(|key| texts(&module.name, table, key, Conflict::Nothing))).collect()
}

fn texts(module: &str, table: &Table, key: &UniqueKey, conflict: Conflict) -> Staged {
    let written = table.columns.iter().filter(|column| column.written).collect::<Vec<_>>();
    let place = place(table);
    let names = written.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
    let target = format!("{}.{}", quoted(&table.schema), quoted(&table.table));
    let (stage, counted) = (format!("{SCHEMA}.{STAGE}"), quoted(&place));
    let keys = key.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    // DISTINCT takes nulls for equal. Where the key does not, a row with one is told apart by its place.
    let alone = format!(", CASE WHEN pg_catalog.num_nulls({keys}) > 0 THEN {counted} END");
    let same = if key.nulls_distinct { keys.clone() + &alone } else { keys.clone() };
    // Two calls at once take the locks of rows in one order, so that none waits for the other one.
    let (order, verb) = match conflict {
        Conflict::Update => (" DESC", "upsert"),
        Conflict::Nothing => ("", "ignore"),
    };
    let set = written.iter().filter(|column| !column.always && !key.columns.contains(&column.name));
    let set = set.map(|column| format!("{0} = EXCLUDED.{0}", quoted(&column.name))).collect::<Vec<_>>();
    let action = if conflict == Conflict::Nothing || set.is_empty() {
        "NOTHING".to_owned()
    } else {
        format!("UPDATE SET {}", set.join(", "))
    };
    let always = written.iter().any(|column| column.always);
    let overriding = if always { " OVERRIDING SYSTEM VALUE" } else { "" };
    Staged {
        conflict,
        verb,
        create: format!(
            "CREATE TEMPORARY TABLE {stage} ON COMMIT DROP AS\n\
             SELECT {names}, 0::pg_catalog.int8 AS {counted} FROM {target} WITH NO DATA"
        ),
        copy: format!("COPY {stage} ({names}, {counted}) FROM STDIN"),
        write: format!(
            "/* {}.{verb}_{} */ INSERT INTO {target} ({names}){overriding}\n\
             SELECT DISTINCT ON ({same}) {names} FROM {stage} ORDER BY {same}, {counted}{order}\n\
             ON CONFLICT ({keys}) DO {action}",
            sql_comment(module),
            sql_comment(&table.name)
        ),
        drop: format!("DROP TABLE {stage}"),
        place,
    }
}

/// A name that no column of the table has.
fn place(table: &Table) -> String {
    let mut name = "place".to_owned();
    while table.columns.iter().any(|column| column.name == name) {
        name.push('_');
    }
    name
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::{Staged, staged};
    use crate::model::{Module, Table, TableColumn, TypeName, TypeRef, UniqueKey};

    fn table(columns: &[&str], key: UniqueKey) -> Table {
        let name = TypeName { schema: "pg_catalog".into(), name: "int4".into() };
        let ty = TypeRef { name, array: false, sql: "integer".into(), custom: None };
        let column = |name: &&str| TableColumn {
            name: (*name).to_owned(),
            ty: ty.clone(),
            domain: None,
            nullable: true,
            written: !name.starts_with('-'),
            always: name.starts_with('!'),
        };
        Table {
            name: "t".into(),
            schema: "s".into(),
            table: "t\"".into(),
            documentation: Vec::new(),
            file: "a.sql".into(),
            line: 7,
            appender: false,
            upsert: Some(key.clone()),
            ignore: Some(key),
            writer: false,
            columns: columns.iter().map(column).collect(),
        }
    }

    fn module(tables: Vec<Table>) -> Module {
        let (files, statements, migrations) = (Vec::new(), Vec::new(), Vec::new());
        Module { name: "m".into(), files, statements, tables, migrations }
    }

    fn texts(columns: &[&str], key: UniqueKey) -> [Staged; 2] {
        let staged = staged(&module(Vec::new()), &table(columns, key));
        staged.try_into().expect("two methods")
    }

    fn key(columns: &[&str], nulls_distinct: bool) -> UniqueKey {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        UniqueKey { name: "k".into(), columns, nulls_distinct }
    }

    #[test]
    fn a_stage_takes_rows_with_their_place_and_the_last_or_the_first_of_a_key_counts() {
        let [upsert, ignore] = texts(&["a", "-b", "place", "!c"], key(&["a"], false));
        assert_eq!(
            upsert.create,
            "CREATE TEMPORARY TABLE pg_temp.howdah_upsert_5d0f8c2e9a714b36 ON COMMIT DROP AS\n\
             SELECT \"a\", \"place\", \"!c\", 0::pg_catalog.int8 AS \"place_\" FROM \"s\".\"t\"\"\" WITH NO DATA"
        );
        assert_eq!(
            upsert.copy,
            "COPY pg_temp.howdah_upsert_5d0f8c2e9a714b36 (\"a\", \"place\", \"!c\", \"place_\") FROM STDIN"
        );
        let select = "INSERT INTO \"s\".\"t\"\"\" (\"a\", \"place\", \"!c\") OVERRIDING SYSTEM VALUE\nSELECT \
                      DISTINCT ON (\"a\") \"a\", \"place\", \"!c\" FROM pg_temp.howdah_upsert_5d0f8c2e9a714b36 \
                      ORDER BY \"a\", \"place_\"";
        let select = |verb: &str| format!("/* m.{verb}_t */ {select}");
        let set = "UPDATE SET \"place\" = EXCLUDED.\"place\"";
        assert_eq!(upsert.write, select("upsert") + " DESC\nON CONFLICT (\"a\") DO " + set);
        assert_eq!(ignore.write, select("ignore") + "\nON CONFLICT (\"a\") DO NOTHING");
        assert_eq!(upsert.drop, "DROP TABLE pg_temp.howdah_upsert_5d0f8c2e9a714b36");
    }

    #[test]
    fn rows_of_keys_only_update_nothing_and_those_with_nulls_stay_apart() {
        let [upsert, _] = texts(&["a", "b"], key(&["b", "a"], true));
        let same = "\"b\", \"a\", CASE WHEN pg_catalog.num_nulls(\"b\", \"a\") > 0 THEN \"place\" END";
        assert!(
            upsert.write.contains(&format!("DISTINCT ON ({same}) \"a\", \"b\" FROM")),
            "{}",
            upsert.write
        );
        assert!(upsert.write.contains(&format!("ORDER BY {same}, \"place\" DESC\n")), "{}", upsert.write);
        assert!(upsert.write.ends_with("ON CONFLICT (\"b\", \"a\") DO NOTHING"), "{}", upsert.write);
    }
}
