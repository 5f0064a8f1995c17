//! The generator of a data set: the first rows of it, from a seed, tame or hostile, in any format.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::checksum::{Adder, Checksum};
use super::copy_binary::CopyBinary;
use super::csv::Csv;
use super::file::{to_file, write_whole};
use super::github_events::Events;
use super::hostile::Hostile;
use super::instest::Numbers;
use super::ndjson::Ndjson;
use super::parquet::Parquet;
use super::readings::Readings;
use super::sensor_readings::SensorReadings;
use super::set::Dataset;
use super::tasks::Tasks;
use super::value::{Rows, Sink};

/// A data set with everything that decides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    /// The data set whose rows are made.
    pub dataset: Dataset,
    /// The number of rows, from the first on.
    pub rows: u64,
    /// Another seed, other rows.
    pub seed: u64,
    /// If true, one value in eight is one that breaks loaders: NULL, empty, extreme, long, quotes, newlines, not ASCII.
    pub hostile: bool,
}

/// The `index`-th of `of` files of (nearly) equal rows that together hold the whole data set, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Counted from 0.
    pub index: u32,
    /// The number of parts; at least 1.
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

impl Dataset {
    /// Returns a generator of that many tame rows, from that seed.
    #[must_use]
    pub fn generator(self, rows: u64, seed: u64) -> Generator {
        Generator { dataset: self, rows, seed, hostile: false }
    }
}

impl Generator {
    /// Writes a header line and the rows as CSV. Returns the number of bytes.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn write_csv(self, out: &mut impl Write) -> io::Result<u64> {
        let mut csv = Csv::new(self.dataset, out);
        self.write(0..self.rows, &mut csv)?;
        csv.finish()
    }

    /// Writes the same rows, or a part of them, as a PostgreSQL binary COPY file. Returns the number of bytes.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn write_binary(self, part: Part, out: &mut impl Write) -> io::Result<u64> {
        let mut binary = CopyBinary::new(out);
        self.write(part.range(self.rows), &mut binary)?;
        binary.finish()
    }

    /// Returns the answer of [`Dataset::checksum_sql`] for a table that holds exactly these rows.
    #[must_use]
    pub fn checksum(self) -> Checksum {
        self.narrow_checksum(self.dataset.columns().len())
    }

    /// Returns the answer of [`Dataset::narrow_checksum_sql`] for a table that holds exactly the first `width` columns
    /// of these rows.
    #[must_use]
    pub fn narrow_checksum(self, width: usize) -> Checksum {
        let mut adder = Adder::of(width);
        // The adder writes nowhere and so never fails.
        let _ = self.write(0..self.rows, &mut adder);
        adder.finish()
    }

    /// Returns the answer of [`Dataset::checksum_sql`] for a table that holds these rows, but for each `every`-th
    /// (counted from 1).
    #[must_use]
    pub fn checksum_without_every(self, every: u64) -> Checksum {
        let mut adder = Adder::of(self.dataset.columns().len()).without_every(every);
        // The adder writes nowhere and so never fails.
        let _ = self.write(0..self.rows, &mut adder);
        adder.finish()
    }

    /// Writes CSV to the file `output`, or to standard output when it is `-`. A file appears under its name only when
    /// it is complete. Returns the number of bytes.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_csv_file(self, output: &Path) -> io::Result<u64> {
        to_file(output, |mut out| self.write_csv(&mut out))
    }

    /// Writes a binary COPY file as [`Generator::write_binary`] does, to `output` as [`Generator::write_csv_file`] does.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_binary_file(self, part: Part, output: &Path) -> io::Result<u64> {
        to_file(output, |mut out| self.write_binary(part, &mut out))
    }

    /// Writes NDJSON, to `output` as [`Generator::write_csv_file`] does.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_ndjson_file(self, output: &Path) -> io::Result<u64> {
        to_file(output, |mut out| {
            let mut ndjson = Ndjson::new(self.dataset, &mut out);
            self.write(0..self.rows, &mut ndjson)?;
            ndjson.finish()
        })
    }

    /// Writes a Parquet file, to `output` as [`Generator::write_csv_file`] does.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_parquet_file(self, output: &Path) -> io::Result<u64> {
        if output == Path::new("-") {
            return self.write_parquet(io::stdout());
        }
        write_whole(output, |out| self.write_parquet(out))
    }

    fn write_parquet(self, out: impl Write + Send) -> io::Result<u64> {
        let mut parquet = Parquet::new(self.dataset, out)?;
        self.write(0..self.rows, &mut parquet)?;
        parquet.finish()
    }

    /// Writes SQL that makes the table with its keys, and the query with what it answers once the rows are in.
    ///
    /// # Errors
    /// The file or standard output could not be written.
    pub fn write_sql_file(self, output: &Path) -> io::Result<u64> {
        let table = self.dataset.name().replace('-', "_");
        let mut statements = vec![self.dataset.create_table_sql(&table)];
        statements.extend(self.dataset.keys_sql(&table));
        let sql = format!(
            "{};\n-- The {} {}rows of seed {} are in when this query\n-- {};\n-- answers\n-- {}\n",
            statements.join(";\n"),
            self.rows,
            if self.hostile { "hostile " } else { "" },
            self.seed,
            self.dataset.checksum_sql(&table),
            self.checksum(),
        );
        to_file(output, |out| out.write_all(sql.as_bytes()).map(|()| sql.len() as u64))
    }

    fn write(self, range: Range<u64>, sink: &mut impl Sink) -> io::Result<()> {
        match self.dataset {
            Dataset::GithubEvents => self.drive(Events::new(self.seed), range, sink),
            Dataset::SensorReadings => self.drive(SensorReadings::new(self.seed), range, sink),
            Dataset::Instest => self.drive(Numbers::new(), range, sink),
            Dataset::Readings => self.drive(Readings::new(self.seed, false), range, sink),
            Dataset::TaggedReadings => self.drive(Readings::new(self.seed, true), range, sink),
            Dataset::Tasks => self.drive(Tasks::new(self.seed), range, sink),
        }
    }

    fn drive(self, mut rows: impl Rows, range: Range<u64>, sink: &mut impl Sink) -> io::Result<()> {
        // Rows before the range are drawn too: each depends on those before it.
        (0..range.start).for_each(|_| rows.advance());
        if self.hostile {
            let dataset = self.dataset;
            let mut hostile = Hostile::new(sink, dataset.columns(), dataset.unique_column(), self.seed);
            for number in range {
                rows.advance();
                hostile.row(number);
                rows.emit(&mut hostile);
                hostile.end()?;
            }
            return Ok(());
        }
        for _ in range {
            rows.advance();
            rows.emit(sink);
            sink.end()?;
        }
        Ok(())
    }
}
