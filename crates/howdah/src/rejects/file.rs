//! The reject file: one line of JSON a record, with the record's bytes, its place and the reason.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use howdah_message::setting;
use howdah_source::Provenance;
use serde::Serialize;

use crate::encode::reject::Reject;
use crate::error::{Error, ErrorKind};
use crate::options::RejectLimit;

/// Only the owner reads and writes the file: it holds the user's data.
const MODE: u32 = 0o600;

/// One line of the file.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    line: Option<u64>,
    byte_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_group: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
    column: Option<&'a str>,
    sqlstate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<&'a str>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
    load: &'a Provenance,
}

/// What becomes of a file that is there already and holds something: records of an earlier load, perhaps mended by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It is left alone, and the load does not begin.
    Refused,
    /// Somebody asked for it: its content goes.
    Overwritten,
    /// Its content stays, and records are added.
    AddedTo,
}

/// The reject file of one load.
pub(crate) struct Rejects {
    path: PathBuf,
    limit: Option<RejectLimit>,
    provenance: Provenance,
    /// The inputs whose records were read otherwise.
    others: BTreeMap<Arc<str>, Provenance>,
    existing: Existing,
    state: Mutex<FileState>,
}

#[derive(Default)]
struct FileState {
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    /// Records go to `path`. A file that somebody `asked` for is made at once, so that a load does not end halfway for want of
    /// a directory; any other with the first record. `existing` says what becomes of one that is there.
    ///
    /// # Errors
    /// The file cannot be made, holds something that must stay, or another load or stream writes to it.
    pub(crate) fn new(
        path: &Path,
        asked: bool,
        existing: Existing,
        limit: Option<RejectLimit>,
        provenance: Provenance,
        others: BTreeMap<Arc<str>, Provenance>,
    ) -> Result<Rejects, Error> {
        let state = Mutex::default();
        let rejects = Rejects { path: path.to_owned(), limit, provenance, others, existing, state };
        if asked {
            rejects.state.lock().file = Some(rejects.open()?);
        }
        Ok(rejects)
    }

    /// Keeps rejected records.
    ///
    /// # Errors
    /// They are more than the limit allows, or cannot be written.
    pub(crate) fn add(&self, rejects: &[Reject]) -> Result<(), Error> {
        if rejects.is_empty() {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.file.is_none() {
            state.file = Some(self.open()?);
        }
        for reject in rejects {
            // Another thread may have passed the limit: one record beyond it is kept, and no more.
            self.judge_rows(state.count)?;
            if let Some(file) = &mut state.file {
                self.write(file, reject).map_err(|error| self.cannot_write(error))?;
            }
            state.count += 1;
        }
        self.judge_rows(state.count)
    }

    fn judge_rows(&self, count: u64) -> Result<(), Error> {
        match self.limit {
            Some(RejectLimit::Rows(most)) if count > most => Err(self.too_many(count)),
            _ => Ok(()),
        }
    }

    /// How many more may be refused.
    pub(crate) fn room(&self) -> u64 {
        match self.limit {
            Some(RejectLimit::Rows(most)) => most.saturating_sub(self.count()),
            _ => u64::MAX,
        }
    }

    /// How many were refused so far.
    pub(crate) fn count(&self) -> u64 {
        self.state.lock().count
    }

    /// The file, once a record was rejected.
    pub(crate) fn path(&self) -> Option<&Path> {
        (self.count() > 0).then_some(self.path.as_path())
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        match &mut self.state.lock().file {
            Some(file) => file.flush().map_err(|error| self.cannot_write(error)),
            None => Ok(()),
        }
    }

    /// Writes out what is buffered and judges the share of `rows_read` that was refused.
    ///
    /// # Errors
    /// As [`Rejects::add`].
    pub(crate) fn finish(&self, rows_read: u64) -> Result<(), Error> {
        let mut state = self.state.lock();
        if let Some(file) = &mut state.file {
            file.flush().map_err(|error| self.cannot_write(error))?;
        }
        match self.limit {
            Some(limit) if limit.is_passed(state.count, rows_read) => Err(self.too_many(state.count)),
            _ => Ok(()),
        }
    }

    fn write(&self, file: &mut impl Write, reject: &Reject) -> std::io::Result<()> {
        let error = &reject.error;
        let location = error.location();
        let raw = std::str::from_utf8(&reject.raw).ok();
        let line = Line {
            file: location.map_or("", |at| &at.source),
            line: location.and_then(|at| at.line),
            byte_offset: location.and_then(|at| at.byte_offset),
            row_group: location.and_then(|at| at.row_group),
            row: location.and_then(|at| at.row),
            column: error.column(),
            sqlstate: error.sqlstate(),
            constraint: error.constraint(),
            reason: match error.detail() {
                Some(detail) => format!("{}: {detail}", error.message()),
                None => error.message().to_owned(),
            },
            raw,
            raw_base64: match raw {
                None => Some(base64::engine::general_purpose::STANDARD.encode(&reject.raw)),
                Some(_) => None,
            },
            load: location.and_then(|at| self.others.get(&at.source)).unwrap_or(&self.provenance),
        };
        serde_json::to_writer(&mut *file, &line)?;
        file.write_all(b"\n")
    }

    fn open(&self) -> Result<BufWriter<File>, Error> {
        let mut options = OpenOptions::new();
        options.append(true).mode(MODE);
        let cannot = |error| self.cannot_write(error);
        // The file is looked at once it is open: what stands at its path may be another by then.
        let file = match options.create_new(true).open(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let leads_to_device = self.path.metadata().is_ok_and(|there| !there.is_file());
                if self.existing != Existing::Overwritten && !leads_to_device {
                    options.custom_flags(nix::libc::O_NOFOLLOW);
                }
                // Where records are added, the last byte there is looked at.
                options.create_new(false).read(self.existing == Existing::AddedTo && !leads_to_device);
                let file = options.open(&self.path).map_err(|error| {
                    match error.raw_os_error() == Some(nix::libc::ELOOP) {
                        true => self.is_there("is a link"),
                        false => cannot(error),
                    }
                })?;
                // Before it is looked at: what another one is about to write to is not empty.
                self.hold(&file)?;
                let there = file.metadata().map_err(cannot)?;
                if there.is_file() && there.len() > 0 {
                    match self.existing {
                        Existing::Refused => return Err(self.is_there("exists already and is not empty")),
                        Existing::Overwritten => file.set_len(0).map_err(cannot)?,
                        Existing::AddedTo => end_line(&file, there.len()).map_err(cannot)?,
                    }
                }
                file
            }
            made => {
                let file = made.map_err(cannot)?;
                self.hold(&file)?;
                file
            }
        };
        // Not of a device or a pipe: those are not ours alone.
        let own = file.metadata().and_then(|metadata| match metadata.is_file() {
            true => file.set_permissions(std::fs::Permissions::from_mode(MODE)),
            false => Ok(()),
        });
        own.map_err(cannot)?;
        Ok(BufWriter::new(file))
    }

    /// Takes the file for this load or stream alone, by whatever name others know it. The lock ends with the process.
    ///
    /// # Errors
    /// Another one has it.
    fn hold(&self, file: &File) -> Result<(), Error> {
        // What is written to a device or a pipe is not kept there.
        if !file.metadata().map_err(|error| self.cannot_write(error))?.is_file() {
            return Ok(());
        }
        match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                let path = self.path.display();
                let said = format!("rejects cannot go to {path}: another load or stream is writing there");
                Err(Error::usage(said).with_hint(message![
                    "wait for that one, or name another file: ",
                    setting::REJECTS.placeholder("FILE")
                ]))
            }
            // Some file systems of networks know no locks.
            Err(TryLockError::Error(error)) if is_without_locks(&error) => Ok(()),
            Err(TryLockError::Error(error)) => Err(self.cannot_write(error)),
        }
    }

    fn is_there(&self, what: &str) -> Error {
        let path = self.path.display();
        Error::usage(format!("rejects cannot go to {path}: it {what}")).with_hint(message![
            "it may hold records of an earlier load; name another file, or ",
            setting::OVERWRITE_REJECTS.bool(true),
            " if it can go"
        ])
    }

    fn cannot_write(&self, error: std::io::Error) -> Error {
        Error::new(ErrorKind::Source, format!("cannot write the rejects to {}: {error}", self.path.display()))
            .with_hint(message!["name another file: ", setting::REJECTS.placeholder("FILE")])
            .caused_by(error)
    }

    fn too_many(&self, count: u64) -> Error {
        let limit = self.limit.map_or_else(String::new, |limit| limit.to_string());
        Error::new(
            ErrorKind::TooManyRejects,
            message![
                "{count} ",
                if count == 1 { "record was rejected" } else { "records were rejected" },
                ", more than ",
                setting::REJECT_LIMIT.word(limit),
                " allows"
            ],
        )
        .with_hint(format!("see why in {}", self.path.display()))
    }
}

/// Ends the last line of `file`, if an editor or a full disk left it without an end: no record is put behind another.
fn end_line(mut file: &File, length: u64) -> std::io::Result<()> {
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

fn is_without_locks(error: &std::io::Error) -> bool {
    use nix::libc::{ENOLCK, ENOSYS, ENOTSUP};
    error.raw_os_error().is_some_and(|code| [ENOLCK, ENOSYS, ENOTSUP].contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_late_add_nothing_to_what_was_too_much() {
        let directory = tempfile::tempdir().unwrap();
        let limit = Some(RejectLimit::Rows(2));
        let rejects = Rejects::new(
            &directory.path().join("r"),
            false,
            Existing::Refused,
            limit,
            Provenance::default(),
            BTreeMap::new(),
        )
        .unwrap();
        let record = || Reject { raw: b"x".to_vec(), error: Error::new(ErrorKind::Data, "no row") };
        rejects.add(&[record(), record()]).unwrap();
        for _ in 0..2 {
            assert!(rejects.add(&[record(), record()]).is_err());
            assert_eq!(rejects.count(), 3);
        }
    }
}
