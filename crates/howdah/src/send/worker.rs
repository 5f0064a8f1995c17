//! A worker of a load: one connection that sends chunks, part by part, in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use howdah_connect::Connection;
use howdah_message::setting;
use howdah_source::{Morsel, WorkerState};

use crate::encode::chunk::{Chunk, RowOrigins};
use crate::error::Error;
use crate::infer::lattice::ColumnLattice;
use crate::plan::row_form::RowForm;
use crate::send::context::LoadContext;
use crate::send::isolate::isolate_refused_rows;
use crate::send::part::{self, Part, SentChunk};
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint;
use crate::send::sort::{self, SortRule};
use crate::send::timings::Timings;
use crate::send::write::StatementRunner;

/// Sends chunks over one connection of a load.
pub(crate) struct Worker {
    connection: Arc<Connection>,
    runner: Arc<StatementRunner>,
    /// The connection's backend.
    pid: i32,
    /// The part under way.
    part: Option<Part>,
    /// Chunks that wait until they are a part, whose rows are then sorted.
    unsorted: Vec<Chunk>,
    sent: Sent,
}

/// What a worker has sent.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Records that it read.
    pub(crate) read: u64,
    /// Those of them that were refused and kept apart.
    pub(crate) refused: u64,
    /// Rows that the server counted.
    pub(crate) rows: u64,
    /// Parts that were finished.
    pub(crate) parts: u64,
    /// Of these, the ones that were sorted, by index.
    pub(crate) sorted: BTreeMap<String, u64>,
    /// Whether rows were sent in binary.
    pub(crate) binary: bool,
    /// Whether rows were sent as text.
    pub(crate) text: bool,
    /// The numbers of the subtransactions that wrote rows: the `xmin` of these rows.
    pub(crate) subtransactions: Vec<String>,
    /// Where the time went.
    pub(crate) timings: Timings,
    /// What was seen of the columns of a stream.
    pub(crate) lattices: Vec<ColumnLattice>,
}

impl Sent {
    /// Adds what the same connection sent of another input.
    pub(crate) fn add(&mut self, more: Sent) {
        self.read += more.read;
        self.refused += more.refused;
        self.rows += more.rows;
        self.parts += more.parts;
        for (index, parts) in more.sorted {
            *self.sorted.entry(index).or_default() += parts;
        }
        self.binary |= more.binary;
        self.text |= more.text;
        self.timings = [self.timings, more.timings].into_iter().sum();
    }
}

impl Worker {
    /// Starts on an open connection, in a transaction.
    pub(crate) fn new(connection: Arc<Connection>, pid: i32, context: &LoadContext) -> Self {
        let runner = StatementRunner::new(connection.clone(), context);
        Worker {
            connection,
            runner: Arc::new(runner),
            pid,
            part: None,
            unsorted: Vec::new(),
            sent: Sent::default(),
        }
    }

    /// Finishes the last part and checks deferred constraints. The transaction stays open.
    ///
    /// The constraints are checked here because a check, too, can wait for another worker, and the deadlock watcher still
    /// runs.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn finish(
        mut self,
        context: &LoadContext,
        lattices: Vec<ColumnLattice>,
    ) -> Result<Sent, Error> {
        self.send_sorted(context).await?;
        self.finish_part(context).await?;
        if context.commits.is_some() {
            return Ok(Sent { lattices, ..self.sent });
        }
        let checked = self.connection.client().batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await;
        checked.map_err(|error| context.waits.explain(&error, self.pid).unwrap_or_else(|| error.into()))?;
        Ok(Sent { lattices, ..self.sent })
    }

    /// Sends a chunk, after finishing a part that is full or of another form. The memory of `morsel`, from which the chunk
    /// was made, returns to `state` unless the part retains it.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn send(
        &mut self,
        chunk: Chunk,
        morsel: Morsel,
        state: &mut WorkerState,
        context: &LoadContext,
    ) -> Result<(), Error> {
        let (rows, form) = (chunk.rows.len(), chunk.form);
        // The memory of a huge record is released before its row is sent.
        let retained = if context.isolates_rows && rows > 0 {
            Some(morsel)
        } else {
            state.reuse(morsel);
            None
        };
        if rows == 0 {
            return Ok(());
        }
        if form == RowForm::Binary && context.sort != SortRule::None {
            self.unsorted.push(chunk);
            if part::is_enough(&self.unsorted) {
                self.send_sorted(context).await?;
            }
            return Ok(());
        }
        self.send_sorted(context).await?;
        if self.part.as_ref().is_some_and(|part| part.form != form || part.is_full(context.isolates_rows)) {
            self.finish_part(context).await?;
        }
        let part = match &mut self.part {
            Some(part) => part,
            none => none.insert(Part::start(&self.runner, form, context).await?),
        };
        part.send(chunk, retained).await?;
        match form {
            RowForm::Binary => self.sent.binary = true,
            RowForm::Text => self.sent.text = true,
            RowForm::Csv(_) => {}
        }
        context.control.add_rows_sent(rows);
        Ok(())
    }

    /// Sends the chunks that wait as a part of their own, sorted.
    async fn send_sorted(&mut self, context: &LoadContext) -> Result<(), Error> {
        if self.unsorted.is_empty() {
            return Ok(());
        }
        self.finish_part(context).await?;
        let (bytes, rows): (Vec<_>, Vec<_>) =
            self.unsorted.drain(..).map(|chunk| (chunk.bytes, chunk.rows)).unzip();
        let counts: Vec<u64> = rows.iter().map(RowOrigins::len).collect();
        let sorted = sort::sort(&context.sort, &bytes);
        let mut part = Part::start(&self.runner, RowForm::Binary, context).await?;
        self.sent.binary = true;
        let as_they_came = bytes.iter().cloned().zip(counts);
        let buffers: Box<dyn Iterator<Item = (Bytes, u64)> + Send> = match &sorted {
            Some(sorted) => Box::new(sorted.buffers()),
            None => Box::new(as_they_came),
        };
        for (buffer, count) in buffers {
            part.feed(buffer).await?;
            context.control.add_rows_sent(count);
        }
        part.chunks = rows.into_iter().map(|rows| SentChunk { rows, retained: None }).collect();
        if let Some(sorted) = sorted {
            let index = context.sort.keys()[sorted.by].index.clone();
            *self.sent.sorted.entry(index).or_default() += 1;
            part.order = Some(sorted.order);
        }
        self.part = Some(part);
        self.finish_part(context).await
    }

    async fn finish_part(&mut self, context: &LoadContext) -> Result<(), Error> {
        let Some(part) = self.part.take() else { return Ok(()) };
        let (finished, sent) = part.finish().await;
        self.sent.parts += 1;
        self.sent.rows += match finished {
            Ok(rows) => {
                if context.uses_savepoints() {
                    self.sent.subtransactions.extend(savepoint::release(&self.connection).await?);
                }
                rows
            }
            Err(refusal) if context.isolates_rows && is_about_a_row(&refusal.error) => {
                let isolated =
                    isolate_refused_rows(&self.runner, context, sent.form, &sent.chunks, refusal).await?;
                self.sent.subtransactions.extend(isolated.subtransactions);
                self.sent.refused += isolated.refused;
                isolated.rows
            }
            Err(refusal) => {
                if sent.is_sorted() {
                    context.refused_in_sorted.store(true, Ordering::Relaxed);
                }
                let row = part::named_row(&refusal, context);
                let row = match sent.form {
                    RowForm::Csv(_) => row.and_then(|line| part::row_of_line(&sent.chunks, line)),
                    _ => row,
                };
                let row = row.or_else(|| refusal.rows.as_ref().map(|rows| rows.start));
                let location = row.and_then(|row| sent.locate(row));
                let among = refusal.rows.map_or(1, |rows| rows.len());
                let error = part::explain(refusal.error, location, context, self.pid);
                return Err(match error.hint() {
                    None if among > 1 => error.with_hint(message![
                        "one of {among} rows that start here; ",
                        setting::WRITE_PATH.word("copy-binary"),
                        " tells which one"
                    ]),
                    _ => error,
                });
            }
        };
        Ok(())
    }
}
