//! A server that one test owns alone: it may be stopped, started again, and shot at.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_server::{Settings, Shutdown, Throwaway};
use rustix::process::{Pid, Signal, kill_process};

use crate::psql::Psql;
use crate::secrets;
use crate::waiting::{PATIENCE, until};

/// A server of a test's own. What was committed survives whatever happens to its processes; the server ends with this
/// value.
pub struct OwnServer(Throwaway);

impl OwnServer {
    /// Starts one with an empty database.
    pub fn start() -> OwnServer {
        OwnServer::with(Settings::safe_from_crashes())
    }

    /// Starts one with other settings than those of [`OwnServer::start`].
    pub fn with(settings: Settings) -> OwnServer {
        let server = OwnServer(Throwaway::start(&settings).unwrap());
        secrets::guard(server.0.password());
        server
    }

    /// Key/value conninfo of its database through the Unix socket, password included.
    pub fn conninfo(&self) -> String {
        self.0.conninfo()
    }

    /// Returns its TCP address, which stays.
    pub fn tcp_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.0.port()).into()
    }

    /// Returns its data directory, which belongs to the account that it runs as.
    pub fn data_dir(&self) -> String {
        self.0.data_dir().to_string_lossy().into_owned()
    }

    /// The directory of its programs.
    pub fn bin_dir(&self) -> &Path {
        self.0.bin_dir()
    }

    /// Runs SQL or psql commands; what they print, without the last line end.
    pub fn sql(&self, commands: &str) -> String {
        Psql { bin_dir: self.0.bin_dir().to_owned(), conninfo: self.conninfo() }.run(commands)
    }

    /// Runs SQL that asks for statistics, once sessions of [`sql`](OwnServer::sql) that have ended have written down what they
    /// counted. They do so after psql is gone, and are seen for so long.
    ///
    /// # Panics
    /// If one is still there after a minute.
    pub fn statistics(&self, commands: &str) -> String {
        const ENDING: &str = "SELECT coalesce(string_agg(format('%s %s', pid, backend_start), ', '), '')
             FROM pg_stat_activity WHERE application_name = 'psql' AND state = 'idle' AND pid <> pg_backend_pid()";
        let ending = self.sql(ENDING);
        until("ended sessions are gone", || {
            let there = self.sql(ENDING);
            ending.is_empty() || !ending.split(", ").any(|session| there.contains(session))
        });
        self.sql(commands)
    }

    /// Has commits wait for a standby called `name`, which is none of its own, and returns when they do.
    ///
    /// That sessions show the setting is not enough: commits wait once the checkpointer has read it too.
    ///
    /// # Panics
    /// If no commit waits within a minute.
    pub fn ask_for_a_standby(&self, name: &str) {
        const WAITERS: &str = "pg_stat_activity WHERE wait_event = 'SyncRep'";
        self.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"));
        self.sql("SELECT pg_reload_conf()");
        let (start, waits) = (Instant::now(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !waits.load(Ordering::Relaxed) && start.elapsed() < PATIENCE {
                    self.sql("SELECT pg_logical_emit_message(true, 'probe', '')");
                }
            });
            until("a commit waits for a standby", || {
                self.sql(&format!("SELECT count(*) FROM {WAITERS}")) == "1"
            });
            waits.store(true, Ordering::Relaxed);
            until("no commit waits any more", || {
                self.sql(&format!("SELECT count(pg_cancel_backend(pid)) FROM {WAITERS}")) == "0"
            });
        });
    }

    /// Stops it as `pg_ctl stop` would; its data stay.
    pub fn stop(&mut self, how: Shutdown) {
        self.0.stop(how).unwrap();
    }

    /// Starts it after a stop, at the same address.
    pub fn start_again(&mut self) {
        let address = self.tcp_address();
        self.0.start_again().unwrap();
        assert_eq!(self.tcp_address(), address, "another program took the server's port");
    }

    /// Kills a backend with SIGKILL. The server then ends all others and recovers, as after a crash.
    pub fn kill_backend(&self, pid: &str) {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }

    /// Waits until it answers, as after a crash.
    pub fn await_recovery(&self) {
        let psql = Psql { bin_dir: self.0.bin_dir().to_owned(), conninfo: self.conninfo() };
        let start = Instant::now();
        while let Err(error) = psql.try_run("SELECT 1") {
            assert!(start.elapsed() < Duration::from_secs(60), "the server does not recover: {error}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
