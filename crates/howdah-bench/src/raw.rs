//! `raw.jsonl`: every run of a measurement, a line each, kept as soon as it is over.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::Error;
use crate::record::Record;

/// The name of the file in a directory of results.
pub const FILE: &str = "raw.jsonl";

/// The file of a measurement that goes on.
pub(crate) struct RawRuns(BufWriter<File>);

impl RawRuns {
    /// Opens the file of `directory`, which is made. With `resume` what it holds is read and stays, otherwise it is emptied.
    pub(crate) fn open(directory: &Path, resume: bool) -> Result<(RawRuns, Vec<Record>), Error> {
        std::fs::create_dir_all(directory)
            .map_err(Error::io(format!("could not make {}", directory.display())))?;
        let path = directory.join(FILE);
        let records = if resume { read(&path)? } else { Vec::new() };
        let mut file = OpenOptions::new();
        file.create(true).write(true).append(resume).truncate(!resume);
        let file = file.open(&path).map_err(Error::io(format!("could not open {}", path.display())))?;
        Ok((RawRuns(BufWriter::new(file)), records))
    }

    /// Adds a run.
    pub(crate) fn keep(&mut self, record: &Record) -> Result<(), Error> {
        let written = serde_json::to_writer(&mut self.0, record).map_err(Into::into);
        written
            .and_then(|()| self.0.write_all(b"\n"))
            .and_then(|()| self.0.flush())
            .map_err(Error::io("could not write raw.jsonl"))
    }
}

/// Reads the records of a directory of results.
///
/// # Errors
/// The file cannot be read, or a line of it is no record. A file that is not there has no records.
pub fn read(path: &Path) -> Result<Vec<Record>, Error> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(format!("could not read {}", path.display()))(error)),
    };
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| Error::Usage(format!("{}, line {number}: {error}", path.display())))
    };
    (1..).zip(text.lines()).map(line).collect()
}
