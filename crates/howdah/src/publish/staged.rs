//! Rows that reach their table by a statement instead of by COPY: what is to become of them, and where they are staged.

mod ranges;
mod rounds;
mod statements;

pub(crate) use ranges::{KeyRange, OrderedColumn};
pub(crate) use rounds::{Parents, Round, SelfReference};

use howdah_connect::Connection;
use howdah_message::{Message, setting};
use tokio_postgres::types::Type;

use crate::catalog::load_id::LoadId;
use crate::catalog::name::quote;
use crate::catalog::table::{RelationKind, Table};
use crate::error::{Error, ErrorKind};
use crate::options::{LoadOptions, Mode};
use crate::plan::jobs::Jobs;
use crate::plan::mapping::Mapping;
use crate::plan::match_key::MatchKey;

/// What becomes of the staged rows.
pub(crate) enum Apply {
    /// They are inserted in the order of the input: row-level security keeps COPY out.
    Insert { truncates: bool },
    /// Inserted, or put in the place of the row with their key.
    Upsert(MatchKey),
    /// Inserted unless there is a row with their key.
    Ignore(MatchKey),
    /// Their columns go into the rows with their key.
    Update(MatchKey),
    /// The rows with their key are deleted.
    Delete(MatchKey),
}

impl Apply {
    /// What the mode asks for, when COPY into `table` cannot do it.
    ///
    /// # Errors
    /// A usage error when there is no usable key, or the input lacks it.
    pub(crate) async fn choose(
        connection: &Connection,
        table: &Table,
        options: &LoadOptions,
        mapping: &Mapping,
    ) -> Result<Option<Apply>, Error> {
        let apply = match options.target.mode {
            Mode::Upsert => Apply::Upsert(MatchKey::find(connection, table, options, mapping).await?),
            Mode::Ignore => Apply::Ignore(MatchKey::find(connection, table, options, mapping).await?),
            Mode::Update => Apply::Update(MatchKey::find(connection, table, options, mapping).await?),
            Mode::Delete => Apply::Delete(MatchKey::find(connection, table, options, mapping).await?),
            Mode::Append | Mode::CreateAppend if table.row_security => Apply::Insert { truncates: false },
            Mode::Truncate if table.row_security => Apply::Insert { truncates: true },
            _ => return Ok(None),
        };
        let sets_nothing =
            mapping.pairs.iter().all(|pair| apply.key().is_some_and(|key| key.has(&pair.target)));
        if matches!(apply, Apply::Update(_)) && sets_nothing {
            return Err(Error::usage(
                "the input has only the columns of the key: there is nothing to update",
            ));
        }
        if options.input.dialect.default.is_some() {
            return Err(Error::usage(message![
                setting::DEFAULT,
                " needs COPY straight into the table, and here rows are staged first"
            ])
            .with_hint(message![
                "leave out the column (",
                setting::SKIP_COLUMNS.placeholder("NAME"),
                "): every row then gets its default"
            ]));
        }
        Ok(Some(apply))
    }

    /// What rows are matched by.
    pub(crate) fn key(&self) -> Option<&MatchKey> {
        match self {
            Apply::Insert { .. } => None,
            Apply::Upsert(key) | Apply::Ignore(key) | Apply::Update(key) | Apply::Delete(key) => Some(key),
        }
    }

    /// The rights on a column that the statement needs.
    pub(crate) fn rights_on(&self, column: &str) -> &'static [&'static str] {
        let is_key = self.key().is_some_and(|key| key.has(column));
        match self {
            Apply::Insert { .. } => &["INSERT"],
            Apply::Upsert(_) if is_key => &["SELECT", "INSERT"],
            // What is `excluded` counts as read.
            Apply::Upsert(_) => &["SELECT", "INSERT", "UPDATE"],
            Apply::Ignore(_) if is_key => &["SELECT", "INSERT"],
            Apply::Ignore(_) => &["INSERT"],
            Apply::Update(_) if is_key => &["SELECT"],
            Apply::Update(_) => &["UPDATE"],
            Apply::Delete(_) => &["SELECT"],
        }
    }

    /// A deletion needs the key and nothing else.
    pub(crate) fn narrowed(&self, mapping: &Mapping) -> Mapping {
        let mut mapping = mapping.clone();
        if let Apply::Delete(key) = self {
            mapping.pairs.retain(|pair| key.has(&pair.target));
        }
        mapping
    }

    /// The table as it judges NULLs: keys that are only looked for may be NULL, and match nothing.
    pub(crate) fn judged(&self, table: &Table) -> Table {
        let mut table = table.clone();
        if let Apply::Update(key) | Apply::Delete(key) = self {
            table.columns.iter_mut().filter(|c| key.has(&c.name)).for_each(|column| column.not_null = false);
        }
        table
    }
}

/// Where rows are staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StageKind {
    /// In a temporary table, which one connection sees.
    Temporary,
    /// In a hidden table in the target's schema, which several can fill.
    Beside,
}

/// How many connections apply the rows.
pub(crate) enum AppliedBy {
    /// One, by one statement; and why, where several staged them.
    OneStatement(Option<Message>),
    /// All that staged them, each a range of the key, cut by one of these columns.
    Ranges(Vec<OrderedColumn>),
}

/// A staging table and what is done with it.
pub(crate) struct Staging {
    id: LoadId,
    place: StageKind,
    schema: String,
    target: String,
    /// What empties it.
    truncate: String,
    /// The loaded columns, each with what follows its name in CREATE TABLE.
    columns: Vec<(String, String)>,
    /// The column that holds each row's place in the input.
    ordinal: String,
    /// INSERT must say that it gives values for an identity column.
    overrides_identity: bool,
    /// Rows that are updated or deleted are locked in the order of the key first.
    locks: bool,
    /// `xmax` tells rows that were inserted from those that were updated: not in partitions or where tables are kept in another
    /// way, and not whoever may read only some columns.
    has_xmax: bool,
    /// The server can refuse a row because of its types: they have checks.
    pub(crate) can_refuse_rows: bool,
    pub(crate) apply: Apply,
    pub(crate) applied_by: AppliedBy,
}

impl Staging {
    /// Decides where rows are staged; a temporary table leaves one connection.
    ///
    /// # Errors
    /// A usage error when the role may make no table, or the statement would set what nobody may.
    pub(crate) async fn place(
        connection: &Connection,
        table: &Table,
        id: LoadId,
        apply: Apply,
        mapping: &Mapping,
        jobs: &mut Jobs,
    ) -> Result<Staging, Error> {
        let rights = connection
            .client()
            .query_typed(
                "select pg_catalog.has_schema_privilege($1, 'create'),
                        pg_catalog.has_database_privilege(pg_catalog.current_database(), 'temporary'),
                        pg_catalog.has_any_column_privilege($2::oid, 'update'),
                        pg_catalog.has_table_privilege($2::oid, 'select')
                          and not pg_catalog.row_security_active($2::oid)
                          and exists(select from pg_catalog.pg_class c join pg_catalog.pg_am m on m.oid = c.relam
                                      where c.oid = $2 and c.relkind = 'r' and m.amname = 'heap')",
                &[(&table.schema, Type::TEXT), (&table.oid, Type::OID)],
            )
            .await?;
        let (may_create, may_temp, may_update, has_xmax) = rights
            .first()
            .map_or((false, false, false, false), |row| (row.get(0), row.get(1), row.get(2), row.get(3)));
        let place = match (jobs.count, may_create, may_temp) {
            (1, _, true) => StageKind::Temporary,
            (_, true, _) => StageKind::Beside,
            (count, false, true) => {
                *jobs = Jobs {
                    count: 1,
                    reason: Some(message![
                        "one connection instead of {count}: the role may not create tables in schema ",
                        &table.schema,
                        ", and nobody else sees a temporary one"
                    ]),
                };
                StageKind::Temporary
            }
            (_, false, false) => {
                return Err(Error::usage("there is no place to stage rows: the role may create neither temporary tables nor tables in the target's schema")
                    .with_hint("GRANT TEMPORARY ON DATABASE … TO the role, or GRANT CREATE ON SCHEMA …"));
            }
        };
        let names: Vec<&str> = mapping.pairs.iter().map(|pair| pair.target.as_str()).collect();
        let mut staging = Staging::at(connection, table, id, place, apply, &names).await?;
        staging.has_xmax = has_xmax;
        staging.locks = matches!(table.kind, RelationKind::Table | RelationKind::Partitioned) && may_update;
        Ok(staging)
    }

    /// Where the rows of columns `names` wait to be tried one by one in `relation`, which is `table` or made like it.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn to_judge(
        connection: &Connection,
        table: &Table,
        id: LoadId,
        names: &[&str],
        relation: String,
    ) -> Result<Staging, Error> {
        let apply = Apply::Insert { truncates: false };
        let staging = Staging::at(connection, table, id, StageKind::Temporary, apply, names).await?;
        Ok(Staging { target: relation, ..staging })
    }

    async fn at(
        connection: &Connection,
        table: &Table,
        id: LoadId,
        place: StageKind,
        apply: Apply,
        names: &[&str],
    ) -> Result<Staging, Error> {
        let facts = connection
            .client()
            .query_typed(
                "select a.attname::text, a.attidentity = 'a',
                        (select ' COLLATE ' || format('%I.%I', n.nspname, c.collname)
                           from pg_catalog.pg_collation c join pg_catalog.pg_namespace n on n.oid = c.collnamespace
                          where c.oid = a.attcollation)
                   from pg_catalog.pg_attribute a where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped",
                &[(&table.oid, Type::OID)],
            )
            .await?;
        let mut columns = Vec::new();
        let (mut overrides_identity, mut can_refuse_rows) = (false, false);
        for name in names.iter().copied() {
            let column = table.columns.iter().find(|column| column.name == name).ok_or_else(|| {
                Error::new(
                    ErrorKind::Internal,
                    format!("the table has no column {name} to stage a field for"),
                )
            })?;
            let facts = facts.iter().find(|row| row.get::<_, &str>(0) == name);
            let always = facts.is_some_and(|row| row.get(1));
            let is_set = match &apply {
                Apply::Upsert(key) | Apply::Update(key) => !key.has(name),
                _ => false,
            };
            if always && is_set {
                return Err(Error::usage(format!(
                    "column {name:?} is GENERATED ALWAYS AS IDENTITY: it cannot be updated"
                ))
                .with_hint(message!["leave it out with ", setting::SKIP_COLUMNS]));
            }
            overrides_identity |= always;
            can_refuse_rows |= column.has_checks();
            let collation = facts.and_then(|row| row.get::<_, Option<String>>(2)).unwrap_or_default();
            columns.push((name.to_owned(), format!("{}{collation}", column.type_name)));
        }
        let mut ordinal = "howdah_ordinal".to_owned();
        // Its rank among the rows that are tried one by one has a longer name.
        while columns.iter().any(|(name, _)| name.starts_with(&ordinal)) {
            ordinal.push('_');
        }
        Ok(Staging {
            id,
            place,
            schema: table.schema.clone(),
            target: table.sql(),
            truncate: table.truncate_sql(),
            columns,
            ordinal,
            overrides_identity,
            locks: false,
            has_xmax: false,
            can_refuse_rows,
            apply,
            applied_by: AppliedBy::OneStatement(None),
        })
    }

    /// The column that holds each row's place in the input.
    pub(crate) fn ordinal(&self) -> &str {
        &self.ordinal
    }

    /// The load's id, when the staging table must be found and removed after a crash.
    pub(crate) fn hidden_id(&self) -> Option<LoadId> {
        (self.place == StageKind::Beside).then_some(self.id)
    }

    /// The bare name and the quoted, qualified name.
    pub(crate) fn relation(&self) -> (String, String) {
        let name = self.id.hidden_name();
        let schema = match self.place {
            StageKind::Temporary => "pg_temp".to_owned(),
            StageKind::Beside => quote(&self.schema),
        };
        let sql = format!("{schema}.{}", quote(&name));
        (name, sql)
    }

    /// Columns whose values go into rows of the table that are there.
    pub(crate) fn set_columns(&self) -> Vec<&str> {
        let (Apply::Upsert(key) | Apply::Update(key)) = &self.apply else { return Vec::new() };
        self.columns.iter().map(|(name, _)| name.as_str()).filter(|name| !key.has(name)).collect()
    }

    /// Why and where, for the plan; and what applies them, of `jobs` connections.
    pub(crate) fn reason(&self, jobs: usize) -> Message {
        let why = match &self.apply {
            Apply::Insert { .. } => {
                "row-level security applies to the role, and COPY refuses to load under it".to_owned()
            }
            Apply::Upsert(key) | Apply::Ignore(key) | Apply::Update(key) | Apply::Delete(key) => {
                format!("rows are matched by {}", key.display())
            }
        };
        let mut reason = match self.place {
            StageKind::Temporary => message!["in a temporary table; ", why],
            StageKind::Beside => message!["in an unlogged table that nobody looks for; ", why],
        };
        match &self.applied_by {
            AppliedBy::OneStatement(None) => {}
            AppliedBy::OneStatement(Some(why)) => {
                reason.push(message!["; one statement applies them: ", why])
            }
            AppliedBy::Ranges(_) => {
                reason.push(format!("; {jobs} connections apply them, each a range of the keys"));
            }
        }
        reason
    }
}
