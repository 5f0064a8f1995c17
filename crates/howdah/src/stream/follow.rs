//! A file that grows, read as `tail -F` reads it: when another file takes its name, the old one is read to its end first.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrival::{Arrival, cannot_read};
use super::place::{FileMark, Saved};
use crate::error::{Error, ErrorKind};
use crate::message::Action;
use crate::source::PIECE_BYTES;

/// How often the end of the file is looked at: seldom enough to cost nothing, often enough that nobody waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A file that lost its name may still be written to, by a program that has yet to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The file of a name, whichever that is.
pub(super) struct Follow {
    path: PathBuf,
    name: String,
    current: Option<Current>,
}

struct Current {
    file: Arc<File>,
    identity: (u64, u64),
    at: u64,
    /// Since when another file has had the name.
    put_aside: Option<Instant>,
}

impl Current {
    fn new(file: File, at: u64) -> io::Result<Current> {
        let identity = identity(&file.metadata()?);
        Ok(Current { file: Arc::new(file), identity, at, put_aside: None })
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Follow {
    /// The file at `path`, which may be yet to come.
    ///
    /// # Errors
    /// Its directory is not there, it is a directory, or it cannot be read.
    pub(super) fn new(path: &Path) -> Result<Follow, Error> {
        let name = path.display().to_string();
        let mut follow = Follow { path: path.to_owned(), name, current: None };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !directory.is_dir() {
            let text =
                format!("cannot follow {}: there is no directory {}", follow.name, directory.display());
            return Err(Error::new(ErrorKind::Source, text));
        }
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::new(ErrorKind::Source, format!("{} is not a regular file", follow.name))
                .with_hint(message!["a pipe is read from standard input: ", Action::StreamInput("PIPE")]));
        }
        follow.open()?;
        Ok(follow)
    }

    /// Whether the file is there.
    pub(super) fn is_there(&self) -> bool {
        self.current.is_some()
    }

    /// Which file is read.
    pub(super) fn mark(&self) -> Option<FileMark> {
        FileMark::of(self.current.as_ref()?.file.clone()).ok()
    }

    /// Goes on at `offset` of the file.
    pub(super) fn seek(&mut self, offset: u64) {
        if let Some(current) = &mut self.current {
            current.at = offset;
        }
    }

    /// Takes up the file that `saved` tells of, be it under another name beside this one by now. Whether it was found.
    pub(super) fn take_up(&mut self, saved: &Saved) -> bool {
        if self.current.as_ref().is_some_and(|current| saved.is_of(&current.file)) {
            return true;
        }
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let Ok(entries) = std::fs::read_dir(directory.unwrap_or(Path::new("."))) else { return false };
        let is_it = |path: &PathBuf| {
            let metadata = path.metadata().ok().filter(Metadata::is_file)?;
            let file = (identity(&metadata) == saved.identity()).then(|| File::open(path).ok())??;
            saved.is_of(&file).then_some(file)
        };
        let found = entries.flatten().map(|entry| entry.path()).find_map(|path| is_it(&path));
        let Some(current) = found.and_then(|file| Current::new(file, 0).ok()) else { return false };
        self.current = Some(current);
        true
    }

    /// Appends what comes within `patience` to `held`.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(&mut self, held: &mut Vec<u8>, patience: Duration) -> Result<Arrival, Error> {
        let until = Instant::now() + patience;
        loop {
            let arrival = self.look(held)?;
            let now = Instant::now();
            if arrival != Arrival::Nothing || now >= until {
                return Ok(arrival);
            }
            std::thread::sleep(LOOK_EVERY.min(until - now));
        }
    }

    fn look(&mut self, held: &mut Vec<u8>) -> Result<Arrival, Error> {
        if self.current.is_none() {
            self.open()?;
        }
        let Some(current) = &mut self.current else { return Ok(Arrival::Nothing) };
        let fail = |error: io::Error| cannot_read(&self.name, error);
        let got = read_at(&current.file, held, current.at).map_err(fail)?;
        if got > 0 {
            current.at += got as u64;
            return Ok(Arrival::Bytes);
        }
        if current.file.metadata().map_err(fail)?.len() < current.at {
            current.at = 0;
            return Ok(Arrival::Truncated);
        }
        match self.path.metadata() {
            Ok(named) if identity(&named) != current.identity => {
                if current.put_aside.get_or_insert_with(Instant::now).elapsed() < LAST_WORDS {
                    return Ok(Arrival::Nothing);
                }
                self.current = None;
                Ok(Arrival::NextFile)
            }
            // Somebody is about to make a new one, or it is the same.
            _ => {
                current.put_aside = None;
                Ok(Arrival::Nothing)
            }
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        let opened = File::open(&self.path).and_then(|file| Current::new(file, 0));
        match opened {
            Ok(current) => self.current = Some(current),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot_read(&self.name, error)),
        }
        Ok(())
    }
}

/// Appends what stands at `at`; how many bytes.
fn read_at(file: &File, held: &mut Vec<u8>, at: u64) -> io::Result<usize> {
    let before = held.len();
    held.resize(before + PIECE_BYTES.max(before / 8), 0);
    let got = loop {
        match file.read_at(&mut held[before..], at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    held.truncate(before + *got.as_ref().unwrap_or(&0));
    got
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const SOON: Duration = Duration::from_millis(120);

    fn read(follow: &mut Follow) -> (Arrival, String) {
        let mut held = Vec::new();
        let arrival = follow.read(&mut held, SOON).unwrap();
        (arrival, String::from_utf8(held).unwrap())
    }

    #[test]
    fn what_is_written_after_the_file_was_put_aside_is_read_before_the_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let (path, aside) = (directory.path().join("log"), directory.path().join("log.1"));
        let mut follow = Follow::new(&path).unwrap();
        assert_eq!(read(&mut follow).0, Arrival::Nothing);
        let mut old = File::create(&path).unwrap();
        old.write_all(b"one\n").unwrap();
        assert_eq!(read(&mut follow), (Arrival::Bytes, "one\n".into()));
        std::fs::rename(&path, &aside).unwrap();
        assert_eq!(read(&mut follow).0, Arrival::Nothing);
        std::fs::write(&path, "three\n").unwrap();
        assert_eq!(read(&mut follow).0, Arrival::Nothing);
        old.write_all(b"two\n").unwrap();
        assert_eq!(read(&mut follow), (Arrival::Bytes, "two\n".into()));
        std::thread::sleep(LAST_WORDS);
        assert_eq!(read(&mut follow), (Arrival::NextFile, String::new()));
        assert_eq!(read(&mut follow), (Arrival::Bytes, "three\n".into()));
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_from_its_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "a longer line\n").unwrap();
        let mut follow = Follow::new(&path).unwrap();
        assert_eq!(read(&mut follow).0, Arrival::Bytes);
        std::fs::write(&path, "short\n").unwrap();
        assert_eq!(read(&mut follow), (Arrival::Truncated, String::new()));
        assert_eq!(read(&mut follow), (Arrival::Bytes, "short\n".into()));
    }

    #[test]
    fn a_directory_that_is_not_there_is_no_file_to_wait_for() {
        assert!(Follow::new(Path::new("/nowhere/at/all")).is_err());
        assert!(Follow::new(&std::env::temp_dir()).is_err());
    }
}
