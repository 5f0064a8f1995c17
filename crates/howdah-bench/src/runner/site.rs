//! The server that a run gets: a new cluster of its own, or a given server that is cleaned up as far as it lets us.

use std::path::PathBuf;

use howdah_server::{Settings, Template, Throwaway};

use crate::cell::{Cell, Method};
use crate::database::Database;
use crate::error::Error;

/// The table that rows go into.
pub(super) const TABLE: &str = "howdah_bench";

/// The table by which howdah's Writer delivers exactly once; others may use it too.
const LEDGER: &str = "howdah_ledger";

/// So many log files are made beforehand where a cell wants it, ...
const LOG_FILES: u32 = 64;
/// ... on a server that keeps them, and needs no checkpoint while they last; in words: ...
const KEEPS_LOG_FILES: [(&str, &str); 3] =
    [("min_wal_size", "2GB"), ("max_wal_size", "8GB"), ("checkpoint_timeout", "30min")];
/// ... these.
const WITH_LOG_FILES: &str =
    "new cluster with 1 GB of log files, min_wal_size 2GB, max_wal_size 8GB, checkpoint_timeout 30min";

/// A server that is ready for one run.
pub(super) struct Site {
    pub(super) conninfo: String,
    pub(super) database: Database,
    /// The postmaster, when the server is our own.
    pub(super) pid: Option<u32>,
    /// Where the server itself may write, when it is our own.
    pub(super) server_directory: Option<PathBuf>,
    /// As records say it.
    pub(super) fresh: &'static str,
    /// The ledger of writers that deliver exactly once was there before us.
    had_ledger: bool,
    /// Ends the server with this.
    _own: Option<Throwaway>,
}

impl Site {
    /// A new cluster with the cell's settings, or the given server. A cluster is a copy of `template`, made with the first.
    ///
    /// # Errors
    /// No server came about.
    pub(super) fn open(
        given: Option<&str>,
        template: &mut Option<Template>,
        cell: &Cell,
    ) -> Result<Site, Error> {
        match given {
            Some(conninfo) => Site::given(conninfo),
            None => Site::own(template, cell),
        }
    }

    fn own(template: &mut Option<Template>, cell: &Cell) -> Result<Site, Error> {
        let keeps: &[(&str, &str)] = if cell.has_log_files { &KEEPS_LOG_FILES } else { &[] };
        let settings = keeps
            .iter()
            .chain(&cell.settings)
            .fold(Settings::new(), |settings, (name, value)| settings.with(*name, *value));
        let template = match template {
            Some(template) => template,
            None => template.insert(Template::make()?),
        };
        let own = Throwaway::copy_of(template, &settings)?;
        // Over TCP, as contenders are: not every driver knows sockets.
        let conninfo = own.tcp_conninfo();
        let database = Database::own(&conninfo)?;
        if cell.has_log_files {
            make_log_files(&database)?;
        }
        Ok(Site {
            database,
            conninfo,
            pid: Some(own.pid()),
            server_directory: Some(own.data_dir().to_owned()),
            fresh: if cell.has_log_files { WITH_LOG_FILES } else { "new cluster" },
            had_ledger: false,
            _own: Some(own),
        })
    }

    fn given(conninfo: &str) -> Result<Site, Error> {
        let database = Database::connect(conninfo)?;
        database.run(&clean_up())?;
        let fresh = if database.checkpoint()? { "new table, checkpoint" } else { "new table" };
        let had_ledger =
            database.row(&format!("SELECT to_regclass('{LEDGER}') IS NOT NULL"))?.concat() == "t";
        let conninfo = conninfo.to_owned();
        Ok(Site { conninfo, database, pid: None, server_directory: None, fresh, had_ledger, _own: None })
    }

    /// Whether the server is somebody else's.
    fn is_given(&self) -> bool {
        self.pid.is_none()
    }

    /// One more connection.
    pub(super) fn connect(&self) -> Result<Database, Error> {
        self.connect_through(&self.conninfo)
    }

    /// One more connection, another way.
    pub(super) fn connect_through(&self, conninfo: &str) -> Result<Database, Error> {
        if self.is_given() { Database::connect(conninfo) } else { Database::own(conninfo) }
    }

    /// The process ids of all client backends, this harness's own among them.
    pub(super) fn backends(&self) -> Result<Vec<String>, Error> {
        let pids = "SELECT pid FROM pg_stat_activity
                     WHERE backend_type = 'client backend' AND datname = current_database()";
        Ok(self.database.rows(pids)?.into_iter().map(|row| row.concat()).collect())
    }

    /// Why the cell cannot run here, if so.
    pub(super) fn obstacle(given: Option<&str>, cell: &Cell) -> Option<String> {
        let settings: Vec<&str> = cell.settings.iter().map(|(name, _)| *name).collect();
        if given.is_some() && !settings.is_empty() {
            return Some(format!("the given server keeps its own {}", settings.join(", ")));
        }
        let needs_own = matches!(cell.method, Method::ServerFile { .. } | Method::NestedUnnest { .. });
        (given.is_some() && needs_own).then(|| "needs a file on the server's machine".to_owned())
    }
}

impl Drop for Site {
    /// Nothing of ours stays on somebody else's server.
    fn drop(&mut self) {
        if self.is_given() {
            let _ = self.database.run(&clean_up());
            if !self.had_ledger {
                let _ = self.database.run(&format!("DROP TABLE IF EXISTS {LEDGER}"));
            }
        }
    }
}

/// Lets the server make log files, and keep them for later: otherwise each is made when the one before is full, by writing
/// 16 MiB of zeros, and nobody can commit meanwhile, for some 50 ms here.
fn make_log_files(database: &Database) -> Result<(), Error> {
    // A file in which nothing stands yet is not left for the next one.
    let file = "pg_logical_emit_message(false, 'howdah', ''), pg_switch_wal()";
    database.run(&format!("SELECT {file} FROM generate_series(1, {LOG_FILES})"))?;
    // It renames those that it does not need any more.
    database.run("CHECKPOINT")
}

fn clean_up() -> String {
    format!("DROP TABLE IF EXISTS {TABLE}, {TABLE}_flat, {TABLE}_arrays, {TABLE}_parents")
}
