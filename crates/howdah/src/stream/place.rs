//! How far a stream is, and the state file that keeps it: which file, and the offset before which every record is settled.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use howdah_message::setting;
use serde::{Deserialize, Serialize};

use super::trace::{FileMark, Trace};
use crate::error::{Error, ErrorKind};

/// It names a file of the user's, and decides what is read again: nobody else's business.
const MODE: u32 = 0o600;

/// How places are written.
const FORMAT: u32 = 2;

/// A place in a stream: all records before it are committed or rejected.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// `None`: the input is no file.
    pub(super) file: Option<FileMark>,
    /// Where the file begins among all that were read, where their offsets count on.
    pub(super) base: i64,
    pub(super) offset: u64,
    /// The physical line that starts there.
    pub(super) line: u64,
}

/// What is kept of a place, in a state file or in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    /// How this is written; before there was a number, the end of what was read was not noted.
    #[serde(default)]
    format: u32,
    /// As the user named it, for people.
    pub(super) file: String,
    #[serde(flatten)]
    pub(super) trace: Trace,
    pub(super) line: u64,
    /// Where its records go: a state belongs to one table.
    pub(super) table: String,
}

impl Saved {
    /// What is to be kept of `place`; `None` where it is in no file, or the file was emptied meanwhile.
    pub(super) fn of(place: &Place, name: &str, table: &str) -> Option<Saved> {
        Some(Saved {
            format: FORMAT,
            file: name.to_owned(),
            trace: Trace::of(place.file.as_ref()?, place.offset).ok()?,
            line: place.line,
            table: table.to_owned(),
        })
    }

    /// Where it is.
    pub(super) fn offset(&self) -> u64 {
        self.trace.offset
    }
}

/// The state file, which no other stream can have meanwhile.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    /// The state itself is exchanged at every write, so the lock is on a file beside it. It ends with the process.
    _lock: File,
    /// What the input and the table are called.
    name: String,
    table: String,
    last: Option<Saved>,
}

impl StateFile {
    /// The file at `path`, which need not exist, and what it holds.
    ///
    /// # Errors
    /// It cannot be read, or is something else; it is about another table, or another stream has it.
    pub(super) fn open(path: &Path, name: &str, table: &str) -> Result<StateFile, Error> {
        let refuse =
            |why: String| Error::new(ErrorKind::Source, format!("the state in {}: {why}", path.display()));
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(refuse("it is not a regular file".to_owned()));
        }
        // A link leads to one state, whoever goes on from it by which name; and the state is exchanged, not the link.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let lock = lock(path).map_err(|error| refuse(error.to_string()).caused_by(error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refuse("another stream goes on from it".to_owned())
                    .with_hint("end that one first: two of them would write every record twice"));
            }
            Err(TryLockError::Error(error)) => return Err(refuse(error.to_string()).caused_by(error)),
        }
        let last: Option<Saved> = match std::fs::read(path) {
            Ok(text) => {
                let read = serde_json::from_slice(&text);
                Some(read.map_err(|error| {
                    refuse(format!("is not one of howdah stream: {error}"))
                        .caused_by(error)
                        .with_hint(message!["name another file: ", setting::STATE.placeholder("FILE")])
                })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refuse(error.to_string()).caused_by(error)),
        };
        if let Some(newer) = last.as_ref().filter(|last| last.format > FORMAT) {
            return Err(refuse(format!("its format is {}, and this program knows {FORMAT}", newer.format))
                .with_hint("a newer howdah wrote it: go on with that one"));
        }
        if let Some(other) = last.as_ref().filter(|last| last.table != table) {
            return Err(refuse(format!("is about {}, not about {table}", other.table))
                .with_hint("a state belongs to one input and one table: name another file"));
        }
        let (name, table) = (name.to_owned(), table.to_owned());
        Ok(StateFile { path: path.to_owned(), _lock: lock, name, table, last })
    }

    /// What an earlier stream left.
    pub(super) fn last(&self) -> Option<&Saved> {
        self.last.as_ref()
    }

    /// Keeps `place`: the old state or the new one is there, never half of one, whatever happens.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&mut self, place: &Place) -> Result<(), Error> {
        let Some(saved) = Saved::of(place, &self.name, &self.table) else { return Ok(()) };
        if self.last.as_ref() == Some(&saved) {
            return Ok(());
        }
        self.write(&saved).map_err(|error| {
            let text = format!("cannot write the state to {}: {error}", self.path.display());
            Error::new(ErrorKind::Source, text)
                .caused_by(error)
                .with_hint(message!["name another file: ", setting::STATE.placeholder("FILE")])
        })?;
        self.last = Some(saved);
        Ok(())
    }

    fn write(&self, saved: &Saved) -> io::Result<()> {
        let mut draft = self.path.clone().into_os_string();
        draft.push(".new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&draft)?;
        serde_json::to_writer(&mut file, saved)?;
        file.write_all(b"\n")?;
        // A rename may reach the disk before what was written.
        file.sync_data()?;
        std::fs::rename(&draft, &self.path)
    }
}

/// The file that is locked for the state at `path`.
fn lock(path: &Path) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    OpenOptions::new().write(true).create(true).truncate(false).mode(MODE).open(beside)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;

    fn mark(path: &Path) -> FileMark {
        FileMark::of(Arc::new(File::open(path).unwrap())).unwrap()
    }

    fn place(path: &Path, offset: u64) -> Place {
        Place { file: Some(mark(path)), offset, line: 2, ..Place::default() }
    }

    #[test]
    fn a_state_is_found_again_by_its_owner_alone_and_belongs_to_its_file_and_table() {
        let directory = tempfile::tempdir().unwrap();
        let (log, state) = (directory.path().join("log"), directory.path().join("state"));
        std::fs::write(&log, "one\ntwo\n").unwrap();
        let mut file = StateFile::open(&state, "log", "public.t").unwrap();
        assert!(file.last().is_none());
        file.save(&place(&log, 4)).unwrap();
        assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let refused = StateFile::open(&state, "log", "public.t").unwrap_err();
        assert!(refused.message().contains("another stream"), "{refused}");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("state", &link).unwrap();
        let refused = StateFile::open(&link, "log", "public.t").unwrap_err();
        assert!(refused.message().contains("another stream"), "{refused}");
        drop(file);
        StateFile::open(&link, "log", "public.t").unwrap().save(&place(&log, 3)).unwrap();
        assert!(link.is_symlink(), "it was exchanged for a file");
        StateFile::open(&link, "log", "public.t").unwrap().save(&place(&log, 4)).unwrap();
        let again = StateFile::open(&state, "log", "public.t").unwrap();
        let saved = again.last().unwrap().clone();
        drop(again);
        assert_eq!((saved.offset(), saved.line), (4, 2));
        assert!(saved.trace.is_of(&mark(&log)));
        assert!(StateFile::open(&state, "log", "public.other").is_err());

        let old = r#"{"file":"log","device":1,"inode":2,"head":"","head_bytes":0,"offset":4,"line":2,"table":"public.t"}"#;
        std::fs::write(&state, old).unwrap();
        let file = StateFile::open(&state, "log", "public.t").unwrap();
        assert_eq!(file.last().unwrap().offset(), 4, "a state that an earlier version wrote");
        drop(file);
        std::fs::write(&state, old.replace('{', "{\"format\":3,")).unwrap();
        let refused = StateFile::open(&state, "log", "public.t").unwrap_err();
        assert!(refused.message().contains("its format is 3"), "{refused}");

        std::fs::write(&log, "ONE\ntwo\n").unwrap();
        assert!(!saved.trace.is_of(&mark(&log)), "other bytes in the same inode");
        std::fs::write(&log, "one").unwrap();
        assert!(!saved.trace.is_of(&mark(&log)), "it is shorter than what was read");
        std::fs::write(&state, "{}").unwrap();
        assert!(StateFile::open(&state, "log", "public.t").is_err());
    }
}
