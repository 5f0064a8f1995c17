//! The truth of what arrived: rows and checksum of the table beside those of the data set.

use super::context::RunRows;
use super::server::{BenchServer, TABLE};
use crate::cell::{Cell, Method};
use crate::error::Error;
use crate::record::{Outcome, Record};

/// Compares what is in the table with what should be.
pub(super) fn verify(
    server: &BenchServer,
    cell: &Cell,
    rows: RunRows,
    record: &mut Record,
) -> Result<(), Error> {
    let expected = rows.checksum.to_string();
    let arrived = if cell.is_control() { expected.clone() } else { checksum(server, cell)? };
    let count = rows.checksum.rows;
    if arrived != expected || record.rows != count {
        let (arrived, sum) = arrived.split_once(' ').unwrap_or((&arrived, ""));
        record.outcome = Outcome::Wrong;
        record.reason = Some(format!(
            "counted {} of {count} rows; {arrived} arrived, with the checksum {sum} instead of {}",
            record.rows, rows.checksum.sum
        ));
    } else if rows.count < cell.rows {
        record.outcome = Outcome::Prefix;
        record.reason = Some(format!("only the first {} rows", rows.count));
    } else {
        record.outcome = Outcome::Verified;
    }
    Ok(())
}

/// The checksum of the table, whose columns are cast first where they may be of other types than the data set's.
fn checksum(server: &BenchServer, cell: &Cell) -> Result<String, Error> {
    let makes_table = matches!(&cell.method, Method::Command(command) if command.makes_table());
    let table = if cell.table.all_text || makes_table {
        let types = cell.dataset.types().take(cell.columns().len());
        let typed = types.map(|(name, r#type)| format!("{name}::{type} AS {name}"));
        format!("(SELECT {} FROM {TABLE}) typed", typed.collect::<Vec<_>>().join(", "))
    } else {
        TABLE.to_owned()
    };
    let sql = cell.dataset.narrow_checksum_sql(&table, cell.columns().len());
    Ok(server.database.row(&sql)?.concat())
}

/// A count as the server prints it.
///
/// # Errors
/// It is none.
pub(super) fn count_of(text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::Wrong(format!("a count is {text:?}")))
}
