//! A lane: one connection that sends chunks, part by part, in one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32};

use crate::connect::Connection;
use crate::control::Control;
use crate::encode::chunk::{Chunk, RowForm};
use crate::encode::rejects::Rejects;
use crate::encode::resolver::Resolver;
use crate::error::Error;
use crate::infer::lattice::ColumnLattice;
use crate::message::setting;
use crate::plan::Plan;
use crate::send::narrow;
use crate::send::part::{self, Part};
use crate::send::row_commits::RowCommits;
use crate::send::spent::Spent;
use crate::send::watcher::collision;
use crate::send::write::Way;
use crate::source::{Hold, Morsel};

/// What lanes share during one load.
pub(crate) struct Freight {
    pub(crate) plan: Arc<Plan>,
    /// Quoted and qualified, for SQL.
    pub(crate) relation: String,
    /// The relation's bare name: how the server speaks of it in `COPY name, line 7`.
    pub(crate) relation_name: String,
    pub(crate) control: Control,
    /// The backend that the watcher cancelled because it waited for another lane; 0 as long as there is none.
    pub(crate) blocked: AtomicI32,
    pub(crate) resolver: Resolver,
    /// Whether a column turned up whose literals mostly only the server can decide.
    pub(crate) dense: Arc<AtomicBool>,
    /// Where records go that are no rows; `None`: the first of them ends the load.
    pub(crate) rejects: Option<Arc<Rejects>>,
    /// A part that the server refuses is narrowed down to the row, and only that is refused.
    pub(crate) narrow: bool,
    /// Where every row commits by itself; `None`: lanes are in transactions.
    pub(crate) commits: Option<Arc<RowCommits>>,
}

impl Freight {
    /// Whether parts are sent under savepoints, to which a lane goes back when the server refuses a row.
    pub(crate) fn has_savepoints(&self) -> bool {
        self.narrow && self.commits.is_none()
    }
}

/// One connection of a load.
pub(crate) struct Lane {
    connection: Arc<Connection>,
    way: Arc<Way>,
    pid: i32,
    part: Option<Part>,
    sent: Sent,
}

/// What a lane has sent.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Rows that the server counted.
    pub(crate) rows: u64,
    /// Parts finished.
    pub(crate) parts: u64,
    pub(crate) binary: bool,
    pub(crate) text: bool,
    /// Where the time went.
    pub(crate) spent: Spent,
    /// What the columns of a stream look like.
    pub(crate) lattices: Vec<ColumnLattice>,
}

impl Lane {
    /// A lane over an open connection, in a transaction.
    pub(crate) fn new(connection: Arc<Connection>, pid: i32, freight: &Freight) -> Self {
        let way = Way::new(connection.clone(), freight);
        Lane { connection, way: Arc::new(way), pid, part: None, sent: Sent::default() }
    }

    /// Finishes the last part and checks deferred constraints, while the watcher watches: a check too can wait for another
    /// lane. The transaction stays open.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn finish(
        mut self,
        freight: &Freight,
        lattices: Vec<ColumnLattice>,
    ) -> Result<Sent, Error> {
        self.finish_part(freight).await?;
        if freight.commits.is_some() {
            return Ok(Sent { lattices, ..self.sent });
        }
        let checked = self.connection.client().batch_execute("SET CONSTRAINTS ALL IMMEDIATE").await;
        checked.map_err(|error| collision(&error, freight, self.pid).unwrap_or_else(|| error.into()))?;
        Ok(Sent { lattices, ..self.sent })
    }

    /// Sends a chunk; a part that is full, or of another form, is finished first. The memory of `morsel`, from which the chunk
    /// was made, goes back to `hold`, unless the part holds it.
    ///
    /// # Errors
    /// The server refused rows, or the connection broke.
    pub(crate) async fn send(
        &mut self,
        chunk: Chunk,
        morsel: Morsel,
        hold: &mut Hold,
        freight: &Freight,
    ) -> Result<(), Error> {
        let (rows, form) = (chunk.rows.len(), chunk.form);
        // A huge record is let go before its row is sent.
        let held = if freight.narrow && rows > 0 {
            Some(morsel)
        } else {
            hold.reuse(morsel);
            None
        };
        if rows == 0 {
            return Ok(());
        }
        if self.part.as_ref().is_some_and(|part| part.form != form || part.is_full(freight.narrow)) {
            self.finish_part(freight).await?;
        }
        let part = match &mut self.part {
            Some(part) => part,
            none => none.insert(Part::start(&self.way, form, freight).await?),
        };
        part.send(chunk, held).await?;
        match form {
            RowForm::Binary => self.sent.binary = true,
            RowForm::Text => self.sent.text = true,
            RowForm::Csv(_) => {}
        }
        freight.control.add_rows_sent(rows);
        Ok(())
    }

    async fn finish_part(&mut self, freight: &Freight) -> Result<(), Error> {
        let Some(part) = self.part.take() else { return Ok(()) };
        let (finished, form, chunks) = part.finish().await;
        self.sent.parts += 1;
        self.sent.rows += match finished {
            Ok(rows) => {
                if freight.has_savepoints() {
                    self.connection.client().batch_execute("RELEASE SAVEPOINT howdah").await?;
                }
                rows
            }
            Err(refusal) if freight.narrow && narrow::is_about_a_row(&refusal.error) => {
                narrow::narrow(&self.way, freight, form, &chunks, refusal).await?
            }
            Err(refusal) => {
                let row = part::named_row(&refusal, freight);
                let row = match form {
                    RowForm::Csv(_) => row.and_then(|line| part::row_of_line(&chunks, line)),
                    _ => row,
                };
                let row = row.or_else(|| refusal.rows.as_ref().map(|rows| rows.start));
                let location = row.and_then(|row| part::locate(&chunks, row));
                let among = refusal.rows.map_or(1, |rows| rows.len());
                let error = part::explain(refusal.error, location, freight, self.pid);
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
