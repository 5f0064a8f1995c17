//! Narrowing: a part that the server refused is sent again in segments, each under a savepoint, until every row that it
//! does not want is known and all others are in. Where every row commits by itself, only the rest is sent.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::encode::rejects::Reject;
use crate::error::{Error, ErrorKind};
use crate::plan::row_form::RowForm;
use crate::send::lane::Freight;
use crate::send::part::{self, Carried, Held};
use crate::send::write::{Refusal, Way};

/// The first segment after a refused row: a row that the server names costs the rows behind it in the segment, so bad rows
/// that stand close together call for short segments, which double while they succeed.
const SHORT_SEGMENT: usize = 32;

/// Whether the server refused a row, rather than being unable to go on: classes of SQLSTATE that say nothing about data are
/// the connection, transaction states and rollbacks, what is prepared, resources, locks, operators, the system, and the
/// server's own faults. Nor does class 42: what a role may not do or a statement cannot name it cannot with any row.
pub(crate) fn is_about_a_row(error: &tokio_postgres::Error) -> bool {
    const NOT_DATA: [&str; 11] = ["08", "25", "26", "28", "40", "53", "55", "57", "58", "F0", "XX"];
    let Some(db) = error.as_db_error() else { return false };
    let code = db.code().code();
    match code.strip_prefix("42") {
        Some(_) => judges_a_row(code, db.routine().unwrap_or_default()),
        None => !NOT_DATA.iter().any(|class| code.starts_with(class)),
    }
}

/// Whether an error of class 42 is about a row after all: policies and what RAISE says in a trigger judge rows, and input
/// functions report a value as a syntax error (tsquery, jsonpath) or as the name of nothing (regclass and its like).
fn judges_a_row(code: &str, routine: &str) -> bool {
    match routine {
        "ExecWithCheckOptions" | "exec_stmt_raise" => true,
        // Of SQL itself.
        "scanner_yyerror" => false,
        input => code == "42601" || input.starts_with("reg") && input.ends_with("in"),
    }
}

/// Sends the rows of `chunks` again, of which the server refused some with `first`. The savepoint of the failed part is
/// open; afterwards it is gone. How many rows the server counted.
///
/// # Errors
/// Anything but the refusal of a row; too many refused rows.
pub(crate) async fn narrow(
    way: &Arc<Way>,
    freight: &Freight,
    form: RowForm,
    chunks: &[Carried],
    first: Refusal,
) -> Result<u64, Error> {
    let rows = chunks
        .iter()
        .filter_map(|chunk| chunk.held.as_ref().map(|held| (chunk, held)))
        .flat_map(|(chunk, held)| {
            let ends = row_ends(form, &held.bytes);
            ends.into_iter().enumerate().map(move |(at, bytes)| Row { chunk, held, at, bytes })
        })
        .collect();
    let client = way.connection().client();
    let mut narrowing = Narrowing { way, freight, form, rows, accepted: 0 };
    if !freight.has_savepoints() {
        narrowing.go_on(first).await?;
        return Ok(narrowing.accepted);
    }
    client.batch_execute("ROLLBACK TO SAVEPOINT howdah").await?;
    narrowing.settle(first).await?;
    client.batch_execute("RELEASE SAVEPOINT howdah").await?;
    Ok(narrowing.accepted)
}

/// One encoded row.
struct Row<'c> {
    chunk: &'c Carried,
    held: &'c Held,
    /// Its number in the chunk.
    at: usize,
    /// Its bytes in the chunk.
    bytes: Range<usize>,
}

struct Narrowing<'a> {
    way: &'a Arc<Way>,
    freight: &'a Freight,
    form: RowForm,
    rows: Vec<Row<'a>>,
    accepted: u64,
}

impl Narrowing<'_> {
    /// Goes through the rows in order. A row counts as refused only when the server refused it with all rows before it
    /// settled, since one bad row can be the reason for another (a duplicate of a row that is itself refused is none).
    async fn settle(&mut self, first: Refusal) -> Result<(), Error> {
        let total = self.rows.len();
        let (mut at, mut size) = (0, total);
        // The row that the server named, while the rows before it are sent.
        let mut named: Option<(usize, Refusal)> = None;
        // Somewhere before this row stands one that the server refused without naming it.
        let mut bad_before = 0;
        let mut result = Err(first);
        loop {
            match result {
                Ok(count) => {
                    self.accepted += count;
                    at += size;
                    if let Some((row, error)) = named.take() {
                        self.refuse(row, error)?;
                        at = row + 1;
                        size = (2 * size).max(SHORT_SEGMENT);
                    } else if at < bad_before {
                        size = ((bad_before - at) / 2).max(1);
                    } else {
                        size = size.saturating_mul(2);
                    }
                }
                Err(error) => {
                    named = None;
                    match part::named_row(&error, self.freight).filter(|row| *row < size) {
                        Some(row) if row > 0 => {
                            named = Some((at + row, error));
                            size = row;
                        }
                        None if size > 1 => {
                            bad_before = at + size;
                            size /= 2;
                        }
                        found => {
                            self.refuse(at, error)?;
                            at += 1;
                            bad_before = 0;
                            size = if found.is_some() { SHORT_SEGMENT } else { 1 };
                        }
                    }
                }
            }
            if at >= total {
                return Ok(());
            }
            size = size.min(total - at);
            result = self.send(at..at + size).await?;
        }
    }

    /// Where every row commits by itself: those before a refused one are in, and those after it follow.
    async fn go_on(&mut self, first: Refusal) -> Result<(), Error> {
        let (mut start, mut result) = (0, Err(first));
        loop {
            let refusal = match result {
                Ok(count) => {
                    self.accepted += count;
                    return Ok(());
                }
                Err(refusal) if is_about_a_row(&refusal.error) => refusal,
                Err(refusal) => return Err(refusal.error.into()),
            };
            self.accepted += refusal.counted;
            let at = start + refusal.rows.as_ref().map_or(0, |rows| rows.start);
            self.refuse(at, refusal)?;
            start = at + 1;
            result = self.feed(start..self.rows.len()).await?;
        }
    }

    /// Sends rows on top of the open savepoint; the inner error is a refusal. Afterwards the savepoint is open again.
    async fn send(&self, rows: Range<usize>) -> Result<Result<u64, Refusal>, Error> {
        let client = self.way.connection().client();
        match self.feed(rows).await? {
            Ok(count) => {
                client.batch_execute("RELEASE SAVEPOINT howdah; SAVEPOINT howdah").await?;
                Ok(Ok(count))
            }
            Err(refusal) if is_about_a_row(&refusal.error) => {
                client.batch_execute("ROLLBACK TO SAVEPOINT howdah").await?;
                Ok(Err(refusal))
            }
            Err(refusal) => Err(refusal.error.into()),
        }
    }

    /// Sends rows; the inner error is the server's answer to them.
    async fn feed(&self, rows: Range<usize>) -> Result<Result<u64, Refusal>, Error> {
        if self.freight.control.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "stopped on request"));
        }
        let mut sink = self.way.start(self.form).await?;
        let mut rows = self.rows[rows].iter().peekable();
        while let Some(first) = rows.next() {
            let mut end = first.bytes.end;
            while let Some(next) =
                rows.next_if(|next| std::ptr::eq(next.held, first.held) && next.bytes.start == end)
            {
                end = next.bytes.end;
            }
            sink.feed(first.held.bytes.slice(first.bytes.start..end)).await?;
        }
        Ok(sink.finish().await)
    }

    fn refuse(&self, row: usize, refusal: Refusal) -> Result<(), Error> {
        let row = &self.rows[row];
        let error = part::explain(refusal.error, row.chunk.rows.locate(row.at), self.freight, 0);
        let Some(rejects) = &self.freight.rejects else { return Err(error) };
        rejects.add(&[Reject { error, raw: self.raw(row) }])
    }

    /// The record that became `row`.
    fn raw(&self, row: &Row<'_>) -> Vec<u8> {
        let start = row.chunk.rows.start(row.at);
        start.and_then(|start| row.held.morsel.raw(start, &self.freight.plan.dialect)).unwrap_or_default()
    }
}

/// Where each row lies in a chunk's bytes.
pub(crate) fn row_ends(form: RowForm, bytes: &Bytes) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = match form {
            RowForm::Text | RowForm::Csv(_) => {
                memchr::memchr(b'\n', &bytes[start..]).map(|at| start + at + 1)
            }
            RowForm::Binary => binary_row_end(bytes, start),
        };
        let end = end.unwrap_or(bytes.len());
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// The end of the binary row at `start`: a count of fields, then each with its length, -1 for NULL.
fn binary_row_end(bytes: &[u8], start: usize) -> Option<usize> {
    let count = u16::from_be_bytes(*bytes.get(start..)?.first_chunk()?);
    let mut at = start + 2;
    for _ in 0..count {
        let length = i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        at += 4 + usize::try_from(length).unwrap_or(0);
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_blamed_for_a_missing_right_or_a_statement() {
        for (code, routine, expected) in [
            ("42501", "aclcheck_error", false),
            ("42501", "ExecWithCheckOptions", true),
            ("42501", "exec_stmt_raise", true),
            ("42P01", "parserOpenTable", false),
            ("42P01", "regclassin", true),
            ("42601", "scanner_yyerror", false),
            ("42601", "jsonpath_yyerror", true),
            ("42703", "", false),
        ] {
            assert_eq!(judges_a_row(code, routine), expected, "{code} {routine}");
        }
    }

    #[test]
    fn rows_are_found_in_both_forms() {
        let text = Bytes::from_static(b"a\tb\n\\n\tx\n");
        assert_eq!(row_ends(RowForm::Text, &text), [0..4, 4..9]);
        let one = [&[0, 2, 0, 0, 0, 1, b'\n'][..], &[0xff; 4]].concat();
        let two = Bytes::from([one.clone(), one].concat());
        assert_eq!(row_ends(RowForm::Binary, &two), [0..11, 11..22]);
    }
}
