//! Rows of the table and keys of its parents, in the form in which COPY takes them again. They stay in memory, and are shown to
//! nobody.

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, TryStreamExt, pin_mut};
use howdah::facts::{ForeignKeyFacts, TableFacts};
use howdah::tokio_postgres::{self, Client, CopyInSink};

use super::question;
use crate::attachment::Variant;
use crate::sql;

/// Messages of this size are nearly as fast as larger ones.
const MESSAGE: usize = 16 * 1024;
/// Places of the table from which rows are taken.
const PLACES: u64 = 8;
/// Of a table that has no pages of its own, or few that are full.
const MOST_ROWS: u64 = 50_000;
/// Of a table of more pages (2 GiB), rows are not searched for.
const MOST_PAGES: f64 = 262_144.0;

/// Fewer rows take no time that could be told from none, unless they are large.
pub(super) const FEWEST_ROWS: u64 = 1000;
/// Rows take so many bytes at least.
pub(super) const LEAST: f64 = 256.0 * 1024.0;
/// Rows take so many bytes at most.
pub(super) const MOST: f64 = 8.0 * 1024.0 * 1024.0;
/// Of rows that take long, these are enough.
pub(super) const FEWEST_SLOW_ROWS: u64 = 100;

/// Memory that a decoded row takes beside its values, and values for each byte that is sent.
const DECODED_ROW: f64 = 200.0;
const DECODED_BYTE: f64 = 1.5;

/// How COPY writes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Binary,
    Text,
    Csv,
}

impl Form {
    fn word(self) -> &'static str {
        match self {
            Form::Binary => "binary",
            Form::Text => "text",
            Form::Csv => "csv",
        }
    }
}

/// Rows for COPY.
#[derive(Clone)]
pub(super) struct Rows {
    form: Form,
    /// Their columns.
    pub(super) columns: Vec<String>,
    pub(super) count: u64,
    pub(super) bytes: u64,
    messages: Vec<Message>,
}

/// Some rows, as they are sent together.
#[derive(Clone)]
struct Message {
    rows: u64,
    bytes: Bytes,
}

/// Rows of the table, and for each of its foreign keys the keys that they refer to.
pub(super) struct Sample {
    pub(super) rows: Rows,
    /// The same rows as text and as CSV, in messages of as many rows.
    pub(super) forms: Vec<(Variant, Rows)>,
    pub(super) parents: Vec<(ForeignKeyFacts, Rows)>,
    /// Columns of which `pglz` compresses wide values, in at least a tenth of the rows.
    pub(super) wide: Vec<String>,
}

/// Reads runs of neighbours from several places of the table, of some `most` bytes together: in their order, as they came, or
/// sorted by the columns `order`.
///
/// # Errors
/// The server refuses, or the connection is lost.
pub(super) async fn read(
    client: &Client,
    table: &TableFacts,
    most: f64,
    order: &[String],
) -> Result<Sample, tokio_postgres::Error> {
    // Rows and parents are of one moment, and rows come in one order.
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL synchronize_seqscans = off;
                 SET LOCAL max_parallel_workers_per_gather = 0";
    client.batch_execute(begin).await?;
    let read = read_within(client, table, most, order).await;
    client.batch_execute("ROLLBACK").await?;
    read
}

async fn read_within(
    client: &Client,
    table: &TableFacts,
    most: f64,
    order: &[String],
) -> Result<Sample, tokio_postgres::Error> {
    let Places { parts, fewest } = places(client, table, most).await?;
    let sample = read_from(client, table, most, order, &parts).await?;
    let (count, bytes) = (sample.rows.count as f64, sample.rows.bytes as f64);
    if fewest.is_some_and(|fewest| count < fewest) && bytes < LEAST {
        // Of a queue, most pages may be empty: then the rows that it begins with are as good.
        return read_from(client, table, most, order, &[first_rows(&sql::table(table))]).await;
    }
    Ok(sample)
}

async fn read_from(
    client: &Client,
    table: &TableFacts,
    most: f64,
    order: &[String],
    parts: &[String],
) -> Result<Sample, tokio_postgres::Error> {
    let columns = filled(table);
    let from = |list: &str, condition: &str| {
        let selects = parts.iter().map(|part| format!("(SELECT {list} FROM {part}{condition})"));
        selects.collect::<Vec<_>>().join(" UNION ALL ")
    };
    let select = sorted(&from(&quoted(&columns), ""), order);
    let rows = copy_out(client, &select, columns, most * 2.0).await?;
    let mut forms = Vec::new();
    for (variant, form) in [(Variant::Text, Form::Text), (Variant::Csv, Form::Csv)] {
        forms.push((variant, copy_out_again(client, &select, &rows, form).await?));
    }
    // They were read anew.
    forms.retain(|(_, again)| again.count == rows.count);
    let mut parents = Vec::new();
    for key in table.foreign_keys.seen().into_iter().flatten() {
        let list = quoted(&key.columns);
        let present: Vec<String> =
            key.columns.iter().map(|column| format!("{} IS NOT NULL", quote(column))).collect();
        let within = if parts.iter().any(|part| part.contains(" WHERE ")) { " AND " } else { " WHERE " };
        let condition = format!("{within}{}", present.join(" AND "));
        let sql = format!("SELECT DISTINCT {list} FROM ({}) AS k", from(&list, &condition));
        parents.push((key.clone(), copy_out(client, &sql, key.columns.clone(), f64::INFINITY).await?));
    }
    let wide = wide(client, table, &from).await?;
    Ok(Sample { rows, forms, parents, wide })
}

/// The rows of `select` in order, or as they come where there is none.
fn sorted(select: &str, order: &[String]) -> String {
    match order {
        [] => select.to_owned(),
        order => format!("SELECT * FROM ({select}) AS r ORDER BY {}", quoted(order)),
    }
}

/// The columns that rows bring.
fn filled(table: &TableFacts) -> Vec<String> {
    let columns = table.columns.seen().into_iter().flatten();
    columns
        .filter(|column| !column.is_generated && !column.is_virtual)
        .map(|column| column.name.clone())
        .collect()
}

/// Columns of which `pglz` compresses wide values of new rows: where rows that are there are wide. How long a value is before that
/// nobody can tell without taking it apart, but that it was compressed, or is too large for its row.
async fn wide(
    client: &Client,
    table: &TableFacts,
    from: impl Fn(&str, &str) -> String,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let columns = table.columns.seen().into_iter().flatten();
    let columns: Vec<&str> =
        columns.filter(|column| column.uses_pglz).map(|column| column.name.as_str()).collect();
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let wide = columns.iter().enumerate().map(|(at, column)| {
        let column = quote(column);
        format!(
            "(pg_catalog.pg_column_compression({column}) IS NOT NULL
              OR coalesce(pg_catalog.pg_column_size({column}), 0) > {WIDE})::int AS wide_{at}"
        )
    });
    let each = from(&wide.collect::<Vec<_>>().join(", "), "");
    let shares = (0..columns.len()).map(|at| format!("coalesce(pg_catalog.avg(wide_{at}), 0) >= {MANY}"));
    let shares = shares.collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT pg_catalog.json_build_array({shares}) FROM ({each}) AS w");
    let shares: Vec<bool> = question::text(client, &sql)
        .await?
        .and_then(|shares| serde_json::from_str(&shares).ok())
        .unwrap_or_default();
    let wide = columns.iter().zip(shares).filter(|(_, is_wide)| *is_wide);
    Ok(wide.map(|(column, _)| (*column).to_owned()).collect())
}

/// About the bytes from which on a row's values are compressed, and leave it.
const WIDE: u32 = 2000;
/// The share of rows whose values have to be wide.
const MANY: f64 = 0.1;

/// How many pages a table has.
///
/// # Errors
/// The server refuses to say, or the connection is lost.
pub(super) async fn pages(client: &Client, relation: &str) -> Result<f64, tokio_postgres::Error> {
    let pages = format!(
        "SELECT pg_catalog.pg_relation_size({relation}::pg_catalog.regclass) / pg_catalog.current_setting('block_size')::int8"
    );
    Ok(question::number(client, &pages).await?.unwrap_or(0.0))
}

/// What stands behind FROM for the rows that a table begins with.
fn first_rows(name: &str) -> String {
    format!("(SELECT * FROM {name} LIMIT {MOST_ROWS}) AS t")
}

/// Where rows are read.
struct Places {
    /// What stands behind FROM for each.
    parts: Vec<String>,
    /// Fewer rows than these are not what a table of so many pages has there; `None` where others are not searched for.
    fewest: Option<f64>,
}

async fn places(client: &Client, table: &TableFacts, most: f64) -> Result<Places, tokio_postgres::Error> {
    let name = sql::table(table);
    if table.kind == "p" {
        return Ok(Places { parts: vec![first_rows(&name)], fewest: None });
    }
    let relation = sql::relation(&table.schema, &table.name);
    let pages = pages(client, &relation).await?;
    // Large values lie elsewhere, so that few pages hold much.
    let share = most / table.bytes_now().max(1.0);
    let wanted = (pages * share).ceil();
    if wanted >= pages || pages < PLACES as f64 * 2.0 {
        return Ok(Places { parts: vec![name], fewest: None });
    }
    let each = (wanted / PLACES as f64).ceil();
    let parts = (0..PLACES)
        .map(|place| {
            let first = (pages * place as f64 / PLACES as f64).floor();
            let end = first + each;
            format!("{name} WHERE ctid >= '({first},0)' AND ctid < '({end},0)'")
        })
        .collect();
    let expected = table.rows.unwrap_or(0.0) * wanted / pages;
    // To find rows behind empty pages, all of these are read.
    let fewest = (pages <= MOST_PAGES).then(|| (expected / 2.0).max(FEWEST_ROWS as f64));
    Ok(Places { parts, fewest })
}

/// The rows that lie in these pages of a table, sorted by the columns `order`.
///
/// # Errors
/// The server refuses, or the connection is lost.
pub(super) async fn of_pages(
    client: &Client,
    table: &TableFacts,
    pages: std::ops::Range<f64>,
    order: &[String],
) -> Result<Rows, tokio_postgres::Error> {
    let columns = filled(table);
    let of = format!(
        "SELECT {} FROM {} WHERE ctid >= '({:.0},0)' AND ctid < '({:.0},0)'",
        quoted(&columns),
        sql::table(table),
        pages.start,
        pages.end
    );
    copy_out(client, &sorted(&of, order), columns, f64::INFINITY).await
}

/// All rows of `sql`, or the first of them that make `most` bytes. The server sends each in a message of its own.
async fn copy_out(
    client: &Client,
    sql: &str,
    columns: Vec<String>,
    most: f64,
) -> Result<Rows, tokio_postgres::Error> {
    let stream = client.copy_out(&format!("COPY ({sql}) TO STDOUT (FORMAT binary)")).await?;
    pin_mut!(stream);
    let mut rows = Rows { form: Form::Binary, columns, count: 0, bytes: 0, messages: Vec::new() };
    let mut message = BytesMut::with_capacity(MESSAGE);
    let mut sent = 0;
    while let Some(row) = stream.try_next().await? {
        // The last one is no row; it is sent anew.
        if row[..] == TRAILER || (rows.count == 0 && row.len() == HEADER.len() + TRAILER.len()) {
            break;
        }
        rows.count += 1;
        rows.bytes += row.len() as u64;
        message.extend_from_slice(&row);
        if message.len() >= MESSAGE {
            rows.messages.push(Message { rows: rows.count - sent, bytes: message.split().freeze() });
            sent = rows.count;
        }
        // Of large rows there have to be some all the same.
        let is_enough = rows.count >= FEWEST_SLOW_ROWS || rows.bytes as f64 >= MOST;
        if rows.bytes as f64 >= most && is_enough {
            break;
        }
    }
    rows.messages.push(Message { rows: rows.count - sent, bytes: message.freeze() });
    Ok(rows)
}

/// The rows that `rows` has, in another form and in messages of as many rows.
async fn copy_out_again(
    client: &Client,
    sql: &str,
    rows: &Rows,
    form: Form,
) -> Result<Rows, tokio_postgres::Error> {
    let stream = client.copy_out(&format!("COPY ({sql}) TO STDOUT (FORMAT {})", form.word())).await?;
    pin_mut!(stream);
    let mut again = Rows { form, columns: rows.columns.clone(), count: 0, bytes: 0, messages: Vec::new() };
    for like in &rows.messages {
        let mut message = BytesMut::with_capacity(MESSAGE * 2);
        let mut count = 0;
        while count < like.rows
            && let Some(row) = stream.try_next().await?
        {
            message.extend_from_slice(&row);
            count += 1;
        }
        again.count += count;
        again.bytes += message.len() as u64;
        again.messages.push(Message { rows: count, bytes: message.freeze() });
    }
    Ok(again)
}

/// The beginning of binary COPY: no flags, and nothing more in the header.
pub(super) const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The end of binary COPY.
pub(super) const TRAILER: [u8; 2] = [0xff, 0xff];

impl Rows {
    /// Leaves out the last of them, so that some `share` is left, and no fewer than `fewest`.
    pub(super) fn shorten(&mut self, share: f64, fewest: u64) {
        let wanted = (self.count as f64 * share).max(fewest as f64);
        let (mut count, mut bytes) = (0, 0);
        let kept = self.messages.iter().take_while(|message| {
            let is_needed = (count as f64) < wanted;
            if is_needed {
                count += message.rows;
                bytes += message.bytes.len() as u64;
            }
            is_needed
        });
        let kept = kept.count();
        self.messages.truncate(kept);
        (self.count, self.bytes) = (count, bytes);
    }

    /// What is sent of them.
    pub(super) fn text(&self) -> Vec<u8> {
        self.messages.iter().flat_map(|message| message.bytes.iter().copied()).collect()
    }

    /// Messages in which they are sent.
    pub(super) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Bytes of memory that they take in a server that decodes its log: more than it will be, since what was decoded is kept row
    /// by row.
    pub(super) fn decoded(&self) -> f64 {
        self.count as f64 * DECODED_ROW + self.bytes as f64 * DECODED_BYTE
    }

    /// Sends the share of one of several senders into `into`, which has their columns.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub(super) async fn send(
        &self,
        client: &Client,
        into: &str,
        sender: usize,
        senders: usize,
    ) -> Result<(), tokio_postgres::Error> {
        let statement =
            format!("COPY {into} ({}) FROM STDIN (FORMAT {})", quoted(&self.columns), self.form.word());
        let sink: CopyInSink<Bytes> = client.copy_in(&statement).await?;
        pin_mut!(sink);
        // The first message begins with the header.
        if sender > 0 && self.form == Form::Binary {
            sink.feed(Bytes::from_static(HEADER)).await?;
        }
        // Neighbours go together, as in a part of a load.
        let each = self.messages.len().div_ceil(senders);
        for message in self.messages.iter().skip(sender * each).take(each) {
            sink.feed(message.bytes.clone()).await?;
        }
        if self.form == Form::Binary {
            sink.feed(Bytes::from_static(&TRAILER)).await?;
        }
        sink.finish().await?;
        Ok(())
    }
}

/// A name as the server takes it, whatever is in it.
pub(super) fn quote(name: &str) -> String {
    howdah::name::quote(name)
}

/// Names in a list.
pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_rows_are_whole_messages_from_the_front() {
        let rows = || Rows {
            form: Form::Binary,
            columns: Vec::new(),
            count: 30,
            bytes: 300,
            messages: (0..3).map(|_| Message { rows: 10, bytes: Bytes::from_static(&[0; 100]) }).collect(),
        };
        for (share, fewest, left) in
            [(1.0, 0, 30), (0.5, 0, 20), (0.01, 0, 10), (0.01, 15, 20), (0.9, 40, 30)]
        {
            let mut rows = rows();
            rows.shorten(share, fewest);
            assert_eq!((rows.count, rows.bytes, rows.messages.len() as u64), (left, left * 10, left / 10));
        }
    }
}
