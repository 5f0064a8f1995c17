//! A server that ends with its owner.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::{Cluster, NAME, PATIENCE, POLL, fits_a_socket};
use crate::error::{Error, Result};
use crate::places;
use crate::port;
use crate::postmaster;
use crate::secret::random_hex;
use crate::server::Server;
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
    cluster: Cluster,
    /// After the server has ended: removes the directory.
    watchdog: Watchdog,
}

/// The way in which a server is told to stop while clients are connected, in the words of `pg_ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Sessions are ended, everything is written.
    Fast,
    /// Everything is left as it is, as in a crash; the next start recovers.
    Immediate,
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

    /// Starts a server on a copy of `template`, which takes a fraction of the time of [`Throwaway::start`]; both have one
    /// password.
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
        let (server, process) = launch(&cluster, &watchdog, port::free_port()?)?;
        Ok(Throwaway { server, process, cluster, watchdog })
    }

    /// Stops the server and keeps its data; returns when its processes have ended, at once if they have already.
    ///
    /// # Errors
    /// The server does not end.
    pub fn stop(&mut self, how: Shutdown) -> Result<()> {
        self.stop_within(how, PATIENCE)
    }

    fn stop_within(&mut self, how: Shutdown, patience: Duration) -> Result<()> {
        let started = Instant::now();
        let mut told = false;
        while self.process.try_wait().map_err(Error::io("wait for postgres"))?.is_none() {
            if !told {
                let signal = match how {
                    Shutdown::Fast => Signal::INT,
                    Shutdown::Immediate => Signal::QUIT,
                };
                postmaster::signal(rustix::process::Pid::from_child(&self.process), signal)?;
                told = true;
            }
            if started.elapsed() > patience {
                return Err(self.cluster.slow(self.process.id(), "stopping"));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Starts the server after a stop, with its data and on its port, or on another one if somebody has taken that.
    ///
    /// # Errors
    /// What the server complained about; that it still runs.
    pub fn start_again(&mut self) -> Result<()> {
        (self.server, self.process) = launch(&self.cluster, &self.watchdog, self.server.port())?;
        Ok(())
    }
}

fn launch(cluster: &Cluster, watchdog: &Watchdog, port: u16) -> Result<(Server, Child)> {
    let (process, postmaster) = cluster.start(port, &cluster.socket_dir(), watchdog.process_group())?;
    Ok((Server::new("throwaway", cluster, postmaster)?, process))
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
        // A checkpoint of data that are about to be removed would be wasted.
        if self.stop_within(Shutdown::Immediate, STOP_PATIENCE).is_err() {
            let _ = self.process.kill();
            let _ = self.process.wait();
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
