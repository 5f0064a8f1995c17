//! Whether a table is still what it was when its definition was read: nobody is kept from altering it while its rows are sent.

use tokio_postgres::types::Type;

use crate::connect::Connection;
use crate::error::{Error, ErrorKind};

/// The versions of all rows of the catalog that make up the table: a change of any of them, by whatever command, has another
/// `xmin`. What VACUUM, ANALYZE and CREATE INDEX note in `pg_class` they write in place.
const SIGNATURE: &str = "
    select pg_catalog.md5(pg_catalog.string_agg(version, ' ' order by version)) from (
        select 'c' || oid || ' ' || xmin from pg_catalog.pg_class where oid = $1
        union all select 'a' || attnum || ' ' || xmin from pg_catalog.pg_attribute where attrelid = $1 and attnum > 0
        union all select 'd' || oid || ' ' || xmin from pg_catalog.pg_attrdef where adrelid = $1
        union all select 'i' || indexrelid || ' ' || xmin from pg_catalog.pg_index where indrelid = $1
        union all select 'x' || c.oid || ' ' || c.xmin from pg_catalog.pg_index i
                    join pg_catalog.pg_class c on c.oid = i.indexrelid where i.indrelid = $1
        union all select 'k' || oid || ' ' || xmin from pg_catalog.pg_constraint where $1 in (conrelid, confrelid)
        union all select 't' || oid || ' ' || xmin from pg_catalog.pg_trigger where tgrelid = $1
        union all select 'p' || oid || ' ' || xmin from pg_catalog.pg_policy where polrelid = $1
        union all select 'r' || oid || ' ' || xmin from pg_catalog.pg_rewrite where ev_class = $1
        union all select 's' || oid || ' ' || xmin from pg_catalog.pg_statistic_ext where stxrelid = $1
        union all select 'h' || inhrelid || ' ' || inhparent || ' ' || xmin from pg_catalog.pg_inherits where $1 in (inhrelid, inhparent)
        union all select 'b' || oid || ' ' || xmin from pg_catalog.pg_publication_rel where prrelid = $1
        union all select 'm' || objsubid || ' ' || xmin from pg_catalog.pg_description
                   where objoid = $1 and classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
        union all select 'q' || d.objid || ' ' || s.xmin from pg_catalog.pg_depend d
                    join pg_catalog.pg_sequence s on s.seqrelid = d.objid
                   where d.refobjid = $1 and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.deptype in ('a', 'i')
    ) as v(version)";

/// The signature of the table with this oid; `None`: it is gone.
///
/// # Errors
/// The server's.
pub(super) async fn read(connection: &Connection, oid: u32) -> Result<Option<String>, Error> {
    let row = connection.client().query_typed_one(SIGNATURE, &[(&oid, Type::OID)]).await?;
    Ok(row.get(0))
}

/// What a load ends with that would undo what somebody did to the table meanwhile.
pub(super) fn changed(table: &str) -> Error {
    Error::new(
        ErrorKind::Server,
        format!("{table} was altered while its rows were loaded, which replacing it would undo"),
    )
    .with_sqlstate("55000")
    .with_hint("load again: the replacement is then made like the table as it is now")
}
