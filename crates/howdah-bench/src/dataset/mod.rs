//! Data sets made from a name, a row count and a seed: the same bytes on every machine, in constant memory.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

mod copy_binary;
mod decimal;
mod draw;
mod file;
mod github_events;
mod readings;

pub(crate) use file::write_whole;

/// Bytes collected before a write: large enough that system calls do not count, small enough for the cache.
const BUFFER: usize = 256 * 1024;

/// The data sets that howdah can make. Rows 0..n of a data set are the same whatever number of rows is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dataset {
    /// GitHub's public events: nine columns, the last a JSON document; about 250 bytes a row.
    GithubEvents,
    /// What a fleet of trucks reports: a time, a truck and seven numbers; out of order, some NULL; about 60 bytes a row.
    Readings,
}

/// The `index`-th of `of` files of (nearly) equal rows that together hold the whole data set, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Counted from 0.
    pub index: u32,
    /// How many parts there are; at least 1.
    pub of: u32,
}

impl Part {
    /// The data set in one piece.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// The rows of this part.
    fn range(self, rows: u64) -> Range<u64> {
        let of = u64::from(self.of.max(1));
        let start = |index: u64| rows / of * index + (rows % of) * index / of;
        start(u64::from(self.index))..start(u64::from(self.index) + 1)
    }
}

/// What the two data sets have in common: an endless sequence of rows, each of which can be written in two formats.
trait Rows {
    /// Makes the next row the current one.
    fn advance(&mut self);
    /// Appends the current row as a line of CSV.
    fn push_csv(&self, out: &mut Vec<u8>);
    /// Appends the current row as a tuple of binary COPY.
    fn push_binary(&self, out: &mut Vec<u8>);
}

impl Dataset {
    /// Every data set, in the order in which they are listed.
    pub const ALL: [Dataset; 2] = [Dataset::GithubEvents, Dataset::Readings];

    /// The data set of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Dataset::ALL.into_iter().find(|dataset| dataset.name() == name)
    }

    /// The names of all data sets.
    #[must_use]
    pub fn names() -> [&'static str; 2] {
        Dataset::ALL.map(Dataset::name)
    }

    /// The name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dataset::GithubEvents => "github-events",
            Dataset::Readings => "readings",
        }
    }

    /// One line about it.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Dataset::GithubEvents => {
                "public events of a code host with a JSON payload, about 250 bytes a row"
            }
            Dataset::Readings => {
                "positions and gauges of a truck fleet, out of order and with gaps, about 60 bytes a row"
            }
        }
    }

    /// Column names and their types with constraints, in order.
    #[must_use]
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Dataset::GithubEvents => &github_events::COLUMNS,
            Dataset::Readings => &readings::COLUMNS,
        }
    }

    /// The header line of the CSV file, without its newline.
    #[must_use]
    pub fn header(self) -> String {
        self.columns().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
    }

    /// The statement that makes the typed table. `table` goes into the statement as it is.
    #[must_use]
    pub fn create_table_sql(self, table: &str) -> String {
        let columns = self.columns().iter().map(|(name, r#type)| format!("{name} {type}"));
        format!("CREATE TABLE {table} ({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// The same table with every type replaced by text: the shape in which raw data is landed.
    #[must_use]
    pub fn all_text_table_sql(self, table: &str) -> String {
        let columns = self.columns().iter().map(|(name, r#type)| {
            let not_null = if r#type.ends_with(" NOT NULL") { " NOT NULL" } else { "" };
            format!("{name} text{not_null}")
        });
        format!("CREATE TABLE {table} ({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// Writes a header line and `rows` rows of CSV. Returns the number of bytes.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn write_csv(self, rows: u64, seed: u64, out: &mut impl Write) -> io::Result<u64> {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(self.header().as_bytes());
        buffer.push(b'\n');
        match self {
            Dataset::GithubEvents => {
                pour(github_events::Events::new(seed), 0..rows, Rows::push_csv, buffer, &[], out)
            }
            Dataset::Readings => {
                pour(readings::Readings::new(seed), 0..rows, Rows::push_csv, buffer, &[], out)
            }
        }
    }

    /// Writes the same rows, or a part of them, as a PostgreSQL binary COPY file. Returns the number of bytes.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn write_binary(self, rows: u64, seed: u64, part: Part, out: &mut impl Write) -> io::Result<u64> {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(copy_binary::HEADER);
        let range = part.range(rows);
        let end = copy_binary::TRAILER;
        match self {
            Dataset::GithubEvents => {
                pour(github_events::Events::new(seed), range, Rows::push_binary, buffer, end, out)
            }
            Dataset::Readings => {
                pour(readings::Readings::new(seed), range, Rows::push_binary, buffer, end, out)
            }
        }
    }

    /// Writes CSV to the file `output`, or to standard output when it is `-`. A file appears under its name only when
    /// it is complete. Returns the number of bytes.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_csv_file(self, rows: u64, seed: u64, output: &Path) -> io::Result<u64> {
        if output == Path::new("-") {
            return self.write_csv(rows, seed, &mut io::stdout().lock());
        }
        write_whole(output, |out| self.write_csv(rows, seed, out))
    }

    /// Writes a binary COPY file as [`Dataset::write_binary`] does. The file appears under its name only when it is
    /// complete.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn write_binary_file(self, rows: u64, seed: u64, part: Part, output: &Path) -> io::Result<u64> {
        write_whole(output, |out| self.write_binary(rows, seed, part, out))
    }
}

/// Writes what `buffer` holds already, the rows of `range`, and `end`.
fn pour<R: Rows>(
    mut rows: R,
    range: Range<u64>,
    push: fn(&R, &mut Vec<u8>),
    mut buffer: Vec<u8>,
    end: &[u8],
    out: &mut impl Write,
) -> io::Result<u64> {
    let mut written = 0;
    // Rows before the range are drawn too: each depends on those before it.
    (0..range.start).for_each(|_| rows.advance());
    for _ in range {
        rows.advance();
        push(&rows, &mut buffer);
        if buffer.len() >= BUFFER / 2 {
            out.write_all(&buffer)?;
            written += buffer.len() as u64;
            buffer.clear();
        }
    }
    buffer.extend_from_slice(end);
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(written + buffer.len() as u64)
}

#[cfg(test)]
mod tests;
