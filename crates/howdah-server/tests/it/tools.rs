//! What several tests do with a server: ask it, watch its processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use howdah_server::{Server, Settings, Throwaway};

/// A server for tests that only look; never dropped, it ends with this process.
pub(crate) fn shared() -> &'static Throwaway {
    static SERVER: LazyLock<Throwaway> = LazyLock::new(|| {
        Throwaway::start(&Settings::fast_and_unsafe()).unwrap_or_else(|error| panic!("{error}"))
    });
    &SERVER
}

/// The answer to `sql`, with the programs' own psql.
pub(crate) fn ask(server: &Server, conninfo: &str, sql: &str) -> String {
    let output = psql(server, conninfo, sql);
    assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// psql with no password file and no variables of the person who runs the tests.
pub(crate) fn psql(server: &Server, conninfo: &str, sql: &str) -> Output {
    Command::new(server.bin_dir().join("psql"))
        .env_clear()
        .args(["--no-psqlrc", "--no-password", "-At", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", sql])
        .output()
        .expect("psql is beside the server's programs")
}

/// Whether `condition` comes true within `seconds`.
pub(crate) fn within(seconds: u64, mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    condition()
}

/// The running processes (no zombies) that name `directory` in their command line or, as backends do, lie in it.
pub(crate) fn processes_of(directory: &Path) -> Vec<String> {
    let wanted = directory.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let lies_in = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory));
        if !command.is_empty() && (command.contains(&wanted) || lies_in) {
            found.push(command);
        }
    }
    found
}

/// A base for persistent servers that the server's account can reach even when root runs the tests.
pub(crate) fn base() -> tempfile::TempDir {
    let base = tempfile::Builder::new().prefix("howdah-test-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
    base
}
