//! The tables' columns that a result shows.

use std::collections::HashMap;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::Error;
use super::types::get;
use crate::model::{Origin, TypeName};

const ORIGINS: &str = r"
select a.attrelid, a.attnum, case when s.nspname like 'pg\_temp\_%' then 'pg_temp' else s.nspname::text end,
       c.relname::text, a.attname::text, d.nspname::text, t.typname::text
from unnest($1, $2) as u(relation, number)
join pg_catalog.pg_attribute a on a.attrelid = u.relation and a.attnum = u.number
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace s on s.oid = c.relnamespace
left join pg_catalog.pg_type t on t.oid = a.atttypid and t.typtype = 'd'
left join pg_catalog.pg_namespace d on d.oid = t.typnamespace";

/// A table's OID and the column's number.
pub(super) type ColumnNumber = (u32, i16);

pub(super) async fn read(
    client: &Client,
    places: &[ColumnNumber],
) -> Result<HashMap<ColumnNumber, Origin>, Error> {
    if places.is_empty() {
        return Ok(HashMap::new());
    }
    let (relations, numbers): (Vec<u32>, Vec<i16>) = places.iter().copied().unzip();
    let rows = client
        .query_typed(ORIGINS, &[(&relations, Type::OID_ARRAY), (&numbers, Type::INT2_ARRAY)])
        .await
        .map_err(Error::of_question)?;
    rows.iter()
        .map(|row| {
            let domain = get::<Option<String>>(row, 5)?.zip(get::<Option<String>>(row, 6)?);
            let domain = domain.map(|(schema, name)| TypeName { schema, name });
            let origin = Origin { schema: get(row, 2)?, table: get(row, 3)?, column: get(row, 4)?, domain };
            Ok(((get(row, 0)?, get(row, 1)?), origin))
        })
        .collect()
}
