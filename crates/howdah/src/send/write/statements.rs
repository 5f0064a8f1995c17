//! INSERT statements over batches of rows: prepared or not, waited for one by one or sent ahead.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio_postgres::types::{Kind, ToSql, Type};
use tokio_postgres::{SimpleQueryMessage, Statement};

use super::fields::{self, Field};
use super::{PartFailure, StatementRunner, array};
use crate::options::WritePath;
use crate::plan::Plan;
use crate::plan::planned_column::INTERVAL_OID;
use crate::plan::row_form::RowForm;
use crate::send::row_commits::RowCommits;

/// Statements that are sent before the first of them is answered, where the write path does not wait: enough to hide the
/// way to a far server, few enough that their parameters are soon gone.
const IN_FLIGHT: usize = 256;

/// Rows are sent at the latest when they have so many bytes: a statement's parameters are in memory twice.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

const TEXT: u32 = 25;

/// What an array for `unnest` is made of.
pub(super) struct ArrayElement {
    /// The column's type without its modifier: the modifier is applied where the value is assigned, as COPY does, and not in
    /// a cast, which cuts silently.
    type_name: String,
    /// What stands between elements of a literal.
    delimiter: u8,
    /// The column's type is an array itself, or an interval with a modifier: its literals travel, and are read by this
    /// expression around them.
    around: Option<(String, String)>,
}

/// The statements that send the rows of one part.
pub(crate) struct StatementSink {
    runner: Arc<StatementRunner>,
    form: RowForm,
    pending: Vec<Bytes>,
    pending_bytes: usize,
    /// Rows of the part before those that are pending.
    done: usize,
    counted: u64,
    /// Rows after a refused one are not sent.
    refused: Option<PartFailure>,
}

impl StatementSink {
    pub(super) fn new(runner: Arc<StatementRunner>, form: RowForm) -> Self {
        let (pending, pending_bytes) = (Vec::new(), 0);
        StatementSink { runner, form, pending, pending_bytes, done: 0, counted: 0, refused: None }
    }

    /// Takes whole rows and sends what fills statements.
    pub(super) async fn feed(&mut self, rows: &Bytes) {
        let plan = self.runner.plan.clone();
        let batch = match plan.sending.write_path {
            WritePath::InsertPipelined | WritePath::InsertRewritten => {
                plan.sending.rows_per_statement.max(1) * IN_FLIGHT
            }
            _ => plan.sending.rows_per_statement,
        };
        for row in self.form.row_ranges(rows) {
            self.pending_bytes += row.len();
            self.pending.push(rows.slice(row));
            if self.pending.len() >= batch || self.pending_bytes > BATCH_BYTES {
                self.flush().await;
            }
        }
    }

    /// Sends the rest; how many rows the server counted.
    ///
    /// # Errors
    /// The first refusal of a statement.
    pub(super) async fn finish(mut self) -> Result<u64, PartFailure> {
        self.flush().await;
        match self.refused {
            Some(refusal) => Err(PartFailure { counted: self.counted, ..refusal }),
            None => Ok(self.counted),
        }
    }

    async fn flush(&mut self) {
        let rows = std::mem::take(&mut self.pending);
        let bytes = std::mem::take(&mut self.pending_bytes);
        let commits = self.runner.commits.as_deref();
        let is_over = self.refused.is_some() || commits.is_some_and(RowCommits::is_halted);
        if !is_over && !rows.is_empty() {
            if let Some(rate) = &self.runner.rate {
                rate.admit(bytes).await;
            }
            match send(&self.runner, self.form, &rows).await {
                Ok(counted) => {
                    self.counted += counted;
                    if let Some(commits) = commits {
                        commits.add(counted);
                    }
                }
                Err(mut refusal) => {
                    if let Some(rows) = &mut refusal.rows {
                        *rows = rows.start + self.done..rows.end + self.done;
                    }
                    self.refused = Some(refusal);
                }
            }
        }
        self.done += rows.len();
    }
}

/// Sends rows; how many the server counted.
async fn send(runner: &StatementRunner, form: RowForm, rows: &[Bytes]) -> Result<u64, PartFailure> {
    let path = runner.plan.sending.write_path;
    let in_flight = match path {
        WritePath::InsertPipelined | WritePath::InsertRewritten => IN_FLIGHT,
        _ => 1,
    };
    let mut flying = FuturesOrdered::new();
    let (mut counted, mut refused, mut start) = (0, None, 0);
    while start < rows.len() && refused.is_none() {
        let left = rows.len() - start;
        let most = runner.plan.sending.rows_per_statement;
        let size = match path {
            WritePath::InsertRewritten if left < most => 1 << left.ilog2(),
            _ => left.min(most),
        };
        let range = start..start + size;
        let prepared = prepare(runner, form, size).await;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                refused = Some(PartFailure { error, rows: Some(range), counted: 0 });
                break;
            }
        };
        flying.push_back(async move {
            let sent = execute(runner, form, &rows[range.clone()], prepared).await;
            sent.map_err(|error| PartFailure { error, rows: Some(range), counted: 0 })
        });
        start += size;
        if flying.len() >= in_flight
            && let Some(answer) = flying.next().await
        {
            note(answer, &mut counted, &mut refused);
        }
    }
    // The answers to what was sent behind a refused statement say only that there was one.
    while let Some(answer) = flying.next().await {
        note(answer, &mut counted, &mut refused);
    }
    refused.map_or(Ok(counted), Err)
}

fn note(answer: Result<u64, PartFailure>, counted: &mut u64, refused: &mut Option<PartFailure>) {
    match answer {
        Ok(rows) => *counted += rows,
        Err(refusal) => {
            refused.get_or_insert(refusal);
        }
    }
}

/// The statement for `rows` rows, where the write path prepares it.
async fn prepare(
    runner: &StatementRunner,
    form: RowForm,
    rows: usize,
) -> Result<Option<Statement>, tokio_postgres::Error> {
    let (plan, relation) = (&runner.plan, &runner.relation);
    match plan.sending.write_path {
        WritePath::Insert | WritePath::InsertAutocommit | WritePath::Values => Ok(None),
        WritePath::Unnest => {
            let elements = runner.elements.get_or_try_init(|| elements(runner)).await?;
            runner.prepared(0, form, || unnest_sql(plan, relation, elements)).await.map(Some)
        }
        _ => runner.prepared(rows, form, || values_sql(plan, relation, rows, form)).await.map(Some),
    }
}

/// Runs one statement.
async fn execute(
    runner: &StatementRunner,
    form: RowForm,
    rows: &[Bytes],
    prepared: Option<Statement>,
) -> Result<u64, tokio_postgres::Error> {
    let (plan, client) = (&runner.plan, runner.connection.client());
    if plan.sending.write_path == WritePath::Values {
        let answers = client.simple_query(&literals_sql(plan, &runner.relation, rows)).await?;
        return Ok(answers
            .iter()
            .map(|answer| match answer {
                SimpleQueryMessage::CommandComplete(rows) => *rows,
                _ => 0,
            })
            .sum());
    }
    let mut fields = Vec::with_capacity(rows.len() * plan.columns.len());
    for row in rows {
        fields::split(row, form, plan, &mut fields);
    }
    match (prepared, runner.elements.get()) {
        (None, _) => {
            // The server finds the types, as for a client that knows none.
            let unknown = Type::new(String::new(), 0, Kind::Simple, String::new());
            let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
                fields.iter().map(|field| (field as &(dyn ToSql + Sync), unknown.clone())).collect();
            let sql = values_sql(plan, &runner.relation, rows.len(), form);
            client.execute_typed(&sql, &parameters).await
        }
        (Some(statement), Some(elements)) => {
            let arrays = transposed(&fields, elements, &statement);
            drop(fields);
            client.execute_raw(&statement, arrays).await
        }
        (Some(statement), None) => client.execute_raw(&statement, fields).await,
    }
}

/// One array a column.
fn transposed<'f>(
    fields: &'f [Field<'f>],
    elements: &[ArrayElement],
    statement: &Statement,
) -> Vec<Field<'static>> {
    let width = elements.len();
    let array = |(at, element): (usize, &ArrayElement)| {
        let oid = match statement.params().get(at).map(Type::kind) {
            Some(Kind::Array(element)) => element.oid(),
            _ => TEXT,
        };
        let form = match fields.get(at) {
            Some(field) if element.around.is_none() => field.form,
            _ => RowForm::Binary,
        };
        array::of(fields.iter().skip(at).step_by(width), oid, element.delimiter, form)
    };
    elements.iter().enumerate().map(array).collect()
}

/// Looks up what the arrays for `unnest` are made of.
async fn elements(runner: &StatementRunner) -> Result<Vec<ArrayElement>, tokio_postgres::Error> {
    let plan = &runner.plan;
    let names: Vec<&String> =
        plan.columns.iter().map(|column| &column.name).chain(&plan.sending.ordinal).collect();
    let rows = runner
        .connection
        .client()
        .query_typed(
            "select pg_catalog.format_type(t.oid, -1), t.typdelim::text,
                    t.typinput = 'pg_catalog.array_in'::pg_catalog.regproc
               from pg_catalog.unnest($2) with ordinality as wanted(name, n)
               join pg_catalog.pg_attribute a on a.attrelid = $1::pg_catalog.regclass and a.attname = wanted.name
               join pg_catalog.pg_type t on t.oid = a.atttypid
              order by n",
            &[(&runner.relation, Type::TEXT), (&names, Type::TEXT_ARRAY)],
        )
        .await?;
    let element = |(row, (before, after)): (&tokio_postgres::Row, (String, String))| {
        let type_name: String = row.get(0);
        let around = match row.get(2) {
            true => Some(("CAST(".to_owned(), format!(" AS {type_name})"))),
            false => Some((before, after)).filter(|(before, _)| !before.is_empty()),
        };
        let delimiter = row.get::<_, String>(1).bytes().next().unwrap_or(b',');
        ArrayElement { type_name, delimiter, around }
    };
    Ok(rows.iter().zip(expressions(plan, RowForm::Text)).map(element).collect())
}

/// How every statement begins. COPY gives identity columns what the input says, and so do we.
pub(super) fn insert_into(plan: &Plan, relation: &str) -> String {
    format!("INSERT INTO {relation} ({}) OVERRIDING SYSTEM VALUE", plan.column_list())
}

/// INSERT of `rows` rows of parameters.
pub(super) fn values_sql(plan: &Plan, relation: &str, rows: usize, form: RowForm) -> String {
    let expressions = expressions(plan, form);
    let mut sql = insert_into(plan, relation);
    sql.push_str(" VALUES ");
    let mut parameter = 0;
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for (at, (before, after)) in expressions.iter().enumerate() {
            parameter += 1;
            let comma = if at == 0 { "" } else { ", " };
            sql.push_str(&format!("{comma}{before}${parameter}{after}"));
        }
        sql.push(')');
    }
    sql
}

/// INSERT of rows as literals.
fn literals_sql(plan: &Plan, relation: &str, rows: &[Bytes]) -> String {
    let expressions = expressions(plan, RowForm::Text);
    let mut sql = insert_into(plan, relation).into_bytes();
    sql.extend_from_slice(b" VALUES ");
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            sql.push(b',');
        }
        fields::put_literals(row, &expressions, &mut sql);
    }
    // Text rows are UTF-8: the encoder refuses records that are not.
    String::from_utf8(sql).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// INSERT of rows that arrive as one array a column. In a select list composite elements stay whole.
fn unnest_sql(plan: &Plan, relation: &str, elements: &[ArrayElement]) -> String {
    let columns: Vec<String> = (1..)
        .zip(elements)
        .map(|(n, ArrayElement { type_name, around, .. })| match around {
            Some((before, after)) => format!("{before}pg_catalog.unnest(${n}::pg_catalog.text[]){after}"),
            None => format!("pg_catalog.unnest(${n}::{type_name}[])"),
        })
        .collect();
    format!("{} SELECT {}", insert_into(plan, relation), columns.join(", "))
}

/// What stands before and after each value. The modifier of an interval decides how its literal is read, so its input
/// function is called with it; every other type's modifier is applied on assignment as its input function would.
fn expressions(plan: &Plan, form: RowForm) -> Vec<(String, String)> {
    let plain = || (String::new(), String::new());
    let column = plan.columns.iter().map(|column| match column.base_type {
        (INTERVAL_OID, typmod) if typmod != -1 && (form == RowForm::Text || column.as_text) => {
            ("pg_catalog.interval_in(".to_owned(), format!("::cstring, 0, {typmod})"))
        }
        _ => plain(),
    });
    column.chain(plan.sending.ordinal.as_ref().map(|_| plain())).collect()
}
