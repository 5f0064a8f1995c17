//! A stream's place in the database: which records are settled is noted in the transaction that writes their rows, so that it is
//! never behind them nor before them.
//!
//! Batches commit out of order, so what they note are ranges. A table has one row a stream, with an owner, and rows of ranges that
//! are gathered into it now and then. Offsets count on from file to file: a file has a base, which is noted before its first record.

use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use howdah_connect::{Connection, Target};
use howdah_message::setting;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};

use super::arrival::cannot_read;
use super::notes::{LOST, Notes};
use super::place::{Place, Saved};
use super::trace::{FileMark, Trace};
use crate::catalog::load_id::LoadId;
use crate::catalog::name::{TableName, quote, quote_literal};
use crate::control::Control;
use crate::control::runtime::runtime;
use crate::control::stoppable::cancelled;
use crate::error::{Error, ErrorKind};
use crate::writer::Participant;

/// How places are written.
const FORMAT: i32 = 1;

/// What a stream that was killed left under way ends within this, or it is still alive.
const LIMIT_WAITING: &str = "SET lock_timeout = '5s'";

/// A place that cannot be noted because the server is away is noted as soon as it is back.
const PAUSE: Duration = Duration::from_millis(200);

/// No answer within this is none. What is kept of the place can wait for the next time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fewer bytes do not tell the copy of a file from another file with the same header.
const COPIES_FROM: u64 = 64;

/// What the stream's row holds beside ranges.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct About {
    /// All before it is settled.
    place: Option<Saved>,
    /// That of the place's file.
    base: i64,
    /// Files that came after it, with their bases.
    later: Vec<(i64, Trace)>,
}

/// A place in the database, which no other stream has.
pub(super) struct StateTable {
    runtime: Runtime,
    target: Target,
    control: Control,
    connection: Option<Connection>,
    relation: String,
    /// Which stream it is: a digest, in hexadecimal digits.
    stream: String,
    owner: String,
    /// What the input and the table are called.
    name: String,
    table: String,
    about: About,
    /// Files that were entered behind the place, which grow.
    marks: Vec<(i64, FileMark)>,
    /// Ranges behind the place.
    settled: Vec<Range<i64>>,
}

/// One that the reading and the settling side share.
#[derive(Clone)]
pub(super) struct SharedTable(Arc<Mutex<StateTable>>);

impl StateTable {
    /// Makes the table where it is missing, and takes the place of the stream of `name` into `table`.
    ///
    /// # Errors
    /// The role may not; it is another table; another stream has the place.
    pub(super) fn open(
        target: &Target,
        state: &TableName,
        name: &str,
        (schema, table): (&str, &str),
        control: &Control,
    ) -> Result<StateTable, Error> {
        let runtime = runtime()?;
        let relation =
            format!("{}.{}", quote(state.schema.as_deref().unwrap_or(schema)), quote(&state.table));
        let digest = ring::digest::digest(&ring::digest::SHA256, format!("{name}\0{table}").as_bytes());
        let stream = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut state = StateTable {
            runtime,
            target: target.clone(),
            control: control.clone(),
            connection: None,
            relation,
            stream,
            owner: LoadId::new().to_string(),
            name: name.to_owned(),
            table: table.to_owned(),
            about: About::default(),
            marks: Vec::new(),
            settled: Vec::new(),
        };
        state.make()?;
        state.take()?;
        Ok(state)
    }

    /// What an earlier stream left.
    pub(super) fn last(&self) -> Option<&Saved> {
        self.about.place.as_ref()
    }

    /// Behind everything that was ever settled: where another file begins.
    pub(super) fn end(&self) -> i64 {
        let place = self.about.place.as_ref().map_or(0, |place| self.about.base + offset(place.offset()));
        let later = self.about.later.iter().map(|(base, trace)| base + offset(trace.offset));
        self.settled.iter().map(|range| range.end).chain(later).fold(place, i64::max)
    }

    /// That of the file of the place.
    pub(super) fn base(&self) -> i64 {
        self.about.base
    }

    /// What was settled behind the place, in order.
    pub(super) fn settled(&self) -> &[Range<i64>] {
        &self.settled
    }

    fn make(&mut self) -> Result<(), Error> {
        let relation = &self.relation;
        let known = format!("SELECT pg_catalog.to_regclass({}) IS NOT NULL", quote_literal(relation));
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {relation} (stream text NOT NULL, owner text, format int4, about jsonb, \
             settled int8multirange NOT NULL DEFAULT '{{}}'); \
             CREATE UNIQUE INDEX ON {relation} (stream) WHERE owner IS NOT NULL"
        );
        let target = self.target.clone();
        let connection = self.runtime.block_on(async {
            let connection = target.connect().await?;
            if connection.client().query_typed(&known, &[]).await?.first().is_some_and(|row| row.get(0)) {
                return Ok(connection);
            }
            match connection.client().batch_execute(&create).await {
                Ok(()) => Ok(connection),
                // Two that make it at once: one of them finds that it is there.
                Err(error)
                    if error
                        .code()
                        .is_some_and(|code| ["23505", "42P07", "42710"].contains(&code.code())) =>
                {
                    Ok(connection)
                }
                Err(error) => {
                    Err(Error::from(error).prefixed("the table of places cannot be made").with_hint(format!(
                        "let a role that may do so run: {create}; GRANT ALL ON {relation} TO …"
                    )))
                }
            }
        })?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Waits for what an earlier stream left under way, and reads what it settled.
    fn take(&mut self) -> Result<(), Error> {
        let StateTable { relation, stream, owner, .. } = &*self;
        let mine = format!("stream = '{stream}' AND owner IS NOT NULL");
        let texts = [
            format!("SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('howdah {stream}', 0))"),
            format!(
                "BEGIN; INSERT INTO {relation} (stream, owner, format) VALUES ('{stream}', '{owner}', {FORMAT}) \
                 ON CONFLICT (stream) WHERE owner IS NOT NULL DO NOTHING"
            ),
            // Whoever notes ranges holds the row until the end of the transaction.
            format!("SELECT format, about::text FROM {relation} WHERE {mine} FOR UPDATE"),
            format!("UPDATE {relation} SET owner = '{owner}' WHERE {mine}; COMMIT"),
            format!(
                "SELECT pg_catalog.lower(r), pg_catalog.upper(r) FROM (SELECT pg_catalog.unnest(\
                 pg_catalog.range_agg(settled)) AS r FROM {relation} WHERE stream = '{stream}') AS s ORDER BY 1"
            ),
        ];
        let Some(connection) = &self.connection else { return Ok(()) };
        let client = connection.client();
        let taking = async {
            client.batch_execute(LIMIT_WAITING).await?;
            client.batch_execute(&texts[0]).await?;
            client.batch_execute(&texts[1]).await?;
            let row = client.query_typed(&texts[2], &[]).await?;
            let row = row.first().map(|row| (row.get::<_, i32>(0), row.get::<_, Option<String>>(1)));
            client.batch_execute(&texts[3]).await?;
            let ranges = client.query_typed(&texts[4], &[]).await?;
            client.batch_execute("SET lock_timeout = DEFAULT").await?;
            Ok((row, ranges.iter().map(|row| row.get(0)..row.get(1)).collect::<Vec<Range<i64>>>()))
        };
        let found = self.runtime.block_on(async {
            tokio::select! {
                found = taking => Ok(found),
                () = self.control.cancelled() => Err(cancelled().nothing_changed()),
            }
        })?;
        let (row, settled) = found.map_err(|error: tokio_postgres::Error| {
            let code = error.code().map(|code| code.code().to_owned());
            let error = Error::from(error).prefixed(format!("the place in {relation}"));
            match code.as_deref() {
                Some("55P03") => self.taken().caused_by(error),
                Some("42703" | "42P10") => error.with_hint("it is no table of places: name another one"),
                _ => error,
            }
        })?;
        self.settled = settled;
        let Some((format, about)) = row else { return Ok(()) };
        if format > FORMAT {
            let text = format!(
                "the place in {}: its format is {format}, and this program knows {FORMAT}",
                self.relation
            );
            return Err(
                Error::new(ErrorKind::Source, text).with_hint("a newer howdah wrote it: go on with that one")
            );
        }
        if let Some(about) = about {
            let read = serde_json::from_str(&about);
            self.about = read.map_err(|error| {
                let text = format!("the place in {} cannot be read: {error}", self.relation);
                Error::new(ErrorKind::Source, text).caused_by(error)
            })?;
        }
        Ok(())
    }

    fn taken(&self) -> Error {
        Error::new(ErrorKind::Source, format!("the place in {}: another stream goes on from it", self.relation))
            .with_hint(message![
                "end that one first: two of them would write every record twice; a stream of another machine's file wants another ",
                setting::STATE_TABLE
            ])
    }

    /// Notes that `mark` is read next, and returns its base: nothing of it may be written before.
    ///
    /// # Errors
    /// Another stream has the place, or somebody said stop while the server was away.
    fn enter(&mut self, mark: &FileMark, at: i64) -> Result<i64, Error> {
        let is_known = |(base, trace): &&(i64, Trace)| {
            // One that this stream has entered already is another, however alike they begin.
            let is_free = *base >= at && self.marks.iter().all(|(entered, _)| entered != base);
            is_free && (trace.is_of(mark) || trace.offset >= COPIES_FROM && trace.is_copied_to(mark))
        };
        if let Some((base, _)) = self.about.later.iter().find(is_known) {
            let base = *base;
            self.marks.push((base, mark.clone()));
            return Ok(base);
        }
        let base = self.end().max(at);
        let trace = mark.trace_of_all().map_err(|error| cannot_read(&self.name, error))?;
        self.about.later.push((base, trace));
        self.marks.push((base, mark.clone()));
        loop {
            match self.write(None) {
                Err(error) if error.is_retryable() && !self.control.is_cancelled() => {
                    std::thread::sleep(PAUSE);
                }
                written => return written.map(|()| base),
            }
        }
    }

    /// Notes `place`, and gathers what is noted behind it. While the server is away it is noted by the rows themselves.
    ///
    /// # Errors
    /// Another stream has the place.
    fn save(&mut self, place: &Place) -> Result<(), Error> {
        let Some(saved) = Saved::of(place, &self.name, &self.table) else { return Ok(()) };
        if self.about.place.as_ref() == Some(&saved) && self.about.base == place.base {
            return Ok(());
        }
        let at = place.base + offset(place.offset);
        self.about.place = Some(saved);
        self.about.base = place.base;
        self.about.later.retain(|(base, _)| *base > place.base);
        self.marks.retain(|(base, _)| *base > place.base);
        for (base, mark) in &self.marks {
            let known = self.about.later.iter_mut().find(|(known, _)| known == base);
            if let (Some((_, trace)), Ok(now)) = (known, mark.trace_of_all()) {
                *trace = now;
            }
        }
        match self.write(Some(at)) {
            Err(error) if error.is_retryable() => Ok(()),
            written => written,
        }
    }

    /// Writes the stream's row.
    fn write(&mut self, from: Option<i64>) -> Result<(), Error> {
        let StateTable { relation, stream, owner, .. } = &*self;
        let mine = format!("stream = '{stream}' AND owner = '{owner}'");
        let sql = match from {
            None => {
                format!("UPDATE {relation} SET about = $1::pg_catalog.text::pg_catalog.jsonb WHERE {mine}")
            }
            // The row is held first: who has the place decides about its ranges too. Those who note ranges do not wait.
            Some(from) => format!(
                "WITH own AS (SELECT FROM {relation} WHERE {mine} FOR NO KEY UPDATE), \
                 gone AS (DELETE FROM {relation} WHERE stream = '{stream}' AND owner IS NULL \
                 AND EXISTS (SELECT FROM own) RETURNING settled) \
                 UPDATE {relation} AS t SET about = $1::pg_catalog.text::pg_catalog.jsonb, settled = (t.settled + \
                 coalesce((SELECT pg_catalog.range_agg(settled) FROM gone), '{{}}')) \
                 * pg_catalog.int8multirange(pg_catalog.int8range({from}, NULL)) WHERE {mine}"
            ),
        };
        let about = serde_json::to_string(&self.about).map_err(|error| {
            Error::new(ErrorKind::Internal, "the place cannot be written").caused_by(error)
        })?;
        let sql = format!("{sql} RETURNING 1");
        // Should another have it by now, the row is another's, too.
        let lock = format!(
            "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('howdah {}', 0))",
            self.stream
        );
        let StateTable { runtime, target, connection, .. } = self;
        let kept = connection.take().filter(|connection| !connection.client().is_closed());
        let writing = async {
            let connection = match kept {
                Some(connection) => connection,
                None => {
                    let connection = target.connect().await?;
                    connection.client().batch_execute(&lock).await?;
                    connection
                }
            };
            let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&about, Type::TEXT)];
            let updated = connection.client().query_typed(&sql, &parameters).await?.len();
            Ok::<_, Error>((connection, updated))
        };
        let written = runtime.block_on(async { tokio::time::timeout(PATIENCE, writing).await });
        let (still, updated) = written.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Connect, format!("{} does not answer any more", target.describe())))
        })?;
        *connection = Some(still);
        if updated == 0 { Err(self.taken()) } else { Ok(()) }
    }
}

fn offset(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl SharedTable {
    pub(super) fn new(table: StateTable) -> SharedTable {
        SharedTable(Arc::new(Mutex::new(table)))
    }

    /// See [`StateTable::enter`].
    ///
    /// # Errors
    /// See there.
    pub(super) fn enter(&self, mark: &FileMark, at: i64) -> Result<i64, Error> {
        self.0.lock().enter(mark, at)
    }

    /// See [`StateTable::save`].
    ///
    /// # Errors
    /// See there.
    pub(super) fn save(&self, place: &Place) -> Result<(), Error> {
        self.0.lock().save(place)
    }

    /// What was settled behind the place when it was opened, in order.
    pub(super) fn settled(&self) -> Vec<Range<i64>> {
        self.0.lock().settled().to_vec()
    }

    /// What a writer notes with rows.
    pub(super) fn companion(&self) -> Arc<dyn Participant> {
        let StateTable { stream, relation, owner, .. } = &*self.0.lock();
        Arc::new(Notes { stream: stream.clone(), relation: relation.clone(), owner: owner.clone() })
    }

    /// What ended a writer, in words about places where it was one.
    pub(super) fn explained(&self, error: Error) -> Error {
        if error.message().contains(LOST) { self.0.lock().taken() } else { error }
    }
}
