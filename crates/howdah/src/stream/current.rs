//! One file of those that a followed name had: read to where it ends now, and known by what was read of it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use howdah_source::PIECE_BYTES;

use super::arrival::read_some;
use super::trace::{FileMark, Trace};

/// A file that lost its name may still be written to, by a program that has yet to hear of it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// So many of the bytes that were read last are read again with the next: they are others in a file that was emptied and has grown
/// beyond its old size between two looks.
const OVERLAP: usize = 64;

/// A file that is read, or will be.
pub(super) struct Current {
    /// As it was called when it was found.
    pub(super) name: String,
    pub(super) mark: FileMark,
    /// Up to where it was read.
    pub(super) at: u64,
    /// What it was when all of it was read that was there.
    pub(super) trace: Option<Trace>,
    last: Vec<u8>,
    /// What is left of a compressed one.
    content: Option<Box<dyn Read + Send>>,
    /// Since when another file has had the name.
    pub(super) put_aside: Option<Instant>,
}

impl Current {
    /// The file of `mark`, from its start.
    pub(super) fn new(path: &Path, mark: FileMark) -> Current {
        let name = path.display().to_string();
        Current { name, mark, at: 0, trace: None, last: Vec::new(), content: None, put_aside: None }
    }

    /// Appends what is there; how many bytes, or `None`: it was emptied.
    pub(super) fn read(&mut self, held: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let before = held.len();
        let most = PIECE_BYTES.max(before / 8);
        let got = if self.mark.is_compressed() {
            if self.content.is_none() {
                self.content = Some(self.mark.content(self.at)?);
            }
            self.content.as_mut().map_or(Ok(0), |content| read_some(content, held, most))?
        } else {
            let overlap = self.last.len();
            let start = self.at - overlap as u64;
            let got = read_at(self.mark.file(), held, start, most + overlap)?;
            if held.get(before..before + overlap) != Some(&self.last) {
                held.truncate(before);
                return Ok(None);
            }
            held.drain(before..before + overlap);
            let is_short = || self.mark.file().metadata().is_ok_and(|metadata| metadata.len() < self.at);
            if got == overlap && is_short() {
                return Ok(None);
            }
            got - overlap
        };
        let read = &held[before..];
        self.last.extend_from_slice(&read[read.len().saturating_sub(OVERLAP)..]);
        self.last.drain(..self.last.len().saturating_sub(OVERLAP));
        self.at += got as u64;
        Ok(Some(got))
    }

    /// To be read from `offset` on: what it was like is forgotten.
    pub(super) fn from(mut self, offset: u64) -> Current {
        self.trace = None;
        self.seek(offset);
        self
    }

    /// Goes to `offset`.
    pub(super) fn seek(&mut self, offset: u64) {
        self.at = offset;
        self.content = None;
        self.last.clear();
    }

    /// Remembers what it is now up to `offset`.
    pub(super) fn note(&mut self, offset: u64) {
        if self.trace.as_ref().is_none_or(|trace| trace.offset != offset)
            && let Ok(trace) = Trace::of(&self.mark, offset)
        {
            self.trace = Some(trace);
        }
    }

    /// Its length, by which it is known before it is read. A compressed one does not change.
    pub(super) fn end(&self) -> u64 {
        let length = || self.mark.file().metadata().map_or(0, |metadata| metadata.len());
        if self.mark.is_compressed() { 0 } else { length() }
    }

    /// Whether nobody can be expected to write to it any more, since `next` or another has its name.
    pub(super) fn is_over(&mut self, next: Option<&Current>) -> bool {
        // The name was free at the latest when the next one was made.
        let born = next.and_then(|next| next.mark.file().metadata().ok()?.created().ok());
        let written = self.mark.file().metadata().and_then(|metadata| metadata.modified()).ok();
        let is_long_ago = |time: Option<SystemTime>| {
            let age = time.and_then(|time| SystemTime::now().duration_since(time).ok());
            age.is_some_and(|age| age >= LAST_WORDS)
        };
        self.mark.is_compressed()
            || is_long_ago(born) && is_long_ago(written)
            || self.put_aside.get_or_insert_with(Instant::now).elapsed() >= LAST_WORDS
    }
}

/// Appends `most` bytes at the most of what stands at `at`; how many.
fn read_at(file: &File, held: &mut Vec<u8>, at: u64, most: usize) -> io::Result<usize> {
    let before = held.len();
    held.resize(before + most, 0);
    let got = loop {
        match file.read_at(&mut held[before..], at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    held.truncate(before + *got.as_ref().unwrap_or(&0));
    got
}
