//! Servers with names, which outlive the process that starts them.
//!
//! A directory `<name>` exists only when it is whole: it is made as `<name>.partial-<random>` and renamed. Whoever makes,
//! starts, stops or deletes a server holds the lock on `.<name>.lock` meanwhile, so two starts give one server.

mod trying;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::account::{Account, we_are_root};
use crate::binaries::Binaries;
use crate::cluster::{Cluster, NAME, PATIENCE, POLL, fits_a_socket};
use crate::error::{Error, Result};
use crate::places;
use crate::port;
use crate::postmaster::{self, Postmaster, State};
use crate::secret::{self, random_hex};
use crate::server::Server;
use crate::watchdog::Watchdog;

pub use trying::{Stood, TriedSettings, Trying};

/// The server that is used when no other is named.
pub const DEFAULT_NAME: &str = "default";

/// What a server calls itself in messages.
const KIND: &str = "embedded";

/// A log above this size (bytes) is set aside at the next start; the one set aside before goes.
const LOG_LIMIT: u64 = 16 << 20;

/// A server's name and place, whether it exists or not. Nothing is touched before one of the methods asks for it.
#[derive(Debug, Clone)]
pub struct Persistent {
    base: PathBuf,
    name: String,
}

/// What there is of a server.
#[derive(Debug)]
pub enum Status {
    /// No data.
    Absent,
    /// Data, but no process.
    Stopped {
        /// The server's directory.
        directory: PathBuf,
    },
    /// Starting, recovering or stopping.
    Changing {
        /// The server's directory.
        directory: PathBuf,
    },
    /// Accepting connections.
    Running(Server),
}

impl Persistent {
    /// The server `name` of this user.
    ///
    /// # Errors
    /// A bad name; no place for data known.
    pub fn named(name: &str) -> Result<Persistent> {
        Persistent::in_directory(&places::data_base(we_are_root()).ok_or(Error::NoDataDirectory)?, name)
    }

    /// The server `name` below `base`.
    ///
    /// # Errors
    /// A bad name.
    pub fn in_directory(base: &Path, name: &str) -> Result<Persistent> {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 40 || !name.chars().all(ok) {
            return Err(Error::BadName(name.to_owned()));
        }
        // The path is on the server's command line, by which it is recognised: it must not depend on where we are.
        let base = std::path::absolute(base).map_err(Error::io(format!("find {}", base.display())))?;
        Ok(Persistent { base, name: name.to_owned() })
    }

    /// The servers of this user, by name.
    ///
    /// # Errors
    /// No place for data known; the directory cannot be read.
    pub fn all() -> Result<Vec<Persistent>> {
        let base = places::data_base(we_are_root()).ok_or(Error::NoDataDirectory)?;
        let entries = match fs::read_dir(&base) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(format!("read {}", base.display()))(error)),
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| Cluster::is_ours(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        // A half-made directory has a dot in its name, which no server has.
        Ok(names.iter().filter_map(|name| Persistent::in_directory(&base, name).ok()).collect())
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's directory: the data, the password, the log.
    pub fn directory(&self) -> PathBuf {
        self.base.join(&self.name)
    }

    /// The running server; made and started first where necessary.
    ///
    /// # Errors
    /// No programs found, or what initdb or the server complained about.
    pub fn start(&self) -> Result<Server> {
        let _lock = self.lock()?;
        self.remove_half_made();
        if self.directory().exists() {
            self.check_ours()?;
        }
        let data_dir = self.data_dir();
        let started = Instant::now();
        loop {
            match postmaster::observe(&data_dir)? {
                State::Ready(postmaster) => return self.running(postmaster),
                State::Changing(pid) if started.elapsed() > PATIENCE => {
                    return Err(slow(data_dir, pid, "starting"));
                }
                State::Changing(_) => thread::sleep(POLL),
                State::Stale => {
                    let path = postmaster::lock_file(&data_dir);
                    fs::remove_file(&path).map_err(Error::io(format!("remove {}", path.display())))?;
                }
                State::Down => break,
            }
        }
        let cluster = if self.directory().exists() { self.existing()? } else { self.make()? };
        trying::put_back_left(&cluster)?;
        self.launch(&cluster)
    }

    /// Stops the server, giving its clients no time; false if it was not running.
    ///
    /// # Errors
    /// The server does not end.
    pub fn stop(&self) -> Result<bool> {
        if !self.directory().exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        self.check_ours()?;
        self.stop_locked()
    }

    /// What there is of the server; changes nothing.
    ///
    /// # Errors
    /// A foreign or unreadable directory.
    pub fn status(&self) -> Result<Status> {
        let directory = self.directory();
        if !directory.exists() {
            return Ok(Status::Absent);
        }
        self.check_ours()?;
        Ok(match postmaster::observe(&self.data_dir())? {
            State::Down | State::Stale => Status::Stopped { directory },
            State::Changing(_) => Status::Changing { directory },
            State::Ready(postmaster) => Status::Running(self.running(postmaster)?),
        })
    }

    /// Stops the server and removes it with all its data; false if there was none.
    ///
    /// # Errors
    /// The directory is not a server's; the server does not end; the directory cannot be removed.
    pub fn delete(&self) -> Result<bool> {
        let directory = self.directory();
        if !directory.exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        self.check_ours()?;
        self.stop_locked()?;
        // After this rename there is no such server, even if we are killed while removing it.
        let doomed = self.half_made_path()?;
        fs::rename(&directory, &doomed)
            .and_then(|()| fs::remove_dir_all(&doomed))
            .map_err(Error::io(format!("remove {}", directory.display())))?;
        Ok(true)
    }

    fn data_dir(&self) -> PathBuf {
        self.directory().join("data")
    }

    /// The server's cluster, with programs of the version that made it.
    fn existing(&self) -> Result<Cluster> {
        let root = self.directory();
        let account = Account::owning(&self.data_dir())?;
        let before = secret::read_private(&Cluster::programs_file(&root)).ok().map(PathBuf::from);
        let binaries = Binaries::find(&account, self.version()?.parse().ok(), before)?;
        Ok(Cluster { root, account, binaries })
    }

    /// A server that runs needs no programs to be reached. Where none are found, its version is the data's, and a psql
    /// is whichever the search path has.
    fn running(&self, postmaster: Postmaster) -> Result<Server> {
        let cluster = match self.existing() {
            Err(Error::NoBinaries { .. }) => Cluster {
                root: self.directory(),
                account: Account::owning(&self.data_dir())?,
                binaries: Binaries { bin_dir: PathBuf::new(), version: self.version()? },
            },
            found => found?,
        };
        Server::new(KIND, &cluster, postmaster)
    }

    /// The major version that made the data.
    fn version(&self) -> Result<String> {
        let file = self.data_dir().join("PG_VERSION");
        let text = fs::read_to_string(&file).map_err(Error::io(format!("read {}", file.display())))?;
        Ok(text.trim().to_owned())
    }

    /// A new cluster, under another name until it is whole.
    fn make(&self) -> Result<Cluster> {
        let account = Account::for_new_server()?;
        let binaries = Binaries::find(&account, None, None)?;
        let mut cluster = Cluster { root: self.half_made_path()?, account, binaries };
        cluster.account.create_outer_dir(&cluster.root)?;
        // If we fail or are killed, it ends initdb and removes what there is; after the rename it finds nothing to do.
        let watchdog = Watchdog::start(&cluster.root)?;
        cluster.initialise(&format!("CREATE DATABASE {NAME}"), watchdog.process_group())?;
        cluster.configure_for_loads()?;
        cluster.sync(watchdog.process_group())?;
        let root = self.directory();
        fs::rename(&cluster.root, &root)
            .and_then(|()| File::open(&self.base)?.sync_all())
            .map_err(Error::io(format!("create {}", root.display())))?;
        cluster.root = root;
        Ok(cluster)
    }

    #[expect(clippy::disallowed_methods, reason = "this module starts threads: see ARCHITECTURE")]
    fn launch(&self, cluster: &Cluster) -> Result<Server> {
        set_aside_large_log(cluster)?;
        let port = match secret::read_private(&cluster.port_file()).ok().and_then(|port| port.parse().ok()) {
            Some(port) => port,
            None => port::free_port()?,
        };
        let mut socket_dir = cluster.socket_dir();
        remove_old_sockets(&socket_dir)?;
        if !fits_a_socket(&socket_dir) {
            socket_dir = short_socket_dir(&cluster.account)?;
        }
        // A process group of its own: the terminal's Ctrl-C is not for the server.
        let (mut process, postmaster) = cluster.start(port, &socket_dir, 0)?;
        // Collected when it ends, should we still be there: as a zombie, its number would look alive to PostgreSQL.
        thread::spawn(move || process.wait());
        // The same port next time: connection strings keep working.
        secret::write_private(&cluster.port_file(), &format!("{}\n", postmaster.port))?;
        if let Some(bin_dir) = cluster.binaries.bin_dir.to_str() {
            secret::write_private(&Cluster::programs_file(&cluster.root), &format!("{bin_dir}\n"))?;
        }
        Server::new(KIND, cluster, postmaster)
    }

    fn stop_locked(&self) -> Result<bool> {
        let data_dir = self.data_dir();
        let started = Instant::now();
        let mut signalled: Option<(Pid, Option<PathBuf>)> = None;
        loop {
            let (pid, socket_dir) = match (postmaster::observe(&data_dir)?, &signalled) {
                // Its lock file goes before it does.
                (State::Down | State::Stale, Some((pid, _))) if postmaster::is_server_of(*pid, &data_dir) => {
                    (*pid, None)
                }
                (State::Down | State::Stale, _) => break,
                (State::Changing(pid), _) => (pid, None),
                (State::Ready(postmaster), _) => (postmaster.pid, Some(postmaster.socket_dir)),
            };
            if signalled.is_none() {
                // Fast shutdown: sessions are ended, everything is written.
                postmaster::signal(pid, Signal::INT)?;
                signalled = Some((pid, socket_dir));
            }
            if started.elapsed() > PATIENCE {
                return Err(slow(data_dir, pid, "stopping"));
            }
            thread::sleep(POLL);
        }
        let Some((_, socket_dir)) = signalled else { return Ok(false) };
        if let Some(directory) = socket_dir.filter(|directory| !directory.starts_with(&self.base)) {
            // The short directory in /tmp: empty now.
            let _ = fs::remove_dir(directory);
        }
        Ok(true)
    }

    fn check_ours(&self) -> Result<()> {
        let root = self.directory();
        if Cluster::is_ours(&root) { Ok(()) } else { Err(Error::Foreign(root)) }
    }

    /// Held until the file is dropped; the kernel releases it when its holder is killed.
    fn lock(&self) -> Result<File> {
        let mode = if we_are_root() { 0o755 } else { 0o700 };
        DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(&self.base)
            .map_err(Error::io(format!("create {}", self.base.display())))?;
        let path = self.base.join(format!(".{}.lock", self.name));
        let locking = || Error::io(format!("lock {}", path.display()));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(locking())?;
        file.lock().map_err(locking())?;
        Ok(file)
    }

    fn half_made_path(&self) -> Result<PathBuf> {
        Ok(self.base.join(format!("{}.partial-{}", self.name, random_hex::<4>()?)))
    }

    /// Removes what a crash of the machine left of a making or a deletion; we hold the lock, so nobody is doing either now.
    /// A watchdog may be at it too. What stays wastes space until the next start, and is no reason to have no server.
    fn remove_half_made(&self) {
        let prefix = format!("{}.partial-", self.name);
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The server hangs in a state.
fn slow(data_dir: PathBuf, pid: Pid, doing: &'static str) -> Error {
    let pid = pid.as_raw_nonzero().get().unsigned_abs();
    Error::Slow { data_dir, pid, doing, seconds: PATIENCE.as_secs() }
}

/// A directory for the socket when the server's own has too long a path. The name is random and the directory new: in a
/// directory that everybody writes to, an existing one could be anybody's trap.
fn short_socket_dir(account: &Account) -> Result<PathBuf> {
    let directory = PathBuf::from(format!("/tmp/howdah-{}", random_hex::<8>()?));
    account.create_private_dir(&directory)?;
    Ok(directory)
}

/// Removes what a server that was killed left in its socket's directory, where nothing runs now: the lock file in it names
/// a process, and PostgreSQL would not start while anybody has that number.
fn remove_old_sockets(directory: &Path) -> Result<()> {
    let removing = || Error::io(format!("empty {}", directory.display()));
    for entry in fs::read_dir(directory).map_err(removing())? {
        fs::remove_file(entry.map_err(removing())?.path()).map_err(removing())?;
    }
    Ok(())
}

fn set_aside_large_log(cluster: &Cluster) -> Result<()> {
    let log = cluster.log_file();
    if fs::metadata(&log).is_ok_and(|metadata| metadata.len() > LOG_LIMIT) {
        let old = log.with_extension("log.old");
        fs::rename(&log, &old).map_err(Error::io(format!("rename {}", log.display())))?;
    }
    Ok(())
}
