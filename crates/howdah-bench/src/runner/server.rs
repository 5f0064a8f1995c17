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

/// Where servers come from.
pub(super) struct Servers {
    given: Option<Given>,
    /// What new clusters are copies of.
    template: Option<Template>,
    /// The one that runs of commands share.
    shared: Option<Throwaway>,
}

/// A server that the user names.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) conninfo: String,
    /// The postmaster, when it runs on this machine.
    pub(super) pid: Option<u32>,
}

/// A server that is ready for one run.
pub(super) struct BenchServer {
    pub(super) conninfo: String,
    pub(super) database: Database,
    /// The postmaster, when it is known.
    pub(super) pid: Option<u32>,
    /// The directory of the server's programs, when it is our own.
    pub(super) bin_dir: Option<PathBuf>,
    /// Where the server itself may write, when it is our own.
    pub(super) server_directory: Option<PathBuf>,
    /// As records say it.
    pub(super) fresh: &'static str,
    /// What is left to do when the run is over.
    end: ServerEnd,
}

/// How a run leaves its server.
enum ServerEnd {
    /// The server ends with the run.
    Stop {
        /// It ends when this is dropped.
        _own: Box<Throwaway>,
    },
    /// The server is ours, and the next run takes it.
    Keep,
    /// The server is the user's: nothing of ours stays there.
    CleanUp {
        /// The ledger of writers that deliver exactly once was there before us.
        had_ledger: bool,
    },
}

impl Servers {
    /// Servers of our own, or the given one.
    pub(super) fn new(given: Option<Given>) -> Self {
        Servers { given, template: None, shared: None }
    }

    /// Whether the user names the server.
    pub(super) fn are_given(&self) -> bool {
        self.given.is_some()
    }

    /// A new cluster with the cell's settings; for commands one that they share; or the given server.
    ///
    /// # Errors
    /// No server came about.
    pub(super) fn open(&mut self, cell: &Cell) -> Result<BenchServer, Error> {
        match &self.given {
            Some(given) => BenchServer::given(given),
            None if matches!(cell.method, Method::Command(_)) => self.shared(),
            None => self.new_cluster(cell),
        }
    }

    /// Why the cell cannot run here, if so.
    pub(super) fn obstacle(&self, cell: &Cell) -> Option<String> {
        let settings: Vec<&str> = cell.settings.iter().map(|(name, _)| *name).collect();
        if self.are_given() && !settings.is_empty() {
            return Some(format!("the given server keeps its own {}", settings.join(", ")));
        }
        let needs_own = matches!(cell.method, Method::ServerFile { .. } | Method::NestedUnnest { .. });
        (self.are_given() && needs_own).then(|| "needs a file on the server's machine".to_owned())
    }

    fn new_cluster(&mut self, cell: &Cell) -> Result<BenchServer, Error> {
        let keeps: &[(&str, &str)] = if cell.has_log_files { &KEEPS_LOG_FILES } else { &[] };
        let settings = keeps
            .iter()
            .chain(&cell.settings)
            .fold(Settings::new(), |settings, (name, value)| settings.with(*name, *value));
        let template = match &mut self.template {
            Some(template) => template,
            none => none.insert(Template::make()?),
        };
        let own = Throwaway::copy_of(template, &settings)?;
        // Over TCP, as contenders are: not every driver knows sockets.
        let conninfo = own.tcp_conninfo();
        let database = Database::own(&conninfo)?;
        if cell.has_log_files {
            make_log_files(&database)?;
        }
        Ok(BenchServer {
            database,
            conninfo,
            pid: Some(own.pid()),
            bin_dir: Some(own.bin_dir().to_owned()),
            server_directory: Some(own.data_dir().to_owned()),
            fresh: if cell.has_log_files { WITH_LOG_FILES } else { "new cluster" },
            end: ServerEnd::Stop { _own: Box::new(own) },
        })
    }

    fn shared(&mut self) -> Result<BenchServer, Error> {
        let own = match &mut self.shared {
            Some(own) => own,
            none => none.insert(Throwaway::start(&Settings::new())?),
        };
        let conninfo = own.conninfo();
        let database = Database::own(&conninfo)?;
        database.run(&clean_up())?;
        Ok(BenchServer {
            database,
            conninfo,
            pid: Some(own.pid()),
            bin_dir: Some(own.bin_dir().to_owned()),
            server_directory: None,
            fresh: "new table, checkpoint",
            end: ServerEnd::Keep,
        })
    }
}

impl BenchServer {
    fn given(given: &Given) -> Result<BenchServer, Error> {
        let Given { conninfo, pid } = given.clone();
        let database = Database::connect(&conninfo)?;
        database.run(&clean_up())?;
        let fresh = if database.checkpoint()? { "new table, checkpoint" } else { "new table" };
        let had_ledger =
            database.row(&format!("SELECT to_regclass('{LEDGER}') IS NOT NULL"))?.concat() == "t";
        let end = ServerEnd::CleanUp { had_ledger };
        Ok(BenchServer { conninfo, database, pid, bin_dir: None, server_directory: None, fresh, end })
    }

    /// Whether the server is the user's.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.end, ServerEnd::CleanUp { .. })
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
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        match self.end {
            ServerEnd::Stop { .. } => {}
            ServerEnd::Keep => {
                let _ = self.database.run(&clean_up());
            }
            ServerEnd::CleanUp { had_ledger } => {
                let _ = self.database.run(&clean_up());
                if !had_ledger {
                    let _ = self.database.run(&format!("DROP TABLE IF EXISTS {LEDGER}"));
                }
            }
        }
    }
}

/// Lets the server make log files, and keep them for later: otherwise each is made when the one before is full, by writing
/// 16 MiB of zeros, and commits wait meanwhile, for some 50 ms here.
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
