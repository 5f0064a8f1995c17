//! A file that appears under its name only when it is complete, so that an interrupted run leaves no short one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Bytes collected before a write: large enough that system calls do not count, small enough for the cache.
pub(super) const BUFFER: usize = 256 * 1024;

/// Lets `write` fill a neighbour of `path` and then gives it that name.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<u64>) -> io::Result<u64> {
    // A device or a pipe has no neighbour that could replace it.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return write(&mut File::options().write(true).open(path)?);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let partial = path.with_file_name(name);
    let result = File::create(&partial).and_then(|mut file| write(&mut file)).and_then(|bytes| {
        fs::rename(&partial, path)?;
        Ok(bytes)
    });
    if result.is_err() {
        // The first error is the one worth telling; there may be nothing to remove.
        let _ = fs::remove_file(&partial);
    }
    result
}

/// Lets `write` fill the file, or standard output for `-`.
pub(super) fn to_file(
    output: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
) -> io::Result<u64> {
    if output == Path::new("-") {
        return write(&mut io::stdout().lock());
    }
    write_whole(output, |out| write(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_leaves_no_short_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.csv");
        write_whole(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        })
        .unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        write_whole(&path, |out| out.write_all(b"whole").map(|()| 5)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_is_not_replaced_by_a_file() {
        write_whole(Path::new("/dev/null"), |out| out.write_all(b"gone").map(|()| 4)).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
