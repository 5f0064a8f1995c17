//! A scratch copy of the table, with all that rows of the table are held against, or less one attachment. It is made and filled in
//! a transaction that is rolled back.

use std::time::Instant;

use howdah::Error;
use howdah::facts::{Facts, TableFacts, TriggerFacts};
use howdah::name::quote_literal;
use howdah::tokio_postgres::{self, Client};

use super::question::{answered, number, text};
use super::sample::{Rows, Sample, quote, quoted};
use crate::attachment::{Attachment, Variant};
use crate::sql;
use crate::trials::NotMeasured;

/// Where copies are made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A schema of their own.
    Own,
    /// The table's schema.
    Beside(String),
    /// Temporary tables, which are not logged.
    Temporary,
}

/// How copies of a table are made.
pub(super) struct Scratch<'s> {
    table: &'s TableFacts,
    sample: Sample,
    place: Place,
    /// Tells our names from others'.
    token: String,
    reloptions: Option<String>,
    /// Why rows of copies are not logged, where they are not.
    without_log: Option<&'static str>,
    /// The index in the table, and how it goes from the copy.
    indexes: Vec<(String, String)>,
    /// What copies have, and can be without.
    pub(super) attachments: Vec<Attachment>,
    pub(super) not_measured: Vec<NotMeasured>,
}

/// Each index of a table, in the order in which they were made: its name, its constraint, and what it is made of.
const INDEXES: &str = "
    SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(c.relname, k.conname,
             pg_catalog.json_build_array(c.relam::int8, i.indnkeyatts, i.indnatts, i.indisunique, i.indisprimary, i.indisexclusion,
               i.indclass::text, i.indcollation::text, i.indoption::text, i.indpred IS NULL,
               ARRAY(SELECT coalesce(a.attname, '') FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY u(at, o)
                       LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = at ORDER BY o))::text)
             ORDER BY i.indexrelid), '[]')
      FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
      LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
     WHERE i.indrelid = ";

type ListedIndex = (String, Option<String>, String);

impl<'s> Scratch<'s> {
    /// Finds out where copies can be made, and which attachments they have then.
    ///
    /// # Errors
    /// The connection is lost. `Ok(Err)`: no copy can be made.
    pub(super) async fn plan(
        client: &Client,
        facts: &Facts,
        table: &'s TableFacts,
        sample: Sample,
    ) -> Result<Result<Scratch<'s>, String>, Error> {
        let planned = plan(client, facts, table, sample).await;
        answered(planned)
    }

    /// The rows that go into a copy.
    pub(super) fn rows(&mut self) -> &mut Rows {
        &mut self.sample.rows
    }

    /// Whether a copy's rows are logged as those of the table are.
    pub(super) fn is_logged(&self) -> bool {
        !self.table.is_unlogged && self.without_log.is_none()
    }

    /// Makes `variant`, fills it, and takes all of it back. Returns seconds of the COPY, and bytes of log.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn run(
        &self,
        client: &Client,
        variant: &Variant,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        client.batch_execute("BEGIN READ WRITE").await?;
        let done = self.run_within(client, variant).await;
        // Not lost with the connection alone: the transaction ends here, however it went.
        let ended = client.batch_execute("ROLLBACK").await;
        let measured = done?;
        ended?;
        Ok(measured)
    }

    async fn run_within(
        &self,
        client: &Client,
        variant: &Variant,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        let has = |attachment: &Attachment| match variant {
            Variant::Bare => false,
            Variant::Without(left_out) => left_out != attachment,
            Variant::Whole | Variant::WholeAgain | Variant::Unlogged => true,
        };
        self.create(client, variant == &Variant::Unlogged).await?;
        let copy = self.named("copy");
        for attachment in &self.attachments {
            match attachment {
                Attachment::Index(name) if !has(attachment) => {
                    let drop = self.indexes.iter().find(|(index, _)| index == name);
                    client.batch_execute(drop.map_or("", |(_, drop)| drop)).await?;
                }
                Attachment::ForeignKey(_) if has(attachment) => {
                    self.add_foreign_key(client, attachment).await?
                }
                Attachment::Trigger(_) if has(attachment) => self.add_trigger(client, attachment).await?,
                Attachment::Checks if !has(attachment) => self.drop_checks(client).await?,
                Attachment::Generated(column) if !has(attachment) => {
                    client
                        .batch_execute(&format!("ALTER TABLE {copy} ALTER {} DROP EXPRESSION", quote(column)))
                        .await?;
                }
                _ => {}
            }
        }
        let defers = self
            .sample
            .parents
            .iter()
            .any(|(key, _)| key.is_deferred && has(&Attachment::ForeignKey(key.name.clone())));
        let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
        let began = Instant::now();
        self.sample.rows.send(client, &copy).await?;
        if defers {
            // They would wait for a commit that never comes.
            client.batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let after = number(client, LOG_POSITION).await?.unwrap_or(0.0);
        Ok((seconds, after - before))
    }

    /// A scratch thing's name, as SQL takes it.
    fn named(&self, what: &str) -> String {
        match &self.place {
            Place::Own => format!("howdah_doctor_{}.{what}", self.token),
            Place::Beside(schema) => format!("{}.howdah_doctor_{}_{what}", quote(schema), self.token),
            Place::Temporary => format!("pg_temp.howdah_doctor_{what}"),
        }
    }

    /// Makes the copy with its columns, indexes and CHECKs.
    async fn create(&self, client: &Client, unlogged: bool) -> Result<(), tokio_postgres::Error> {
        if self.place == Place::Own {
            client.batch_execute(&format!("CREATE SCHEMA howdah_doctor_{}", self.token)).await?;
        }
        let kind = match self.place {
            Place::Temporary => "TEMPORARY ",
            _ if unlogged || self.table.is_unlogged => "UNLOGGED ",
            _ => "",
        };
        let options =
            self.reloptions.as_ref().map(|options| format!(" WITH ({options})")).unwrap_or_default();
        client
            .batch_execute(&format!(
                "CREATE {kind}TABLE {} (LIKE {} INCLUDING ALL EXCLUDING COMMENTS EXCLUDING STATISTICS){options}",
                self.named("copy"),
                in_sql(self.table)
            ))
            .await?;
        // Functions of the user run for the user's rows only.
        let called = self.table.checks.seen().into_iter().flatten().filter(|check| !check.calls.is_empty());
        let drops: Vec<String> = called.map(|check| self.drop_check(&check.name)).collect();
        client.batch_execute(&drops.join("; ")).await
    }

    fn drop_check(&self, name: &str) -> String {
        format!("ALTER TABLE {} DROP CONSTRAINT {}", self.named("copy"), quote(name))
    }

    async fn drop_checks(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let plain = self.table.checks.seen().into_iter().flatten().filter(|check| check.calls.is_empty());
        let drops: Vec<String> = plain.map(|check| self.drop_check(&check.name)).collect();
        client.batch_execute(&drops.join("; ")).await
    }

    /// Makes the parents that the rows refer to, and the key to them.
    async fn add_foreign_key(
        &self,
        client: &Client,
        attachment: &Attachment,
    ) -> Result<(), tokio_postgres::Error> {
        let parents = self.sample.parents.iter().enumerate();
        let mut parents =
            parents.filter(|(_, (key, _))| *attachment == Attachment::ForeignKey(key.name.clone()));
        let Some((at, (key, keys))) = parents.next() else { return Ok(()) };
        let (parent, columns) = (self.named(&format!("parent_{at}")), quoted(&key.columns));
        let kind = if self.place == Place::Temporary { "TEMPORARY " } else { "" };
        // A logged table cannot refer to one that is not, but the other way round it can.
        client
            .batch_execute(&format!(
                "CREATE {kind}TABLE {parent} AS SELECT {columns} FROM {} WITH NO DATA",
                in_sql(self.table)
            ))
            .await?;
        keys.send(client, &parent).await?;
        let deferred = if key.is_deferred { " DEFERRABLE INITIALLY DEFERRED" } else { "" };
        client
            .batch_execute(&format!(
                "ALTER TABLE {parent} ADD UNIQUE ({columns});
                 ALTER TABLE {} ADD FOREIGN KEY ({columns}) REFERENCES {parent} ({columns}){deferred}",
                self.named("copy")
            ))
            .await
    }

    /// Makes a trigger of the same kind whose function does nothing.
    async fn add_trigger(
        &self,
        client: &Client,
        attachment: &Attachment,
    ) -> Result<(), tokio_postgres::Error> {
        let triggers = self.table.triggers.seen().into_iter().flatten().enumerate();
        let mut triggers =
            triggers.filter(|(_, trigger)| *attachment == Attachment::Trigger(trigger.name.clone()));
        let Some((at, trigger)) = triggers.next() else { return Ok(()) };
        let function = self.named(&format!("nothing_{at}"));
        client
            .batch_execute(&format!(
                "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end';
                 CREATE TRIGGER nothing_{at} {} ON {}{} EXECUTE FUNCTION {function}()",
                event(trigger),
                self.named("copy"),
                referencing(trigger)
            ))
            .await
    }
}

/// The position in the log, in bytes.
const LOG_POSITION: &str = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')";

/// The table, whatever its name.
fn in_sql(table: &TableFacts) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
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

async fn plan<'s>(
    client: &Client,
    facts: &Facts,
    table: &'s TableFacts,
    sample: Sample,
) -> Result<Scratch<'s>, tokio_postgres::Error> {
    let regclass = format!("{}::pg_catalog.regclass", quote_literal(&in_sql(table)));
    let may_make_schemas =
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')::int4";
    let may_make_tables = format!(
        "SELECT pg_catalog.has_schema_privilege({}, 'CREATE')::int4",
        quote_literal(&table.schema).trim_start()
    );
    let place = if number(client, may_make_schemas).await? == Some(1.0) {
        Place::Own
    } else if number(client, &may_make_tables).await? == Some(1.0) {
        Place::Beside(table.schema.clone())
    } else {
        Place::Temporary
    };
    let is_minimal = facts.setting("wal_level").is_some_and(|level| level.value == "minimal");
    let without_log = match place {
        Place::Temporary => Some("the role may make temporary tables only, which are not logged"),
        _ if is_minimal => Some("under wal_level = minimal rows of new tables are not logged"),
        _ => None,
    };
    // How full pages get, and whatever else LIKE leaves out.
    let reloptions = format!(
        "SELECT nullif(pg_catalog.array_to_string(ARRAY(
             SELECT pg_catalog.format('%I=%L', option_name, option_value) FROM pg_catalog.pg_options_to_table(c.reloptions)
              WHERE option_name IN ('fillfactor', 'toast_tuple_target')), ', '), '')
           FROM pg_catalog.pg_class c WHERE c.oid = {regclass} AND c.relkind = 'r'"
    );
    let reloptions = text(client, &reloptions).await?;
    let mut scratch = Scratch {
        table,
        sample,
        place,
        token: format!("{:08x}", fastrand::u32(..)),
        reloptions,
        without_log,
        indexes: Vec::new(),
        attachments: Vec::new(),
        not_measured: Vec::new(),
    };
    let originals = indexes(client, &regclass).await?;
    client.batch_execute("BEGIN READ WRITE").await?;
    let probed = scratch.probe(client, &originals).await;
    client.batch_execute("ROLLBACK").await?;
    probed?;
    scratch.say_what_is_left_out();
    Ok(scratch)
}

async fn indexes(client: &Client, regclass: &str) -> Result<Vec<ListedIndex>, tokio_postgres::Error> {
    let listed = text(client, &format!("{INDEXES}{regclass}")).await?;
    Ok(listed.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

impl Scratch<'_> {
    /// Tries a copy: which indexes stand for which, and which attachments can be made at all.
    async fn probe(
        &mut self,
        client: &Client,
        originals: &[ListedIndex],
    ) -> Result<(), tokio_postgres::Error> {
        self.create(client, false).await?;
        let copy = self.named("copy");
        let copies = indexes(client, &format!("{}::pg_catalog.regclass", quote_literal(&copy))).await?;
        // LIKE makes them in the order in which they were made.
        let is_alike = originals.len() == copies.len()
            && originals.iter().zip(&copies).all(|(original, copied)| original.2 == copied.2);
        for attachment in Attachment::all_of(self.table) {
            let failed = match &attachment {
                Attachment::Index(name) => {
                    let found = originals.iter().zip(&copies).find(|(original, _)| original.0 == *name);
                    match found.filter(|_| is_alike) {
                        Some((_, (index, constraint, _))) => {
                            self.indexes.push((name.clone(), self.drop_index(index, constraint.as_deref())));
                            None
                        }
                        None => Some("the copy's indexes cannot be told apart".to_owned()),
                    }
                }
                _ => self.attempt(client, &attachment).await?,
            };
            match failed {
                None => self.attachments.push(attachment),
                Some(why) => self.not_measured.push(NotMeasured { what: attachment.named(sql::name), why }),
            }
        }
        Ok(())
    }

    fn drop_index(&self, index: &str, constraint: Option<&str>) -> String {
        let copy = self.named("copy");
        match constraint {
            Some(constraint) => format!("ALTER TABLE {copy} DROP CONSTRAINT {}", quote(constraint)),
            None => {
                let schema = match &self.place {
                    Place::Own => format!("howdah_doctor_{}", self.token),
                    Place::Beside(schema) => quote(schema),
                    Place::Temporary => "pg_temp".to_owned(),
                };
                format!("DROP INDEX {schema}.{}", quote(index))
            }
        }
    }

    /// Makes or takes the thing, and forgets it again. Returns why that does not work.
    async fn attempt(
        &self,
        client: &Client,
        attachment: &Attachment,
    ) -> Result<Option<String>, tokio_postgres::Error> {
        client.batch_execute("SAVEPOINT attached").await?;
        let done = match attachment {
            Attachment::ForeignKey(_) => self.add_foreign_key(client, attachment).await,
            Attachment::Trigger(_) => self.add_trigger(client, attachment).await,
            _ => Ok(()),
        };
        let failed = match done {
            Ok(()) => None,
            Err(error) if error.as_db_error().is_some() => Some(match answered::<()>(Err(error)) {
                Ok(Err(why)) => why,
                _ => "the server refused it".to_owned(),
            }),
            Err(error) => return Err(error),
        };
        client.batch_execute("ROLLBACK TO attached").await?;
        Ok(failed)
    }

    fn say_what_is_left_out(&mut self) {
        let mut note = |what: String, why: &str| {
            self.not_measured.push(NotMeasured { what, why: why.to_owned() });
        };
        let table = self.table;
        for check in table.checks.seen().into_iter().flatten().filter(|check| !check.calls.is_empty()) {
            note(format!("CHECK {}", sql::name(&check.name)), "it calls a function, which is not run");
        }
        if table.kind == "p" {
            note("the way of rows to their partitions".to_owned(), "the copy is not partitioned");
        }
        let columns = table.columns.seen().into_iter().flatten();
        for column in columns.filter(|column| !column.default_calls.is_empty()) {
            note(format!("the default of {}", sql::name(&column.name)), "the copy's rows have values there");
        }
        if let Some(why) = self.without_log.filter(|_| !table.is_unlogged) {
            note("the log".to_owned(), why);
        }
    }
}
