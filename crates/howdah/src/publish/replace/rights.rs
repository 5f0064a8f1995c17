//! The rights on a table, its columns, its row type and the sequences of its identity columns: the new ones get exactly what the
//! old ones had, whatever the defaults of the role and event triggers gave them.

use howdah_connect::Connection;
use tokio_postgres::types::{ToSql, Type};

use crate::error::Error;

/// The rights on one object.
pub(super) struct Rights {
    /// For GRANT: `SEQUENCE public.t_id_seq`.
    object: String,
    /// Who has what from whom. Rights that were never changed are spelled out.
    held: String,
    /// Takes them all away.
    revoke: Vec<String>,
    /// Gives them again, whoever may be granted on has it before.
    grant: Vec<String>,
}

/// The rights on the objects of table `$1`. A right that somebody granted who only had it with the grant option is his again
/// where the session may take his role; else it is the owner's. The role of the session is then again what it was: SQL of the
/// load's own may have changed it.
const RIGHTS: &str = "
    with recursive objects (object, kind, owner, acl, schema) as (
        select pg_catalog.format('TABLE %I.%I', n.nspname, c.relname), 'r'::\"char\", c.relowner, c.relacl, n.oid
          from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace where c.oid = $1
        union all
        select pg_catalog.format('TYPE %I.%I', n.nspname, t.typname), 'T', t.typowner, t.typacl, n.oid
          from pg_catalog.pg_type as t join pg_catalog.pg_namespace as n on n.oid = t.typnamespace where t.typrelid = $1
        union all
        select pg_catalog.format('SEQUENCE %I.%I', n.nspname, s.relname), 's', s.relowner, s.relacl, n.oid
          from pg_catalog.pg_depend as d
          join pg_catalog.pg_class as s on s.oid = d.objid and s.relkind = 'S'
          join pg_catalog.pg_namespace as n on n.oid = s.relnamespace
         where d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid = $1
           and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.deptype = 'i'),
    items as (
        select object, owner, schema, 0 as attnum, privilege_type as what, privilege_type, grantor, grantee, is_grantable, at
          from objects, pg_catalog.aclexplode(coalesce(acl, pg_catalog.acldefault(kind, owner)))
               with ordinality as x (grantor, grantee, privilege_type, is_grantable, at)
        union all
        select object, owner, schema, attnum, pg_catalog.format('%s (%I)', privilege_type, attname), privilege_type,
               grantor, grantee, is_grantable, 1000000 * attnum + at
          from objects join pg_catalog.pg_attribute on kind = 'r' and attrelid = $1 and attnum > 0 and not attisdropped,
               pg_catalog.aclexplode(attacl) with ordinality as x (grantor, grantee, privilege_type, is_grantable, at)),
    -- The owner's grants first, then those of whom he let grant, and so on.
    ranked as (
        select i.*, 0 as rank from items as i where grantor = owner
        union
        select i.*, r.rank + 1
          from ranked as r
          join items as i on i.object = r.object and i.grantor = r.grantee and i.grantor <> i.owner and r.is_grantable
                         and i.privilege_type = r.privilege_type and r.attnum in (0, i.attnum)
         where r.rank < 100),
    items_ranked as (
        select i.*, coalesce((select pg_catalog.min(r.rank) from ranked as r
                               where (r.object, r.attnum, r.privilege_type, r.grantor, r.grantee)
                                   = (i.object, i.attnum, i.privilege_type, i.grantor, i.grantee)), 1000) as rank
          from items as i),
    grants as (
        select object, rank, pg_catalog.min(at) as at,
               pg_catalog.format('GRANT %s ON %s TO %s%s', pg_catalog.string_agg(what, ', ' order by at), object,
                                 case grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(grantee)) end,
                                 case when is_grantable then ' WITH GRANT OPTION' else '' end) as sql,
               case when grantor <> owner and pg_catalog.has_schema_privilege(grantor, schema, 'usage')
                         -- 16 tells the right to take a role from being its member.
                         and pg_catalog.pg_has_role(session_user, grantor,
                                 case when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)
                    then pg_catalog.pg_get_userbyid(grantor) end as role
          from items_ranked group by object, rank, owner, schema, grantor, grantee, is_grantable)
    select object,
           coalesce((select pg_catalog.string_agg(pg_catalog.concat_ws(' ', what, grantor, grantee, is_grantable), ', '
                                                  order by what, grantor, grantee) from items where object = o.object), ''),
           array(select distinct pg_catalog.format('REVOKE ALL ON %s FROM %s CASCADE', object,
                        case grantee when 0 then 'PUBLIC' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(grantee)) end)
                   from items where object = o.object and grantor = owner),
           array(select case when role is null then sql else pg_catalog.format(
                            'SELECT pg_catalog.set_config(''howdah.role'', pg_catalog.current_setting(''role''), true); '
                            'SELECT pg_catalog.set_config(''role'', %L, true); %s; '
                            'SELECT pg_catalog.set_config(''role'', pg_catalog.current_setting(''howdah.role''), true)',
                            role, sql) end
                   from grants where object = o.object order by rank, at)
      from objects as o";

/// Reads the rights on the objects of table `oid`.
///
/// # Errors
/// The server's.
pub(super) async fn read(connection: &Connection, oid: u32) -> Result<Vec<Rights>, Error> {
    let rows = connection.client().query_typed(RIGHTS, &[(&oid, Type::OID)]).await?;
    let rights = |row: &tokio_postgres::Row| Rights {
        object: row.get(0),
        held: row.get(1),
        revoke: row.get(2),
        grant: row.get(3),
    };
    Ok(rows.iter().map(rights).collect())
}

/// What gives the objects of the table that has the name `table` (quoted) by now the rights `wanted`.
///
/// # Errors
/// The server's.
pub(super) async fn restore(
    connection: &Connection,
    table: &str,
    wanted: &[Rights],
) -> Result<Vec<String>, Error> {
    let table: &(dyn ToSql + Sync) = &table;
    let oid = "select pg_catalog.to_regclass($1)::pg_catalog.oid";
    let oid = connection.client().query_typed_one(oid, &[(table, Type::TEXT)]).await?.get(0);
    let now = read(connection, oid).await?;
    let differs = |wanted: &Rights| {
        let now = now.iter().find(|now| now.object == wanted.object)?;
        (now.held != wanted.held).then(|| [now.revoke.clone(), wanted.grant.clone()].concat())
    };
    Ok(wanted.iter().filter_map(differs).flatten().collect())
}
