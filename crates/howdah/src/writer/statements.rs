//! The SQL by which a writer's rows reach the table.

use tokio_postgres::types::Type;

use super::ledger::{Ledger, Note};
use super::options::{OnConflict, WriterOptions};
use crate::catalog::name::quote;
use crate::catalog::table::Table;
use crate::connect::Connection;
use crate::error::Error;
use crate::message::setting;
use crate::options::ColumnNames;
use crate::plan::columns::find_column;
use crate::publish::load_id::LoadId;
use crate::publish::staged::{Key, Search};
use crate::rows::RowShape;

/// All of them, as text; a connection prepares what it uses.
pub(super) struct Statements {
    pub(super) copy: String,
    /// What [`Statements::copy`] is called where it is prepared: no other writer's is called so, should a pooler lend a session to
    /// several.
    pub(super) copy_name: String,
    /// One row of parameters.
    pub(super) one: String,
    /// The same with the part behind them, which is noted in the ledger: a transaction of its own.
    pub(super) one_and_part: Option<String>,
    /// One array a column.
    pub(super) unnest: String,
    /// The same with the part behind them: a transaction of its own, too.
    pub(super) unnest_and_part: Option<String>,
    /// Whether [`Statements::unnest`] can carry every column: arrays of arrays do not exist, unless they travel as
    /// literals.
    pub(super) can_unnest: bool,
    /// What an array is made of.
    pub(super) elements: Vec<Element>,
    pub(super) note: Option<Note>,
    /// A row's number stands behind the values that come back; otherwise they come in the order of the rows.
    pub(super) is_numbered: bool,
}

/// One column of [`Statements::unnest`].
pub(super) struct Element {
    /// The type without its modifier: that is applied where the value is assigned, as COPY does, and not in a cast, which
    /// cuts silently.
    type_name: String,
    pub(super) delimiter: u8,
    /// The column's type is an array itself.
    is_array: bool,
}

impl Element {
    /// Its values travel as literals.
    pub(super) fn is_literal(&self) -> bool {
        self.is_array
    }
}

impl Statements {
    /// Looks up what is missing and writes them.
    ///
    /// # Errors
    /// There is no key for `on_conflict`; a column to return does not exist.
    pub(super) async fn new(
        connection: &Connection,
        table: &Table,
        shape: &RowShape,
        options: &WriterOptions,
        ledger: Option<&Ledger>,
    ) -> Result<Statements, Error> {
        let elements = elements(connection, table, shape).await?;
        let names: Vec<String> = shape.columns().iter().map(|column| quote(&column.name)).collect();
        let (relation, list) = (table.sql(), names.join(", "));
        let into = format!("INSERT INTO {relation} ({list}) OVERRIDING SYSTEM VALUE");
        let parameter = |(at, element): (usize, &Element)| match options.needs_statements() {
            true if element.is_literal() => {
                format!("CAST(${}::pg_catalog.text AS {})", at + 1, element.type_name)
            }
            _ => format!("${}", at + 1),
        };
        let parameters: Vec<String> = elements.iter().enumerate().map(parameter).collect();
        let returning = returning(table, options)?;
        let values = format!("{into} VALUES ({})", parameters.join(", "));
        let note = ledger.map(Ledger::note);
        let part = format!("${}", names.len() + 1);
        let noted = note.as_ref().map(|note| format!("WITH part AS ({})", note.sql(part)));
        let back = match returning.as_slice() {
            [] => String::new(),
            columns => format!(" RETURNING {}", columns.join(", ")),
        };
        let (unnest, is_numbered) = match options.on_conflict {
            None => {
                let rows = rows_sql(&elements, &names);
                let n = number(&names);
                (format!("{into} SELECT {list} FROM ({rows}) AS s ORDER BY {n}{back}"), false)
            }
            Some(action) => {
                let search = Search {
                    named: &options.conflict_key,
                    option: setting::CONFLICT_KEY,
                    purpose: setting::ON_CONFLICT.into(),
                    lacking: None,
                    conflicts: true,
                };
                let written = |name: &str| shape.columns().iter().any(|column| column.name == name);
                let key = Key::search(connection, table, &search, &written).await?;
                let rows = rows_sql(&elements, &names);
                (conflict_sql(&into, &list, &names, &rows, &key, action, &returning), !returning.is_empty())
            }
        };
        let can_unnest = options.needs_statements() || !elements.iter().any(Element::is_literal);
        Ok(Statements {
            copy_name: format!("howdah_copy_{}", LoadId::new()),
            copy: format!("COPY {relation} ({list}) FROM STDIN (FORMAT binary)"),
            one: format!("{values}{back}"),
            one_and_part: noted.as_ref().map(|noted| format!("{noted} {values}{back}")),
            unnest_and_part: noted.map(|noted| match unnest.strip_prefix("WITH ") {
                Some(rest) => format!("{noted}, {rest}"),
                None => format!("{noted} {unnest}"),
            }),
            unnest,
            can_unnest,
            elements,
            note,
            is_numbered,
        })
    }
}

/// The rows as a query: a column each, and their number. In a select list composite elements stay whole.
fn rows_sql(elements: &[Element], names: &[String]) -> String {
    let mut columns = Vec::with_capacity(elements.len() + 1);
    for (at, (Element { type_name, is_array, .. }, name)) in elements.iter().zip(names).enumerate() {
        let n = at + 1;
        columns.push(if *is_array {
            format!("CAST(pg_catalog.unnest(${n}::pg_catalog.text[]) AS {type_name}) AS {name}")
        } else {
            format!("pg_catalog.unnest(${n}::{type_name}[]) AS {name}")
        });
    }
    let first = if elements.first().is_some_and(|element| element.is_array) {
        "$1::pg_catalog.text[]".to_owned()
    } else {
        format!("$1::{}[]", elements.first().map_or("pg_catalog.text", |element| &element.type_name))
    };
    columns.push(format!("pg_catalog.generate_subscripts({first}, 1) AS {}", number(names)));
    format!("SELECT {}", columns.join(", "))
}

/// A name for the rows' numbers that no column has.
fn number(names: &[String]) -> String {
    let mut name = "n".to_owned();
    while names.contains(&quote(&name)) {
        name.push('_');
    }
    quote(&name)
}

/// Rows of which the last one of each key counts, in the order of the key, so that writers that meet do not deadlock.
fn conflict_sql(
    into: &str,
    list: &str,
    names: &[String],
    rows: &str,
    key: &Key,
    action: OnConflict,
    returning: &[String],
) -> String {
    let n = number(names);
    let distinction = key.distinction(&n);
    let keys = key.list("");
    let action = match action {
        OnConflict::Ignore => "NOTHING".to_owned(),
        OnConflict::Update => {
            let is_key = |name: &&String| key.columns.iter().any(|column| quote(column) == **name);
            let set: Vec<String> = names
                .iter()
                .filter(|name| !is_key(name))
                .map(|name| format!("{name} = excluded.{name}"))
                .collect();
            if set.is_empty() { "NOTHING".to_owned() } else { format!("UPDATE SET {}", set.join(", ")) }
        }
    };
    let last = format!("SELECT DISTINCT ON ({distinction}) {list} FROM s ORDER BY {distinction}, {n} DESC");
    let insert =
        format!("{into} SELECT {list} FROM ({last}) AS s ORDER BY {keys} ON CONFLICT ({keys}) DO {action}");
    if returning.is_empty() {
        return format!("WITH s AS ({rows}) {insert}");
    }
    // A row whose key has a NULL met nothing and equals nothing: it has no values to bring back.
    let (mut keys_back, mut same) = (Vec::new(), Vec::new());
    for (at, name) in key.columns.iter().enumerate() {
        keys_back.push(format!("{} AS howdah_key_{at}", quote(name)));
        same.push(format!("i.howdah_key_{at} = s.{}", quote(name)));
    }
    let (mut values, mut wanted) = (Vec::new(), Vec::new());
    for (at, name) in returning.iter().enumerate() {
        values.push(format!("{name} AS howdah_value_{at}"));
        wanted.push(format!("i.howdah_value_{at} AS {name}"));
    }
    format!(
        "WITH s AS MATERIALIZED ({rows}), i AS ({insert} RETURNING {}, {}) \
         SELECT {}, s.{n}::pg_catalog.int4 FROM s JOIN i ON {}",
        keys_back.join(", "),
        values.join(", "),
        wanted.join(", "),
        same.join(" AND ")
    )
}

fn returning(table: &Table, options: &WriterOptions) -> Result<Vec<String>, Error> {
    let mut columns = Vec::with_capacity(options.returning.len());
    for name in &options.returning {
        let column = find_column(table, name, ColumnNames::Keep).ok_or_else(|| {
            Error::usage(format!("returning names {name:?}, which {} does not have", table.display()))
        })?;
        columns.push(quote(&column.name));
    }
    Ok(columns)
}

async fn elements(connection: &Connection, table: &Table, shape: &RowShape) -> Result<Vec<Element>, Error> {
    let names: Vec<&str> = shape.columns().iter().map(|column| column.name.as_str()).collect();
    let rows = connection
        .client()
        .query_typed(
            "select pg_catalog.format_type(t.oid, -1), t.typdelim::text,
                    t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc
               from pg_catalog.unnest($2) with ordinality as wanted(name, n)
               join pg_catalog.pg_attribute a on a.attrelid = $1 and a.attname = wanted.name
               join pg_catalog.pg_type t on t.oid = a.atttypid
              order by n",
            &[(&table.oid, Type::OID), (&names, Type::TEXT_ARRAY)],
        )
        .await?;
    let element = |row: &tokio_postgres::Row| Element {
        type_name: row.get(0),
        delimiter: row.get::<_, String>(1).bytes().next().unwrap_or(b','),
        is_array: row.get(2),
    };
    Ok(rows.iter().map(element).collect())
}
