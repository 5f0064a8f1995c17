//! What a table has beside its definition and its rights: owner, policies, rules, triggers, statistics, comments; each as the
//! statement that gives it to the new table, which has the name by then.

use super::Twins;
use super::belongings::OWN;
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

/// Comments on everything that belongs to the table but the table itself, which is then called as it was.
const COMMENTS: &str = "
    with recursive {own}
    select format('COMMENT ON %s %s IS %L',
                  case i.type when 'table column' then 'COLUMN' when 'table constraint' then 'CONSTRAINT'
                              when 'statistics object' then 'STATISTICS' else upper(i.type) end, i.identity, description)
      from own join pg_description as d on d.classoid = classid and d.objoid = objid
           cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) as i
     where not (d.classoid = 'pg_class'::regclass and d.objoid = $1 and d.objsubid = 0)";

impl Twins<'_> {
    /// The statements, in their order. `comment` takes the place of a comment of ours on the table.
    pub(super) async fn traits(&self, comment: &str) -> Result<Vec<String>, Error> {
        let mut statements = self.texts(MARKS).await?;
        statements.extend(self.texts(&BEHAVIOUR.replace("{enabled}", ENABLED)).await?);
        statements.extend(self.texts(&COMMENTS.replace("{own}", OWN)).await?);
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
