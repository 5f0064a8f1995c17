//! Files of this machine, by name or as standard input: an error once they are not what they were.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A path, and what stood there when it was named.
#[derive(Debug, Clone)]
pub(crate) struct LocalFile {
    path: PathBuf,
    /// `None`: a pipe or a device, which is whatever comes out of it; or nothing was there.
    seen: Option<Seen>,
}

/// What tells a file from one that took its place, or that somebody writes to: a writer moves the size or the time of the
/// last change, a new file has another inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// The file is not what it was.
#[derive(Debug)]
pub(crate) struct Changed;

impl Changed {
    /// What to do about it.
    pub(crate) const HINT: &'static str =
        "nobody may write to a file while it is loaded: load it when its writer is done, or load a copy";
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it was changed while it was read")
    }
}

impl std::error::Error for Changed {}

impl From<Changed> for io::Error {
    fn from(changed: Changed) -> Self {
        io::Error::other(changed)
    }
}

impl Seen {
    fn new(metadata: &Metadata) -> Self {
        Seen {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    fn check(self, metadata: &Metadata) -> io::Result<()> {
        if self == Seen::new(metadata) { Ok(()) } else { Err(Changed.into()) }
    }
}

impl LocalFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        let metadata = path.metadata().ok().filter(Metadata::is_file);
        LocalFile { path, seen: metadata.as_ref().map(Seen::new) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes; `None` of what cannot be read a second time.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(self.seen?.size)
    }

    /// Its size and the time of its last change, which are the same on every machine that shares its disk, and which copies
    /// can keep; `None` as of [`LocalFile::size`].
    pub(crate) fn version(&self) -> Option<String> {
        let Seen { size, modified: (seconds, nanoseconds), .. } = self.seen?;
        Some(format!("{size} bytes, changed at {seconds}.{nanoseconds:09}"))
    }

    /// Opens the file.
    ///
    /// # Errors
    /// It cannot be opened, or is [`Changed`].
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        self.check(&file.metadata()?)?;
        Ok(file)
    }

    /// Opens the file to be read from its start to its end. Its end is believed only of a file that is what it was.
    ///
    /// # Errors
    /// As [`LocalFile::open`].
    pub(crate) fn reader(&self) -> io::Result<impl Read + Send + use<>> {
        Ok(Unchanged { file: self.open()?, local: self.clone() })
    }

    /// # Errors
    /// `metadata` is not of the file that was named, or the file is [`Changed`].
    pub(crate) fn check(&self, metadata: &Metadata) -> io::Result<()> {
        self.seen.map_or(Ok(()), |seen| seen.check(metadata))
    }
}

/// Standard input, and what it was when it was named: it may be a file, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stdin {
    /// `None`: a pipe, a terminal or a device.
    seen: Option<Seen>,
}

impl Stdin {
    pub(crate) fn new() -> Self {
        let metadata = Stdin::metadata().ok().filter(Metadata::is_file);
        Stdin { seen: metadata.as_ref().map(Seen::new) }
    }

    /// What it is now.
    ///
    /// # Errors
    /// It is closed.
    pub(crate) fn metadata() -> io::Result<Metadata> {
        File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
    }

    /// What is left of it. Its end is believed as that of [`LocalFile::reader`] is.
    pub(crate) fn reader(self) -> impl Read + Send {
        UnchangedStdin(self)
    }
}

struct UnchangedStdin(Stdin);

impl Read for UnchangedStdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = io::stdin().read(buffer)?;
        if let (0, false, Some(seen)) = (n, buffer.is_empty(), self.0.seen) {
            seen.check(&Stdin::metadata()?)?;
        }
        Ok(n)
    }
}

/// A reader that looks at its file when it comes to the end.
struct Unchanged {
    file: File,
    local: LocalFile,
}

impl Read for Unchanged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        if n == 0 && !buffer.is_empty() {
            self.local.check(&self.file.metadata()?)?;
            if self.local.seen.is_some() {
                // Another file may have its name now. That there is none any more changes nothing of what was read.
                self.local.path.metadata().map_or(Ok(()), |metadata| self.local.check(&metadata))?;
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn named(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        std::fs::write(&path, content).unwrap();
        (directory, path)
    }

    fn read(local: &LocalFile, meanwhile: impl FnOnce()) -> io::Result<usize> {
        let mut reader = local.reader()?;
        let mut first = [0; 2];
        reader.read_exact(&mut first)?;
        meanwhile();
        Ok(2 + reader.read_to_end(&mut Vec::new())?)
    }

    fn is_changed(result: &io::Result<usize>) -> bool {
        result.as_ref().is_err_and(|error| error.get_ref().is_some_and(|cause| cause.is::<Changed>()))
    }

    #[test]
    fn a_file_that_is_cut_or_grows_or_is_exchanged_has_no_end() {
        let cut = |path: &Path| File::options().write(true).open(path).unwrap().set_len(3).unwrap();
        let append = |path: &Path| File::options().append(true).open(path).unwrap().write_all(b"x").unwrap();
        let exchange = |path: &Path| {
            let other = path.with_extension("new");
            std::fs::write(&other, b"012345").unwrap();
            std::fs::rename(other, path).unwrap();
        };
        for harm in [&cut as &dyn Fn(&Path), &append, &exchange] {
            let (_directory, path) = named(b"012345");
            let local = LocalFile::new(path.clone());
            assert_eq!(read(&local, || {}).unwrap(), 6);
            assert!(is_changed(&read(&local, || harm(&path))));
            assert!(is_changed(&read(&local, || {})), "it was changed between two passes");
        }
        let (_directory, path) = named(b"012345");
        let local = LocalFile::new(path.clone());
        assert_eq!(read(&local, || std::fs::remove_file(&path).unwrap()).unwrap(), 6);
    }
}
