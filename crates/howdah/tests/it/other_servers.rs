//! The core tests of loads once more, against other servers: other versions, through TLS, and a server that somebody names.
//!
//! Each is this test program again, told of the server by its environment.

use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::OwnServer;
use howdah_testkit::require::missing;

/// What holds the promises of a load: tables that exist and new ones, modes, what only the server can read, rejects.
const CORE: [&str; 14] = [
    "existing_tables::",
    "new_tables::",
    "modes::every_mode",
    "modes::bad_records",
    "failures::structural_faults",
    "failures::a_null_is_not_named",
    "rejects::good_rows",
    "rejects::triggers",
    "rejects::json",
    "rebuilt_indexes::tables",
    "column_compression::",
    "disabled_triggers::no_trigger",
    "disabled_triggers::partitions",
    "evolved::",
];

/// A few of them, for a server that is like our own but for TLS, or for who started it.
const SOME: [&str; 2] = ["failures::structural_faults", "rejects::json"];

/// Runs `tests` of this program; all of them must run, and pass.
fn again(tests: &[&str], change: impl Fn(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(tests).args(["--test-threads", "2"]).stdin(Stdio::null());
    change(&mut command);
    let run = command.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    for test in tests {
        assert!(said.contains(&format!("test {test}")), "{test} did not run: {said}");
    }
}

/// Runs tests through TLS against the server whose programs these are: all that is core, unless the version is our own, which
/// everything else is tested with.
fn through_tls(programs: &Path) {
    if Command::new("openssl").arg("version").output().is_err() {
        return missing("tls", "there is no openssl");
    }
    let version = Command::new(programs.join("postgres")).arg("--version").output().unwrap().stdout;
    let is_ours = String::from_utf8_lossy(&version).contains("(PostgreSQL) 18.");
    again(if is_ours { &SOME } else { &CORE }, |command| {
        command.env("HOWDAH_PG_BIN", programs).env("HOWDAH_TEST_TLS", "1");
    });
}

#[test]
fn postgresql_15_stores_through_tls_what_later_ones_store() {
    let programs = Path::new("/usr/lib/postgresql/15/bin");
    if !programs.join("initdb").exists() {
        return missing("postgres15", "there is no PostgreSQL 15 in /usr/lib/postgresql");
    }
    through_tls(programs);
}

#[test]
fn versions_that_were_fetched_store_through_tls_what_ours_stores() {
    let fetched = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/versions"));
    let folders = fetched.into_iter().flatten().map(|entry| entry.unwrap().path());
    let fetched: Vec<_> = folders.filter(|folder| folder.join("ready").exists()).collect();
    if fetched.is_empty() {
        return missing("versions", "no other PostgreSQL is in build/versions (make versions)");
    }
    for folder in fetched {
        through_tls(&folder.join("bin"));
    }
}

#[test]
fn a_server_that_is_named_is_used_and_left_as_it_was() {
    let server = OwnServer::start();
    let databases = "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database";
    let before = server.sql(databases);
    let log = server.sql("SELECT pg_current_wal_lsn()");
    let path = std::env::var("PATH").unwrap_or_default();
    again(&SOME, |command| {
        command.env("HOWDAH_TEST_DSN", server.conninfo());
        command.env("PATH", format!("{}:{path}", server.bin_dir().display()));
    });
    assert_eq!(server.sql(databases), before);
    // Databases were made here: each is some megabytes of log.
    let written = format!("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{log}') > 5000000");
    assert_eq!(server.sql(&written), "t", "another server was used");
}
