//! The statements that write a batch of rows, and two that write nothing.

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::Error;

/// A statement's parameters are counted in 16 bits.
const PARAMETERS: usize = 65_535;

/// The statements that make a batch one transaction. Everything is prepared, and parameters are binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// `INSERT … VALUES (…), (…)`, a parameter a value: the single INSERT where a batch is one row.
    Values,
    /// `BEGIN`, one INSERT a row, `COMMIT`, all sent at once and answered in one round trip: what study 5 calls a batch.
    Pipeline,
    /// `INSERT … SELECT … FROM unnest(…)`, an array a column.
    Unnest,
    /// `COPY … (FORMAT binary)`. Two round trips: data may be sent once the server has said that it takes some.
    CopyBinary,
    /// `COPY … (FORMAT csv)`.
    CopyCsv,
    /// Nothing is written: the batch's bytes go to the server as one parameter, and it answers with their number. What
    /// this reaches is the most that this program and the way to the server can.
    Ping,
    /// Nothing is written: the rows with identities equal to the batch's numbers, counted from 1, are read.
    Read,
}

/// How rows lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As in a binary COPY, whose fields are also binary parameters.
    Binary,
    /// As in a CSV COPY.
    Csv,
    /// Only their number is known.
    Nothing,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 7] = [
        Shape::Values,
        Shape::Pipeline,
        Shape::Unnest,
        Shape::CopyBinary,
        Shape::CopyCsv,
        Shape::Ping,
        Shape::Read,
    ];

    /// Returns true if it adds rows to the table.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Shape::Ping | Shape::Read)
    }

    /// How rows are to be encoded for it.
    pub(super) fn form(self) -> Form {
        match self {
            Shape::CopyCsv => Form::Csv,
            Shape::Read => Form::Nothing,
            _ => Form::Binary,
        }
    }

    /// Whether a statement can hold that many rows of the data set.
    pub(super) fn check(self, dataset: Dataset, rows: usize) -> Result<(), Error> {
        let columns = dataset.columns();
        let refuse = |why: String| Err(Error::Usage(why));
        match self {
            Shape::Values if rows.saturating_mul(columns.len()) > PARAMETERS => refuse(format!(
                "{rows} rows of {} columns are more than the {PARAMETERS} parameters that a statement can have; \
                 unnest and COPY have no such limit",
                columns.len()
            )),
            Shape::Unnest if columns.iter().any(|(_, r#type)| r#type.contains("[]")) => refuse(format!(
                "unnest takes arrays of arrays apart entirely: {} has a column of arrays",
                dataset.name()
            )),
            _ => Ok(()),
        }
    }

    /// The statement for a batch of `rows` rows; for [`Shape::Pipeline`] that for each of them.
    pub(super) fn sql(self, dataset: Dataset, table: &str, rows: usize) -> String {
        let names = dataset.header();
        let columns = dataset.columns();
        let values = |rows: usize| {
            let parameter =
                |row: usize| move |column: usize| format!("${}", row * columns.len() + column + 1);
            let tuple = |row: usize| format!("({})", join((0..columns.len()).map(parameter(row))));
            format!("INSERT INTO {table} ({names}) VALUES {}", join((0..rows).map(tuple)))
        };
        match self {
            Shape::Values => values(rows),
            Shape::Pipeline => values(1),
            Shape::Unnest => {
                let array = |(index, (_, r#type))| format!("${}::{type}[]", index + 1);
                let arrays = join(dataset.types().enumerate().map(array));
                format!("INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays})")
            }
            Shape::CopyBinary => format!("COPY {table} ({names}) FROM STDIN (FORMAT binary)"),
            Shape::CopyCsv => format!("COPY {table} ({names}) FROM STDIN (FORMAT csv)"),
            Shape::Ping => "SELECT octet_length($1::bytea)".to_owned(),
            Shape::Read => format!("SELECT {names} FROM {table} WHERE id BETWEEN $1::bigint AND $2::bigint"),
        }
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_through_all_rows_and_types_lose_their_constraints() {
        let sql = Shape::Values.sql(Dataset::Tasks, "t", 2);
        assert_eq!(sql, "INSERT INTO t (args,idempotency_key) VALUES ($1, $2), ($3, $4)");
        let sql = Shape::Unnest.sql(Dataset::Instest, "t", 2);
        assert_eq!(sql, "INSERT INTO t (id,value) SELECT * FROM unnest($1::bigint[], $2::text[])");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_a_way_out() {
        assert!(Shape::Values.check(Dataset::Tasks, 32_767).is_ok());
        let error = Shape::Values.check(Dataset::Tasks, 32_768).unwrap_err().to_string();
        assert!(error.contains("unnest"), "{error}");
        assert!(Shape::Unnest.check(Dataset::SensorReadings, 1).is_err());
        assert!(Shape::CopyBinary.check(Dataset::SensorReadings, 1_000_000).is_ok());
    }
}
