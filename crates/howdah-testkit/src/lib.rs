//! What the tests of several crates share: one server a test program, one database a test, psql as the oracle, random
//! arrays, and what goes wrong: a proxy with faults, servers to be killed, disks to be filled.
//!
//! Everything here panics on failure: it is for tests only.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

pub mod arrays;
pub mod faults;
mod frozen;
mod own_server;
mod psql;
pub mod require;
mod rng;
pub mod secrets;
mod shared_server;
mod tiny_disk;
mod tls;
pub mod waiting;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use frozen::Frozen;
pub use howdah_server::Settings;
pub use howdah_server::Shutdown;
pub use own_server::OwnServer;
use psql::{Psql, keyword};
pub use rng::Rng;
use shared_server::server;
pub use tiny_disk::TinyDisk;

/// A fresh database, and a directory for the test's files.
pub struct Database {
    name: String,
    directory: TempDir,
}

impl Default for Database {
    fn default() -> Self {
        Database::new()
    }
}

impl Database {
    /// Makes a database that no other test uses.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A server that was named is shared with other programs.
        let name = match server().is_named() {
            true => format!("test_{}_{number}", std::process::id()),
            false => format!("test_{number}"),
        };
        let conninfo = server().conninfo();
        let maintenance = keyword(&conninfo, "dbname").unwrap_or("postgres").to_owned();
        let maintenance = Database { name: maintenance, directory: TempDir::new().unwrap() };
        maintenance.sql(&format!("CREATE DATABASE {name} TEMPLATE template0 LOCALE 'C.UTF-8'"));
        maintenance.named(name)
    }

    /// The same directory, another database.
    fn named(mut self, name: String) -> Self {
        self.name = name;
        self
    }

    /// The database's name, which no other test of the program has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Key/value conninfo of this database, password included.
    pub fn conninfo(&self) -> String {
        format!("{} dbname={}", server().conninfo(), self.name)
    }

    /// Returns the value that [`Database::conninfo`] gives `keyword`; of a keyword that stands there twice the last
    /// counts.
    pub fn setting(&self, keyword: &str) -> String {
        psql::keyword(&self.conninfo(), keyword).unwrap().to_owned()
    }

    /// The directory of the server's programs.
    pub fn bin_dir(&self) -> PathBuf {
        server().bin_dir().to_owned()
    }

    /// Writes a file into the test's directory.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A path in the test's directory.
    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    /// The server's address, for what goes by TCP.
    pub fn tcp_address(&self) -> SocketAddr {
        server().tcp_address()
    }

    /// psql, ready to be given commands.
    pub fn psql(&self) -> Command {
        self.oracle().command()
    }

    /// Runs SQL or psql commands; what they print, without the last line end.
    pub fn sql(&self, commands: &str) -> String {
        self.oracle().run(commands)
    }

    /// Runs SQL or psql commands that may fail.
    ///
    /// # Errors
    /// What psql said on standard error.
    pub fn try_sql(&self, commands: &str) -> Result<String, String> {
        self.oracle().try_run(commands)
    }

    fn oracle(&self) -> Psql {
        Psql { bin_dir: self.bin_dir(), conninfo: self.conninfo() }
    }

    /// Waits until `query` is answered by `expected`; panics when that takes more than [`waiting::PATIENCE`].
    pub fn until(&self, query: &str, expected: &str) {
        let start = Instant::now();
        loop {
            let answer = self.sql(query);
            if answer == expected {
                return;
            }
            assert!(start.elapsed() < waiting::PATIENCE, "{query}: {answer} instead of {expected}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The rows of a table as PostgreSQL sends them in binary, in an order that does not depend on how they came in.
    pub fn binary_rows(&self, table: &str) -> Vec<u8> {
        let path = self.path("rows.bin");
        self.sql(&format!(
            r#"\copy (SELECT * FROM {table} AS t ORDER BY t::text COLLATE "C") TO '{path}' (FORMAT binary)"#
        ));
        std::fs::read(path).unwrap()
    }
}

impl Drop for Database {
    /// A server of our own ends with its databases; one that was named is left as it was.
    fn drop(&mut self) {
        if server().is_named() && self.name.starts_with("test_") {
            let maintenance = Psql { bin_dir: self.bin_dir(), conninfo: server().conninfo() };
            let _ = maintenance.try_run(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// A value in quotes, as CSV writes it.
pub fn quoted_field(value: &str, quote: char, escape: char) -> String {
    let mut field = String::from(quote);
    for c in value.chars() {
        if c == quote || c == escape {
            field.push(escape);
        }
        field.push(c);
    }
    field.push(quote);
    field
}

/// A number that the environment gives, for tests that can run longer, or from another seed; `usual` is what `make test`
/// takes.
pub fn knob(name: &str, usual: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "how long tests run is no business of the library")]
    let given = std::env::var(name);
    given.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// The real files in `../shared/data`, beside the checkout. Where that folder is, all of its files are; `None` where it is
/// not, and then the test is skipped.
pub fn real_data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !path.is_dir() {
        require::missing("data", "there is no ../shared/data");
        return None;
    }
    Some(path)
}
