//! The file of `--sql`. It is made before anything is looked at, so that nobody measures for nothing, and goes again if nothing came
//! to be in it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use howdah::{Error, ErrorKind};
use howdah_doctor::Script;

use crate::figures::{counted, shell_word};

/// Only the owner reads and writes it: it is to be run by somebody with rights.
const MODE: u32 = 0o600;

/// A file that has yet to be written.
pub(super) struct ScriptFile {
    path: PathBuf,
    file: File,
    /// It is ours, and empty.
    is_to_go: bool,
}

impl ScriptFile {
    /// Makes the file; a device or a pipe is taken as it is.
    ///
    /// # Errors
    /// There is one already, which somebody may have reviewed; it cannot be made.
    pub(super) fn create(path: &Path) -> Result<ScriptFile, Error> {
        if path == Path::new("-") {
            return Err(Error::usage("the script goes to a file, and - is none").with_hint(
                "the report goes to standard output; /dev/stdout puts the script in front of it",
            ));
        }
        if path.is_dir() {
            return Err(Error::usage(format!("the script cannot go to {}: it is a folder", path.display()))
                .with_hint("name a file in it"));
        }
        let mut options = OpenOptions::new();
        options.write(true).mode(MODE);
        let (file, is_to_go) = match options.create_new(true).open(path) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Nothing is cut off from what is there.
                let there = options.create_new(false).open(path).ok();
                let device = there.filter(|file| file.metadata().is_ok_and(|there| !there.is_file()));
                (device.ok_or_else(|| exists(path))?, false)
            }
            Err(error) => return Err(cannot_write(path, error)),
        };
        Ok(ScriptFile { path: path.to_owned(), file, is_to_go })
    }

    /// Writes the script. Returns what a person is told of it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(mut self, script: &Script) -> Result<String, Error> {
        self.file.write_all(script.text.as_bytes()).map_err(|error| cannot_write(&self.path, error))?;
        self.is_to_go = false;
        let live = counted(script.live as u64, "remedy is", "remedies are");
        let path = shell_word(&self.path.to_string_lossy());
        Ok(format!(
            "wrote the script, in which {live} live; nothing was run. Review it, then: psql -XAt -v ON_ERROR_STOP=1 -f {path}"
        ))
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        if self.is_to_go {
            // It is empty, or holds a part: neither is to be run.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn exists(path: &Path) -> Error {
    Error::usage(format!("the script cannot go to {}: it exists already", path.display()))
        .with_hint("it may have been reviewed: name another file, or remove it")
}

fn cannot_write(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Source, format!("cannot write the script to {}: {error}", path.display()))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_script_is_its_owner_s_and_replaces_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sql");
        // Nothing came to be in it.
        drop(ScriptFile::create(&path).unwrap());
        assert!(!path.exists());
        let script = Script { text: "SELECT 1;\n".to_owned(), live: 1 };
        let told = ScriptFile::create(&path).unwrap().write(&script).unwrap();
        assert!(
            told.starts_with("wrote the script, in which 1 remedy is live; ") && told.ends_with("/s.sql"),
            "{told}"
        );
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = ScriptFile::create(&path).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "SELECT 1;\n");
        // Nor is one written through a link.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(ScriptFile::create(&link).err().unwrap().kind(), ErrorKind::Usage);
        for (wrong, why) in [(Path::new("-"), "- is none"), (folder.path(), "it is a folder")] {
            let error = ScriptFile::create(wrong).err().unwrap();
            assert!(error.kind() == ErrorKind::Usage && error.message().contains(why), "{error}");
        }
        let nowhere = ScriptFile::create(&folder.path().join("no/s.sql"));
        assert_eq!(nowhere.err().unwrap().kind(), ErrorKind::Source);
        ScriptFile::create(Path::new("/dev/null")).unwrap().write(&script).unwrap();
    }
}
