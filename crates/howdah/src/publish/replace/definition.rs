//! The definition of the twin: columns, sequences, indexes and constraints, each as the statement that makes it.

use super::Twins;
use crate::catalog::name::quote_literal;
use crate::error::Error;

/// Storage parameters of relation `{of}`, as they stand in WITH, after `{prefix}`.
const STORAGE: &str = "(select string_agg(format('%s%I = %L', '{prefix}', option_name, option_value), ', ')
                          from pg_options_to_table((select reloptions from pg_class where oid = {of})))";

/// What LIKE does not bring but rows must find: checks, the settings of columns, row-level security.
const EMPTY_TWIN: &str = "
    select format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, conname,
                  replace(pg_get_constraintdef(oid), ' REFERENCES ' || $3 || '(', ' REFERENCES ' || $2 || '('))
      from pg_constraint
     where conrelid = $1 and (contype = 'c' or contype = 'f' and not convalidated)
    union all
    -- LIKE brings a NOT NULL, but as one that is valid.
    select format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', $2, conname, conname, pg_get_constraintdef(oid))
      from pg_constraint where conrelid = $1 and contype = 'n' and not convalidated
    union all
    select format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', $2, attname, attstattarget) from pg_attribute
     where attrelid = $1 and attnum > 0 and not attisdropped and coalesce(attstattarget, -1) <> -1
    union all
    select format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', $2, attname,
                  (select string_agg(format('%I = %L', option_name, option_value), ', ') from pg_options_to_table(attoptions)))
      from pg_attribute where attrelid = $1 and attnum > 0 and not attisdropped and attoptions is not null
    union all
    select format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', $2) from pg_class where oid = $1 and relrowsecurity";

/// What the role grants on everything that it makes, it did not grant on what is made here; and what it makes, it may use. The
/// rights of the old ones come when the names do.
const STRIP: &str = "
    (select string_agg(sql, '; ' order by sql) from (
        select format('GRANT ALL ON {kind} %s TO CURRENT_USER', {name})
          from pg_default_acl where defaclobjtype = '{type}' and pg_get_userbyid(defaclrole) = current_user
           and defaclnamespace in (0, (select relnamespace from pg_class where oid = $1))
        union
        select format('REVOKE ALL ON {kind} %s FROM %s', {name},
                      case grantee when 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(grantee)) end)
          from pg_default_acl, aclexplode(defaclacl)
         where defaclobjtype = '{type}' and pg_get_userbyid(defaclrole) = current_user and grantee <> defaclrole
           and defaclnamespace in (0, (select relnamespace from pg_class where oid = $1))) as defaults (sql))";

/// Identity columns get sequences that go on where the old ones stand.
const IDENTITIES: &str = "
    select format('ALTER TABLE %s ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s %s)',
                  $2, attname, case attidentity when 'a' then 'ALWAYS' else 'BY DEFAULT' end, new, seqstart, seqincrement,
                  seqmin, seqmax, seqcache, case when seqcycle then 'CYCLE' else 'NO CYCLE' end)
           || coalesce('; ' || {strip}, '')
           || format('; SELECT pg_catalog.setval(%L, last_value, is_called) FROM %s', new, old)
      from {identities}";

/// The identity columns of the old table: the sequence now, and what it is called on the twin.
const IDENTITY_SEQUENCES: &str = "
    (select a.attname, a.attnum, a.attidentity, s.relname as name, format('%I.%I', n.nspname, s.relname) as old,
            format('%I.%I', n.nspname, 'howdah_sequence_' || $4 || '_' || a.attnum) as new, q.*
       from pg_attribute a
       join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid and d.refobjsubid = a.attnum
                       and d.classid = 'pg_class'::regclass and d.deptype = 'i'
       join pg_class s on s.oid = d.objid and s.relkind = 'S'
       join pg_namespace n on n.oid = s.relnamespace
       join pg_sequence q on q.seqrelid = s.oid
      where a.attrelid = $1 and a.attidentity <> '') as identities";

/// Indexes and constraints, keys first; `{key}` is what the primary key is instead, or NULL. An index stands in its tablespace.
const BUILD: &str = "
    with old as (
        select i.oid, i.relname, i.reltablespace, k.oid as conoid, k.contype, x.indisunique, x.indexrelid,
               format(case when k.oid is null then 'howdah_index_%s_%s' else 'howdah_constraint_%s_%s' end, $4,
                      row_number() over (order by i.relname)) as temporary
          from pg_index x
          join pg_class i on i.oid = x.indexrelid
          left join pg_constraint k on k.conindid = i.oid and k.conrelid = $1 and k.contype in ('p', 'u', 'x')
         where x.indrelid = $1 and (x.indisvalid or k.oid is not null)),
    placed as (
        select array_position('{p,u,x}'::text[], contype::text) as rank, relname,
               case when reltablespace = 0 then '' else
                    format('SET LOCAL default_tablespace = %L; ', (select spcname from pg_tablespace where oid = reltablespace)) end
               || case when conoid is null then
                    format('CREATE %sINDEX %I ON %s %s', case when indisunique then 'UNIQUE ' else '' end, temporary, $2,
                           substr(def, length(format('CREATE %sINDEX %I ON %s ', case when indisunique then 'UNIQUE ' else '' end,
                                                     relname, $3)) + 1))
                  else format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, temporary,
                              coalesce(case when contype = 'p' then {key} end, pg_get_constraintdef(conoid))) end
               || case when reltablespace = 0 then '' else '; SET LOCAL default_tablespace = ''''' end as sql
          from old cross join lateral (select pg_get_indexdef(oid) as def) d
        union all
        -- A constraint does not tell the storage parameters of its index.
        select 4, relname, format('ALTER INDEX %s SET (%s)', (select format('%I.%I', nspname, temporary) from pg_class c
                 join pg_namespace n on n.oid = c.relnamespace where c.oid = old.oid),
               (select string_agg(format('%I = %L', option_name, option_value), ', ') from pg_options_to_table(reloptions)))
          from old join pg_class using (oid, relname) where conoid is not null and reloptions is not null
        union all
        select 5, relname, format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s',
               (select format('%I.%I', nspname, temporary) from pg_class c
                  join pg_namespace n on n.oid = c.relnamespace where c.oid = old.oid), attnum, attstattarget)
          from old join pg_attribute on attrelid = old.oid where coalesce(attstattarget, -1) <> -1
        union all
        select 6, conname, format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, conname,
               replace(pg_get_constraintdef(oid), ' REFERENCES ' || $3 || '(', ' REFERENCES ' || $2 || '('))
          from pg_constraint where conrelid = $1 and contype = 'f' and convalidated)
    select sql from placed order by rank nulls first, relname";

/// Names of indexes are those of a schema: the twin's get theirs when the old ones are gone. A constraint's name is that of its
/// index.
pub(super) const INDEX_NAMES: &str = "
    select format('ALTER INDEX %I.%I RENAME TO %I', n.nspname,
                  format(case when k.oid is null then 'howdah_index_%s_%s' else 'howdah_constraint_%s_%s' end, $4,
                         row_number() over (order by i.relname)), i.relname)
      from pg_index x
      join pg_class i on i.oid = x.indexrelid
      join pg_namespace n on n.oid = i.relnamespace
      left join pg_constraint k on k.conindid = i.oid and k.conrelid = $1 and k.contype in ('p', 'u', 'x')
     where x.indrelid = $1 and (x.indisvalid or k.oid is not null)
     order by i.relname";

/// What stands under another name until then, in pairs of lines: that name, and the old one.
const NAMES: &str = "
    select unnest(array[format(case when k.oid is null then 'howdah_index_%s_%s' else 'howdah_constraint_%s_%s' end, $4,
                               row_number() over (order by i.relname)), i.relname::text])
      from pg_index x
      join pg_class i on i.oid = x.indexrelid
      left join pg_constraint k on k.conindid = i.oid and k.conrelid = $1 and k.contype in ('p', 'u', 'x')
     where x.indrelid = $1 and (x.indisvalid or k.oid is not null)
    union all
    select unnest(array['howdah_sequence_' || $4 || '_' || attnum, name::text]) from {identities}";

/// Sequences that columns own, and that stay: those of serial columns.
const SERIALS: &str = "
    (select format('%I.%I', n.nspname, s.relname) as name, a.attname
       from pg_depend d
       join pg_class s on s.oid = d.objid and s.relkind = 'S'
       join pg_namespace n on n.oid = s.relnamespace
       join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
      where d.refclassid = 'pg_class'::regclass and d.refobjid = $1 and d.classid = 'pg_class'::regclass
        and d.deptype = 'a') as serials";

/// The usual place, unless the role's settings say another.
const USUAL_PLACE: &str = "
    select 'SET LOCAL default_tablespace = ''''' where current_setting('default_tablespace') <> ''";

/// Before the old table goes: what belongs to it and stays is set free; the new sequences go on where the old ones stand by now.
const SEQUENCES_LEAVE: &str = "
    select format('ALTER SEQUENCE %s OWNED BY NONE', name) from {serials}
    union all
    select format('SELECT pg_catalog.setval(%L, o.last_value, o.is_called) FROM %s AS o, %s AS n WHERE (o.last_value, o.is_called) %s (n.last_value, n.is_called)',
                  new, old, new, case when seqincrement > 0 then '>' else '<' end)
      from {identities}";

/// When the new table has the name.
const SEQUENCES_RETURN: &str = "
    select format('ALTER SEQUENCE %s OWNED BY %s.%I', name, $3, attname) from {serials}
    union all
    select format('ALTER SEQUENCE %s RENAME TO %I', new, name) from {identities}";

fn strip(kind: &str, code: &str, name: &str) -> String {
    STRIP.replace("{kind}", kind).replace("{type}", code).replace("{name}", name)
}

fn of_sequences(sql: &str) -> String {
    sql.replace("{serials}", SERIALS).replace("{identities}", IDENTITY_SEQUENCES)
}

impl Twins<'_> {
    /// What sequences need before the old table is dropped.
    pub(super) async fn sequences_leave(&self) -> Result<Vec<String>, Error> {
        self.texts(&of_sequences(SEQUENCES_LEAVE)).await
    }

    /// What sequences need when the new table has its name.
    pub(super) async fn sequences_return(&self) -> Result<Vec<String>, Error> {
        self.texts(&of_sequences(SEQUENCES_RETURN)).await
    }

    /// Indexes and constraints on the filled twin. A primary key is what `key` says, if it says anything.
    pub(super) async fn build(&self, key: Option<&str>) -> Result<Vec<String>, Error> {
        let mut build = self.texts(USUAL_PLACE).await?;
        let key = key.map_or_else(|| "NULL".to_owned(), quote_literal);
        build.extend(self.texts(&BUILD.replace("{key}", &key)).await?);
        Ok(build)
    }

    /// What stands under another name until the exchange: that name and the old one.
    pub(super) async fn names(&self) -> Result<Vec<(String, String)>, Error> {
        let texts = self.texts(&of_sequences(NAMES)).await?;
        Ok(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
    }

    /// The empty twin.
    pub(super) async fn create(&self, unlogged: bool) -> Result<Vec<String>, Error> {
        let storage = STORAGE.replace("{prefix}", "").replace("{of}", "c.oid");
        let toast = STORAGE.replace("{prefix}", "toast.").replace("{of}", "c.reltoastrelid");
        let like = "INCLUDING ALL EXCLUDING COMMENTS EXCLUDING CONSTRAINTS EXCLUDING IDENTITY EXCLUDING INDEXES EXCLUDING STATISTICS";
        let unlogged = if unlogged { "UNLOGGED " } else { "" };
        let table = format!(
            "select format('CREATE {unlogged}TABLE %s (LIKE %s {like})', $2, $3)
                    || case when m.amname <> current_setting('default_table_access_method')
                            then format(' USING %I', m.amname) else '' end
                    || coalesce(' WITH (' || nullif(concat_ws(', ', {storage}, {toast}), '') || ')', '')
                    || coalesce(' TABLESPACE ' || quote_ident(t.spcname), '')
               from pg_class c join pg_am m on m.oid = c.relam left join pg_tablespace t on t.oid = c.reltablespace
              where c.oid = $1"
        );
        let mut create = self.texts(USUAL_PLACE).await?;
        create.extend(self.texts(&table).await?);
        let strip_table = format!(
            "select sql from (select {}) as s (sql) where sql is not null",
            strip("TABLE", "r", "$2")
        );
        create.extend(self.texts(&strip_table).await?);
        create.extend(self.texts(EMPTY_TWIN).await?);
        let identities = IDENTITIES.replace("{strip}", &strip("SEQUENCE", "S", "new"));
        create.extend(self.texts(&of_sequences(&identities)).await?);
        Ok(create)
    }
}
