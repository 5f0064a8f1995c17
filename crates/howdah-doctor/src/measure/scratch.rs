//! A scratch copy of the table, with all that rows of the table are held against, or less one attachment. It is made and filled in
//! a transaction that is rolled back.

mod attach;

use std::time::Instant;

use howdah::Error;
use howdah::facts::{Facts, TableFacts};
use howdah::name::quote_literal;
use howdah::tokio_postgres::{self, Client};

use super::client::Csv;
use super::place::Place;
use super::question::{answered, number, text};
use super::sample::{Rows, Sample, quote};
use crate::attachment::{Attachment, Variant};
use crate::sql;
use crate::trials::NotMeasured;

/// How copies of a table are made.
pub(super) struct Scratch<'s> {
    table: &'s TableFacts,
    sample: Sample,
    /// The columns by which rows are sorted before they are sent; none: they come as they lie there.
    order: Vec<String>,
    place: Place,
    /// Tells our names from others'.
    token: String,
    reloptions: Option<String>,
    /// Why rows of copies are not logged, where they are not.
    without_log: Option<&'static str>,
    indexes: Vec<CopiedIndex>,
    /// What copies have, and can be without.
    pub(super) attachments: Vec<Attachment>,
    /// What a copy lacks that is to lack several things together.
    pub(super) prescribed: Vec<Attachment>,
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

/// An index of the table, and the one that copies have in its place.
struct CopiedIndex {
    /// Its name in the table.
    name: String,
    /// How it goes from the copy.
    drop: String,
    /// How the list goes into it that rows first went to, if it has one.
    settle: Option<String>,
}

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
        order: Vec<String>,
    ) -> Result<Result<Scratch<'s>, String>, Error> {
        let planned = plan(client, facts, table, sample, order).await;
        answered(planned)
    }

    /// The columns by which rows are sorted before they are sent.
    pub(super) fn order(&self) -> &[String] {
        &self.order
    }

    /// The table that is copied.
    pub(super) fn table(&self) -> &'s TableFacts {
        self.table
    }

    /// The rows that go into a copy.
    pub(super) fn rows(&self) -> &Rows {
        &self.sample.rows
    }

    /// Leaves out the last of the rows, so that some `share` is left, and no fewer than `fewest`.
    pub(super) fn shorten(&mut self, share: f64, fewest: u64) {
        let sample = &mut self.sample;
        for rows in std::iter::once(&mut sample.rows).chain(sample.forms.iter_mut().map(|(_, rows)| rows)) {
            rows.shorten(share, fewest);
        }
    }

    /// In which forms there are rows beside binary.
    pub(super) fn forms(&self) -> Vec<Variant> {
        self.sample.forms.iter().map(|(form, _)| form.clone()).collect()
    }

    /// The rows as CSV.
    pub(super) fn csv(&self) -> Option<Csv> {
        let (_, rows) = self.sample.forms.iter().find(|(form, _)| *form == Variant::Csv)?;
        Some(Csv { columns: rows.columns.clone(), rows: rows.count, text: rows.text() })
    }

    /// The rows as text, if there are any.
    pub(super) fn text(&self) -> Option<String> {
        let (_, rows) = self.sample.forms.iter().find(|(form, _)| *form == Variant::Text)?;
        String::from_utf8(rows.text()).ok()
    }

    /// Bytes that a server which decodes its log keeps in memory of a run, until it knows what becomes of its rows.
    pub(super) fn decoded(&self) -> f64 {
        let parents = self.sample.parents.iter().map(|(_, keys)| keys.decoded());
        self.sample.rows.decoded() + parents.sum::<f64>()
    }

    /// Those of `attachments` that a copy can be without.
    pub(super) fn possible(&self, mut attachments: Vec<Attachment>) -> Vec<Attachment> {
        attachments.retain(|attachment| match attachment {
            Attachment::Log => self.is_logged(),
            other => self.attachments.contains(other),
        });
        attachments
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
        let form = self.sample.forms.iter().find(|(form, _)| form == variant);
        let rows = form.map_or(&self.sample.rows, |(_, rows)| rows);
        self.run_with(client, variant, rows).await
    }

    /// Does the same with other rows than the copy's own.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn run_with(
        &self,
        client: &Client,
        variant: &Variant,
        rows: &Rows,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        client.batch_execute("BEGIN READ WRITE").await?;
        let done = self.run_within(client, variant, rows).await;
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
        rows: &Rows,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        let has = |attachment: &Attachment| match variant {
            Variant::Bare => attachment.is_storage(),
            Variant::Without(left_out) => left_out != attachment,
            Variant::Prescribed => !self.prescribed.contains(attachment),
            _ => true,
        };
        let is_unlogged = match variant {
            Variant::Unlogged => true,
            Variant::Prescribed => self.prescribed.contains(&Attachment::Log),
            _ => false,
        };
        self.create(client, is_unlogged).await?;
        let copy = self.named("copy");
        for attachment in &self.attachments {
            match attachment {
                Attachment::Index(name) if !has(attachment) => {
                    let copied = self.indexes.iter().find(|copied| copied.name == *name);
                    client.batch_execute(copied.map_or("", |copied| &copied.drop)).await?;
                }
                Attachment::ForeignKey(_) if has(attachment) => {
                    self.add_foreign_key(client, attachment).await?
                }
                // One that is disabled is still there: before a row, it keeps rows from going in by the thousand.
                Attachment::Trigger(_) => self.add_trigger(client, attachment, has(attachment)).await?,
                Attachment::Checks if !has(attachment) => self.drop_checks(client).await?,
                _ if !has(attachment) => self.alter_without(client, attachment).await?,
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
        rows.send(client, &copy, 0, 1).await?;
        if defers {
            // They would wait for a commit that never comes.
            client.batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await?;
        }
        self.settle(client, has).await?;
        let seconds = began.elapsed().as_secs_f64();
        let after = number(client, LOG_POSITION).await?.unwrap_or(0.0);
        Ok((seconds, after - before))
    }

    /// Makes a copy with columns, indexes and CHECKs, has `fill` do something with it, and takes all of it back.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn grow<T>(
        &self,
        client: &Client,
        is_unlogged: bool,
        fill: impl AsyncFnOnce(&str) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, tokio_postgres::Error> {
        client.batch_execute("BEGIN READ WRITE").await?;
        let done = match self.create(client, is_unlogged).await {
            Ok(()) => fill(&self.named("copy")).await,
            Err(error) => Err(error),
        };
        let ended = client.batch_execute("ROLLBACK").await;
        let done = done?;
        ended?;
        Ok(done)
    }

    /// Has entries that wait in a list go into those indexes that the copy `has`: a load cannot leave all of them there.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn settle(
        &self,
        client: &Client,
        has: impl Fn(&Attachment) -> bool,
    ) -> Result<(), tokio_postgres::Error> {
        for copied in self.indexes.iter().filter(|copied| has(&Attachment::Index(copied.name.clone()))) {
            if let Some(settle) = &copied.settle {
                client.batch_execute(settle).await?;
            }
        }
        Ok(())
    }

    /// Whether a copy can take all rows of the table, and gets slower by that; `Ok(false)`: it has no indexes.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn grows(&self) -> Result<bool, &'static str> {
        if self.indexes.is_empty() {
            return Ok(false);
        }
        if self.table.kind != "r" {
            return Err("the table has no pages of its own");
        }
        if self.place == Place::Temporary {
            return Err("the role may make temporary tables only, whose pages stay elsewhere");
        }
        Ok(true)
    }

    /// A scratch thing's name, as SQL takes it.
    fn named(&self, what: &str) -> String {
        self.place.named(&self.token, what)
    }

    /// Makes the copy with its columns, indexes and CHECKs.
    async fn create(&self, client: &Client, unlogged: bool) -> Result<(), tokio_postgres::Error> {
        if self.place == Place::Own {
            client.batch_execute(&format!("CREATE SCHEMA {}", self.place.schema(&self.token))).await?;
        }
        let kind = self.place.kind(unlogged || self.table.is_unlogged);
        client.batch_execute(&self.copy_sql(&self.named("copy"), kind, &[]).join("; ")).await
    }

    /// The statements that make `copy` with its columns, indexes and CHECKs.
    pub(super) fn copy_sql(&self, copy: &str, kind: &str, options: &[&str]) -> Vec<String> {
        let options: Vec<&str> = options.iter().copied().chain(self.reloptions.as_deref()).collect();
        let with = match options.is_empty() {
            true => String::new(),
            false => format!(" WITH ({})", options.join(", ")),
        };
        let create = format!(
            "CREATE {kind}TABLE {copy} (LIKE {} INCLUDING ALL EXCLUDING COMMENTS EXCLUDING STATISTICS){with}",
            in_sql(self.table)
        );
        // Functions of the user run for the user's rows only, and rows that are there may break what is not valid.
        let checks = self.table.checks.seen().into_iter().flatten();
        let left_out = checks.filter(|check| !check.may_judge_rows());
        let drops = left_out.map(|check| drop_check(copy, &check.name));
        let as_in_partitions = self.compression_of_partitions(copy);
        std::iter::once(create).chain(drops).chain(as_in_partitions).collect()
    }

    async fn drop_checks(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let plain = self.table.checks.seen().into_iter().flatten().filter(|check| check.may_judge_rows());
        let drops: Vec<String> = plain.map(|check| drop_check(&self.named("copy"), &check.name)).collect();
        client.batch_execute(&drops.join("; ")).await
    }
}

/// The position in the log, in bytes.
pub(super) const LOG_POSITION: &str =
    "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')";

fn drop_check(copy: &str, name: &str) -> String {
    format!("ALTER TABLE {copy} DROP CONSTRAINT {}", quote(name))
}

/// The table, whatever its name.
pub(super) fn in_sql(table: &TableFacts) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
}

async fn plan<'s>(
    client: &Client,
    facts: &Facts,
    table: &'s TableFacts,
    sample: Sample,
    order: Vec<String>,
) -> Result<Scratch<'s>, tokio_postgres::Error> {
    let regclass = format!("{}::pg_catalog.regclass", sql::relation(&table.schema, &table.name));
    let place = Place::find(client, table).await?;
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
        order,
        place,
        token: format!("{:08x}", fastrand::u32(..)),
        reloptions,
        without_log,
        indexes: Vec::new(),
        attachments: Vec::new(),
        prescribed: Vec::new(),
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
        let mut possible = Attachment::all_of(self.table);
        possible.extend(self.compressions());
        for attachment in possible {
            let failed = match &attachment {
                Attachment::Index(name) => {
                    let found = originals.iter().zip(&copies).find(|(original, _)| original.0 == *name);
                    match found.filter(|_| is_alike) {
                        Some((_, (index, constraint, _))) => {
                            let (index, constraint) = (index.clone(), constraint.clone());
                            self.indexes.push(self.copied(name, &index, constraint.as_deref()));
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

    /// The index of the table `name`, which copies have as `index`.
    fn copied(&self, name: &str, index: &str, constraint: Option<&str>) -> CopiedIndex {
        let index = format!("{}.{}", self.place.schema(&self.token), quote(index));
        let drop = match constraint {
            Some(constraint) => {
                format!("ALTER TABLE {} DROP CONSTRAINT {}", self.named("copy"), quote(constraint))
            }
            None => format!("DROP INDEX {index}"),
        };
        let mut originals = self.table.indexes.seen().into_iter().flatten();
        let has_list = originals.any(|original| original.name == name && original.has_pending_list);
        let settle = format!("SELECT pg_catalog.gin_clean_pending_list({})", quote_literal(&index));
        CopiedIndex { name: name.to_owned(), drop, settle: has_list.then_some(settle) }
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
            Attachment::Trigger(_) => self.add_trigger(client, attachment, false).await,
            it if it.is_storage() => self.alter_without(client, attachment).await,
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
        for check in table.checks.seen().into_iter().flatten().filter(|check| !check.may_judge_rows()) {
            let why = match check.calls.is_empty() {
                true => "it is NOT VALID, and rows that are there may break it",
                false => "it calls a function, which is not run",
            };
            note(sql::check(check), why);
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
