//! Types that the user declares (option `types`): what they are is the server's to say; for a table that exists and stays they
//! must be what it has.

use howdah_connect::Connection;
use howdah_encode::SessionRules;
use howdah_message::{Message, setting};
use tokio_postgres::types::Type;

use crate::catalog::name;
use crate::catalog::table::{Column, Table};
use crate::catalog::types::{FIRST_OWN_OID, Types};
use crate::error::{Error, ErrorKind};
use crate::options::LoadOptions;
use crate::plan::mapping::Mapping;

/// The types of a new table's columns that need not be found: those that the user says, and, where they say nothing, those
/// that the caller knows of the fields.
pub(crate) fn of_new_table(options: &LoadOptions, mapping: &Mapping) -> Vec<(String, String)> {
    let mut types = options.columns.types.clone();
    for (field, type_name) in &options.columns.known_types {
        let Some(pair) = mapping.pairs.iter().find(|pair| pair.source == *field) else { continue };
        let target = pair.target.to_lowercase();
        if !options.columns.types.iter().any(|(named, _)| named.to_lowercase() == target) {
            types.push((pair.target.clone(), type_name.clone()));
        }
    }
    types
}

/// What the table is to which types are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The load makes it.
    New,
    /// The load makes another that takes its place.
    Replaced,
    /// It stays.
    Kept,
}

/// Gives the columns of a table the types that `declared` says, and holds those of one that is [kept](Standing::Kept) against
/// it. Returns the columns of a [replaced](Standing::Replaced) one whose types change.
///
/// # Errors
/// A usage error for a column that is not there, a type that does not exist, or one that a table that is kept has otherwise.
pub(crate) async fn apply(
    connection: &Connection,
    table: &mut Table,
    standing: Standing,
    declared: &[(String, String)],
    rules: &SessionRules,
) -> Result<Vec<(String, String)>, Error> {
    let mut changed = Vec::new();
    for (at, (named, type_name)) in declared.iter().enumerate() {
        let Some(position) = position(table, named) else {
            let names: Vec<String> = table.columns.iter().map(|column| name::display(&column.name)).collect();
            return Err(Error::usage(message![
                setting::TYPES,
                " names {named:?}, which is no column of ",
                table.display()
            ])
            .with_detail(format!("columns: {}", names.join(", "))));
        };
        let column = &mut table.columns[position];
        if declared[..at].iter().any(|(earlier, _)| *earlier == *named) {
            return Err(Error::usage(message![setting::TYPES, " names {named:?} twice"]));
        }
        let found = column_of(connection, &column.name, type_name, rules).await?;
        let same = found.column.type_name == column.type_name;
        match standing {
            Standing::New => {
                table.can_refuse_rows |= found.oid >= FIRST_OWN_OID;
                // A key says so before the types are known.
                *column = Column { not_null: column.not_null, ..found.column };
            }
            Standing::Replaced | Standing::Kept if same => {}
            Standing::Replaced => {
                table.can_refuse_rows |= found.oid >= FIRST_OWN_OID;
                changed.push((column.name.clone(), found.column.type_name.clone()));
                let Column { not_null, generated, has_default, is_declared, .. } = *column;
                *column = Column { not_null, generated, has_default, is_declared, ..found.column };
            }
            Standing::Kept => {
                return Err(Error::usage(message![
                    setting::TYPES,
                    format!(
                        " says {} for column {:?}, but it is {}",
                        found.column.type_name, column.name, column.type_name
                    )
                ])
                .with_hint(retype(table, position, &found.column.type_name)));
            }
        }
    }
    Ok(changed)
}

/// What to type so that a column of a table that exists gets another type.
fn retype(table: &Table, position: usize, type_name: &str) -> Message {
    let (table, column) = (table.display(), name::display(&table.columns[position].name));
    message![
        "ALTER TABLE {table} ALTER {column} TYPE {type_name} USING {column}::{type_name} changes the column; ",
        setting::MODE.word("replace"),
        " makes the table anew with the type, and with the rows of this load alone"
    ]
}

/// Exact, then unique without regard to case.
fn position(table: &Table, named: &str) -> Option<usize> {
    let exact = table.columns.iter().position(|column| column.name == named);
    exact.or_else(|| {
        let lower = named.to_lowercase();
        let similar = |column: &Column| column.name.to_lowercase() == lower;
        let first = table.columns.iter().position(similar)?;
        (table.columns.iter().filter(|column| similar(column)).count() == 1).then_some(first)
    })
}

struct DeclaredColumn {
    oid: u32,
    column: Column,
}

/// A column of the type that the server knows under this name.
async fn column_of(
    connection: &Connection,
    column: &str,
    type_name: &str,
    rules: &SessionRules,
) -> Result<DeclaredColumn, Error> {
    let client = connection.client();
    let refused = |error: Error| {
        Error::usage(message![
            setting::TYPES,
            ": {type_name:?} for column {column:?} is no type: ",
            error.message()
        ])
        .with_sqlstate(error.sqlstate().unwrap_or("42704"))
    };
    // The server parses a type and nothing else here, so that what it takes may stand in SQL.
    let known = client
        .query_typed(
            "select t.oid, t.typtype = 'd' from pg_catalog.pg_type t
              where t.oid = pg_catalog.to_regtype($1)::oid and t.typtype <> 'p'",
            &[(&type_name, Type::TEXT)],
        )
        .await
        .map_err(|error| refused(error.into()))?;
    let Some(oid) = known.first().map(|row| row.get::<_, u32>(0)) else {
        return Err(Error::usage(message![
            setting::TYPES,
            ": type {type_name:?} for column {column:?} does not exist"
        ])
        .with_sqlstate("42704")
        .with_hint("as in CREATE TABLE: int, numeric(10,2), timestamptz, myschema.mytype"));
    };
    // A domain has no modifier of its own, and may take no NULL.
    let typmod = match known.first().is_some_and(|row| row.get(1)) {
        true => -1,
        false => {
            let described = client
                .query_typed(&format!("select null::{type_name}"), &[])
                .await
                .map_err(|error| refused(error.into()))?;
            let modifier = described.first().and_then(|row| row.columns().first());
            modifier.filter(|found| found.type_().oid() == oid).map_or(-1, |found| found.type_modifier())
        }
    };
    let names = client
        .query_typed("select pg_catalog.format_type($1, $2)", &[(&oid, Type::OID), (&typmod, Type::INT4)])
        .await?;
    let types = Types::look_up(connection, &[oid], rules).await?;
    let column = Column {
        name: column.to_owned(),
        type_name: names
            .first()
            .map(|row| row.get(0))
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the server did not answer with a type's name"))?,
        shape: types.shape(oid),
        typmod,
        base_type: types.base(oid, typmod),
        not_null: false,
        not_null_domain: types.not_null_domain(oid),
        generated: false,
        has_default: false,
        is_declared: true,
        mostly: None,
    };
    Ok(DeclaredColumn { oid, column })
}
