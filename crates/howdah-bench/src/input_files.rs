//! Input files of the measurements, made once and kept under a name that says what they hold.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::dataset::{Dataset, Part, write_whole};
use crate::error::Error;

/// A directory of generated files. A file that is there is complete and is used again.
pub struct InputFiles {
    directory: PathBuf,
    seed: u64,
}

impl InputFiles {
    /// Makes the directory when it is missing.
    ///
    /// # Errors
    /// It could not be made.
    pub fn new(directory: &Path, seed: u64) -> Result<Self, Error> {
        let doing = || format!("could not make {}", directory.display());
        fs::create_dir_all(directory).map_err(Error::io(doing()))?;
        let directory = directory.canonicalize().map_err(Error::io(doing()))?;
        Ok(InputFiles { directory, seed })
    }

    /// The data set as CSV.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn csv(&self, dataset: Dataset, rows: u64) -> Result<PathBuf, Error> {
        self.file(&(self.stem(dataset, rows) + ".csv"), |path| {
            dataset.generator(rows, self.seed).write_csv_file(path)
        })
    }

    /// The data set as Parquet.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn parquet(&self, dataset: Dataset, rows: u64) -> Result<PathBuf, Error> {
        self.file(&(self.stem(dataset, rows) + ".parquet"), |path| {
            dataset.generator(rows, self.seed).write_parquet_file(path)
        })
    }

    /// The data set as NDJSON.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn ndjson(&self, dataset: Dataset, rows: u64) -> Result<PathBuf, Error> {
        self.file(&(self.stem(dataset, rows) + ".ndjson"), |path| {
            dataset.generator(rows, self.seed).write_ndjson_file(path)
        })
    }

    /// Returns true if [`InputFiles::csv`] finds the file made.
    #[must_use]
    pub fn has_csv(&self, dataset: Dataset, rows: u64) -> bool {
        self.directory.join(self.stem(dataset, rows) + ".csv").exists()
    }

    /// The data set as gzipped CSV.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn csv_gz(&self, dataset: Dataset, rows: u64) -> Result<PathBuf, Error> {
        let plain = self.csv(dataset, rows)?;
        self.file(&(self.stem(dataset, rows) + ".csv.gz"), |path| {
            write_whole(path, |out| {
                let mut gzip = GzEncoder::new(BufWriter::new(out), Compression::fast());
                let bytes = io::copy(&mut BufReader::with_capacity(1 << 20, File::open(&plain)?), &mut gzip)?;
                gzip.finish()?.flush()?;
                Ok(bytes)
            })
        })
    }

    /// The data set as `parts` binary COPY files of equal rows.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn binary_parts(&self, dataset: Dataset, rows: u64, parts: u32) -> Result<Vec<PathBuf>, Error> {
        let file = |index| {
            let name = format!("{}-{index}of{parts}.bin", self.stem(dataset, rows));
            self.file(&name, |path| {
                dataset.generator(rows, self.seed).write_binary_file(Part { index, of: parts }, path)
            })
        };
        (0..parts).map(file).collect()
    }

    /// The data set as CSV in which every `every`-th row is none: its first field reads `bad`.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn spoilt_csv(&self, dataset: Dataset, rows: u64, every: u64) -> Result<PathBuf, Error> {
        let plain = self.csv(dataset, rows)?;
        self.file(&format!("{}-bad-{every}.csv", self.stem(dataset, rows)), |path| {
            write_whole(path, |out| {
                let mut out = BufWriter::with_capacity(1 << 20, out);
                let mut bytes = 0;
                for (number, line) in
                    (0_u64..).zip(BufReader::with_capacity(1 << 20, File::open(&plain)?).lines())
                {
                    let line = line?;
                    let rest = line.find(',').map_or("", |comma| &line[comma..]);
                    let first = if number > 0 && number.is_multiple_of(every) {
                        "bad"
                    } else {
                        &line[..line.len() - rest.len()]
                    };
                    out.write_all([first, rest, "\n"].concat().as_bytes())?;
                    bytes += (first.len() + rest.len() + 1) as u64;
                }
                out.flush()?;
                Ok(bytes)
            })
        })
    }

    /// Returns a path where a program may put what is not read again; nothing is there.
    #[must_use]
    pub fn waste(&self) -> PathBuf {
        let path = self.directory.join("waste");
        // Of the run before; most leave nothing.
        let _ = std::fs::remove_file(&path);
        path
    }

    /// Three rows of `id,body`; the body of the middle one takes `bytes` bytes in the file, quotes included, and needs
    /// unescaping.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn one_long_field(&self, bytes: u64) -> Result<PathBuf, Error> {
        const BLOCK: &[u8; 64] = b"a long text, which has \"\"quotes\"\", commas\nand ends of lines in.\n";
        self.file(&format!("long-field-{bytes}.csv"), |path| {
            write_whole(path, |out| {
                let mut out = BufWriter::with_capacity(1 << 20, out);
                out.write_all(b"id,body\n1,short\n2,\"")?;
                let filling = bytes.saturating_sub(2);
                for _ in 0..filling / 64 {
                    out.write_all(BLOCK)?;
                }
                (0..filling % 64).try_for_each(|_| out.write_all(b"."))?;
                out.write_all(b"\"\n3,short\n")?;
                out.flush()?;
                Ok(bytes)
            })
        })
    }

    /// The length of the long field of [`InputFiles::one_long_field`] in bytes, without the quotes that only the file has.
    #[must_use]
    pub fn length_of_long_field(bytes: u64) -> u64 {
        let filling = bytes.saturating_sub(2);
        filling / 64 * 62 + filling % 64
    }

    /// What the names of all files with these rows begin with. The checksum of the first rows is part of it: a file that
    /// an earlier version made of other rows must not be taken for this one.
    fn stem(&self, dataset: Dataset, rows: u64) -> String {
        let first = dataset.generator(rows.min(100), self.seed).checksum();
        let [.., a, b, c, d] = first.sum.to_be_bytes();
        format!("{}-{rows}-{}-{:08x}", dataset.name(), self.seed, u32::from_be_bytes([a, b, c, d]))
    }

    fn file(&self, name: &str, make: impl FnOnce(&Path) -> io::Result<u64>) -> Result<PathBuf, Error> {
        let path = self.directory.join(name);
        if !path.exists() {
            make(&path).map_err(Error::io(format!("could not write {}", path.display())))?;
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_field_is_as_long_as_said_and_well_formed() {
        let directory = tempfile::tempdir().unwrap();
        let path = InputFiles::new(directory.path(), 1).unwrap().one_long_field(1_000).unwrap();
        let text = fs::read_to_string(path).unwrap();
        let body = text
            .strip_prefix("id,body\n1,short\n2,")
            .and_then(|rest| rest.strip_suffix("\n3,short\n"))
            .unwrap();
        assert_eq!(body.len(), 1_000);
        let inner = body.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap();
        assert!(!inner.replace("\"\"", "").contains('"'));
        assert_eq!(inner.replace("\"\"", "\"").len() as u64, InputFiles::length_of_long_field(1_000));
    }

    #[test]
    fn a_file_that_is_there_is_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = InputFiles::new(directory.path(), 1).unwrap();
        let path = scratch.csv(Dataset::Readings, 10).unwrap();
        fs::write(&path, "kept").unwrap();
        assert_eq!(scratch.csv(Dataset::Readings, 10).unwrap(), path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        assert_eq!(scratch.binary_parts(Dataset::Readings, 10, 3).unwrap().len(), 3);
        assert!(scratch.csv_gz(Dataset::Readings, 11).unwrap().exists());
    }
}
