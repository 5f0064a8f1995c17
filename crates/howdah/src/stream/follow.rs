//! A file that grows, read as `tail -F` reads it, and everything that had its name meanwhile: when another file takes the name, the
//! old one is read to its end first, and then the others in their order.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use howdah_message::Action;

use super::arrival::{Arrival, cannot_read};
use super::current::Current;
use super::growth::{GrowthWatch, LOOK_EVERY};
use super::rotated::{self, Rotated};
use super::trace::{FileMark, Trace};
use super::waiting::Waiting;
use crate::control::Control;
use crate::error::{Error, ErrorKind};

/// The files of a name.
pub(super) struct Follow {
    path: PathBuf,
    name: String,
    current: Option<Current>,
    /// Those that had or have the name since, the oldest first. They are open, so that none is lost that is removed meanwhile.
    next: VecDeque<Current>,
    kept_up: Instant,
    /// What was read is lost, and its place is another's.
    is_emptied: bool,
    control: Control,
}

/// A file among those that had its name.
struct Chain {
    found: Option<FollowedFile>,
    /// Those that are known to have come after it.
    later: Vec<Current>,
}

struct FollowedFile {
    file: Current,
    /// Its name says where in the order it is.
    is_ordered: bool,
}

impl Chain {
    /// What is read next.
    fn first<'c>(&'c self, usual: &'c str) -> &'c str {
        self.later.first().map_or(usual, |file| &file.name)
    }
}

impl Follow {
    /// The file at `path`, which may be yet to come.
    ///
    /// # Errors
    /// Its directory is not there, it is a directory, or it cannot be read.
    pub(super) fn new(path: &Path, control: Control) -> Result<Follow, Error> {
        let name = path.display().to_string();
        let (kept_up, is_emptied) = (Instant::now(), false);
        let mut follow = Follow {
            path: path.to_owned(),
            name,
            current: None,
            next: VecDeque::new(),
            kept_up,
            is_emptied,
            control,
        };
        let directory = rotated::directory(path);
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
        self.current.is_some() || !self.next.is_empty()
    }

    /// Which file is read.
    pub(super) fn mark(&self) -> Option<FileMark> {
        Some(self.current.as_ref()?.mark.clone())
    }

    /// Up to where it was read.
    pub(super) fn at(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| current.at)
    }

    /// Goes on at `offset` of the file.
    pub(super) fn seek(&mut self, offset: u64) {
        if let Some(current) = &mut self.current {
            current.seek(offset);
        }
    }

    /// Takes up the file that `trace` tells of, whatever has become of it, and all that followed it. Whether it was found; where it
    /// was not, that is said.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn take_up(&mut self, trace: &Trace) -> Result<bool, Error> {
        if self.current.as_ref().is_some_and(|current| trace.is_of(&current.mark)) {
            return Ok(true);
        }
        let chain = self.chain(trace)?;
        if chain.found.is_none() && trace.offset > 0 {
            self.control.notice(format!(
                "{} is not the file that the state knows, and none beside it is (removed, or cut off): what stood behind byte {} of it \
                 is not read, and whether others came between cannot be known; reading goes on with {}",
                self.name,
                trace.offset,
                chain.first(&self.name)
            ));
        }
        self.tell_if_unordered(&chain);
        self.next = chain.later.into();
        self.current = chain.found.map(|found| found.file);
        Ok(self.current.is_some())
    }

    /// Appends what is there to `held`, or what is there after one waiting.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(
        &mut self,
        held: &mut Vec<u8>,
        waiting: &Waiting,
        growth: &mut GrowthWatch,
    ) -> Result<Arrival, Error> {
        let arrival = self.look(held)?;
        if arrival != Arrival::Nothing {
            return Ok(arrival);
        }
        let file = self.current.as_ref().map(|current| &current.mark);
        let is_told = growth.wait(waiting, file, !self.next.is_empty());
        let arrival = self.look(held)?;
        if !is_told && arrival != Arrival::Nothing {
            growth.is_silent();
        }
        Ok(arrival)
    }

    /// Opens what took the name since it was looked at last, so that it is read in its turn whatever becomes of it until then.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn keep_up(&mut self) -> Result<(), Error> {
        self.kept_up = Instant::now();
        let is_to_come = !self.next.is_empty();
        let Some(newest) = self.next.back_mut().or(self.current.as_mut()) else { return Ok(()) };
        let (Ok(named), Some(trace)) = (self.path.metadata(), newest.trace.clone()) else {
            // Somebody is about to make a new one.
            return Ok(());
        };
        let is_intact = trace.is_of(&newest.mark);
        if is_intact && (named.dev(), named.ino()) == newest.mark.identity() {
            if is_to_come {
                newest.note(newest.end());
            }
            return Ok(());
        }
        let chain = self.chain(&trace)?;
        if chain.found.is_none() && is_intact {
            self.control.notice(format!(
                "the file that was {} was removed: whether others came between it and {} cannot be known",
                self.name,
                chain.first(&self.name)
            ));
        }
        self.tell_if_unordered(&chain);
        if !is_intact {
            // What it held is in a copy, or lost; what has its place now is behind that.
            let copy = chain.found.map(|found| found.file);
            match self.next.pop_back() {
                Some(_) => self.next.extend(copy),
                None => {
                    self.is_emptied = copy.is_none();
                    let at = self.current.as_ref().map_or(0, |current| current.at);
                    self.current = copy.map(|copy| copy.from(at));
                }
            }
        }
        self.next.extend(chain.later);
        Ok(())
    }

    fn look(&mut self, held: &mut Vec<u8>) -> Result<Arrival, Error> {
        if std::mem::take(&mut self.is_emptied) {
            // It was found out while the stream was held up.
            return Ok(Arrival::Truncated);
        }
        if self.current.is_none() {
            match self.next.pop_front() {
                Some(next) => self.current = Some(next.from(0)),
                None => self.open()?,
            }
        }
        let Some(current) = &mut self.current else { return Ok(Arrival::Nothing) };
        let got = current.read(held).map_err(|error| cannot_read(&current.name, error))?;
        let has_more = got.is_some_and(|got| got > 0);
        if got.is_some() && (!has_more || current.trace.is_none()) {
            current.note(current.at);
        }
        // Nothing is known of it by which a copy could be found.
        self.is_emptied = got.is_none() && current.trace.is_none();
        if self.is_emptied {
            self.current = None;
        } else if !has_more || self.kept_up.elapsed() >= LOOK_EVERY * 2 {
            self.keep_up()?;
        }
        if has_more {
            return Ok(Arrival::Bytes);
        }
        let is_emptied = std::mem::take(&mut self.is_emptied);
        let Some(current) = &mut self.current else {
            return Ok(if is_emptied { Arrival::Truncated } else { Arrival::Nothing });
        };
        if self.next.is_empty() {
            current.put_aside = None;
        } else if got.is_some() && current.is_over(self.next.front()) {
            self.current = None;
            return Ok(Arrival::NextFile);
        }
        Ok(Arrival::Nothing)
    }

    /// Where the file that `trace` tells of is in the order of all files, and which came after it.
    fn chain(&self, trace: &Trace) -> Result<Chain, Error> {
        let mut files = rotated::list(&self.path).map_err(|error| cannot_read(&self.name, error))?;
        let known = files
            .iter()
            .position(|file| trace.is_of(&file.mark))
            .or_else(|| files.iter().position(|file| trace.is_copied_to(&file.mark)));
        let (found, is_ordered) = match known {
            Some(at) => {
                let found = files.drain(..=at).next_back();
                (found.map(|file| Current::new(&file.path, file.mark)), true)
            }
            None => {
                files.retain(|file| file.is_current() || trace.is_older_than(&file.mark));
                let elsewhere = rotated::elsewhere(&self.path, trace);
                (elsewhere.map(|(path, mark)| Current::new(&path, mark)), false)
            }
        };
        let found = found.map(|file| FollowedFile { file, is_ordered });
        let later = files.into_iter().map(|file: Rotated| {
            let mut next = Current::new(&file.path, file.mark);
            next.note(next.end());
            next
        });
        Ok(Chain { found, later: later.collect() })
    }

    /// A name that says nothing about the order hides what came after it.
    fn tell_if_unordered(&self, chain: &Chain) {
        if let Some(found) = &chain.found
            && !found.is_ordered
        {
            self.control.notice(format!(
                "the file that was {} is {} now, a name without a number or a date: whether others came between it and {} cannot \
                 be known",
                self.name,
                found.file.name,
                chain.first(&self.name)
            ));
        }
    }

    fn open(&mut self) -> Result<(), Error> {
        let opened = File::open(&self.path).and_then(|file| FileMark::of(Arc::new(file)));
        match opened {
            Ok(mark) => self.current = Some(Current::new(&self.path, mark)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot_read(&self.name, error)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn read(follow: &mut Follow) -> (Arrival, String) {
        let mut held = Vec::new();
        let arrival = follow.look(&mut held).unwrap();
        (arrival, String::from_utf8(held).unwrap())
    }

    #[test]
    fn what_is_written_after_the_file_was_put_aside_is_read_before_the_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let (path, aside) = (directory.path().join("log"), directory.path().join("log.1"));
        let mut follow = Follow::new(&path, Control::new()).unwrap();
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
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(read(&mut follow), (Arrival::NextFile, String::new()));
        assert_eq!(read(&mut follow), (Arrival::Bytes, "three\n".into()));
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_from_its_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "a longer line\n").unwrap();
        let mut follow = Follow::new(&path, Control::new()).unwrap();
        assert_eq!(read(&mut follow).0, Arrival::Bytes);
        std::fs::write(&path, "short\n").unwrap();
        assert_eq!(read(&mut follow), (Arrival::Truncated, String::new()));
        assert_eq!(read(&mut follow), (Arrival::Bytes, "short\n".into()));
    }

    #[test]
    fn a_directory_that_is_not_there_is_no_file_to_wait_for() {
        assert!(Follow::new(Path::new("/nowhere/at/all"), Control::new()).is_err());
        assert!(Follow::new(&std::env::temp_dir(), Control::new()).is_err());
    }
}
