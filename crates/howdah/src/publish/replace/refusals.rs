//! What keeps a table from being replaced: everything that DROP TABLE would refuse or take along and that the new table cannot
//! be given, and rights that the role lacks.

use howdah_connect::Connection;
use howdah_message::setting;
use tokio_postgres::types::Type;

use super::Twins;
use super::belongings;
use crate::catalog::name;
use crate::catalog::table::{RelationKind, Table};
use crate::error::{Error, ErrorKind};

/// Everything that goes when the table goes (`own`), then what hangs on it or cannot be made again.
const LOST: &str = "
    with recursive {own},
    dependents as (
        select d.classid, d.objid, d.objsubid
          from pg_depend d join own o on d.refclassid = o.classid and d.refobjid = o.objid
         where d.deptype = 'n' and not exists(select from own x where x.classid = d.classid and x.objid = d.objid)
           and not exists(select from pg_inherits where d.classid = 'pg_class'::regclass and inhrelid = d.objid and inhparent = $1))
    select distinct coalesce(
               (select case c.relkind when 'm' then 'materialized view ' else 'view ' end || c.oid::regclass
                  from pg_rewrite r join pg_class c on c.oid = r.ev_class
                 where d.classid = 'pg_rewrite'::regclass and r.oid = d.objid and c.relkind in ('v', 'm')),
               (select 'foreign key ' || conname || ' of ' || conrelid::regclass from pg_constraint k
                 where d.classid = 'pg_constraint'::regclass and k.oid = d.objid and k.contype = 'f'),
               pg_describe_object(d.classid, d.objid, d.objsubid))
      from dependents d
    union all
    select 'trigger ' || tgname || ' (it would not see the rows)' from pg_trigger
     -- INSERT is 4, TRUNCATE 32; triggers of replicas sleep.
     where tgrelid = $1 and not tgisinternal and tgenabled in ('O', 'A') and tgtype & 36 <> 0
    union all
    select distinct 'the disabled triggers of ' || conname from pg_trigger t join pg_constraint k on k.oid = t.tgconstraint
     where tgrelid = $1 and tgisinternal and tgenabled <> 'O'
    union all
    select 'foreign key ' || conname || ' to itself, which is not valid' from pg_constraint
     where conrelid = $1 and confrelid = $1 and contype = 'f' and not convalidated
    union all
    select 'publication ' || pubname || ' (its subscribers would not get the rows)' from pg_publication_tables
     where format('%I.%I', schemaname, tablename) = $3
    union all
    select 'inheritance with ' || (case when inhparent = $1 then inhrelid else inhparent end)::regclass
      from pg_inherits where inhparent = $1 or inhrelid = $1
    union all
    select 'type ' || reloftype::regtype from pg_class where oid = $1 and reloftype <> 0
    union all
    select 'extension ' || extname from pg_depend d join pg_extension e on e.oid = d.refobjid
     where d.classid = 'pg_class'::regclass and d.objid = $1 and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
    union all
    select distinct 'security label of ' || provider from pg_seclabel l join own o on l.classoid = o.classid and l.objoid = o.objid
    union all
    select pg_describe_object(classid, objid, 0) from own
     where classid::regclass::text <> all ('{catalogs}')";

/// A table to which `$1` refers, and to which the role may not make a foreign key.
const UNREFERABLE: &str = "
    select confrelid::pg_catalog.regclass::text from pg_catalog.pg_constraint
     where conrelid = $1 and contype = 'f' and confrelid <> $1
       and not pg_catalog.has_any_column_privilege(confrelid, 'REFERENCES') limit 1";

/// Only plain tables can be exchanged.
pub(super) fn of_kind(table: &Table) -> Result<(), Error> {
    if table.kind == RelationKind::Table {
        return Ok(());
    }
    Err(Error::usage(message![
        table.display(),
        " is not a plain table: ",
        setting::MODE.word("replace"),
        " cannot exchange it"
    ])
    .with_hint(message![
        "use ",
        setting::MODE.word("truncate"),
        ", or load into a partition of its own"
    ]))
}

/// What DROP TABLE, CREATE TABLE and ALTER TABLE … OWNER would say when all rows are there.
pub(super) async fn of_rights(connection: &Connection, table: &Table) -> Result<(), Error> {
    let row = connection
        .client()
        .query_typed_one(
            "select pg_catalog.pg_has_role(c.relowner, 'usage'),
                    pg_catalog.has_schema_privilege(c.relnamespace, 'create'),
                    pg_catalog.has_schema_privilege(c.relowner, c.relnamespace, 'create')
                      or (select rolsuper from pg_catalog.pg_roles where rolname = current_user),
                    pg_catalog.pg_get_userbyid(c.relowner)::text
               from pg_catalog.pg_class c where c.oid = $1",
            &[(&table.oid, Type::OID)],
        )
        .await?;
    let (owns, creates, owner_creates): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
    let (schema, owner) = (name::display(&table.schema), name::display(row.get(3)));
    let refused = |message: String| Err(Error::new(ErrorKind::Server, message).with_sqlstate("42501"));
    if !owns {
        return refused(format!("must be owner of table {}", table.display())).map_err(|error| {
            error.with_hint(message![
                "only its owner, {owner}, can replace a table; ",
                setting::MODE.word("truncate"),
                " needs INSERT and TRUNCATE"
            ])
        });
    }
    if !creates {
        return refused(format!("permission denied for schema {schema}"));
    }
    let parents = connection.client().query_typed(UNREFERABLE, &[(&table.oid, Type::OID)]).await?;
    if let Some(parent) = parents.first().map(|row| row.get::<_, String>(0)) {
        return refused(format!("permission denied for table {parent}, to which {} refers", table.display()))
            .map_err(|error| {
                error.with_hint(format!("its owner can allow it: GRANT REFERENCES ON {parent} TO {owner}"))
            });
    }
    if !owner_creates {
        return refused(format!(
            "the owner of {}, {owner}, may not create tables in schema {schema}",
            table.display()
        ))
        .map_err(|error| error.with_hint(format!("GRANT CREATE ON SCHEMA {schema} TO {owner}")));
    }
    Ok(())
}

/// What would be lost, by name.
pub(super) async fn of_dependents(twins: &Twins<'_>, table: &Table) -> Result<(), Error> {
    let catalogs = format!("{{{}}}", belongings::CATALOGS.join(","));
    let lost = LOST.replace("{own}", belongings::OWN).replace("{catalogs}", &catalogs);
    let names = twins.texts(&lost).await?;
    if names.is_empty() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{} cannot be replaced: it would take {} along",
        table.display(),
        names.join(", ")
    ))
    .with_sqlstate("2BP01")
    .with_hint(message![
        setting::MODE.word("truncate"),
        " keeps the table and everything on it; its readers then wait until the load commits"
    ]))
}
