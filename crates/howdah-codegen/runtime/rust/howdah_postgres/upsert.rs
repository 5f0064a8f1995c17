//! Rows written by a key: by COPY into a temporary table, then by one statement into their own; all of them or none.

use tokio_postgres::Transaction;

use super::Error;
use super::codec::Refused;
use super::copy::{Appender, RowWriter, WriteRow};

/// What is run around the COPY into the stage.
#[derive(Debug)]
pub struct Staged {
    /// Makes the stage.
    pub create: &'static str,
    /// A statement with the stage's columns, which is only described.
    pub select: &'static str,
    /// `COPY … FROM STDIN`.
    pub copy: &'static str,
    /// The stage's last column, for the places of rows in the input.
    pub place: &'static str,
    /// Writes the table.
    pub write: &'static str,
    /// Removes the stage.
    pub drop: &'static str,
}

/// A row with its place in the input, from 1, and the name of the column for that.
struct Placed<R> {
    row: R,
    place: i64,
    column: &'static str,
}

impl<R: WriteRow> WriteRow for Placed<R> {
    const BINARY: bool = R::BINARY;

    fn put(&self, row: &mut RowWriter<'_>) -> Result<(), Refused> {
        self.row.put(row)?;
        row.put(self.column, &self.place)
    }
}

/// Writes all rows, or none of them, below a savepoint, and gives the number of rows that were changed.
///
/// Whatever ends it early takes the transaction back to the savepoint.
pub async fn upsert<R: WriteRow>(
    db: &mut Transaction<'_>,
    staged: &Staged,
    rows: impl IntoIterator<Item = R>,
) -> Result<u64, Error> {
    let inner = db.transaction().await?;
    inner.batch_execute(staged.create).await?;
    let mut appender = Appender::begin(&inner, staged.select, staged.copy).await?;
    let column = staged.place;
    for (place, row) in (1..).zip(rows) {
        appender.append(&Placed { row, place, column }).await?;
    }
    appender.finish().await?;
    let changed = inner.execute(staged.write, &[]).await?;
    inner.batch_execute(staged.drop).await?;
    inner.commit().await?;
    Ok(changed)
}
