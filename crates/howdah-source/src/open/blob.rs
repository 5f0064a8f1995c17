//! An input that can be read at any place: a file, an object of a store, bytes in memory. No length is believed before it
//! is compared with the input's own.

use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use bytes::Bytes;

use crate::Progress;
use crate::open::local::{Changed, LocalFile};
use crate::store::{Ends, Object};

/// The input; clones are handles on the same one.
#[derive(Clone)]
pub struct Blob(Arc<Located>);

struct Located {
    place: Storage,
    size: u64,
}

enum Storage {
    /// Open only while somebody keeps it open: thousands of files are read one by one.
    File {
        file: LocalFile,
        open: Mutex<Weak<File>>,
    },
    Memory(Bytes),
    Object {
        object: Object,
        progress: Progress,
        /// While its format is found out.
        ends: Mutex<Option<Ends>>,
    },
}

/// Keeps a file open as long as it lives.
#[derive(Clone)]
pub struct Held(#[expect(dead_code, reason = "it is there to be dropped")] Option<Arc<File>>);

impl Blob {
    pub(crate) fn file(file: LocalFile) -> Self {
        let size = file.size().unwrap_or_default();
        let place = Storage::File { file, open: Mutex::default() };
        Blob(Arc::new(Located { place, size }))
    }

    pub fn memory(bytes: Bytes) -> Self {
        let size = bytes.len() as u64;
        Blob(Arc::new(Located { place: Storage::Memory(bytes), size }))
    }

    /// `progress` notices requests to stop.
    pub fn object(object: Object, progress: &Progress) -> Self {
        let size = object.size();
        let place = Storage::Object { object, progress: progress.clone(), ends: Mutex::default() };
        Blob(Arc::new(Located { place, size }))
    }

    /// Whether reading is slow to begin, so that all that is needed should be asked for together.
    pub fn is_remote(&self) -> bool {
        matches!(self.0.place, Storage::Object { .. })
    }

    /// Reads the ends of all objects among `blobs` at once: each is opened with a few short reads there. What cannot be read
    /// now is an error when it is needed.
    pub fn warm<'a>(blobs: impl Iterator<Item = &'a Blob>) {
        let asked: Vec<_> = blobs
            .filter_map(|blob| match &blob.0.place {
                Storage::Object { object, progress, ends } => Some((object.ends().ok()?, progress, ends)),
                Storage::File { .. } | Storage::Memory(_) => None,
            })
            .collect();
        for (answer, progress, ends) in asked {
            if let Ok(Ok(read)) = answer.wait(progress) {
                *ends.lock() = Some(read);
            }
        }
    }

    /// The object was opened: its ends are not kept.
    pub fn cool(&self) {
        if let Storage::Object { ends, .. } = &self.0.place {
            *ends.lock() = None;
        }
    }

    /// Keeps the file open, if it is one; without that it is opened for every read.
    ///
    /// # Errors
    /// It cannot be opened, or is not what it was.
    pub fn keep_open(&self) -> io::Result<Held> {
        Ok(Held(match &self.0.place {
            Storage::File { file, open } => Some(opened(file, open)?),
            Storage::Memory(_) | Storage::Object { .. } => None,
        }))
    }

    /// The size in bytes, when the blob was opened.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Fills `buffer` with what stands from `start` on.
    ///
    /// # Errors
    /// The input ends before, or cannot be read.
    pub fn read(&self, start: u64, buffer: &mut [u8]) -> io::Result<()> {
        let range = self.range(start, buffer.len() as u64)?;
        match &self.0.place {
            Storage::File { file, open } => {
                let opened = opened(file, open)?;
                opened.read_exact_at(buffer, start).map_err(shorter)?;
                // Looked at after each read: what was read is of the file that was named.
                file.check(&opened.metadata()?)
            }
            Storage::Memory(bytes) => {
                buffer.copy_from_slice(&bytes[range]);
                Ok(())
            }
            Storage::Object { .. } => {
                buffer.copy_from_slice(&self.bytes(start, buffer.len() as u64)?);
                Ok(())
            }
        }
    }

    /// `length` bytes from `start` on.
    ///
    /// # Errors
    /// As [`Blob::read`].
    pub fn bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let range = self.range(start, length)?;
        match &self.0.place {
            Storage::File { .. } => {
                let mut buffer = vec![0; range.len()];
                self.read(start, &mut buffer)?;
                Ok(buffer.into())
            }
            Storage::Memory(bytes) => Ok(bytes.slice(range)),
            Storage::Object { object, progress, ends } => {
                let range = start..start + length;
                let known = ends.lock();
                if let Some(bytes) = known.as_ref().and_then(|ends| ends.bytes(&range)) {
                    return Ok(bytes);
                }
                drop(known);
                let read = object.ranges(&[range], progress)?;
                read.into_iter().next().ok_or_else(|| io::Error::other("nothing was read"))
            }
        }
    }

    /// The bytes at each of `ranges`; of an object they are asked for together.
    ///
    /// # Errors
    /// As [`Blob::read`].
    pub fn many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        for range in ranges {
            self.range(range.start, range.end.saturating_sub(range.start))?;
        }
        match &self.0.place {
            Storage::Object { object, progress, .. } => object.ranges(ranges, progress),
            Storage::File { .. } | Storage::Memory(_) => {
                ranges.iter().map(|range| self.bytes(range.start, range.end - range.start)).collect()
            }
        }
    }

    /// The first bytes, `most` or as many as there are.
    ///
    /// # Errors
    /// As [`Blob::read`].
    pub fn head(&self, most: u64) -> io::Result<Bytes> {
        self.bytes(0, most.min(self.size()))
    }

    /// The range as indexes, once it is known to lie within the input.
    fn range(&self, start: u64, length: u64) -> io::Result<Range<usize>> {
        let end = start.checked_add(length).filter(|end| *end <= self.size());
        let range = end.and_then(|end| Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
        range.ok_or_else(|| {
            let size = self.size();
            io::Error::other(format!(
                "it points at {length} bytes from byte {start} on, but has {size} bytes"
            ))
        })
    }
}

fn opened(local: &LocalFile, open: &Mutex<Weak<File>>) -> io::Result<Arc<File>> {
    let mut open = open.lock();
    if let Some(file) = open.upgrade() {
        return Ok(file);
    }
    let file = Arc::new(local.open()?);
    *open = Arc::downgrade(&file);
    Ok(file)
}

fn shorter(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Changed.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_outside_of_the_input_is_refused_before_anything_is_allocated() {
        let blob = Blob::memory(Bytes::from_static(b"0123456789"));
        assert_eq!(blob.bytes(8, 2).unwrap(), "89");
        assert_eq!(blob.head(100).unwrap(), "0123456789");
        for (start, length) in [(8, 3), (11, 0), (0, u64::MAX), (u64::MAX, 2), (4, 1 << 60)] {
            let message = blob.bytes(start, length).unwrap_err().to_string();
            assert!(message.contains("but has 10 bytes"), "{message}");
        }
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_not_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(100).unwrap();
        let blob = Blob::file(LocalFile::new(file.path().to_owned()));
        let held = blob.keep_open().unwrap();
        file.as_file().set_len(50).unwrap();
        assert!(blob.bytes(40, 20).unwrap_err().to_string().contains("changed"));
        drop(held);
        assert!(blob.bytes(40, 5).unwrap_err().to_string().contains("changed"));
    }

    #[test]
    fn files_that_nobody_reads_are_not_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"0123456789").unwrap();
        let blobs: Vec<Blob> =
            (0..5000).map(|_| Blob::file(LocalFile::new(file.path().to_owned()))).collect();
        assert!(blobs.iter().all(|blob| blob.bytes(2, 3).unwrap() == "234"));
    }
}
