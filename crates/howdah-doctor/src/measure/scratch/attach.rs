//! What becomes of a copy after it was made: it gets keys to parents that hold only what the rows refer to, and triggers that do
//! nothing, and stores values otherwise.

use howdah::facts::TriggerFacts;
use howdah::tokio_postgres::{self, Client};

use super::{Scratch, in_sql};
use crate::attachment::Attachment;
use crate::measure::sample::{quote, quoted};

impl Scratch<'_> {
    /// Makes the parents that the rows refer to, and the key to them.
    pub(super) async fn add_foreign_key(
        &self,
        client: &Client,
        attachment: &Attachment,
    ) -> Result<(), tokio_postgres::Error> {
        let parents = self.sample.parents.iter().enumerate();
        let mut parents =
            parents.filter(|(_, (key, _))| *attachment == Attachment::ForeignKey(key.name.clone()));
        let Some((at, (key, keys))) = parents.next() else { return Ok(()) };
        let (parent, columns) = (self.named(&format!("parent_{at}")), quoted(&key.columns));
        let kind = self.place.kind(false);
        // A logged table cannot refer to one that is not, but the other way round it can.
        client
            .batch_execute(&format!(
                "CREATE {kind}TABLE {parent} AS SELECT {columns} FROM {} WITH NO DATA",
                in_sql(self.table)
            ))
            .await?;
        keys.send(client, &parent, 0, 1).await?;
        let deferred = if key.is_deferred { " DEFERRABLE INITIALLY DEFERRED" } else { "" };
        client
            .batch_execute(&format!(
                "ALTER TABLE {parent} ADD UNIQUE ({columns});
                 ALTER TABLE {} ADD FOREIGN KEY ({columns}) REFERENCES {parent} ({columns}){deferred}",
                self.named("copy")
            ))
            .await
    }

    /// Makes a trigger of the same kind whose function does nothing, and which is not even called unless it is enabled.
    pub(super) async fn add_trigger(
        &self,
        client: &Client,
        attachment: &Attachment,
        is_enabled: bool,
    ) -> Result<(), tokio_postgres::Error> {
        let triggers = self.table.triggers.seen().into_iter().flatten().enumerate();
        let mut triggers =
            triggers.filter(|(_, trigger)| *attachment == Attachment::Trigger(trigger.name.clone()));
        let Some((at, trigger)) = triggers.next() else { return Ok(()) };
        let (function, copy) = (self.named(&format!("nothing_{at}")), self.named("copy"));
        let disable = match is_enabled {
            true => String::new(),
            false => format!("; ALTER TABLE {copy} DISABLE TRIGGER nothing_{at}"),
        };
        client
            .batch_execute(&format!(
                "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end';
                 CREATE TRIGGER nothing_{at} {} ON {copy}{} EXECUTE FUNCTION {function}(){disable}",
                event(trigger),
                referencing(trigger)
            ))
            .await
    }
}

/// Ways to store values.
impl Scratch<'_> {
    /// The ways in which wide values of the rows could be stored instead of being compressed by `pglz`.
    pub(super) fn compressions(&self) -> Vec<Attachment> {
        let wide = &self.sample.wide;
        match wide.is_empty() {
            true => Vec::new(),
            false => vec![Attachment::Pglz(wide.clone()), Attachment::Compression(wide.clone())],
        }
    }

    /// Has a copy of a partitioned table compress wide values as partitions do that use `pglz`.
    pub(super) fn compression_of_partitions(&self, copy: &str) -> Option<String> {
        let wide = Some(&self.sample.wide).filter(|wide| self.table.kind == "p" && !wide.is_empty())?;
        let each = |column: &String| {
            let column = quote(column);
            format!("ALTER {column} SET STORAGE EXTENDED, ALTER {column} SET COMPRESSION pglz")
        };
        let alters = wide.iter().map(each).collect::<Vec<_>>().join(", ");
        Some(format!("ALTER TABLE {copy} {alters}"))
    }

    /// Alters the copy, before it has rows, so that it does without what a column or a page has of its own.
    pub(super) async fn alter_without(
        &self,
        client: &Client,
        attachment: &Attachment,
    ) -> Result<(), tokio_postgres::Error> {
        let each = |columns: &[String], what: &str| {
            let alters = columns.iter().map(|column| format!("ALTER {} {what}", quote(column)));
            alters.collect::<Vec<_>>().join(", ")
        };
        let alters = match attachment {
            Attachment::Generated(column) => format!("ALTER {} DROP EXPRESSION", quote(column)),
            Attachment::Pglz(columns) => each(columns, "SET COMPRESSION lz4"),
            Attachment::Compression(columns) => each(columns, "SET STORAGE EXTERNAL"),
            Attachment::FreeRoom => "SET (fillfactor = 100)".to_owned(),
            _ => return Ok(()),
        };
        client.batch_execute(&format!("ALTER TABLE {} {alters}", self.named("copy"))).await
    }
}

fn event(trigger: &TriggerFacts) -> &'static str {
    if trigger.is_before { "BEFORE INSERT" } else { "AFTER INSERT" }
}

fn referencing(trigger: &TriggerFacts) -> &'static str {
    match (trigger.has_new_table, trigger.is_for_rows) {
        (true, true) => " REFERENCING NEW TABLE AS howdah_new FOR EACH ROW",
        (true, false) => " REFERENCING NEW TABLE AS howdah_new FOR EACH STATEMENT",
        (false, true) => " FOR EACH ROW",
        (false, false) => " FOR EACH STATEMENT",
    }
}
