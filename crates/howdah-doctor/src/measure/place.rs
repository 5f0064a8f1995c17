//! Where scratch things are made, and what they are called there.

use howdah::facts::TableFacts;
use howdah::name::quote_literal;
use howdah::tokio_postgres::{self, Client};

use super::question::number;
use super::sample::quote;

/// Where copies are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A schema of their own.
    Own,
    /// The table's schema.
    Beside(String),
    /// Temporary tables, which are not logged.
    Temporary,
}

impl Place {
    /// The first of them that is open to the role.
    ///
    /// # Errors
    /// The server refuses to say, or the connection is lost.
    pub(super) async fn find(client: &Client, table: &TableFacts) -> Result<Place, tokio_postgres::Error> {
        let may_make_schemas =
            "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')::int4";
        Ok(if number(client, may_make_schemas).await? == Some(1.0) {
            Place::Own
        } else if may_make_tables(client, &table.schema).await? {
            Place::Beside(table.schema.clone())
        } else {
            Place::Temporary
        })
    }

    /// The schema, as SQL takes it.
    pub(super) fn schema(&self, token: &str) -> String {
        match self {
            Place::Own => format!("howdah_doctor_{token}"),
            Place::Beside(schema) => quote(schema),
            Place::Temporary => "pg_temp".to_owned(),
        }
    }

    /// A scratch thing's name, as SQL takes it.
    pub(super) fn named(&self, token: &str, what: &str) -> String {
        let schema = self.schema(token);
        match self {
            Place::Own => format!("{schema}.{what}"),
            Place::Beside(_) => format!("{schema}.howdah_doctor_{token}_{what}"),
            Place::Temporary => format!("{schema}.howdah_doctor_{what}"),
        }
    }

    /// What stands between CREATE and TABLE.
    pub(super) fn kind(&self, unlogged: bool) -> &'static str {
        match self {
            Place::Temporary => "TEMPORARY ",
            _ if unlogged => "UNLOGGED ",
            _ => "",
        }
    }
}

/// Whether the role may make tables in `schema`.
///
/// # Errors
/// The server refuses to say, or the connection is lost.
pub(super) async fn may_make_tables(client: &Client, schema: &str) -> Result<bool, tokio_postgres::Error> {
    let schema = quote_literal(schema);
    let may = format!("SELECT pg_catalog.has_schema_privilege({}, 'CREATE')::int4", schema.trim_start());
    Ok(number(client, &may).await? == Some(1.0))
}
