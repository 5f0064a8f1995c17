//! What a statement takes and gives, as a server says: types, origins, and what can be null.
//!
//! Nothing is executed. A statement is prepared; for what can be null, it becomes the body of a temporary function whose
//! analysed tree is read and which is taken back at once.

mod error;
mod facts;
mod nulls;
mod origins;
mod savepoint;
mod types;

use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{Client, Statement};

pub use error::Error;
pub use types::Types;

use crate::model::{Origin, TypeRef};
use types::Modified;

/// What is asked for a parameter, the statement's `$1` first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its name in the file.
    pub name: String,
    /// The type that it is to have, as SQL writes it. The server finds one where nothing is asked.
    pub ty: Option<String>,
}

/// A statement, as the server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// `$1` first.
    pub parameters: Vec<Parameter>,
    /// Of the result; none for a statement that returns no rows.
    pub columns: Vec<Column>,
}

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The wish's name, or `$1` where there is no wish.
    pub name: String,
    /// The type's OID on this server, for [`Types::read`].
    pub oid: u32,
    /// The type.
    pub ty: TypeRef,
    /// Null makes sense: it is assigned to a column that takes null, or the statement tests it.
    pub nullable: bool,
    /// Why, for people.
    pub because: String,
    /// The only column of a table or view that it is written to or compared with.
    pub origin: Option<Origin>,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type's OID on this server, for [`Types::read`].
    pub oid: u32,
    /// The type.
    pub ty: TypeRef,
    /// The column of a table or view that it shows.
    pub origin: Option<Origin>,
    /// It can be null as far as is known.
    pub nullable: bool,
    /// Why, for people.
    pub because: String,
}

/// Describes `sql`, one statement without values in place of its parameters. It is prepared and never executed. `client` is
/// in a transaction, which is left as it was, after an error too.
///
/// # Errors
/// The server refused the statement or the type of a wish, or could not be asked.
pub async fn describe(client: &Client, sql: &str, wishes: &[Wish]) -> Result<Described, Error> {
    savepoint::asked(client, async || inquire(client, sql, wishes).await).await
}

async fn inquire(client: &Client, sql: &str, wishes: &[Wish]) -> Result<Described, Error> {
    let mut asked = Vec::new();
    for (index, wish) in wishes.iter().enumerate() {
        asked.push(match &wish.ty {
            Some(ty) => named_type(client, ty).await.map_err(|error| error.of_wish(index))?,
            None => Type::UNKNOWN,
        });
    }
    // The server finds a type for every parameter of the unknown one.
    let statement = client.prepare_typed(sql, &asked).await?;
    let types = Types::read_modified(client, &mentioned(&statement)).await?;
    let mut described = Described { parameters: Vec::new(), columns: Vec::new() };
    for (index, ty) in statement.params().iter().enumerate() {
        described.parameters.push(Parameter {
            name: wishes.get(index).map_or_else(|| format!("${}", index + 1), |wish| wish.name.clone()),
            oid: ty.oid(),
            ty: types.modified((ty.oid(), -1))?,
            nullable: false,
            because: String::new(),
            origin: None,
        });
    }
    let written: Vec<&str> = described.parameters.iter().map(|parameter| parameter.ty.sql.as_str()).collect();
    let nulls = nulls::judge(client, sql, &written, statement.columns().len()).await?;
    let given = nulls
        .places
        .into_iter()
        .map(|place| place.and_then(|(table, column)| Some((table, i16::try_from(column).ok()?))));
    let given = given.collect::<Vec<Option<origins::Place>>>();
    let shown = statement.columns().iter().filter_map(|column| column.table_oid().zip(column.column_id()));
    let places = shown.chain(given.iter().flatten().copied()).collect::<Vec<_>>();
    let origins = origins::read(client, &places).await?;
    for ((parameter, verdict), place) in described.parameters.iter_mut().zip(nulls.parameters).zip(given) {
        (parameter.nullable, parameter.because) = (verdict.nullable, verdict.because);
        parameter.origin = place.and_then(|place| origins.get(&place).cloned());
    }
    for (column, verdict) in statement.columns().iter().zip(nulls.columns) {
        let place = column.table_oid().zip(column.column_id());
        described.columns.push(Column {
            name: column.name().to_owned(),
            oid: column.type_().oid(),
            ty: types.modified((column.type_().oid(), column.type_modifier()))?,
            origin: place.and_then(|place| origins.get(&place).cloned()),
            nullable: verdict.nullable,
            because: verdict.because,
        });
    }
    Ok(described)
}

/// The type that `sql` names. Its modifier plays no part in a parameter.
async fn named_type(client: &Client, sql: &str) -> Result<Type, Error> {
    let rows = client.query_typed("select $1::regtype::oid", &[(&sql, Type::TEXT)]).await?;
    let oid = rows.first().ok_or_else(|| Error::unexpected("no type"))?;
    let oid = types::get(oid, 0)?;
    Ok(Type::from_oid(oid).unwrap_or_else(|| Type::new(sql.to_owned(), oid, Kind::Simple, String::new())))
}

/// The types of a statement's parameters and columns.
fn mentioned(statement: &Statement) -> Vec<Modified> {
    let parameters = statement.params().iter().map(|ty| (ty.oid(), -1));
    let columns = statement.columns().iter().map(|column| (column.type_().oid(), column.type_modifier()));
    parameters.chain(columns).collect()
}
