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
pub use types::ServerTypes;

use crate::model::{Origin, TypeRef};
use types::Modified;

/// A parameter as the caller names it and wants its type, the statement's `$1` first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedParameter {
    /// Its name in the file.
    pub name: String,
    /// The type that it is to have, as SQL writes it. The server finds one where nothing is asked.
    pub ty: Option<String>,
}

/// A statement, as the server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedStatement {
    /// `$1` first.
    pub parameters: Vec<DescribedParameter>,
    /// Of the result; none for a statement that returns no rows.
    pub columns: Vec<DescribedColumn>,
}

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedParameter {
    /// Its name in the file, or `$1` where it has none.
    pub name: String,
    /// The type's OID on this server, for [`ServerTypes::read`].
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
pub struct DescribedColumn {
    /// Its name.
    pub name: String,
    /// The type's OID on this server, for [`ServerTypes::read`].
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
/// The server refused the statement or a requested type, or could not be asked.
pub async fn describe(
    client: &Client,
    sql: &str,
    requested: &[RequestedParameter],
) -> Result<DescribedStatement, Error> {
    savepoint::asked(client, async || inquire(client, sql, requested).await).await
}

async fn inquire(
    client: &Client,
    sql: &str,
    requested: &[RequestedParameter],
) -> Result<DescribedStatement, Error> {
    let mut asked = Vec::new();
    for (index, parameter) in requested.iter().enumerate() {
        asked.push(match &parameter.ty {
            Some(ty) => named_type(client, ty).await.map_err(|error| error.of_parameter(index))?,
            None => Type::UNKNOWN,
        });
    }
    // The server finds a type for every parameter of the unknown one.
    let statement = client.prepare_typed(sql, &asked).await?;
    let types = ServerTypes::read_modified(client, &mentioned(&statement)).await?;
    let mut described = DescribedStatement { parameters: Vec::new(), columns: Vec::new() };
    for (index, ty) in statement.params().iter().enumerate() {
        described.parameters.push(DescribedParameter {
            name: requested
                .get(index)
                .map_or_else(|| format!("${}", index + 1), |parameter| parameter.name.clone()),
            oid: ty.oid(),
            ty: types.modified((ty.oid(), -1))?,
            nullable: false,
            because: String::new(),
            origin: None,
        });
    }
    let written: Vec<&str> = described.parameters.iter().map(|parameter| parameter.ty.sql.as_str()).collect();
    let nulls = nulls::nullability(client, sql, &written, statement.columns().len()).await?;
    let given = nulls
        .parameter_columns
        .into_iter()
        .map(|place| place.and_then(|(table, column)| Some((table, i16::try_from(column).ok()?))));
    let given = given.collect::<Vec<Option<origins::ColumnNumber>>>();
    let shown = statement.columns().iter().filter_map(|column| column.table_oid().zip(column.column_id()));
    let places = shown.chain(given.iter().flatten().copied()).collect::<Vec<_>>();
    let origins = origins::read(client, &places).await?;
    for ((parameter, nullability), place) in described.parameters.iter_mut().zip(nulls.parameters).zip(given)
    {
        (parameter.nullable, parameter.because) = (nullability.nullable, nullability.because);
        parameter.origin = place.and_then(|place| origins.get(&place).cloned());
    }
    for (column, nullability) in statement.columns().iter().zip(nulls.columns) {
        let place = column.table_oid().zip(column.column_id());
        described.columns.push(DescribedColumn {
            name: column.name().to_owned(),
            oid: column.type_().oid(),
            ty: types.modified((column.type_().oid(), column.type_modifier()))?,
            origin: place.and_then(|place| origins.get(&place).cloned()),
            nullable: nullability.nullable,
            because: nullability.because,
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
