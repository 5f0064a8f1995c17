//! A file that appears under its name only when it is complete, so that an interrupted run leaves no short one.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Lets `write` fill a neighbour of `path` and then gives it that name.
pub(super) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<u64>) -> io::Result<u64> {
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
