//! How SQL reads the text of a landing table as COPY would have read it.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::name::quote;
use crate::catalog::table::Column;
use crate::error::Error;

const TEXT: u32 = 25;

/// One column on its way from text to its type.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    /// In both tables.
    pub(super) name: String,
    /// The target's type with its modifier, as `pg_input_error_info` takes it.
    pub(super) type_name: String,
    /// Reads `l.name`.
    pub(super) expression: String,
    /// Every text is a value of it.
    pub(super) takes_all: bool,
}

impl Reader {
    /// The landing table's text.
    pub(super) fn text(&self) -> String {
        format!("l.{}", quote(&self.name))
    }

    /// Readers of `columns`. A cast would read a literal without the column's modifier and fit the value afterwards: that cuts
    /// strings which are too long. So the type's input function is called with the modifier, as COPY does. Types whose
    /// function cannot be called from SQL (arrays, enums, ranges, composites) are cast without modifier; assigning the value
    /// to the column then applies it, and refuses what is too long. A domain is read as what it is over, for the same reason.
    ///
    /// # Errors
    /// The server's errors.
    pub(super) async fn of(connection: &Connection, columns: &[&Column]) -> Result<Vec<Reader>, Error> {
        let oids: Vec<u32> = columns.iter().map(|column| column.base_type.0).collect();
        let rows = connection
            .client()
            .query_typed(
                "select n.nspname::text, p.proname::text, p.pronargs,
                        case when y.typelem = 0 then y.oid else y.typelem end,
                        p.prorettype = y.oid, pg_catalog.format_type(y.oid, -1)
                   from pg_catalog.unnest($1) with ordinality as wanted(oid, n)
                   join pg_catalog.pg_type y on y.oid = wanted.oid
                   join pg_catalog.pg_proc p on p.oid = y.typinput
                   join pg_catalog.pg_namespace n on n.oid = p.pronamespace order by wanted.n",
                &[(&oids, Type::OID_ARRAY)],
            )
            .await?;
        let reader = |(row, column): (&tokio_postgres::Row, &&Column)| {
            let (oid, typmod) = column.base_type;
            let (schema, function, arguments): (String, String, i16) = (row.get(0), row.get(1), row.get(2));
            let (parameter, is_callable, cast): (u32, bool, String) = (row.get(3), row.get(4), row.get(5));
            let text = format!("l.{}", quote(&column.name));
            let expression = if oid == TEXT {
                text
            } else if is_callable {
                let rest = match arguments {
                    1 => String::new(),
                    2 => format!(", {parameter}::pg_catalog.oid"),
                    _ => format!(", {parameter}::pg_catalog.oid, {typmod}::pg_catalog.int4"),
                };
                format!("{}.{}({text}::pg_catalog.cstring{rest})", quote(&schema), quote(&function))
            } else {
                format!("CAST({text} AS {cast})")
            };
            Reader {
                name: column.name.clone(),
                type_name: column.type_name.clone(),
                expression,
                takes_all: oid == TEXT && column.type_name == "text",
            }
        };
        Ok(rows.iter().zip(columns).map(reader).collect())
    }
}
