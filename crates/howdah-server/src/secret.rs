//! Randomness from the operating system, and files that only their owner reads.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Error, Result};

/// `N` random bytes as hexadecimal digits, which need no quoting in any connection string.
pub(crate) fn random_hex<const N: usize>() -> Result<String> {
    Ok(random_bytes::<N>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// `N` random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(Error::io("read /dev/urandom"))?;
    Ok(bytes)
}

/// Writes `text` to a file of mode 0600; a reader sees the old text or the new one, never half of it.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    // A leftover of a writer that was killed may have another mode or be a link.
    let _ = fs::remove_file(&new);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&new, path))
        .map_err(Error::io(format!("write {}", path.display())))
}

/// The first line of a file written by [`write_private`].
pub(crate) fn read_private(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).map_err(Error::io(format!("read {}", path.display())))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
