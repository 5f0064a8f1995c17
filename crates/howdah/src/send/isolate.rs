//! The rows that the server refuses in a part are isolated: the part is sent again in segments, each under a savepoint,
//! until every row that the server does not take is refused and all others are in. Where every row commits by itself, only
//! the rows behind a refused one are sent again.

use std::ops::Range;
use std::sync::Arc;

use crate::encode::reject::Reject;
use crate::error::{Error, ErrorKind};
use crate::plan::row_form::RowForm;
use crate::send::bisect::Bisection;
use crate::send::context::LoadContext;
use crate::send::part::{self, RetainedRows, SentChunk};
use crate::send::row_error::is_about_a_row;
use crate::send::savepoint;
use crate::send::write::{PartFailure, StatementRunner};

/// What came of rows that were sent again.
#[derive(Default)]
pub(crate) struct Isolated {
    /// Those that the server counted.
    pub(crate) rows: u64,
    /// Those that were refused.
    pub(crate) refused: u64,
    /// The numbers of the subtransactions that wrote them.
    pub(crate) subtransactions: Vec<String>,
}

/// Sends the rows of `chunks` again, some of which the server refused with `first`. The savepoint of the failed part is open; afterwards it is gone.
///
/// # Errors
/// Anything but the refusal of a row; too many refused rows.
pub(crate) async fn isolate_refused_rows(
    runner: &Arc<StatementRunner>,
    context: &LoadContext,
    form: RowForm,
    chunks: &[SentChunk],
    first: PartFailure,
) -> Result<Isolated, Error> {
    let rows = rows_of(chunks, form)?;
    let connection = runner.connection();
    let mut isolation = Isolation { runner, context, form, rows, accepted: Isolated::default() };
    if !context.uses_savepoints() {
        isolation.send_the_rest(first).await?;
        return Ok(isolation.accepted);
    }
    savepoint::roll_back(connection).await?;
    isolation.search(first).await?;
    savepoint::release(connection).await?;
    Ok(isolation.accepted)
}

/// One encoded row.
struct ChunkRow<'c> {
    chunk: &'c SentChunk,
    retained: &'c RetainedRows,
    /// Its number in the chunk.
    at: usize,
    /// Its bytes in the chunk.
    bytes: Range<usize>,
}

/// All rows of `chunks`, in order.
fn rows_of(chunks: &[SentChunk], form: RowForm) -> Result<Vec<ChunkRow<'_>>, Error> {
    let mut rows = Vec::new();
    for chunk in chunks {
        let retained = chunk.retained.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the server refused a row of a chunk that was not retained")
        })?;
        let ranges = form.row_ranges(&retained.bytes);
        rows.extend(ranges.into_iter().enumerate().map(|(at, bytes)| ChunkRow {
            chunk,
            retained,
            at,
            bytes,
        }));
    }
    Ok(rows)
}

struct Isolation<'a> {
    runner: &'a Arc<StatementRunner>,
    context: &'a LoadContext,
    form: RowForm,
    rows: Vec<ChunkRow<'a>>,
    accepted: Isolated,
}

impl Isolation<'_> {
    /// Finds the refused rows among all rows, which the server refused together with `first`.
    async fn search(&mut self, first: PartFailure) -> Result<(), Error> {
        // A trigger of the statement, or a table that takes no rows: what is refused without a row is no row's fault.
        if part::named_row(&first, self.context).is_none()
            && let Err(refusal) = self.send(0..0).await?
        {
            return Err(part::explain(refusal.error, None, self.context, 0));
        }
        let mut search = Bisection::new(self.rows.len());
        let mut known = Some(first);
        while let Some(segment) = search.segment() {
            let answer = match known.take() {
                Some(first) => Err(first),
                None => self.send(segment).await?,
            };
            let refused = match answer {
                Ok(count) => {
                    self.accepted.rows += count;
                    search.accepted()
                }
                Err(refusal) => search.refused(part::named_row(&refusal, self.context), refusal),
            };
            if let Some((row, refusal)) = refused {
                self.refuse(row, refusal)?;
            }
        }
        Ok(())
    }

    /// Where every row commits by itself, the rows before a refused one are in: those behind it are sent.
    async fn send_the_rest(&mut self, first: PartFailure) -> Result<(), Error> {
        let (mut start, mut result) = (0, Err(first));
        loop {
            let refusal = match result {
                Ok(count) => {
                    self.accepted.rows += count;
                    return Ok(());
                }
                Err(refusal) if is_about_a_row(&refusal.error) => refusal,
                Err(refusal) => return Err(refusal.error.into()),
            };
            self.accepted.rows += refusal.counted;
            let at = start + refusal.rows.as_ref().map_or(0, |rows| rows.start);
            self.refuse(at, refusal)?;
            start = at + 1;
            result = self.send_statement(start..self.rows.len()).await?;
        }
    }

    /// Sends rows on top of the open savepoint; the inner error is a refusal. Afterwards the savepoint is open again.
    async fn send(&mut self, rows: Range<usize>) -> Result<Result<u64, PartFailure>, Error> {
        let connection = self.runner.connection();
        match self.send_statement(rows).await? {
            Ok(count) => {
                self.accepted.subtransactions.extend(savepoint::renew(connection).await?);
                Ok(Ok(count))
            }
            Err(refusal) if is_about_a_row(&refusal.error) => {
                savepoint::roll_back(connection).await?;
                Ok(Err(refusal))
            }
            Err(refusal) => Err(refusal.error.into()),
        }
    }

    /// Sends rows as one part; the inner error is the server's refusal.
    async fn send_statement(&self, rows: Range<usize>) -> Result<Result<u64, PartFailure>, Error> {
        if self.context.control.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        let mut sink = self.runner.start(self.form).await?;
        let mut rows = self.rows[rows].iter().peekable();
        while let Some(first) = rows.next() {
            let mut end = first.bytes.end;
            while let Some(next) =
                rows.next_if(|next| std::ptr::eq(next.retained, first.retained) && next.bytes.start == end)
            {
                end = next.bytes.end;
            }
            sink.feed(first.retained.bytes.slice(first.bytes.start..end)).await?;
        }
        Ok(sink.finish().await)
    }

    fn refuse(&mut self, row: usize, refusal: PartFailure) -> Result<(), Error> {
        let row = &self.rows[row];
        let error = part::explain(refusal.error, row.chunk.rows.locate(row.at), self.context, 0);
        let Some(rejects) = &self.context.rejects else { return Err(error) };
        let raw = self.raw(row)?;
        rejects.add(&[Reject { error, raw }])?;
        self.accepted.refused += 1;
        Ok(())
    }

    /// The bytes of the record that became `row`.
    fn raw(&self, row: &ChunkRow<'_>) -> Result<Vec<u8>, Error> {
        let start = row.chunk.rows.start(row.at);
        start.and_then(|start| row.retained.morsel.raw(start, &self.context.plan.reading.dialect)).ok_or_else(
            || Error::new(ErrorKind::Internal, "the record of a row that the server refused was not found"),
        )
    }
}
