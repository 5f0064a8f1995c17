//! One connection of a writer, and how a transaction of rows runs on it.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::iter::once;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::{join, join_all};
use howdah_connect::{Connection, PipelinedCopy};
use howdah_encode::wire;
use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{Row, Statement};

use super::ack::Written;
use super::ledger::{CommitRecord, Entry, Ledger};
use super::mark::Mark;
use super::returned::ReturnedRow;
use super::statements::Statements;
use crate::plan::row_form::RowForm;
use crate::send::write::array;
use crate::send::write::fields::{self, Field};

/// Who holds the part that is noted again is an earlier attempt of ours; see `sender`.
const LIMIT_WAITING: &str = "SET LOCAL lock_timeout = '2s'";
const WAIT_AS_EVER: &str = "SET LOCAL lock_timeout = DEFAULT";

/// How the rows of a transaction travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SendMethod {
    /// One binary COPY.
    Copy,
    /// One INSERT with an array a column.
    Unnest,
    /// An INSERT a row, sent without waiting.
    Rows,
}

/// What a session is asked for: one transaction.
pub(super) enum TransactionRequest<'r> {
    /// Rows, and what stands beside them; `again`, after an attempt of which no answer came.
    Rows { rows: &'r [Bytes], method: SendMethod, beside: &'r CommitRecord, again: bool },
    /// What would stand beside rows, without any.
    CommitRecord(&'r CommitRecord),
    /// A commit behind those that were answered before, which leaves nothing in any table.
    Confirm,
    /// That a part of the ledger is void. Where it was noted with its rows, the failure is the ledger's.
    Void { ledger: &'r Ledger, part: i64 },
}

/// A transaction that was not answered with success: the server refused a row, which it may have named by its number, or
/// could not go on; or the connection broke.
pub(super) struct Failure(pub(super) howdah_connect::Error, pub(super) Option<usize>);

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Failure(error.into(), None)
    }
}

impl From<howdah_connect::Error> for Failure {
    fn from(error: howdah_connect::Error) -> Self {
        Failure(error, None)
    }
}

/// Values that came back, by the number of their row.
pub(super) type Returned = Vec<(usize, Written)>;

/// The values that statements returned, by the number of the row; a row whose statement returned nothing has none.
type NumberedRows = Vec<(usize, Row)>;

pub(super) struct Session {
    connection: Connection,
    /// What its statements are known by.
    pub(super) mark: Mark,
    statements: Arc<Statements>,
    prepared: HashMap<(SendMethod, bool), Statement>,
    /// Whether the server has prepared [`Statements::copy`].
    knows_copy: bool,
    /// The other statements of a COPY's transaction that it has prepared, by their names.
    knows: HashSet<Arc<str>>,
    relation_name: Arc<str>,
}

impl Session {
    /// Over an open connection.
    pub(super) fn new(
        connection: Connection,
        statements: Arc<Statements>,
        relation_name: Arc<str>,
    ) -> Session {
        Session {
            connection,
            mark: Mark::new(),
            statements,
            prepared: HashMap::new(),
            knows_copy: false,
            knows: HashSet::new(),
            relation_name,
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs the transaction that is asked for.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn answer(&mut self, request: TransactionRequest<'_>) -> Result<Returned, Failure> {
        match request {
            TransactionRequest::Rows { rows, method, beside, again } => {
                self.transact(rows, method, beside, again).await
            }
            TransactionRequest::CommitRecord(beside) => {
                self.commit_alone(beside).await.map(|()| Returned::new())
            }
            TransactionRequest::Confirm => self.confirm().await.map(|()| Returned::new()),
            TransactionRequest::Void { ledger, part } => {
                self.void(ledger, part).await.map(|()| Returned::new())
            }
        }
    }

    /// The statement of a method, with the part behind its parameters where it is to note one.
    async fn prepare(
        &mut self,
        method: SendMethod,
        is_noted: bool,
    ) -> Result<Statement, tokio_postgres::Error> {
        let statements = self.statements.clone();
        let sql = match method {
            SendMethod::Copy => &statements.copy,
            SendMethod::Unnest => {
                statements.unnest_and_part.as_ref().filter(|_| is_noted).unwrap_or(&statements.unnest)
            }
            SendMethod::Rows => {
                statements.one_and_part.as_ref().filter(|_| is_noted).unwrap_or(&statements.one)
            }
        };
        if let Some(statement) = self.prepared.get(&(method, is_noted)) {
            return Ok(statement.clone());
        }
        let statement = self.connection.client().prepare(&self.mark.on(sql)).await?;
        self.prepared.insert((method, is_noted), statement.clone());
        Ok(statement)
    }

    /// Prepares what a method takes at the first attempt, so that the first rows that go it need not wait for that. A COPY takes
    /// its statements along.
    pub(super) async fn prepare_for(&mut self, method: SendMethod) {
        if method == SendMethod::Copy {
            return;
        }
        let is_noted = self.statements.note.is_some();
        // Whoever needs it asks again, and hears why not.
        let _ = self.prepare(method, is_noted).await;
    }

    /// Writes `rows` in one transaction, with what stands beside them. `again`, the ledger's part comes first, which waits for
    /// an earlier attempt that is still under way.
    ///
    /// No statement that writes is sent behind a BEGIN of which nobody knows whether it worked: if that was cancelled, what
    /// follows would be a transaction of its own, and a part without its rows would pass for written.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn transact(
        &mut self,
        rows: &[Bytes],
        method: SendMethod,
        beside: &CommitRecord,
        again: bool,
    ) -> Result<Returned, Failure> {
        let is_plain = !again && beside.entries.is_empty();
        match method {
            SendMethod::Copy => self.copy(rows, beside, again).await,
            SendMethod::Rows if is_plain && rows.len() == 1 => self.lone_row(&rows[0], beside.part).await,
            SendMethod::Unnest if is_plain => self.unnest_alone(rows, beside.part).await,
            SendMethod::Rows | SendMethod::Unnest => self.insert(rows, method, beside, again).await,
        }
    }

    /// Commits what would stand beside rows, without any.
    ///
    /// # Errors
    /// The server's, or the connection's.
    async fn commit_alone(&self, beside: &CommitRecord) -> Result<(), Failure> {
        let sql = format!("{}; COMMIT", self.begin(beside, true));
        match self.connection.client().batch_execute(&sql).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.rolled_back(error).await),
        }
    }

    /// Commits a transaction that waits for standbys as every other one does. One that writes nothing to the log would wait for
    /// nobody; a message that no one decodes is the least that is written.
    async fn confirm(&self) -> Result<(), Failure> {
        let sql =
            self.mark.on("BEGIN; SELECT pg_catalog.pg_logical_emit_message(true, 'howdah', ''); COMMIT");
        match self.connection.client().batch_execute(&sql).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.rolled_back(error).await),
        }
    }

    /// Notes a part without its rows, and that it is void. Both or neither: where the answer to this is lost too, and the part
    /// is found noted, the second row tells whether that was this or the rows.
    async fn void(&self, ledger: &Ledger, part: i64) -> Result<(), Failure> {
        let Some(note) = &self.statements.note else { return Ok(()) };
        let void = note.sql(Ledger::void(part));
        let part_only = CommitRecord { part: Some(part), ..CommitRecord::default() };
        let sql = format!("{}; {void}; COMMIT", self.begin(&part_only, true));
        let Err(error) = self.connection.client().batch_execute(&sql).await else { return Ok(()) };
        let failure = self.rolled_back(error).await;
        let is_void = ledger.says_done(&failure.0) && ledger.is_void(&self.connection, part).await?;
        if is_void { Ok(()) } else { Err(failure) }
    }

    /// One row, one statement, one round trip, one transaction.
    async fn lone_row(&mut self, row: &Bytes, part: Option<i64>) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let mut fields: Vec<Field<'_>> = fields::of_binary(row).collect();
        fields.extend(part.map(|part| Field::owned(part.to_be_bytes().to_vec())));
        let statement = self.prepare(SendMethod::Rows, part.is_some()).await?;
        let found = query(&self.connection, &statement, fields).await;
        let found = found.map_err(|error| Failure(error.into(), Some(0)))?;
        Ok(written(found.into_iter().map(|row| (0, row)).collect(), &statements))
    }

    /// Rows in one statement, one round trip, one transaction.
    async fn unnest_alone(&mut self, rows: &[Bytes], part: Option<i64>) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let statement = self.prepare(SendMethod::Unnest, part.is_some()).await?;
        let mut arrays = arrays_of(rows, &statements, &statement);
        arrays.extend(part.map(|part| Field::owned(part.to_be_bytes().to_vec())));
        let found = query(&self.connection, &statement, arrays).await?;
        Ok(written(statements.numbered(found, rows.len()), &statements))
    }

    /// Rows in a transaction that begins with what stands beside them.
    async fn insert(
        &mut self,
        rows: &[Bytes],
        method: SendMethod,
        beside: &CommitRecord,
        again: bool,
    ) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let insert = self.prepare(method, false).await?;
        let client = self.connection.client();
        if let Err(error) = client.batch_execute(&self.begin(beside, again)).await {
            return Err(self.rolled_back(error).await);
        }
        let connection = &self.connection;
        let sending: Vec<Sending<'_>> = match method {
            SendMethod::Unnest => {
                let arrays = arrays_of(rows, &statements, &insert);
                vec![Box::pin(query(connection, &insert, arrays))]
            }
            _ => {
                let mut sending: Vec<Sending<'_>> = Vec::with_capacity(rows.len());
                for row in rows {
                    sending.push(Box::pin(query(connection, &insert, fields::of_binary(row).collect())));
                }
                sending
            }
        };
        let is_named = method == SendMethod::Rows;
        let failed =
            |(at, error): (usize, tokio_postgres::Error)| Failure(error.into(), is_named.then_some(at));
        // Only rows that were all sent are committed: what the driver could not even send would be missing.
        let answers = match sent(sending).await {
            Ok(answers) => answers,
            Err((at, error)) => {
                let _ = client.batch_execute("ROLLBACK").await;
                return Err(failed((at, error)));
            }
        };
        // Together: the driver reads on only while whoever asked first takes what came for it.
        let (committed, answers) = join(client.batch_execute("COMMIT"), join_all(answers)).await;
        let committed = match committed {
            Ok(()) => Ok(()),
            Err(error) => Err(self.rolled_back(error).await),
        };
        let mut found: NumberedRows = Vec::with_capacity(rows.len());
        for (at, answer) in answers.into_iter().enumerate() {
            let answer = answer.map_err(|error| failed((at, error)))?;
            match method {
                SendMethod::Rows => found.extend(answer.into_iter().map(|row| (at, row))),
                _ => found = statements.numbered(answer, rows.len()),
            }
        }
        committed?;
        Ok(written(found, &statements))
    }

    /// Rows behind one COPY, one round trip, one transaction.
    async fn copy(
        &mut self,
        rows: &[Bytes],
        beside: &CommitRecord,
        again: bool,
    ) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let data = once(Bytes::from_static(&wire::HEADER))
            .chain(rows.iter().cloned())
            .chain(once(Bytes::from_static(&wire::TRAILER)));
        let mut copy = PipelinedCopy::new(&statements.copy_name, data);
        if !self.knows_copy {
            copy.prepare(&statements.copy_name, &self.mark.on(&statements.copy))?;
        }
        let mut new: Vec<Arc<str>> = Vec::new();
        if let Some((part, note)) = beside.part.zip(statements.note.as_ref()) {
            if !self.knows.contains(&note.name) {
                copy.prepare(&note.name, &self.mark.on(&note.sql("$1")))?;
                new.push(note.name.clone());
            }
            if again {
                copy.run(LIMIT_WAITING)?;
            }
            copy.execute(&note.name, &[part])?;
            if again {
                copy.run(WAIT_AS_EVER)?;
            }
        }
        for entry in &beside.entries {
            if !self.knows.contains(&entry.name) && !new.contains(&entry.name) {
                copy.prepare(&entry.name, &entry.sql)?;
                new.push(entry.name.clone());
            }
            copy.execute(&entry.name, &entry.parameters)?;
        }
        match self.connection.copy(copy).await {
            Ok(_) => {
                self.knows_copy = true;
                self.knows.extend(new);
                Ok(Returned::new())
            }
            Err(error) => {
                let row = error.as_db_error().and_then(|db| db.where_()).and_then(|context| {
                    let (line, _) = crate::send::row_error::copy_context(context, &self.relation_name)?;
                    usize::try_from(line).ok()?.checked_sub(1)
                });
                Err(Failure(error, row))
            }
        }
    }

    /// Ends a transaction that may still be open: a BEGIN that noted no part, a COMMIT that was cancelled.
    async fn rolled_back(&self, error: tokio_postgres::Error) -> Failure {
        let client = self.connection.client();
        if !client.is_closed() {
            let _ = client.batch_execute("ROLLBACK").await;
        }
        error.into()
    }

    /// SQL that begins, and writes what stands beside rows, as one message: all of it happens or nothing.
    fn begin(&self, beside: &CommitRecord, again: bool) -> String {
        let mut sql = vec!["BEGIN".to_owned()];
        if let Some((part, note)) = beside.part.zip(self.statements.note.as_ref()) {
            let note = note.sql(part);
            match again {
                true => sql.extend([LIMIT_WAITING.to_owned(), note, WAIT_AS_EVER.to_owned()]),
                false => sql.push(note),
            }
        }
        sql.extend(beside.entries.iter().map(Entry::text));
        self.mark.on(&sql.join("; "))
    }
}

/// A statement on its way, and what comes back.
type Sending<'s> = Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 's>>;

/// Sends statements one behind the other, and waits for no answer: a statement is sent when it is first polled.
///
/// # Errors
/// A statement failed before there can be an answer: it was not sent, or the connection is gone.
async fn sent(mut sending: Vec<Sending<'_>>) -> Result<Vec<Sending<'_>>, (usize, tokio_postgres::Error)> {
    poll_fn(|context| {
        for (at, statement) in sending.iter_mut().enumerate() {
            match statement.as_mut().poll(context) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err((at, error))),
                // The answer is there already.
                Poll::Ready(Ok(rows)) => *statement = Box::pin(std::future::ready(Ok(rows))),
                Poll::Pending => {}
            }
        }
        Poll::Ready(Ok(()))
    })
    .await?;
    Ok(sending)
}

fn written(found: NumberedRows, statements: &Statements) -> Returned {
    let returned = |values| Written::returning(ReturnedRow::new(values, statements.returning));
    found.into_iter().map(|(row, values)| (row, returned(values))).collect()
}

/// Runs a statement with the fields of a row; what comes back.
async fn query(
    connection: &Connection,
    statement: &Statement,
    fields: Vec<Field<'_>>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    connection.client().query_raw(statement, fields).await?.try_collect().await
}

/// One array a column.
fn arrays_of(rows: &[Bytes], statements: &Statements, insert: &Statement) -> Vec<Field<'static>> {
    const TEXT: u32 = 25;
    let width = statements.elements.len();
    let fields: Vec<Field<'_>> = rows.iter().flat_map(|row| fields::of_binary(row)).collect();
    let array = |(at, element): (usize, &super::statements::UnnestColumn)| {
        let oid = match insert.params().get(at).map(Type::kind) {
            Some(Kind::Array(element)) => element.oid(),
            _ => TEXT,
        };
        array::of(fields.iter().skip(at).step_by(width), oid, element.delimiter, RowForm::Binary)
    };
    statements.elements.iter().enumerate().map(array).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_could_not_be_sent_is_known_before_the_rest_is_committed() {
        let unsent = || "port=none".parse::<tokio_postgres::Config>().unwrap_err();
        let waits = || -> Sending<'static> { Box::pin(std::future::pending()) };
        let fails: Sending<'_> = Box::pin(async move { Err(unsent()) });
        let answered: Sending<'_> = Box::pin(async { Ok(Vec::new()) });
        assert_eq!(sent(vec![waits(), fails, waits()]).await.err().map(|(at, _)| at), Some(1));
        let mut answers = sent(vec![waits(), answered]).await.ok().unwrap();
        assert!(answers.pop().unwrap().await.unwrap().is_empty());
    }
}
