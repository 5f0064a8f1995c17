//! The name of the table that rows go to: as it is asked for, else by the first input's name.

use howdah_connect::Connection;
use howdah_message::setting;
use howdah_source::Input;
use tokio_postgres::types::Type;

use crate::catalog::name::TableName;
use crate::catalog::snake::snake;
use crate::error::Error;
use crate::options::{ColumnNames, LoadOptions};

/// The name, as far as it can be known without the server.
pub(super) enum WantedName {
    /// The name that was asked for, or the input's.
    Certain(TableName),
    /// Friendly names are asked for: what the input's name becomes, unless there is a table of that very name.
    Friendly { exact: TableName, friendly: TableName },
}

impl WantedName {
    /// # Errors
    /// A usage error: no table is named, and the input's name is none that a table could have.
    pub(super) fn of(options: &LoadOptions, inputs: &[Input]) -> Result<WantedName, Error> {
        if let Some(name) = &options.target.table {
            return Ok(WantedName::Certain(name.clone()));
        }
        let stem = inputs.iter().find_map(Input::stem);
        let stem = stem.ok_or_else(|| {
            let what = match inputs.first().map(|input| &*input.name) {
                None | Some("-") => "standard input has no name".to_owned(),
                Some(name) => format!("{name} has no name that a table could have"),
            };
            Error::usage(what).with_hint(message!["name the table: ", setting::TABLE.placeholder("NAME")])
        })?;
        let exact = TableName::exact(&stem);
        let friendly = snake(&stem);
        if options.columns.column_names != ColumnNames::Snake || friendly.is_empty() || friendly == stem {
            return exact.map(WantedName::Certain);
        }
        let friendly = TableName::exact(&friendly)?;
        Ok(match exact {
            Ok(exact) => WantedName::Friendly { exact, friendly },
            // Longer than names may be.
            Err(_) => WantedName::Certain(friendly),
        })
    }

    /// The name that the table has if nobody has made it yet.
    pub(super) fn usual(&self) -> &TableName {
        match self {
            WantedName::Certain(name) | WantedName::Friendly { friendly: name, .. } => name,
        }
    }

    /// The name, now that a server can be asked for a table that was made before friendly names were asked for.
    pub(super) async fn find(&self, connection: &Connection) -> Result<&TableName, Error> {
        let (exact, friendly) = match self {
            WantedName::Certain(name) => return Ok(name),
            WantedName::Friendly { exact, friendly } => (exact, friendly),
        };
        let sql = "select pg_catalog.to_regclass($1) is not null";
        let row = connection.client().query_typed_one(sql, &[(&exact.to_string(), Type::TEXT)]).await?;
        Ok(if row.get(0) { exact } else { friendly })
    }
}
