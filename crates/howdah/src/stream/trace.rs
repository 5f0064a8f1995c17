//! What tells a file from others whatever it is called by now: renamed, copied before it was truncated, or compressed.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::SystemTime;

use howdah_source::{Input, Progress};
use serde::{Deserialize, Serialize};

/// So many bytes at a file's start tell it from another that got its inode.
const HEAD_BYTES: u64 = 1024;

/// So many bytes before a place tell the file that was read up to there from one that was emptied and has grown again, where both
/// begin with the same header.
const TAIL_BYTES: u64 = 256;

/// A file that is read, whatever its name is by now. It stays open, so its inode is nobody else's.
#[derive(Debug, Clone)]
pub(super) struct FileMark {
    file: Arc<File>,
    device: u64,
    inode: u64,
    is_compressed: bool,
}

impl FileMark {
    pub(super) fn of(file: Arc<File>) -> io::Result<FileMark> {
        let metadata = file.metadata()?;
        let mut magic = [0; 6];
        let got = file.read_at(&mut magic, 0)?;
        let is_compressed = matches!(
            &magic[..got],
            [0x1f, 0x8b, ..]
                | [0x28, 0xb5, 0x2f, 0xfd, ..]
                | [0xfd, b'7', b'z', b'X', b'Z', ..]
                | [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A']
        );
        Ok(FileMark { file, device: metadata.dev(), inode: metadata.ino(), is_compressed })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// What it holds is read by [`FileMark::content`] alone.
    pub(super) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    pub(super) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Its content from `offset` on, decompressed. A file that is shorter has nothing there.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn content(&self, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let reader = |at| Box::new(FromPlace { file: self.file.clone(), at });
        if !self.is_compressed {
            return Ok(reader(offset));
        }
        let mut content = Input::reader("", reader(0)).content(&Progress::new()).map_err(io::Error::other)?;
        io::copy(&mut content.by_ref().take(offset), &mut io::sink())?;
        Ok(content)
    }

    /// What it is now. A compressed one is known by its inode: it does not change.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn trace_of_all(&self) -> io::Result<Trace> {
        let end = if self.is_compressed { 0 } else { self.file.metadata()?.len() };
        Trace::of(self, end).or_else(|_| Trace::of(self, 0))
    }

    /// `bytes` of its content at `offset`.
    ///
    /// # Errors
    /// It is shorter.
    fn bytes(&self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        self.content(offset)?.take(bytes).read_to_end(&mut found)?;
        if (found.len() as u64) < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(found)
    }
}

/// Reads a file beside others that read it.
struct FromPlace {
    file: Arc<File>,
    at: u64,
}

impl Read for FromPlace {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// What a file was when it was read up to a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trace {
    device: u64,
    inode: u64,
    /// A digest of the file's first bytes, and how many these are.
    head: String,
    head_bytes: u64,
    /// The same of those before the place.
    #[serde(default)]
    tail: String,
    #[serde(default)]
    tail_bytes: u64,
    /// When it was written to last, in nanoseconds since 1970; what was written later came behind the place, or into later files.
    #[serde(default)]
    modified_ns: Option<u64>,
    pub(super) offset: u64,
}

impl Trace {
    /// Of the file of `mark`, as far as `offset`.
    ///
    /// # Errors
    /// It cannot be read, or is shorter by now.
    pub(super) fn of(mark: &FileMark, offset: u64) -> io::Result<Trace> {
        let head_bytes = offset.min(HEAD_BYTES);
        // What is compressed does not grow, and would be decompressed from its start for that.
        let tail_bytes = if mark.is_compressed { 0 } else { offset.min(TAIL_BYTES) };
        Ok(Trace {
            device: mark.device,
            inode: mark.inode,
            head: digest(&mark.bytes(0, head_bytes)?),
            head_bytes,
            tail: digest(&mark.bytes(offset - tail_bytes, tail_bytes)?),
            tail_bytes,
            modified_ns: modified_ns(mark),
            offset,
        })
    }

    pub(super) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Whether it is this very file, with what was read of it.
    pub(super) fn is_of(&self, mark: &FileMark) -> bool {
        mark.identity() == self.identity() && self.is_in(mark)
    }

    /// Whether a file that is another one holds what was read: a copy, or compressed.
    pub(super) fn is_copied_to(&self, mark: &FileMark) -> bool {
        // Some compressors keep the time of the last change in whole seconds.
        let seconds = |nanoseconds: u64| nanoseconds / 1_000_000_000;
        let is_older = || self.modified_ns.map(seconds) > modified_ns(mark).map(seconds);
        self.offset > 0 && mark.identity() != self.identity() && !is_older() && self.is_in(mark)
    }

    /// Whether the file of `mark` was written to later than this one; no, if that is not known.
    pub(super) fn is_older_than(&self, mark: &FileMark) -> bool {
        self.modified_ns.is_some_and(|known| modified_ns(mark).is_some_and(|other| known < other))
    }

    fn is_in(&self, mark: &FileMark) -> bool {
        let holds =
            |offset, bytes, known: &str| mark.bytes(offset, bytes).is_ok_and(|bytes| digest(&bytes) == known);
        // The cheaper question first.
        holds(0, self.head_bytes, &self.head)
            && match (self.offset, self.tail_bytes) {
                (0, _) => true,
                (offset, 0) => mark.bytes(offset - 1, 1).is_ok(),
                (offset, bytes) => holds(offset.saturating_sub(bytes), bytes, &self.tail),
            }
    }
}

fn modified_ns(mark: &FileMark) -> Option<u64> {
    let modified = mark.file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    u64::try_from(modified.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

fn digest(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
