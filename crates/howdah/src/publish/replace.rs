//! [`Mode::Replace`](crate::options::Mode::Replace): a new table takes the place of the old one and keeps its definition: columns, defaults, constraints,
//! indexes, owner, privileges, comment. What hangs on the old table and cannot be carried over is refused, by name.

use tokio_postgres::types::Type;

use crate::catalog::name::quote;
use crate::catalog::table::{Kind, Table};
use crate::connect::Connection;
use crate::error::Error;
use crate::message::setting;
use crate::publish::creation;
use crate::publish::load_id::LoadId;

/// What the new table needs to become like the old one.
pub(crate) struct Replacement {
    old: String,
    /// (name on the old table, what follows `ADD CONSTRAINT name`), keys first.
    constraints: Vec<Definition>,
    /// (name, the statement's start up to the name, what follows the table's name).
    indexes: Vec<Definition>,
    /// Statements after the swap: owner, privileges, comment, storage options.
    traits: Vec<String>,
    /// Quoted, qualified sequences that columns of the old table own, each with its column.
    sequences: Vec<(String, String)>,
    schema: String,
    id: LoadId,
}

struct Definition {
    name: String,
    definition: String,
    is_unique_index: bool,
}

impl Replacement {
    /// Reads the definition of `table` and refuses what would be lost. `comment` takes the place of one that a load wrote.
    ///
    /// # Errors
    /// A usage error that names everything that depends on the table.
    pub(crate) async fn read(
        connection: &Connection,
        table: &Table,
        id: LoadId,
        comment: &str,
    ) -> Result<Replacement, Error> {
        if table.kind != Kind::Table {
            return Err(Error::usage(message![
                table.display(),
                " is not a plain table: ",
                setting::MODE.word("replace"),
                " cannot exchange it"
            ])
            .with_hint(message![
                "use ",
                setting::MODE.word("truncate"),
                ", or load into a partition of its own"
            ]));
        }
        refuse_dependents(connection, table).await?;
        let oid = [(&table.oid as &(dyn tokio_postgres::types::ToSql + Sync), Type::OID)];
        let client = connection.client();
        let constraints = client
            .query_typed(
                "select conname::text, pg_catalog.pg_get_constraintdef(oid) from pg_catalog.pg_constraint
                  where conrelid = $1 and contype in ('p', 'u', 'x', 'f')
                  order by array_position('{p,u,x,f}'::text[], contype::text), conname",
                &oid,
            )
            .await?;
        let indexes = client
            .query_typed(
                "select i.relname::text, x.indisunique,
                        substr(d.def, length(format('CREATE %sINDEX %I ON %s%I.%I ', case when x.indisunique then 'UNIQUE ' else '' end,
                                                    i.relname, '', n.nspname, t.relname)) + 1)
                   from pg_catalog.pg_index x
                   join pg_catalog.pg_class i on i.oid = x.indexrelid
                   join pg_catalog.pg_class t on t.oid = x.indrelid
                   join pg_catalog.pg_namespace n on n.oid = t.relnamespace
                   cross join lateral (select pg_catalog.pg_get_indexdef(i.oid) as def) d
                  where x.indrelid = $1 and x.indisvalid
                    and not exists(select from pg_catalog.pg_constraint k where k.conindid = i.oid and k.contype in ('p', 'u', 'x'))
                  order by i.relname",
                &oid,
            )
            .await?;
        let traits = client
            .query_typed(
                "with t as (select c.*, c.oid::regclass::text as sql from pg_catalog.pg_class c where c.oid = $1)
                 select format('ALTER TABLE %s SET (%s)', sql, array_to_string(reloptions, ', ')) from t where reloptions is not null
                 union all
                 select format('COMMENT ON TABLE %s IS %L', sql,
                               case when starts_with(pg_catalog.obj_description(oid, 'pg_class'), $2) then $3
                                    else pg_catalog.obj_description(oid, 'pg_class') end) from t
                  where pg_catalog.obj_description(oid, 'pg_class') is not null
                 union all
                 select format('GRANT %s ON %s TO %s%s', privilege_type, sql,
                               case when grantee = 0 then 'PUBLIC' else quote_ident(pg_catalog.pg_get_userbyid(grantee)) end,
                               case when is_grantable then ' WITH GRANT OPTION' else '' end)
                   from t, pg_catalog.aclexplode(relacl) where grantee <> relowner
                 union all
                 select format('ALTER TABLE %s OWNER TO %I', sql, pg_catalog.pg_get_userbyid(relowner)) from t
                  where relowner <> (select oid from pg_catalog.pg_roles where rolname = current_user)",
                &[oid[0].clone(), (&creation::COMMENT_START, Type::TEXT), (&comment, Type::TEXT)],
            )
            .await?;
        let sequences = client
            .query_typed(
                "select s.oid::regclass::text, a.attname::text
                   from pg_catalog.pg_depend d
                   join pg_catalog.pg_class s on s.oid = d.objid and s.relkind = 'S'
                   join pg_catalog.pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
                  where d.refobjid = $1 and d.classid = 'pg_catalog.pg_class'::regclass and d.deptype = 'a'",
                &oid,
            )
            .await?;
        Ok(Replacement {
            old: table.sql(),
            constraints: constraints
                .iter()
                .map(|row| Definition { name: row.get(0), definition: row.get(1), is_unique_index: false })
                .collect(),
            indexes: indexes
                .iter()
                .map(|row| Definition {
                    name: row.get(0),
                    is_unique_index: row.get(1),
                    definition: row.get(2),
                })
                .collect(),
            traits: traits.iter().map(|row| row.get(0)).collect(),
            sequences: sequences.iter().map(|row| (row.get(0), row.get(1))).collect(),
            schema: table.schema.clone(),
            id,
        })
    }

    /// The empty twin, without what is faster built afterwards.
    pub(crate) fn create_sql(&self, relation: &str, unlogged: bool) -> String {
        let unlogged = if unlogged { "UNLOGGED " } else { "" };
        format!("CREATE {unlogged}TABLE {relation} (LIKE {} INCLUDING ALL EXCLUDING INDEXES)", self.old)
    }

    /// Indexes and constraints on the filled twin, under names that do not collide with the old ones.
    pub(crate) fn build_sql(&self, relation: &str) -> Vec<String> {
        let indexes = self.indexes.iter().enumerate().map(|(n, index)| {
            let unique = if index.is_unique_index { "UNIQUE " } else { "" };
            format!(
                "CREATE {unique}INDEX {} ON {relation} {}",
                quote(&self.temporary("index", n)),
                index.definition
            )
        });
        let constraints = self.constraints.iter().enumerate().map(|(n, constraint)| {
            format!(
                "ALTER TABLE {relation} ADD CONSTRAINT {} {}",
                quote(&self.temporary("constraint", n)),
                constraint.definition
            )
        });
        indexes.chain(constraints).collect()
    }

    /// The exchange: the old table goes, `rename` gives the new one its name, then everything else its old name.
    pub(crate) fn swap_sql(&self, rename: &str) -> Vec<String> {
        let mut statements = Vec::new();
        for (sequence, _) in &self.sequences {
            statements.push(format!("ALTER SEQUENCE {sequence} OWNED BY NONE"));
        }
        statements.push(format!("DROP TABLE {}", self.old));
        statements.push(rename.to_owned());
        for (sequence, column) in &self.sequences {
            statements.push(format!("ALTER SEQUENCE {sequence} OWNED BY {}.{}", self.old, quote(column)));
        }
        for (n, index) in self.indexes.iter().enumerate() {
            let from = format!("{}.{}", quote(&self.schema), quote(&self.temporary("index", n)));
            statements.push(format!("ALTER INDEX {from} RENAME TO {}", quote(&index.name)));
        }
        for (n, constraint) in self.constraints.iter().enumerate() {
            let from = quote(&self.temporary("constraint", n));
            statements.push(format!(
                "ALTER TABLE {} RENAME CONSTRAINT {from} TO {}",
                self.old,
                quote(&constraint.name)
            ));
        }
        statements.extend(self.traits.iter().cloned());
        statements
    }

    fn temporary(&self, kind: &str, n: usize) -> String {
        format!("howdah_{kind}_{}_{n}", self.id)
    }
}

async fn refuse_dependents(connection: &Connection, table: &Table) -> Result<(), Error> {
    let rows = connection
        .client()
        .query_typed(
            "select distinct 'view ' || r.ev_class::regclass::text
               from pg_catalog.pg_depend d join pg_catalog.pg_rewrite r on r.oid = d.objid
              where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
                and d.refobjid = $1 and r.ev_class <> $1
             union all
             select 'rule ' || rulename::text from pg_catalog.pg_rewrite where ev_class = $1
             union all
             select 'foreign key ' || conname::text || ' of ' || conrelid::regclass::text from pg_catalog.pg_constraint
              where confrelid = $1 and conrelid <> $1 and contype = 'f'
             union all
             select 'trigger ' || tgname::text from pg_catalog.pg_trigger where tgrelid = $1 and not tgisinternal
             union all
             select 'policy ' || polname::text from pg_catalog.pg_policy where polrelid = $1
             union all
             select 'publication ' || pubname::text from pg_catalog.pg_publication_rel r
               join pg_catalog.pg_publication p on p.oid = r.prpubid where r.prrelid = $1
             union all
             select 'inheritance with ' || (case when inhparent = $1 then inhrelid else inhparent end)::regclass::text
               from pg_catalog.pg_inherits where inhparent = $1 or inhrelid = $1
             union all
             select 'privileges on column ' || attname::text from pg_catalog.pg_attribute where attrelid = $1 and attacl is not null",
            &[(&table.oid, Type::OID)],
        )
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
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
