//! Whether a table is still what it was when its definition was read: nobody is kept from altering it while its rows are sent.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use super::belongings::{CATALOGS, OWN};
use crate::error::{Error, ErrorKind};

/// The versions of all rows of the catalog that make up the table and what belongs to it: a change of any of them, by whatever
/// command, has another `xmin`. What VACUUM, ANALYZE and CREATE INDEX note in `pg_class` they write in place. `{objects}` are the
/// rows of the objects themselves.
const SIGNATURE: &str = "
    with recursive {own},
    relations (oid) as (select objid from own where classid = 'pg_catalog.pg_class'::pg_catalog.regclass)
    select pg_catalog.md5(pg_catalog.string_agg(version, ' ' order by version)) from (
        {objects}
        union all select 'column ' || attrelid || ' ' || attnum || ' ' || a.xmin
                    from relations as r join pg_catalog.pg_attribute as a on attrelid = r.oid
        union all select 'index ' || indexrelid || ' ' || i.xmin from relations as r join pg_catalog.pg_index as i on indexrelid = r.oid
        union all select 'sequence ' || seqrelid || ' ' || s.xmin from relations as r join pg_catalog.pg_sequence as s on seqrelid = r.oid
        union all select 'comment ' || classoid || ' ' || objoid || ' ' || objsubid || ' ' || d.xmin
                    from own join pg_catalog.pg_description as d on classoid = classid and objoid = objid
        union all select 'label ' || classoid || ' ' || objoid || ' ' || objsubid || ' ' || provider || ' ' || l.xmin
                    from own join pg_catalog.pg_seclabel as l on classoid = classid and objoid = objid
        -- What belongs to it and stays, as the sequence of a serial column, belongs to it only by such a row.
        union all select 'part ' || d.classid || ' ' || d.objid || ' ' || d.objsubid || ' ' || refobjid || ' ' || refobjsubid
                    from own as o join pg_catalog.pg_depend as d on refclassid = o.classid and refobjid = o.objid
                   where deptype in ('a', 'i', 'P', 'S')
        -- What is others' and touches it.
        union all select 'reference ' || oid || ' ' || xmin from pg_catalog.pg_constraint where confrelid = $1
        union all select 'trigger ' || oid || ' ' || xmin from pg_catalog.pg_trigger where tgrelid = $1
        union all select 'heir ' || inhrelid || ' ' || inhparent || ' ' || xmin from pg_catalog.pg_inherits where $1 in (inhrelid, inhparent)
    ) as v (version)";

/// Of one catalog.
const OBJECTS: &str =
    "select '{catalog} ' || x.oid || ' ' || x.xmin from own join pg_catalog.{catalog} as x on x.oid = objid
         where classid = 'pg_catalog.{catalog}'::pg_catalog.regclass";

/// The signature of the table with this oid; `None`: it is gone.
///
/// # Errors
/// The server's.
pub(super) async fn read(connection: &Connection, oid: u32) -> Result<Option<String>, Error> {
    let objects = CATALOGS.map(|catalog| OBJECTS.replace("{catalog}", catalog)).join("\n        union all ");
    let sql = SIGNATURE.replace("{own}", OWN).replace("{objects}", &objects);
    let row = connection.client().query_typed_one(&sql, &[(&oid, Type::OID)]).await?;
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
