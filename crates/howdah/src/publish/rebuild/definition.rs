//! What the catalog says of a table's indexes and foreign keys: how each is dropped, how it is made again exactly as it was,
//! and why it has to stay.

/// Of the table `$1`, whose quoted, qualified name is `$2`: name, whether it is a foreign key, whether it is a rule that rows
/// keep to, whether it can refuse a row at all, why it stays, what drops it, what makes it again, and the table that it refers
/// to. In the order in which they were made, which the server goes by where it could choose one or another. The search path is
/// to be `pg_catalog`: then definitions name the schema of everything else, and mean the same where they are run under it.
pub(super) const DEFINITIONS: &str = "
    with whole as (
        select c.relnamespace, n.nspname,
               case when c.relkind <> 'r' then 'it is an index of a partitioned table'
                    when not pg_has_role(c.relowner, 'usage') then 'only ' || quote_ident(pg_get_userbyid(c.relowner)) || ', the owner, may drop it'
                    when not has_schema_privilege(c.relnamespace, 'create')
                    then 'it could not be made again: permission denied for schema ' || quote_ident(n.nspname) end as why
          from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1),
    foreign_keys as (
        select k.oid, k.conname, k.confrelid,
               format('%I.%I', n.nspname, r.relname) || case when r.relkind = 'p' then ' with its partitions' else '' end as referenced,
               coalesce(
                   case when k.conparentid <> 0 or k.coninhcount > 0 then 'it belongs to one of a partitioned table'
                        when not k.convalidated then 'it is not valid'
                        when exists(select from pg_trigger t where t.tgconstraint = k.oid and t.tgenabled <> 'O')
                        then 'its triggers are not enabled as usual'
                        when not has_schema_privilege(r.relnamespace, 'usage')
                          or not has_table_privilege(k.confrelid, 'references')
                             and not (select bool_and(has_column_privilege(k.confrelid, attnum, 'references')) from unnest(k.confkey) as attnum)
                        then format('it could not be made again: permission denied for table %I.%I', n.nspname, r.relname) end,
                   (select why from whole)) as why
          from pg_constraint k join pg_class r on r.oid = k.confrelid join pg_namespace n on n.oid = r.relnamespace
         where k.conrelid = $1 and k.contype = 'f'
           -- A key that refers to a partitioned table has one for each partition.
           and not exists(select from pg_constraint p where p.oid = k.conparentid and p.conrelid = $1)),
    indexes as (
        select i.oid, i.relname, i.reloptions, k.oid as conoid, k.conname, k.contype, k.condeferrable, k.condeferred,
               x.indisunique or x.indisexclusion as rules,
               -- An expression can fail, and a long value has no room.
               x.indexprs is not null or x.indpred is not null
                   or exists(select from pg_attribute where attrelid = i.oid and attlen < 0) as depends_on_values,
               x.indisclustered, x.indisreplident, x.indexprs is not null as computes,
               -- An index of rows without overlaps is made by its constraint alone.
               k.contype in ('p', 'u') and coalesce(to_jsonb(k) ->> 'conperiod', 'false') = 'false' as takes_an_index,
               coalesce(t.spcname::text, '') as place,
               case when i.relispartition or k.conparentid <> 0 or k.coninhcount > 0 then 'it belongs to one of a partitioned table'
                    when not (x.indisvalid and x.indisready and x.indislive) then 'it is not valid'
                    when k.contype = 'p' and exists(select from pg_inherits where inhrelid = $1) then 'the table inherits from another'
                    when exists(select from pg_trigger where tgconstraint = k.oid and tgenabled <> 'O') then 'its triggers are not enabled as usual'
                    when t.oid is not null and not has_tablespace_privilege(t.oid, 'create')
                    then 'it could not be made again: permission denied for tablespace ' || quote_ident(t.spcname)
                    else coalesce((select why from whole),
                        (select string_agg(f.oid::regprocedure || case f.provolatile when 'i'
                                               then ', which it computes by, may depend on the search path'
                                               else ', which it computes by, is not immutable any more' end, ', ' order by f.oid)
                           from pg_depend d join pg_proc f on f.oid = d.refobjid join pg_language l on l.oid = f.prolang
                          where d.classid = 'pg_class'::regclass and d.objid = i.oid and d.refclassid = 'pg_proc'::regclass
                            and (f.provolatile <> 'i'
                                 -- Since 17 the server itself makes indexes under a path that is always the same.
                                 or current_setting('server_version_num')::int < 170000 and l.lanname not in ('c', 'internal')
                                    and f.prosqlbody is null
                                    and not exists(select from unnest(f.proconfig) as set where set ~* '^search_path='))),
                        (select string_agg(distinct coalesce(
                                    (select case c.relkind when 'm' then 'materialized view ' else 'view ' end || c.oid::regclass
                                       from pg_rewrite r join pg_class c on c.oid = r.ev_class
                                      where d.classid = 'pg_rewrite'::regclass and r.oid = d.objid and c.relkind in ('v', 'm')),
                                    (select 'foreign key ' || quote_ident(f.conname) || ' of ' || f.conrelid::regclass from pg_constraint f
                                      where d.classid = 'pg_constraint'::regclass and f.oid = d.objid and f.contype = 'f'),
                                    pg_describe_object(d.classid, d.objid, d.objsubid)), ', ') || ' needs it'
                           from pg_depend d
                          where (d.refclassid = 'pg_class'::regclass and d.refobjid = i.oid
                                 or d.refclassid = 'pg_constraint'::regclass and d.refobjid = k.oid)
                            -- What is part of it goes and comes with it.
                            and d.deptype <> 'i'
                            and not (d.classid = 'pg_class'::regclass and d.objid = i.oid)
                            and not (d.classid = 'pg_constraint'::regclass and d.objid = k.oid)
                            and not exists(select from foreign_keys f
                                            where d.classid = 'pg_constraint'::regclass and d.objid = f.oid and f.why is null))) end as why
          from pg_index x
          join pg_class i on i.oid = x.indexrelid
          left join pg_tablespace t on t.oid = i.reltablespace
          left join pg_constraint k on k.conindid = i.oid and k.conrelid = $1 and k.contype in ('p', 'u', 'x')
         where x.indrelid = $1)
    select relname::text, false, rules, rules or depends_on_values, indexes.why,
           case when conoid is null then format('DROP INDEX %I.%I', nspname, relname)
                else format('ALTER TABLE %s DROP CONSTRAINT %I', $2, conname) end,
           array_remove(array[
               format('SET LOCAL default_tablespace = %L', place),
               case when conoid is null or takes_an_index then pg_get_indexdef(oid)
                    else format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, conname, pg_get_constraintdef(conoid)) end,
               -- A constraint does not tell the storage parameters of its index.
               case when not takes_an_index and reloptions is not null then
                    format('ALTER INDEX %I.%I SET (%s)', nspname, relname,
                           (select string_agg(format('%I = %L', option_name, option_value), ', ') from pg_options_to_table(reloptions))) end,
               case when takes_an_index then
                    format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I%s%s', $2, conname,
                           case contype when 'p' then 'PRIMARY KEY' else 'UNIQUE' end, relname,
                           case when condeferrable then ' DEFERRABLE' end, case when condeferred then ' INITIALLY DEFERRED' end) end,
               case when indisclustered then format('ALTER TABLE %s CLUSTER ON %I', $2, relname) end,
               case when indisreplident then format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', $2, relname) end,
               format('COMMENT ON INDEX %I.%I IS ', nspname, relname) || quote_literal(obj_description(oid, 'pg_class')),
               case when conoid is not null then
                    format('COMMENT ON CONSTRAINT %I ON %s IS ', conname, $2) || quote_literal(obj_description(conoid, 'pg_constraint')) end], null)
           || array(select format('ALTER INDEX %I.%I ALTER COLUMN %s SET STATISTICS %s', nspname, relname, attnum, attstattarget)
                      from pg_attribute where attrelid = indexes.oid and coalesce(attstattarget, -1) <> -1 order by attnum)
           || array(select format('ALTER INDEX %I.%I DEPENDS ON EXTENSION %I', nspname, relname, extname)
                      from pg_depend d join pg_extension e on e.oid = d.refobjid
                     where d.classid = 'pg_class'::regclass and d.objid = indexes.oid and d.deptype = 'x'
                       and d.refclassid = 'pg_extension'::regclass order by extname)
           -- What was known of the values of its expressions goes with an index.
           || array(select format('ANALYZE %s', $2) where computes),
           null::text, oid
      from indexes cross join whole
    union all
    select conname::text, true, true, true, why, format('ALTER TABLE %s DROP CONSTRAINT %I', $2, conname),
           array_remove(array[
               format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, conname, pg_get_constraintdef(oid)),
               format('COMMENT ON CONSTRAINT %I ON %s IS ', conname, $2) || quote_literal(obj_description(oid, 'pg_constraint'))], null),
           case when confrelid <> $1 then referenced end, oid
      from foreign_keys
     order by 2, 9";
