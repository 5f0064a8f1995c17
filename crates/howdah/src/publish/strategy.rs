//! Where rows land before they are visible, and the statements around the COPYs that make them visible all at once.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::inferred_type::InferredType;
use crate::catalog::load_id::LoadId;
use crate::catalog::name::quote;
use crate::catalog::table::Table;
use crate::error::{Error, HiddenNames};
use crate::plan::Plan;
use crate::publish::creation::Creation;
use crate::publish::hidden_table::make_sql;
use crate::publish::rebuild::Rebuild;
use crate::publish::replace::Replacement;
use crate::publish::staged::{KeyRange, Staging};

/// The way from the first COPY to the moment when readers see the rows.
pub(crate) enum PublishStrategy {
    /// Straight into the table.
    Append,
    /// TRUNCATE and COPY in one transaction.
    Truncate,
    /// Indexes are dropped, the table is filled, and they are built again, in one transaction.
    Rebuild(Rebuild),
    /// The table is made in the transaction that fills it.
    Create(Creation),
    /// Into a table under a hidden name; its renaming is what readers see.
    Hidden(Hidden),
    /// Into a staging table; a statement applies them to the table.
    Staged(Staging),
}

/// A table that nobody looks for.
pub(crate) struct Hidden {
    id: LoadId,
    content: Content,
}

/// What a hidden table will be.
pub(crate) enum Content {
    /// A table that was not there.
    New(Creation),
    /// The one that takes another's place.
    Twin {
        of: Replacement,
        /// Indexes and constraints judge the rows as they come, instead of all at the end.
        builds_first: bool,
    },
}

impl Hidden {
    pub(crate) fn new(id: LoadId, content: Content) -> Self {
        Hidden { id, content }
    }

    fn name(&self) -> String {
        self.id.hidden_name()
    }

    fn rename_sql(&self, relation: &str, table: &Table) -> String {
        format!("ALTER TABLE {relation} RENAME TO {}", quote(&table.name))
    }
}

impl PublishStrategy {
    /// The bare name and the quoted, qualified name of the relation that rows are copied into.
    pub(crate) fn relation(&self, table: &Table) -> (String, String) {
        match self {
            PublishStrategy::Hidden(hidden) => {
                (hidden.name(), format!("{}.{}", quote(&table.schema), quote(&hidden.name())))
            }
            PublishStrategy::Staged(staging) => staging.relation(),
            _ => (table.name.clone(), table.sql()),
        }
    }

    /// What users call the relation that rows are copied into, and what belongs to it.
    pub(crate) fn hidden_names(&self, table: &Table) -> HiddenNames {
        let (name, _) = self.relation(table);
        let mut names = self.replacement().map(|of| of.names.clone()).unwrap_or_default();
        if name != table.name {
            names.push((name, table.name.clone()));
        }
        HiddenNames::new(names)
    }

    /// The load's id, where rows go into a table that nobody looks for and that must be removed after a failure.
    pub(crate) fn hidden_id(&self) -> Option<LoadId> {
        match self {
            PublishStrategy::Hidden(hidden) => Some(hidden.id),
            PublishStrategy::Staged(staging) => staging.hidden_id(),
            _ => None,
        }
    }

    /// The table that this load makes, unless it takes another's place.
    pub(crate) fn creation(&self) -> Option<&Creation> {
        match self {
            PublishStrategy::Create(creation)
            | PublishStrategy::Hidden(Hidden { content: Content::New(creation), .. }) => Some(creation),
            _ => None,
        }
    }

    /// Whether the server can refuse valid rows of `table` as they come: its keys and constraints judge them at once, or
    /// types have checks.
    pub(crate) fn can_refuse_rows(&self, table: &Table) -> bool {
        match self {
            PublishStrategy::Append
            | PublishStrategy::Truncate
            | PublishStrategy::Rebuild(_)
            | PublishStrategy::Create(_) => table.can_refuse_rows,
            PublishStrategy::Staged(staging) => staging.can_refuse_rows,
            PublishStrategy::Hidden(hidden) => {
                table.can_refuse_rows && !matches!(hidden.content, Content::Twin { builds_first: false, .. })
            }
        }
    }

    /// What must be done before the first COPY. With one connection it is part of its transaction.
    pub(crate) fn before(&self, table: &Table) -> Vec<String> {
        let (_, relation) = self.relation(table);
        if let Some(creation) = self.creation() {
            let schema = creation.schema_sql(table);
            return schema.into_iter().chain([creation.create_sql(&relation, table)]).collect();
        }
        match self {
            PublishStrategy::Truncate => vec![table.truncate_sql()],
            PublishStrategy::Rebuild(rebuild) => rebuild.drop_sql(),
            PublishStrategy::Staged(staging) => vec![staging.create_sql()],
            PublishStrategy::Hidden(Hidden { content: Content::Twin { of, builds_first }, .. }) => {
                let mut statements = of.create.clone();
                if *builds_first {
                    statements.extend_from_slice(&of.build);
                }
                statements
            }
            _ => Vec::new(),
        }
    }

    /// The relation, quoted and qualified, in which rows are judged as they come by everything that the table has at the end,
    /// and what makes it.
    pub(crate) fn judges(&self, table: &Table) -> (String, Vec<String>) {
        if let Some(creation) = self.creation() {
            let makes =
                creation.schema_sql(table).into_iter().chain([creation.create_sql(&table.sql(), table)]);
            return (table.sql(), makes.chain(creation.finish_sql(table)).collect());
        }
        match self {
            PublishStrategy::Truncate => (table.sql(), vec![table.truncate_sql()]),
            PublishStrategy::Rebuild(rebuild) => (table.sql(), rebuild.judges()),
            PublishStrategy::Hidden(Hidden { content: Content::Twin { of, .. }, .. }) => {
                (self.relation(table).1, [&of.create[..], &of.build].concat())
            }
            _ => (table.sql(), Vec::new()),
        }
    }

    /// Gives the columns the types that were found while the rows came.
    pub(crate) fn retype(&self, table: &Table, plan: &Plan, found: &[InferredType]) -> Option<String> {
        let (_, relation) = self.relation(table);
        let changes: Vec<String> = plan
            .columns
            .iter()
            .zip(found)
            .filter(|(column, found)| !column.is_declared && **found != InferredType::Text)
            .map(|(column, found)| {
                let name = quote(&column.name);
                // A new type forgets the compression.
                let method = self.creation().and_then(|creation| creation.compression_of(&column.name));
                let method = method.filter(|_| *found == InferredType::Jsonb);
                let again = method.map(|method| format!(", ALTER COLUMN {name} SET COMPRESSION {method}"));
                format!(
                    "ALTER COLUMN {name} TYPE {type_name} USING {name}::{type_name}{}",
                    again.unwrap_or_default(),
                    type_name = found.sql()
                )
            })
            .collect();
        (!changes.is_empty()).then(|| format!("ALTER TABLE {relation} {}", changes.join(", ")))
    }

    /// Name, indexes and constraints, or what applies staged rows, once the rows are there and have their types; in one
    /// transaction with [`PublishStrategy::publish`].
    pub(crate) fn after(&self, table: &Table) -> Vec<String> {
        let (_, relation) = self.relation(table);
        let mut statements = Vec::new();
        match self {
            PublishStrategy::Create(creation) => statements.extend(creation.finish_sql(table)),
            PublishStrategy::Rebuild(rebuild) => statements.extend(rebuild.build()),
            PublishStrategy::Hidden(hidden) => match &hidden.content {
                Content::New(creation) => {
                    statements.push(hidden.rename_sql(&relation, table));
                    statements.extend(creation.finish_sql(table));
                }
                Content::Twin { of, builds_first: false } => statements.extend_from_slice(&of.build),
                Content::Twin { .. } => {}
            },
            PublishStrategy::Staged(staging) => {
                let all = KeyRange::default();
                statements.extend(staging.lock_sql(&all).into_iter().chain(staging.truncate_sql()));
                statements.push(staging.apply_sql(&all));
            }
            _ => {}
        }
        statements
    }

    /// What puts a table into the place of another; what removes a staging table.
    pub(crate) fn publish(&self) -> Vec<String> {
        match self {
            PublishStrategy::Hidden(Hidden { content: Content::Twin { of, .. }, .. }) => of.swap.clone(),
            PublishStrategy::Staged(staging) => staging.drop_sql().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// What is dropped and built again.
    pub(crate) fn rebuild(&self) -> Option<&Rebuild> {
        match self {
            PublishStrategy::Rebuild(rebuild) => Some(rebuild),
            _ => None,
        }
    }

    /// The same without dropping what is built again.
    pub(crate) fn keeping_indexes(&self) -> Option<PublishStrategy> {
        let truncates = self.rebuild()?.truncates();
        Some(if truncates { PublishStrategy::Truncate } else { PublishStrategy::Append })
    }

    /// The table that takes another's place.
    pub(crate) fn replacement(&self) -> Option<&Replacement> {
        match self {
            PublishStrategy::Hidden(Hidden { content: Content::Twin { of, .. }, .. }) => Some(of),
            _ => None,
        }
    }

    /// Makes the landing place in a transaction of its own, so that several connections can fill it. The connection is then in
    /// the transaction that will make the rows visible, and holds the load's lock as long as that lasts.
    ///
    /// # Errors
    /// The server's errors.
    pub(crate) async fn prepare_apart(
        &self,
        connection: &Connection,
        table: &Table,
        floor: Option<&str>,
    ) -> Result<(), Error> {
        let Some(id) = self.hidden_id() else { return Ok(()) };
        Ok(connection.client().batch_execute(&make_sql(id, "BEGIN", floor, &self.before(table))).await?)
    }

    /// Removes what [`PublishStrategy::prepare_apart`] made, after a failure.
    ///
    /// # Errors
    /// The server's errors; the next load into the schema tries again.
    pub(crate) async fn discard(&self, connection: &Connection, table: &Table) -> Result<(), Error> {
        if self.hidden_id().is_none() {
            return Ok(());
        }
        let (_, relation) = self.relation(table);
        let there = "select pg_catalog.to_regclass($1) is not null";
        let there = connection.client().query_typed(there, &[(&relation, Type::TEXT)]).await?;
        if !there.first().is_some_and(|row| row.get(0)) {
            return Ok(());
        }
        // The workers are rolled back; locks that they may still hold are released within moments.
        let sql =
            format!("SET lock_timeout = '1500ms'; BEGIN READ WRITE; DROP TABLE IF EXISTS {relation}; COMMIT");
        connection.client().batch_execute(&sql).await?;
        if let Some(sql) = self.creation().and_then(|creation| creation.drop_schema_sql(table)) {
            // Others may have put something there meanwhile; then it stays.
            let _ = connection.client().batch_execute(&sql).await;
        }
        Ok(())
    }
}
