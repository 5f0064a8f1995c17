//! The SQL by which a writer's rows reach the table.

use std::sync::atomic::{AtomicBool, Ordering};

use howdah_connect::Connection;
use howdah_message::setting;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::ledger::{Ledger, Note};
use super::options::{OnConflict, WriterOptions};
use crate::catalog::load_id::LoadId;
use crate::catalog::name::quote;
use crate::catalog::table::Table;
use crate::error::Error;
use crate::options::ColumnNames;
use crate::plan::columns::find_column;
use crate::plan::match_key::{MatchKey, Search};
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
    pub(super) elements: Vec<UnnestColumn>,
    pub(super) note: Option<Note>,
    /// A row's number stands behind the values that come back; otherwise they come in the order of the rows.
    is_numbered: bool,
    /// What comes back of several rows in one statement cannot be told apart: something drops rows.
    drops_rows: AtomicBool,
    /// How many values of a row come back.
    pub(super) returning: usize,
    /// The columns of the key, where rows may meet others.
    pub(super) key: Vec<String>,
}

/// One column of [`Statements::unnest`].
pub(super) struct UnnestColumn {
    /// The type without its modifier: that is applied where the value is assigned, as COPY does, and not in a cast, which
    /// cuts silently.
    type_name: String,
    pub(super) delimiter: u8,
    /// The column's type is an array itself.
    is_array: bool,
    /// There are arrays of the type, or it is one.
    has_arrays: bool,
}

impl UnnestColumn {
    /// Its values travel as literals.
    pub(super) fn is_literal(&self) -> bool {
        self.is_array
    }
}

impl Statements {
    /// What [`Statements::unnest`] returned for so many rows, by their numbers.
    ///
    /// Without a number a row is known by its place alone. Where a trigger has dropped rows, places say nothing: then no row
    /// has values, rather than those of another.
    pub(super) fn numbered(&self, found: Vec<Row>, rows: usize) -> Vec<(usize, Row)> {
        if self.is_numbered {
            let number = |row: &Row| usize::try_from(row.get::<_, i32>(row.len() - 1)).unwrap_or(1) - 1;
            return found.into_iter().map(|row| (number(&row), row)).collect();
        }
        if found.len() == rows {
            return found.into_iter().enumerate().collect();
        }
        self.drops_rows.store(true, Ordering::Relaxed);
        Vec::new()
    }

    /// Whether each row needs a statement of its own, so that what comes back is known to be its own.
    pub(super) fn returns_by_row(&self) -> bool {
        self.returning > 0 && self.drops_rows.load(Ordering::Relaxed)
    }

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
        let parameter = |(at, element): (usize, &UnnestColumn)| match options.needs_statements() {
            true if element.is_literal() => {
                format!("CAST(${}::pg_catalog.text AS {})", at + 1, element.type_name)
            }
            _ => format!("${}", at + 1),
        };
        let parameters: Vec<String> = elements.iter().enumerate().map(parameter).collect();
        let returning = returning(table, options)?;
        let guard = guard(&relation, &elements, &names);
        let guarded = guard.as_ref().map(|guard| format!("guard AS (SELECT 1 WHERE {guard})"));
        let values = format!("{into} VALUES ({})", parameters.join(", "));
        let note = ledger.map(Ledger::note);
        let part = format!("${}", names.len() + 1);
        let noted = note.as_ref().map(|note| format!("part AS ({})", note.sql(part)));
        let back = match returning.as_slice() {
            [] => String::new(),
            columns => format!(" RETURNING {}", columns.join(", ")),
        };
        let (unnest, is_numbered, key) = match options.on_conflict {
            None => {
                let rows = rows_sql(&elements, &names);
                let n = number(&names);
                (format!("{into} SELECT {list} FROM ({rows}) AS s ORDER BY {n}{back}"), false, Vec::new())
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
                let key = MatchKey::search(connection, table, &search, &written).await?;
                let rows = rows_sql(&elements, &names);
                let update = match action {
                    OnConflict::Ignore => None,
                    OnConflict::Update => {
                        update_sql(connection, table, &names, &key, !returning.is_empty()).await?
                    }
                };
                let sql =
                    conflict_sql(&into, &list, &rows, &number(&names), &key, update.as_deref(), &returning);
                (sql, !returning.is_empty(), key.columns)
            }
        };
        // Beside it may stand a part of the ledger; what begins with WITH goes on with a comma.
        let whole = |before: Option<&String>, statement: &str| {
            let before: Vec<&str> = before.into_iter().chain(&guarded).map(String::as_str).collect();
            match (before.is_empty(), statement.strip_prefix("WITH ")) {
                (true, _) => statement.to_owned(),
                (false, Some(rest)) => format!("WITH {}, {rest}", before.join(", ")),
                (false, None) => format!("WITH {} {statement}", before.join(", ")),
            }
        };
        let one = format!("{values}{back}");
        let can_unnest = options.needs_statements() || !elements.iter().any(UnnestColumn::is_literal);
        Ok(Statements {
            copy_name: format!("howdah_copy_{}", LoadId::new()),
            copy: match &guard {
                Some(guard) => format!("COPY {relation} ({list}) FROM STDIN (FORMAT binary) WHERE {guard}"),
                None => format!("COPY {relation} ({list}) FROM STDIN (FORMAT binary)"),
            },
            one: whole(None, &one),
            one_and_part: noted.as_ref().map(|noted| whole(Some(noted), &one)),
            unnest: whole(None, &unnest),
            unnest_and_part: noted.as_ref().map(|noted| whole(Some(noted), &unnest)),
            can_unnest,
            elements,
            note,
            is_numbered,
            drops_rows: AtomicBool::new(
                !returning.is_empty() && may_drop_rows(connection, table, options.on_conflict).await?,
            ),
            returning: returning.len(),
            key,
        })
    }
}

/// A condition that is true, and that the server cannot even read once a column has another type than rows are encoded for.
///
/// It is read under the statement's own lock on the table, so that no ALTER TABLE comes between, and costs nothing: the planner
/// finds that it is true. It needs no right to read the table. Of elements of arrays and of fields of composite types the
/// binary format itself names the types.
fn guard(relation: &str, elements: &[UnnestColumn], names: &[String]) -> Option<String> {
    let same = |(element, name): (&UnnestColumn, &String)| {
        let of = if element.is_array { "" } else { "[]" };
        format!("ARRAY[(NULL::{relation}).{name}] OPERATOR(pg_catalog.<@) '{{}}'::{}{of}", element.type_name)
    };
    let columns = elements.iter().zip(names).filter(|(element, _)| element.has_arrays);
    let same: Vec<String> = columns.map(same).collect();
    (!same.is_empty()).then(|| format!("true OR ({})", same.join(" AND ")))
}

/// Whether a trigger or a rule may drop rows of the table or one of its partitions.
pub(super) async fn may_drop_rows(
    connection: &Connection,
    table: &Table,
    on_conflict: Option<OnConflict>,
) -> Result<bool, Error> {
    // Bits of tgtype: 1 is FOR EACH ROW, 2 BEFORE, 4 INSERT, 16 UPDATE, 64 INSTEAD OF. ev_type 3 is INSERT.
    let events: i32 = if on_conflict == Some(OnConflict::Update) { 4 | 16 } else { 4 };
    let sql = "with recursive own(oid) as (
                   select $1 union select i.inhrelid from pg_catalog.pg_inherits i join own on own.oid = i.inhparent)
               select exists (select from own join pg_catalog.pg_trigger t on t.tgrelid = own.oid
                               where t.tgtype & 1 = 1 and t.tgtype & $2 <> 0 and t.tgtype & 66 <> 0)
                   or exists (select from own join pg_catalog.pg_rewrite r on r.ev_class = own.oid where r.ev_type = '3')";
    let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&table.oid, Type::OID), (&events, Type::INT4)];
    let rows = connection.client().query_typed(sql, &parameters).await?;
    Ok(rows.first().is_some_and(|row| row.get(0)))
}

/// The rows as a query: a column each, and their number. In a select list composite elements stay whole.
fn rows_sql(elements: &[UnnestColumn], names: &[String]) -> String {
    let mut columns = Vec::with_capacity(elements.len() + 1);
    for (at, (UnnestColumn { type_name, is_array, .. }, name)) in elements.iter().zip(names).enumerate() {
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

/// What an update of a row of that key sets; `None`: nothing is left to be set.
///
/// Where the rows are nothing but keys, and values are to come back, a column of the key is set to what it is: a row that is
/// left alone brings no values back.
async fn update_sql(
    connection: &Connection,
    table: &Table,
    names: &[String],
    key: &MatchKey,
    returns: bool,
) -> Result<Option<String>, Error> {
    let is_key = |name: &&String| key.columns.iter().any(|column| quote(column) == **name);
    let set: Vec<String> =
        names.iter().filter(|name| !is_key(name)).map(|name| format!("{name} = excluded.{name}")).collect();
    if !set.is_empty() || !returns {
        return Ok((!set.is_empty()).then(|| set.join(", ")));
    }
    // GENERATED ALWAYS AS IDENTITY cannot be set, not even to what it is.
    let sql = "select attname::text from pg_catalog.pg_attribute
                where attrelid = $1 and attname = any ($2) and attidentity <> 'a' order by attnum limit 1";
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&table.oid, Type::OID), (&key.columns, Type::TEXT_ARRAY)];
    let rows = connection.client().query_typed(sql, &parameters).await?;
    let unchanged = |row: &Row| {
        let name = quote(row.get(0));
        format!("{name} = {}.{name}", quote(&table.name))
    };
    Ok(rows.first().map(unchanged))
}

/// Rows of which the last one of each key counts, in the order of the key, so that writers that meet do not deadlock.
fn conflict_sql(
    into: &str,
    list: &str,
    rows: &str,
    n: &str,
    key: &MatchKey,
    update: Option<&str>,
    returning: &[String],
) -> String {
    let distinction = key.distinction(n);
    let keys = key.list("");
    let action = update.map_or_else(|| "NOTHING".to_owned(), |set| format!("UPDATE SET {set}"));
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

async fn elements(
    connection: &Connection,
    table: &Table,
    shape: &RowShape,
) -> Result<Vec<UnnestColumn>, Error> {
    let names: Vec<&str> = shape.columns().iter().map(|column| column.name.as_str()).collect();
    let rows = connection
        .client()
        .query_typed(
            "select pg_catalog.format_type(t.oid, -1), t.typdelim::text,
                    t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc,
                    t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc
                        or t.typarray <> 0 and t.typname not in ('int2vector', 'oidvector')
               from pg_catalog.unnest($2) with ordinality as wanted(name, n)
               join pg_catalog.pg_attribute a on a.attrelid = $1 and a.attname = wanted.name
               join pg_catalog.pg_type t on t.oid = a.atttypid
              order by n",
            &[(&table.oid, Type::OID), (&names, Type::TEXT_ARRAY)],
        )
        .await?;
    let element = |row: &Row| UnnestColumn {
        type_name: row.get(0),
        delimiter: row.get::<_, String>(1).bytes().next().unwrap_or(b','),
        is_array: row.get(2),
        has_arrays: row.get(3),
    };
    Ok(rows.iter().map(element).collect())
}
