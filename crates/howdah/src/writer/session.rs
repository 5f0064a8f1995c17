//! One connection of a writer, and how a transaction of rows runs on it.

use std::collections::HashMap;
use std::iter::once;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::{join, join_all};
use howdah_encode::wire;
use tokio_postgres::types::{Kind, ToSql, Type};
use tokio_postgres::{Row, Statement};

use super::ack::Written;
use super::statements::Statements;
use crate::connect::{Connection, PipelinedCopy, Target};
use crate::error::Error;
use crate::plan::row_form::RowForm;
use crate::send::write::array;
use crate::send::write::fields::Field;

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

/// The backend behind a connection, as nobody else can be called.
#[derive(Clone)]
pub(super) struct Backend {
    pid: i32,
    start: String,
}

pub(super) struct Session {
    connection: Connection,
    pub(super) backend: Backend,
    statements: Arc<Statements>,
    prepared: HashMap<(SendMethod, bool), Statement>,
    /// Whether the server has prepared [`Statements::copy`].
    knows_copy: bool,
    /// Whether the server has prepared [`Statements::note`].
    knows_note: bool,
    relation_name: Arc<str>,
}

impl Session {
    /// Over an open connection.
    ///
    /// # Errors
    /// The server's.
    pub(super) async fn new(
        connection: Connection,
        statements: Arc<Statements>,
        relation_name: Arc<str>,
    ) -> Result<Session, Error> {
        let sql = "select pid, backend_start::text from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()";
        let rows = connection.client().query_typed(sql, &[]).await?;
        let backend = match rows.first() {
            Some(row) => {
                Backend { pid: row.get(0), start: row.get::<_, Option<String>>(1).unwrap_or_default() }
            }
            None => Backend { pid: 0, start: String::new() },
        };
        Ok(Session {
            connection,
            backend,
            statements,
            prepared: HashMap::new(),
            knows_copy: false,
            knows_note: false,
            relation_name,
        })
    }

    /// Connects.
    ///
    /// # Errors
    /// No connection.
    pub(super) async fn open(
        target: &Target,
        statements: Arc<Statements>,
        relation_name: Arc<str>,
    ) -> Result<Session, Error> {
        Session::new(target.connect().await?, statements, relation_name).await
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends a backend of ours that holds what we need, and has not noticed that nobody listens to it any more.
    pub(super) async fn end_backend(&self, orphan: &Backend) {
        let sql = "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity \
                   where pid = $1 and backend_start::text = $2";
        let asked = &[(&orphan.pid as &(dyn ToSql + Sync), Type::INT4), (&orphan.start, Type::TEXT)];
        // It may be gone by now, or of another role: then time will tell.
        let _ = self.connection.client().query_typed(sql, asked).await;
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
        let statement = self.connection.client().prepare(sql).await?;
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

    /// Writes `rows` in one transaction, and notes `part` in the ledger if there is one. `again`, the part comes first, which
    /// waits for an earlier attempt that is still under way.
    ///
    /// No statement that writes is sent behind a BEGIN of which nobody knows whether it worked: if that was cancelled, what
    /// follows would be a transaction of its own, and a part without its rows would pass for written.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn transact(
        &mut self,
        rows: &[Bytes],
        method: SendMethod,
        part: Option<i64>,
        again: bool,
    ) -> Result<Returned, Failure> {
        match (method, again) {
            (SendMethod::Copy, _) => self.copy(rows, part, again).await,
            (SendMethod::Rows, false) if rows.len() == 1 => self.lone_row(&rows[0], part).await,
            (SendMethod::Unnest, false) => self.unnest_alone(rows, part).await,
            (SendMethod::Rows | SendMethod::Unnest, _) => self.insert(rows, method, part, again).await,
        }
    }

    /// One row, one statement, one round trip, one transaction.
    async fn lone_row(&mut self, row: &Bytes, part: Option<i64>) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let mut fields = fields_of(row, &statements);
        fields.extend(part.map(|part| Field::owned(part.to_be_bytes().to_vec())));
        let statement = self.prepare(SendMethod::Rows, part.is_some()).await?;
        let found = query(&self.connection, &statement, fields).await;
        let found = found.map_err(|error| Failure(error.into(), Some(0)))?;
        Ok(returned(found, &statements))
    }

    /// Rows in one statement, one round trip, one transaction.
    async fn unnest_alone(&mut self, rows: &[Bytes], part: Option<i64>) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let statement = self.prepare(SendMethod::Unnest, part.is_some()).await?;
        let mut arrays = arrays_of(rows, &statements, &statement);
        arrays.extend(part.map(|part| Field::owned(part.to_be_bytes().to_vec())));
        let found = query(&self.connection, &statement, arrays).await?;
        Ok(returned(found, &statements))
    }

    /// Rows in a transaction that begins with the part.
    async fn insert(
        &mut self,
        rows: &[Bytes],
        method: SendMethod,
        part: Option<i64>,
        again: bool,
    ) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let insert = self.prepare(method, false).await?;
        let client = self.connection.client();
        if let Err(error) = client.batch_execute(&self.begin(part, again)).await {
            return Err(self.rolled_back(error).await);
        }
        let written = async {
            match method {
                SendMethod::Unnest => {
                    let arrays = arrays_of(rows, &statements, &insert);
                    vec![query(&self.connection, &insert, arrays).await]
                }
                _ => {
                    let answers =
                        rows.iter().map(|row| query(&self.connection, &insert, fields_of(row, &statements)));
                    join_all(answers).await
                }
            }
        };
        let (written, committed) = join(written, client.batch_execute("COMMIT")).await;
        let committed = match committed {
            Ok(()) => Ok(()),
            Err(error) => Err(self.rolled_back(error).await),
        };
        let mut found = Vec::with_capacity(rows.len());
        for (at, answer) in written.into_iter().enumerate() {
            found.extend(
                answer.map_err(|error| Failure(error.into(), (method == SendMethod::Rows).then_some(at)))?,
            );
        }
        committed?;
        Ok(returned(found, &statements))
    }

    /// Rows behind one COPY, one round trip, one transaction.
    async fn copy(&mut self, rows: &[Bytes], part: Option<i64>, again: bool) -> Result<Returned, Failure> {
        let statements = self.statements.clone();
        let data = once(Bytes::from_static(&wire::HEADER))
            .chain(rows.iter().cloned())
            .chain(once(Bytes::from_static(&wire::TRAILER)));
        let mut copy = PipelinedCopy::new(&statements.copy_name, data);
        if !self.knows_copy {
            copy.prepare(&statements.copy_name, &statements.copy)?;
        }
        if let Some((part, note)) = part.zip(statements.note.as_ref()) {
            if !self.knows_note {
                copy.prepare(&note.name, &note.sql("$1"))?;
            }
            if again {
                copy.run(LIMIT_WAITING)?;
            }
            copy.execute(&note.name, &[part])?;
            if again {
                copy.run(WAIT_AS_EVER)?;
            }
        }
        match self.connection.copy(copy).await {
            Ok(_) => {
                self.knows_copy = true;
                self.knows_note |= part.is_some();
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

    /// SQL that begins and notes the part, as one message: all of it happens or nothing.
    fn begin(&self, part: Option<i64>, again: bool) -> String {
        let part = part.zip(self.statements.note.as_ref()).map(|(part, note)| note.sql(part));
        match (part, again) {
            (None, _) => "BEGIN".to_owned(),
            (Some(part), false) => format!("BEGIN; {part}"),
            (Some(part), true) => format!("BEGIN; {LIMIT_WAITING}; {part}; {WAIT_AS_EVER}"),
        }
    }
}

/// What came back, by the numbers of rows.
fn returned(found: Vec<Row>, statements: &Statements) -> Returned {
    let numbered = |(at, row): (usize, Row)| {
        let number = if statements.is_numbered {
            let number: i32 = row.get(row.len() - 1);
            usize::try_from(number).unwrap_or(1) - 1
        } else {
            at
        };
        (number, Written::returning(row))
    };
    found.into_iter().enumerate().map(numbered).collect()
}

/// Runs a statement with the fields of a row; what comes back.
async fn query(
    connection: &Connection,
    statement: &Statement,
    fields: Vec<Field<'_>>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    connection.client().query_raw(statement, fields).await?.try_collect().await
}

/// The fields of a binary row.
fn fields_of<'r>(row: &'r [u8], statements: &Statements) -> Vec<Field<'r>> {
    let mut fields = Vec::with_capacity(statements.elements.len() + 1);
    let mut rest = row.get(2..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, after) = after.split_at(length.unwrap_or(0).min(after.len()));
        fields.push(Field::borrowed(length.map(|_| value)));
        rest = after;
    }
    fields
}

/// One array a column.
fn arrays_of(rows: &[Bytes], statements: &Statements, insert: &Statement) -> Vec<Field<'static>> {
    const TEXT: u32 = 25;
    let width = statements.elements.len();
    let fields: Vec<Field<'_>> = rows.iter().flat_map(|row| fields_of(row, statements)).collect();
    let array = |(at, element): (usize, &super::statements::Element)| {
        let oid = match insert.params().get(at).map(Type::kind) {
            Some(Kind::Array(element)) => element.oid(),
            _ => TEXT,
        };
        array::of(fields.iter().skip(at).step_by(width), oid, element.delimiter, RowForm::Binary)
    };
    statements.elements.iter().enumerate().map(array).collect()
}
