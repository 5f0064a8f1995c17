//! What a table has beside its definition: owner, privileges, policies, rules, triggers, statistics, comments; each as the
//! statement that gives it to the new table, which has the name by then.

use super::Twins;
use super::definition::of_sequences;
use crate::error::Error;
use crate::publish::creation;

/// Before everything that only the owner's table can have.
pub(super) const OWNER: &str = "
    select format('ALTER TABLE %s OWNER TO %I', $3, pg_get_userbyid(relowner)) from pg_class
     where oid = $1 and pg_get_userbyid(relowner) <> current_user";

/// Which index stands for a row, which one orders the table, what the planner is told.
const MARKS: &str = "
    select format('ALTER TABLE %s CLUSTER ON %I', $3, relname) from pg_index join pg_class c on c.oid = indexrelid
     where indrelid = $1 and indisclustered
    union all
    select format('ALTER TABLE %s REPLICA IDENTITY %s', $3, case relreplident when 'f' then 'FULL' when 'n' then 'NOTHING'
                  else (select format('USING INDEX %I', i.relname) from pg_index x join pg_class i on i.oid = x.indexrelid
                         where x.indrelid = $1 and x.indisreplident) end)
      from pg_class where oid = $1 and relreplident <> 'd'
    union all
    select pg_get_statisticsobjdef(s.oid)
           || case when coalesce(stxstattarget, -1) = -1 then ''
              else format('; ALTER STATISTICS %I.%I SET STATISTICS %s', nspname, stxname, stxstattarget) end
           || case when pg_get_userbyid(stxowner) = current_user then ''
              else format('; ALTER STATISTICS %I.%I OWNER TO %I', nspname, stxname, pg_get_userbyid(stxowner)) end
      from pg_statistic_ext s join pg_namespace n on n.oid = stxnamespace where stxrelid = $1";

/// What decides who sees a row, and what else happens to it.
const BEHAVIOUR: &str = "
    select format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', polname, $3,
                  case when polpermissive then 'PERMISSIVE' else 'RESTRICTIVE' end,
                  case polcmd when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' when 'd' then 'DELETE'
                              else 'ALL' end,
                  (select string_agg(case role when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(role)) end, ', ')
                     from unnest(polroles) as role))
           || coalesce(' USING (' || pg_get_expr(polqual, polrelid) || ')', '')
           || coalesce(' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')', '')
      from pg_policy where polrelid = $1
    union all
    select format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', $3) from pg_class where oid = $1 and relforcerowsecurity
    union all
    select rtrim(pg_get_ruledef(oid), ';')
           || coalesce('; ' || format({enabled}, $3, 'RULE', rulename), '')
      from (select oid, rulename, ev_enabled as enabled from pg_rewrite where ev_class = $1) as rules
    union all
    select pg_get_triggerdef(oid) || coalesce('; ' || format({enabled}, $3, 'TRIGGER', tgname), '')
      from (select oid, tgname, tgenabled as enabled from pg_trigger where tgrelid = $1 and not tgisinternal) as triggers";

/// How rules and triggers are enabled, unless as usual.
const ENABLED: &str = "case enabled when 'D' then 'ALTER TABLE %s DISABLE %s %I' when 'R' then 'ALTER TABLE %s ENABLE REPLICA %s %I'
                        when 'A' then 'ALTER TABLE %s ENABLE ALWAYS %s %I' end";

/// Privileges, on the table, its columns and its sequences. The owner's stand there by themselves unless they were changed.
const PRIVILEGES: &str = "
    with relations as (
        select 'TABLE' as kind, $3 as name, relowner as owner, relacl as acl, 'r'::\"char\" as type from pg_class where oid = $1
        union all
        select 'SEQUENCE', old, relowner, relacl, 's' from {identities}),
    granted as (
        select kind, name, owner, grantee, is_grantable, string_agg(privilege_type, ', ' order by privilege_type) as privileges
          from relations, aclexplode(acl) group by kind, name, owner, grantee, is_grantable),
    usual as (
        select kind, owner, string_agg(privilege_type, ', ' order by privilege_type) as privileges
          from relations, aclexplode(acldefault(type, owner)) group by kind, owner),
    changed as (
        select name from relations r join usual u using (kind, owner)
         where acl is not null
           and u.privileges is distinct from (select privileges from granted g where g.name = r.name and g.grantee = r.owner))
    select sql from (
        select 0 as rank, format('REVOKE ALL ON %s %s FROM %I', kind, name, pg_get_userbyid(owner)) as sql
          from relations where name in (select name from changed)
        union all
        select case when grantee = owner then 1 else 2 end,
               format('GRANT %s ON %s %s TO %s%s', privileges, kind, name,
                      case grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(grantee)) end,
                      case when is_grantable then ' WITH GRANT OPTION' else '' end)
          from granted where grantee <> owner or name in (select name from changed)
        union all
        select 3, format('GRANT %s (%I) ON TABLE %s TO %s%s', privilege_type, attname, $3,
                         case grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(grantee)) end,
                         case when is_grantable then ' WITH GRANT OPTION' else '' end)
          from pg_attribute, aclexplode(attacl) where attrelid = $1 and attnum > 0 and not attisdropped) as grants
     order by rank, sql";

/// Comments on everything that belongs to the table but the table itself.
const COMMENTS: &str = "
    select format('COMMENT ON COLUMN %s.%I IS %L', $3, attname, description)
      from pg_attribute join pg_description on objoid = attrelid and classoid = 'pg_class'::regclass and objsubid = attnum
     where attrelid = $1 and attnum > 0 and not attisdropped
    union all
    select format('COMMENT ON %s IS %L', what, description)
      from (select 'pg_constraint'::regclass, oid, format('CONSTRAINT %I ON %s', conname, $3) from pg_constraint where conrelid = $1
            union all
            select 'pg_class'::regclass, i.oid, format('INDEX %I.%I', nspname, relname)
              from pg_index join pg_class i on i.oid = indexrelid join pg_namespace n on n.oid = relnamespace where indrelid = $1
            union all
            select 'pg_policy'::regclass, oid, format('POLICY %I ON %s', polname, $3) from pg_policy where polrelid = $1
            union all
            select 'pg_trigger'::regclass, oid, format('TRIGGER %I ON %s', tgname, $3) from pg_trigger where tgrelid = $1
            union all
            select 'pg_rewrite'::regclass, oid, format('RULE %I ON %s', rulename, $3) from pg_rewrite where ev_class = $1
            union all
            select 'pg_statistic_ext'::regclass, s.oid, format('STATISTICS %I.%I', nspname, stxname)
              from pg_statistic_ext s join pg_namespace n on n.oid = stxnamespace where stxrelid = $1
            union all
            select 'pg_class'::regclass, oid, format('SEQUENCE %s', old) from {identities}) as x(class, oid, what)
      join pg_description on classoid = class and objoid = oid and objsubid = 0";

impl Twins<'_> {
    /// The statements, in their order. `comment` takes the place of a comment of ours on the table.
    pub(super) async fn traits(&self, comment: &str) -> Result<Vec<String>, Error> {
        let mut statements = self.texts(MARKS).await?;
        statements.extend(self.texts(&BEHAVIOUR.replace("{enabled}", ENABLED)).await?);
        statements.extend(self.texts(&of_sequences(PRIVILEGES)).await?);
        statements.extend(self.texts(&of_sequences(COMMENTS)).await?);
        let own = "select pg_catalog.obj_description($1, 'pg_class')";
        let rows = self
            .connection
            .client()
            .query_typed(own, &[(&self.oid, tokio_postgres::types::Type::OID)])
            .await?;
        if let Some(was) = rows.first().and_then(|row| row.get::<_, Option<String>>(0)) {
            let is = if was.starts_with(creation::COMMENT_START) { comment } else { &was };
            statements.push(format!(
                "COMMENT ON TABLE {} IS {}",
                self.old,
                crate::catalog::name::quote_literal(is)
            ));
        }
        Ok(statements)
    }
}
