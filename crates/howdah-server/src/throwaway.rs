//! A server that ends with its owner.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::{Cluster, POLL, fits_a_socket};
use crate::error::{Error, Result};
use crate::places;
use crate::port;
use crate::postmaster;
use crate::secret::random_hex;
use crate::server::{NAME, Server};
use crate::settings::Settings;
use crate::watchdog::Watchdog;

/// An immediate shutdown takes milliseconds; PostgreSQL kills its own stragglers after 5 s.
const STOP_PATIENCE: Duration = Duration::from_secs(6);

/// A server in a temporary directory, for tests and benchmarks. Dropping it stops the server and removes the
/// directory; when its owner is killed, a watchdog does so within seconds. How to reach it: see [`Server`].
#[derive(Debug)]
pub struct Throwaway {
    server: Server,
    process: Child,
    /// After the server has ended: removes the directory.
    _watchdog: Watchdog,
}

impl Throwaway {
    /// Makes and starts a server, with PostgreSQL's defaults except for `settings`.
    ///
    /// # Errors
    /// No programs found, or what initdb or the server complained about.
    pub fn start(settings: &Settings) -> Result<Throwaway> {
        let (cluster, watchdog) = place()?;
        initialise(&cluster, &watchdog)?;
        Throwaway::of(cluster, watchdog, settings)
    }

    /// The same as a copy of `template`, which takes a fraction of the time; both have one password.
    ///
    /// # Errors
    /// As [`Throwaway::start`].
    pub fn copy_of(template: &Template, settings: &Settings) -> Result<Throwaway> {
        let (cluster, watchdog) = place()?;
        cluster.copy(&template.cluster, watchdog.process_group())?;
        Throwaway::of(cluster, watchdog, settings)
    }

    fn of(cluster: Cluster, watchdog: Watchdog, settings: &Settings) -> Result<Throwaway> {
        cluster.configure(settings)?;
        let (process, postmaster) =
            cluster.start(port::free_port()?, &cluster.socket_dir(), watchdog.process_group())?;
        let server = Server::new("throwaway", &cluster, postmaster)?;
        Ok(Throwaway { server, process, _watchdog: watchdog })
    }
}

/// A data directory with one database and without a server, to be copied; it is removed when this is dropped or its owner is killed.
#[derive(Debug)]
pub struct Template {
    cluster: Cluster,
    _watchdog: Watchdog,
}

impl Template {
    /// Makes one, with PostgreSQL's defaults.
    ///
    /// # Errors
    /// No programs found, or what initdb complained about.
    pub fn make() -> Result<Template> {
        let (cluster, watchdog) = place()?;
        initialise(&cluster, &watchdog)?;
        // A copy is as slow as its files are many, and each database has 300. Without these two a copy makes no databases.
        let statements = [
            "UPDATE pg_database SET datistemplate = false",
            "DROP DATABASE template0",
            "DROP DATABASE template1",
        ];
        cluster.execute_alone(NAME, &statements, watchdog.process_group())?;
        Ok(Template { cluster, _watchdog: watchdog })
    }
}

/// An empty place for a server, which a watchdog removes.
fn place() -> Result<(Cluster, Watchdog)> {
    let account = Account::for_new_server()?;
    let binaries = Binaries::find(&account, None, None)?;
    let root = temporary_root(&account)?;
    let watchdog = Watchdog::start(&root)?;
    Ok((Cluster { root, account, binaries }, watchdog))
}

fn initialise(cluster: &Cluster, watchdog: &Watchdog) -> Result<()> {
    // A fourth database of 300 files would take as long as the rest of the start; nobody looks for `postgres` here.
    let rename = format!("ALTER DATABASE postgres RENAME TO {NAME}");
    cluster.initialise(&rename, watchdog.process_group())
}

impl Deref for Throwaway {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        // Immediate shutdown: a checkpoint of data that are about to be removed would be wasted.
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = postmaster::signal(pid, Signal::QUIT);
        let started = Instant::now();
        while let Ok(None) = self.process.try_wait() {
            if started.elapsed() > STOP_PATIENCE {
                let _ = self.process.kill();
                let _ = self.process.wait();
                break;
            }
            thread::sleep(POLL);
        }
    }
}

/// A new directory where a socket's path is short enough and the server's account can go.
fn temporary_root(account: &Account) -> Result<PathBuf> {
    let name = format!("howdah-{}", random_hex::<8>()?);
    let mut failure = None;
    for parent in places::temporary_directories() {
        let Ok(parent) = parent.canonicalize() else { continue };
        let root = parent.join(&name);
        if !fits_a_socket(&root.join("socket")) || !account_reaches(account, &parent) {
            continue;
        }
        match account.create_outer_dir(&root) {
            Ok(()) => return Ok(root),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| Error::Io {
        doing: "find a temporary directory for the server".to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    }))
}

/// Root's own temporary directory is often below its home.
fn account_reaches(account: &Account, directory: &Path) -> bool {
    let status = || account.command("/bin/sh").args(["-c", ":"]).current_dir(directory).status();
    !account.is_other() || status().is_ok_and(|status| status.success())
}
