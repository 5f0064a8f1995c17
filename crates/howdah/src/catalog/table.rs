//! The target: what the catalog says about it, read with one role's ordinary rights.

use howdah_connect::Connection;
use howdah_encode::{SessionRules, TypeShape};
use howdah_message::setting;
use tokio_postgres::types::Type;

use crate::catalog::inferred_type::InferredType;
use crate::catalog::name::{TableName, display, quote};
use crate::catalog::types::Types;
use crate::error::{Error, ErrorKind};

/// A relation that rows can be copied into.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// 0 for a table that this load makes.
    pub(crate) oid: u32,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) kind: RelationKind,
    /// `u` or `t`: a crash of the server empties it.
    pub(crate) is_logged: bool,
    pub(crate) columns: Vec<Column>,
    pub(crate) hazards: Hazards,
    /// Whether the server can refuse a row whose values are all valid: domains have checks also as parts of other types
    /// (those from OID 16384 on are not PostgreSQL's own).
    pub(crate) can_refuse_rows: bool,
    /// Row triggers on INSERT: they may fill, change or drop rows.
    pub(crate) has_row_triggers: bool,
    /// Row-level security applies to the role: COPY is refused.
    pub(crate) row_security: bool,
}

/// What `pg_class.relkind` says, as far as COPY cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationKind {
    Table,
    Partitioned,
    View,
    Foreign,
}

/// One column that is not dropped.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// As `format_type` writes it.
    pub(crate) type_name: String,
    /// What the type is made of.
    pub(crate) shape: TypeShape,
    pub(crate) typmod: i32,
    /// OID and modifier of the type, domains resolved.
    pub(crate) base_type: (u32, i32),
    pub(crate) not_null: bool,
    /// The domain, when it is one that takes no NULL.
    pub(crate) not_null_domain: Option<String>,
    pub(crate) generated: bool,
    pub(crate) has_default: bool,
    /// The user says its type, where others are found out: a new table's.
    pub(crate) is_declared: bool,
    /// Its type was found although few values do not fit: these are rejected, whatever the server would make of them.
    pub(crate) mostly: Option<InferredType>,
}

impl Column {
    /// Gives a column of a new table its type.
    pub(crate) fn infer(&mut self, inferred: InferredType) {
        inferred.sql().clone_into(&mut self.type_name);
        self.shape = TypeShape::Base { oid: inferred.oid() };
        self.base_type = (inferred.oid(), -1);
    }

    /// Gives a column of a new table a type that not all of its values fit.
    pub(crate) fn infer_mostly(&mut self, inferred: InferredType) {
        self.infer(inferred);
        self.mostly = Some(inferred);
    }

    /// Whether values can be refused by checks of the type: those of domains, also as parts of other types.
    pub(crate) fn has_checks(&self) -> bool {
        !matches!(self.shape, TypeShape::Base { .. } | TypeShape::Enum { .. })
    }
}

/// Bytes of a page, as servers are built.
const PAGE: i32 = 8192;

/// So many columns of a new table may be more than fits a page.
pub(crate) const WIDE: usize = 400;

/// Code of the user's that runs for rows.
const ROW_TRIGGER: &str = "a row trigger";
const STATEMENT_TRIGGER: &str = "a statement trigger";

/// What makes two connections that insert into one table wait for each other, or miss each other's rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hazards {
    /// A foreign key whose parents may be rows of the load.
    pub(crate) refers_to_itself: bool,
    /// A unique index or exclusion constraint: only rows of which one would be refused meet there.
    pub(crate) keys: bool,
    /// The user's own code that runs for the rows.
    pub(crate) code: Vec<&'static str>,
}

impl Hazards {
    /// What good rows may meet in.
    pub(crate) fn of_good_rows(&self) -> impl Iterator<Item = &'static str> {
        self.code.iter().copied().chain(self.refers_to_itself.then_some("a foreign key to itself"))
    }
}

#[cfg(test)]
impl Table {
    /// A plain table of no columns, whose rows meet in `hazards`.
    pub(crate) fn with_hazards(hazards: Hazards) -> Table {
        Table {
            oid: 1,
            schema: "public".into(),
            name: "t".into(),
            kind: RelationKind::Table,
            is_logged: true,
            columns: Vec::new(),
            can_refuse_rows: hazards.keys,
            hazards,
            has_row_triggers: false,
            row_security: false,
        }
    }
}

impl Table {
    /// Empties the table. Tables that inherit from it keep their rows: COPY fills this one alone.
    pub(crate) fn truncate_sql(&self) -> String {
        let only = if self.kind == RelationKind::Partitioned { "" } else { "ONLY " };
        format!("TRUNCATE {only}{}", self.sql())
    }

    /// Schema-qualified, for SQL.
    pub(crate) fn sql(&self) -> String {
        format!("{}.{}", quote(&self.schema), quote(&self.name))
    }

    /// Schema-qualified, for people.
    pub(crate) fn display(&self) -> String {
        format!("{}.{}", display(&self.schema), display(&self.name))
    }

    /// The relation called `name`, or `None` when there is none.
    ///
    /// # Errors
    /// The relation is of a kind that takes no rows; the server's errors.
    pub(crate) async fn lookup(
        connection: &Connection,
        name: &TableName,
        rules: &SessionRules,
    ) -> Result<Option<Table>, Error> {
        let client = connection.client();
        let rows = client
            .query_typed(
                "select c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
                        c.relkind <> 'r' or c.relhastriggers or c.relrowsecurity or c.relispartition
                          or exists(select from pg_catalog.pg_index i where i.indrelid = c.oid)
                          or exists(select from pg_catalog.pg_constraint k
                                     where k.conrelid = c.oid and k.contype in ('c', 'f', 'x'))
                          -- A row must fit a page, of which a value that is stored elsewhere takes a pointer.
                          or exists(select from pg_catalog.pg_attribute a
                                     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                                    having sum(case when a.attlen > 0 then a.attlen when a.attstorage = 'p' then $2
                                                    else 20 end) + count(*) / 8 > $2 - 200)
                          or exists(select from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
                                     where a.attrelid = c.oid and not a.attisdropped
                                       and (a.attgenerated <> '' or t.typtype in ('c', 'd')
                                            or (t.typtype in ('r', 'm') and t.oid >= 16384)
                                            or exists(select from pg_catalog.pg_type e
                                                       where e.oid = t.typelem and e.typtype in ('c', 'd')))),
                        array(select relid from pg_catalog.pg_partition_tree(c.oid) union select c.oid)::oid[],
                        -- From it or a partition, to what is of the same tree.
                        exists(select from pg_catalog.pg_constraint k
                                where k.contype = 'f'
                                  and k.conrelid in (select relid from pg_catalog.pg_partition_tree(c.oid) union select c.oid)
                                  and k.confrelid in (select relid from pg_catalog.pg_partition_ancestors(c.oid) union
                                                      select relid from pg_catalog.pg_partition_tree(c.oid) union
                                                      select c.oid)),
                        pg_catalog.row_security_active(c.oid)
                   from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                  where c.oid = pg_catalog.to_regclass($1)",
                &[(&name.to_string(), Type::TEXT), (&PAGE, Type::INT4)],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let oid: u32 = row.get(0);
        let relkind: String = row.get(3);
        let persistence: String = row.get(4);
        let family: Vec<u32> = row.get(6);
        let kind = match relkind.as_str() {
            "r" => RelationKind::Table,
            "p" => RelationKind::Partitioned,
            "v" => RelationKind::View,
            "f" => RelationKind::Foreign,
            _ => {
                return Err(Error::usage(format!("{name} is not a table"))
                    .with_sqlstate("42809")
                    .with_hint("rows can be loaded into tables, partitioned tables, foreign tables, and views with an INSTEAD OF INSERT trigger"));
            }
        };
        let (hazards, has_row_triggers) = hazards(connection, oid, &family, row.get(7)).await?;
        if kind == RelationKind::View && !has_row_triggers {
            return Err(Error::usage(format!("{name} is a view without an INSTEAD OF INSERT trigger"))
                .with_sqlstate("42809")
                .with_hint("load into the table behind the view"));
        }
        Ok(Some(Table {
            oid,
            schema: row.get(1),
            name: row.get(2),
            kind,
            is_logged: persistence == "p",
            columns: columns(connection, oid, rules).await?,
            hazards,
            can_refuse_rows: row.get(5),
            has_row_triggers,
            row_security: row.get(8),
        }))
    }

    /// Forgets the triggers: they are disabled when the rows come.
    pub(crate) fn forget_triggers(&mut self) {
        self.has_row_triggers = false;
        self.hazards.code.retain(|code| ![ROW_TRIGGER, STATEMENT_TRIGGER].contains(code));
    }

    /// Whether a NULL is refused as it comes: triggers could replace it, and behind a view or a foreign table anything
    /// can happen.
    pub(crate) fn checks_not_null_itself(&self) -> bool {
        matches!(self.kind, RelationKind::Table | RelationKind::Partitioned) && !self.has_row_triggers
    }

    /// Bytes on disk, TOAST included.
    pub(crate) async fn size(&self, connection: &Connection) -> Result<u64, Error> {
        let sql = "select pg_catalog.pg_table_size($1::oid)";
        let rows = connection.client().query_typed(sql, &[(&self.oid, Type::OID)]).await?;
        let size = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
        Ok(size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0))
    }

    /// Whether the table holds a row; `None` when the role may not look.
    pub(crate) async fn holds_rows(&self, connection: &Connection) -> Result<Option<bool>, Error> {
        if self.kind != RelationKind::Table && self.kind != RelationKind::Partitioned {
            return Ok(None);
        }
        let client = connection.client();
        let may = client
            .query_typed(
                "select pg_catalog.has_table_privilege($1::oid, 'select')",
                &[(&self.oid, Type::OID)],
            )
            .await?;
        if !may.first().is_some_and(|row| row.get(0)) {
            return Ok(None);
        }
        let found = client.query_typed(&format!("select exists(select from {})", self.sql()), &[]).await?;
        Ok(found.first().map(|row| row.get(0)))
    }
}

/// What connections that insert into table `oid`, whose partitions are the `family`, could meet in; and whether row triggers
/// run on INSERT.
async fn hazards(
    connection: &Connection,
    oid: u32,
    family: &[u32],
    refers_to_itself: bool,
) -> Result<(Hazards, bool), Error> {
    let flags = connection
        .client()
        .query_typed(
            "select exists(select from pg_catalog.pg_index
                            where indrelid = any($1) and (indisunique or indisexclusion)),
                    exists(select from pg_catalog.pg_trigger
                            where tgrelid = any($1) and not tgisinternal and tgenabled <> 'D'
                              and tgtype & 1 = 1 and tgtype & 4 = 4),
                    exists(select from pg_catalog.pg_trigger
                            where tgrelid = $2 and not tgisinternal and tgenabled <> 'D'
                              and tgtype & 1 = 0 and tgtype & 4 = 4),
                    -- Functions in C make values, those in other languages may write rows to make them.
                    exists(select from pg_catalog.pg_attrdef d
                             join pg_catalog.pg_depend p on p.classid = 'pg_catalog.pg_attrdef'::regclass and p.objid = d.oid
                             join pg_catalog.pg_proc f on f.oid = p.refobjid
                             join pg_catalog.pg_language l on l.oid = f.prolang
                            where d.adrelid = $2 and p.refclassid = 'pg_catalog.pg_proc'::regclass
                              and f.provolatile = 'v' and l.lanname not in ('c', 'internal'))",
            &[(&family, Type::OID_ARRAY), (&oid, Type::OID)],
        )
        .await?;
    let (keys, has_row_triggers, has_statement_triggers, runs_functions) = flags
        .first()
        .map_or((true, true, true, true), |row| (row.get(0), row.get(1), row.get(2), row.get(3)));
    let mut hazards = Hazards { refers_to_itself, keys, code: Vec::new() };
    for (present, text) in [
        (has_row_triggers, ROW_TRIGGER),
        (has_statement_triggers, STATEMENT_TRIGGER),
        (runs_functions, "a default that runs a function"),
    ] {
        if present {
            hazards.code.push(text);
        }
    }
    Ok((hazards, has_row_triggers))
}

async fn columns(connection: &Connection, oid: u32, rules: &SessionRules) -> Result<Vec<Column>, Error> {
    let rows = connection
        .client()
        .query_typed(
            "select a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod,
                    a.attnotnull, a.attgenerated <> '', a.atthasdef or a.attidentity <> ''
               from pg_catalog.pg_attribute a
              where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
              order by a.attnum",
            &[(&oid, Type::OID)],
        )
        .await?;
    let oids: Vec<u32> = rows.iter().map(|row| row.get(2)).collect();
    let types = Types::look_up(connection, &oids, rules).await?;
    Ok(rows
        .iter()
        .zip(oids)
        .map(|(row, oid)| Column {
            name: row.get(0),
            type_name: row.get(1),
            shape: types.shape(oid),
            typmod: row.get(3),
            base_type: types.base(oid, row.get(3)),
            not_null: row.get(4),
            not_null_domain: types.not_null_domain(oid),
            generated: row.get(5),
            has_default: row.get(6),
            is_declared: false,
            mostly: None,
        })
        .collect())
}

/// The schema in which a new table is made, and whether it has to be made too.
///
/// # Errors
/// The schema does not exist and nobody wants it made, or the search path names none.
pub(crate) async fn creation_schema(
    connection: &Connection,
    name: &TableName,
    may_create: bool,
) -> Result<(String, bool), Error> {
    let client = connection.client();
    if let Some(schema) = &name.schema {
        let found = client
            .query_typed("select from pg_catalog.pg_namespace where nspname = $1", &[(schema, Type::TEXT)])
            .await?;
        if found.is_empty() && !may_create {
            return Err(Error::usage(format!("schema {schema:?} does not exist"))
                .with_sqlstate("3F000")
                .with_hint(message![setting::CREATE_SCHEMA.bool(true), " makes it too"]));
        }
        return Ok((schema.clone(), found.is_empty()));
    }
    let current = client.query_typed("select pg_catalog.current_schema()::text", &[]).await?;
    let current = current.first().and_then(|row| row.get::<_, Option<String>>(0));
    current.map(|schema| (schema, false)).ok_or_else(|| {
        Error::new(ErrorKind::Usage, "no schema has been selected to create in").with_sqlstate("3F000")
    })
}
