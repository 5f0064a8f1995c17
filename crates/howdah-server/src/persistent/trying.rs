//! Settings that somebody tries on a server: how each of them stood is written down first, so that it is put back though whoever
//! tries them is killed.
//!
//! The server's directory has `trying` (0600) meanwhile: the form's number, then a line for each setting as it stood in
//! `postgresql.auto.conf`: `name = 'value'`, or `name` alone where it did not stand there. Whoever tries holds a lock on
//! `trying.lock`, which goes with its process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Persistent, Status};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::secret;
use crate::server::Server;
use crate::settings::{quoted, unquoted};

/// The number of the form in which it is written down.
const FORM: &str = "1";

/// A setting as it stood in `postgresql.auto.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stood {
    /// Its name.
    pub name: String,
    /// Its value; none where it did not stand there.
    pub value: Option<String>,
}

/// What is known of settings that are tried, or were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedSettings {
    /// The settings, as they stood before.
    pub stood: Vec<Stood>,
    /// Whether whoever tries them is at it. Else it was killed.
    pub is_under_way: bool,
}

/// The right to try settings on a server, which one process has at a time.
#[derive(Debug)]
pub struct Trying {
    server: Persistent,
    /// Held until it is dropped; the kernel releases it when its holder is killed.
    _lock: File,
}

impl Persistent {
    /// Begins to try settings.
    ///
    /// # Errors
    /// There is no such server; another process tries some.
    pub fn try_settings(&self) -> Result<Trying> {
        self.check_ours()?;
        let lock = lock(&self.directory())?.ok_or_else(|| Error::Trying(self.name.clone()))?;
        Ok(Trying { server: self.clone(), _lock: lock })
    }

    /// The settings that are tried now, or that one who was killed left; `None`: there are none.
    ///
    /// # Errors
    /// What is written down cannot be read.
    pub fn tried_settings(&self) -> Result<Option<TriedSettings>> {
        let stood = read(&self.directory())?;
        if stood.is_empty() {
            return Ok(None);
        }
        let is_under_way = lock(&self.directory())?.is_none();
        Ok(Some(TriedSettings { stood, is_under_way }))
    }
}

impl Trying {
    /// What one who was killed left: settings as they stood before.
    ///
    /// # Errors
    /// What is written down cannot be read.
    pub fn left(&self) -> Result<Vec<Stood>> {
        read(&self.server.directory())
    }

    /// Writes down how settings stand, in place of what was written down before.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_down(&self, stood: &[Stood]) -> Result<()> {
        secret::write_private(&file(&self.server.directory()), &written(stood))
    }

    /// Nothing is to be put back any more.
    ///
    /// # Errors
    /// What is written down cannot be removed.
    pub fn forget(&self) -> Result<()> {
        forget(&self.server.directory())
    }

    /// Stops the server and starts it.
    ///
    /// # Errors
    /// It does not stop, or does not start.
    pub fn restart(&self) -> Result<Server> {
        self.server.stop()?;
        self.server.start()
    }

    /// Starts the server, of which settings are put back in its file if it does not run: it may not start with what is tried.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_as_it_was(&self) -> Result<Server> {
        if matches!(self.server.status()?, Status::Stopped { .. }) {
            put_back(&self.server.existing()?)?;
        }
        self.server.start()
    }
}

/// Puts back what one who was killed left, on a server that does not run. One who is at it sees to that itself.
pub(super) fn put_back_left(cluster: &Cluster) -> Result<()> {
    if !file(&cluster.root).exists() {
        return Ok(());
    }
    let Some(_lock) = lock(&cluster.root)? else { return Ok(()) };
    match put_back(cluster) {
        // It says itself what is wrong with it to whoever looks at it: that is no reason to have no server.
        Err(Error::TriedByOther(_)) => Ok(()),
        done => done,
    }
}

/// Puts back what is written down in the file of a server that does not run.
fn put_back(cluster: &Cluster) -> Result<()> {
    let stood = read(&cluster.root)?;
    if stood.is_empty() {
        return Ok(());
    }
    let conf = cluster.data_dir().join("postgresql.auto.conf");
    let now = match fs::read_to_string(&conf) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(Error::io(format!("read {}", conf.display())))?,
    };
    secret::write_private(&conf, &as_it_stood(&now, &stood))?;
    cluster.account.give(&conf)?;
    forget(&cluster.root)
}

fn file(root: &Path) -> PathBuf {
    root.join("trying")
}

/// The lock, unless another process has it.
fn lock(root: &Path) -> Result<Option<File>> {
    let path = root.join("trying.lock");
    let locking = || Error::io(format!("lock {}", path.display()));
    let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = open.map_err(locking())?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(locking()(error)),
    }
}

fn read(root: &Path) -> Result<Vec<Stood>> {
    let path = file(root);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(Error::io(format!("read {}", path.display())))?,
    };
    parsed(&text).ok_or(Error::TriedByOther(path))
}

fn forget(root: &Path) -> Result<()> {
    let path = file(root);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

fn written(stood: &[Stood]) -> String {
    let lines = stood.iter().map(|setting| match &setting.value {
        Some(value) => format!("{}\n", line(&setting.name, value)),
        None => format!("{}\n", setting.name),
    });
    std::iter::once(format!("{FORM}\n")).chain(lines).collect()
}

/// `None`: it is of another form.
fn parsed(text: &str) -> Option<Vec<Stood>> {
    let mut lines = text.lines();
    if lines.next() != Some(FORM) {
        return None;
    }
    let setting = |line: &str| match line.split_once(" = ") {
        Some((name, value)) => {
            let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
            Some(Stood { name: name.to_owned(), value: Some(unquoted(value)) })
        }
        None => Some(Stood { name: line.to_owned(), value: None }),
    };
    lines.map(setting).collect()
}

/// A setting's line in a file of settings.
fn line(name: &str, value: &str) -> String {
    format!("{name} = '{}'", quoted(value))
}

/// `conf`, the text of a `postgresql.auto.conf`, with these settings as they stood in it.
fn as_it_stood(conf: &str, stood: &[Stood]) -> String {
    let is_of = |line: &str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        stood.iter().any(|setting| setting.name.eq_ignore_ascii_case(name))
    };
    let kept = conf.lines().filter(|line| !is_of(line)).map(str::to_owned);
    let back = stood.iter().filter_map(|setting| Some(line(&setting.name, setting.value.as_deref()?)));
    kept.chain(back).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stood(name: &str, value: Option<&str>) -> Stood {
        Stood { name: name.into(), value: value.map(str::to_owned) }
    }

    #[test]
    fn what_is_written_down_is_read_again_whatever_its_value() {
        let all = [
            stood("max_wal_size", Some("4GB")),
            stood("commit_delay", None),
            stood("log_line_prefix", Some("it's = \\ 'x' \r\n\\n")),
            stood("empty", Some("")),
        ];
        let text = written(&all);
        assert!(text.starts_with("1\nmax_wal_size = '4GB'\ncommit_delay\n"), "{text}");
        assert_eq!(text.lines().count(), 5);
        assert_eq!(parsed(&text).unwrap(), all);
        for other in ["", "2\ncommit_delay\n", "1\na = b\n"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_of_settings_is_as_it_was_and_nothing_else_in_it_changes() {
        let conf =
            "# Do not edit this file manually!\nwork_mem = '8MB'\ncommit_delay = '0'\nMax_Wal_Size='16GB'\n";
        let back = as_it_stood(conf, &[stood("max_wal_size", Some("4GB")), stood("commit_delay", None)]);
        assert_eq!(back, "# Do not edit this file manually!\nwork_mem = '8MB'\nmax_wal_size = '4GB'\n");
        assert_eq!(as_it_stood("", &[stood("a", Some("b'c"))]), "a = 'b''c'\n");
    }
}
