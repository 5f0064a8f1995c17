//! A server's directory and processes: what both kinds of server share.
//!
//! ```text
//! <root>/howdah-server   marker: this directory is ours to change and to remove
//!       /password        of the superuser, 0600
//!       /port            of a persistent server, 0600
//!       /programs        of a persistent server, 0600: the directory of the programs that it last ran with
//!       /trying          of a persistent server, 0600: how settings stood that are tried (`persistent/trying`), and its lock
//!       /server.log      what the server writes
//!       /data/           PostgreSQL's data directory, 0700, the server account's
//!       /socket/         its Unix socket, 0700, the server account's
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::binaries::Binaries;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::port;
use crate::postmaster::{self, Postmaster, State};
use crate::secret;
use crate::settings::{CHOSEN, Settings};
use crate::watchdog::CLOSE_INHERITED;

/// The superuser and the database that every server of ours has.
pub(crate) const NAME: &str = "howdah";

/// Recovery after a crash may take minutes; a server that cannot start ends by itself, so this is for hangs only.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A start takes 0.1 s: this is short against it and costs no CPU to speak of.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// How often a port that was free a moment ago may be taken before the server gets it.
const PORT_ATTEMPTS: usize = 8;

/// Lines of the log in an error: enough for the FATAL line and what led to it.
const TAIL_LINES: usize = 12;

/// `sun_path` holds 104 bytes on macOS and 108 on Linux, with the final NUL.
const SOCKET_PATH_LIMIT: usize = 103;

const MARKER: &str = "howdah-server";

/// One data directory with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) root: PathBuf,
    pub(crate) account: Account,
    pub(crate) binaries: Binaries,
}

impl Cluster {
    /// Makes the data directory, its superuser and its database inside `root`, which holds nothing yet; `sql` makes the
    /// database. The programs join `process_group`, a watchdog's.
    pub(crate) fn initialise(&self, sql: &str, process_group: i32) -> Result<()> {
        self.furnish(&secret::random_hex::<16>()?)?;
        let mut initdb = self.initdb("C.UTF-8", process_group)?;
        if !initdb.status.success() && String::from_utf8_lossy(&initdb.stderr).contains("locale") {
            initdb = self.initdb("C", process_group)?;
        }
        check("initdb", &initdb, initdb.status.success())?;
        self.execute_alone("template1", &[sql], process_group)
    }

    /// Makes the data directory a copy of that of `template`, which no server runs on, inside `root`, which holds nothing yet.
    pub(crate) fn copy(&self, template: &Cluster, process_group: i32) -> Result<()> {
        self.furnish(&template.password()?)?;
        let mut command = self.account.command("cp");
        command.arg("-R").arg(template.data_dir().join(".")).arg(self.data_dir());
        command.current_dir(self.data_dir()).process_group(process_group);
        let output = command.output().map_err(|error| self.run_error("cp", error))?;
        check("cp", &output, output.status.success())
    }

    /// Directories, the password and the marker.
    fn furnish(&self, password: &str) -> Result<()> {
        let marker = self.root.join(MARKER);
        fs::write(&marker, "this directory belongs to a howdah server; `howdah server delete` removes it\n")
            .map_err(Error::io(format!("write {}", marker.display())))?;
        self.account.create_private_dir(&self.data_dir())?;
        self.account.create_private_dir(&self.socket_dir())?;
        secret::write_private(&self.password_file(), password)?;
        // initdb reads it as the server's account; a connection's owner, root or the same user, can too.
        self.account.give(&self.password_file())
    }

    fn initdb(&self, locale: &str, process_group: i32) -> Result<Output> {
        let mut command = self.command("initdb", process_group);
        command
            .arg("--pgdata")
            .arg(self.data_dir())
            .arg("--pwfile")
            .arg(self.password_file())
            .args(["--username", NAME, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", locale])
            .args(["--no-sync", "--no-instructions"])
            .stdin(Stdio::null());
        command.output().map_err(|error| self.run_error("initdb", error))
    }

    /// Through a single-user server: a client program is not in every installation.
    pub(crate) fn execute_alone(
        &self,
        database: &str,
        statements: &[&str],
        process_group: i32,
    ) -> Result<()> {
        let mut command = self.command("postgres", process_group);
        command.arg("--single").arg("-D").arg(self.data_dir()).args(["-c", "fsync=off", database]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| self.run_error("postgres", error))?;
        if let Some(mut stdin) = process.stdin.take() {
            // A server that has ended already says why below.
            let _ = statements.iter().try_for_each(|sql| writeln!(stdin, "{sql};"));
        }
        let output = process.wait_with_output().map_err(Error::io("wait for postgres"))?;
        // It ends with success even after an error.
        let failed = ["ERROR:", "FATAL:", "PANIC:"]
            .iter()
            .any(|severity| String::from_utf8_lossy(&output.stderr).contains(severity));
        check("postgres --single", &output, output.status.success() && !failed)
    }

    /// Makes everything in the data directory survive a power failure.
    pub(crate) fn sync(&self, process_group: i32) -> Result<()> {
        let mut command = self.command("initdb", process_group);
        command.arg("--sync-only").arg("--pgdata").arg(self.data_dir());
        let output = command.output().map_err(|error| self.run_error("initdb", error))?;
        check("initdb --sync-only", &output, output.status.success())
    }

    /// Appends `settings` to `postgresql.conf`.
    pub(crate) fn configure(&self, settings: &Settings) -> Result<()> {
        self.append(&settings.to_conf()?)
    }

    /// Appends settings that suit loads, by what this machine has.
    pub(crate) fn configure_for_loads(&self) -> Result<()> {
        let settings = Settings::for_loads(Machine::of(&self.root));
        self.append(&format!("{CHOSEN}\n{}", settings.to_conf()?))
    }

    /// The settings that were chosen for loads, each as `name value` of now; none where it was not so.
    pub(crate) fn chosen_settings(&self) -> Vec<String> {
        let conf = std::fs::read_to_string(self.configuration()).unwrap_or_default();
        let altered = self.data_dir().join("postgresql.auto.conf");
        Settings::chosen(&conf, &std::fs::read_to_string(altered).unwrap_or_default())
    }

    fn configuration(&self) -> PathBuf {
        self.data_dir().join("postgresql.conf")
    }

    fn append(&self, lines: &str) -> Result<()> {
        let conf = self.configuration();
        OpenOptions::new()
            .append(true)
            .open(&conf)
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(Error::io(format!("write {}", conf.display())))
    }

    /// Starts the server on `port`, or on another one if that is taken, and waits until it accepts connections.
    pub(crate) fn start(
        &self,
        port: u16,
        socket_dir: &Path,
        process_group: i32,
    ) -> Result<(Child, Postmaster)> {
        let mut port = port;
        for attempt in 1.. {
            if attempt > 1 || !port::is_free(port) {
                port = port::free_port()?;
            }
            let mut log = self.open_log()?;
            let log_start = log.seek(SeekFrom::End(0)).map_err(Error::io("read the server's log"))?;
            let mut process = self.launch(port, socket_dir, process_group, &log)?;
            match self.wait_until_ready(&mut process)? {
                Ok(postmaster) => return Ok((process, postmaster)),
                Err(_) if attempt < PORT_ATTEMPTS && !port::is_free(port) => continue,
                Err(status) => return Err(self.start_error(log, log_start, status)),
            }
        }
        unreachable!("the loop above returns")
    }

    fn launch(&self, port: u16, socket_dir: &Path, process_group: i32, log: &File) -> Result<Child> {
        let log_copy = || log.try_clone().map(Stdio::from).map_err(Error::io("open the server's log"));
        let mut command = self.account.command("/bin/sh");
        command
            .arg("-c")
            .arg(format!("{CLOSE_INHERITED}; exec \"$@\""))
            .arg("sh")
            .arg(self.binaries.program("postgres"))
            .arg("-D")
            .arg(self.data_dir())
            .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1", "-c"])
            .arg(socket_setting(socket_dir))
            .current_dir(self.data_dir())
            .process_group(process_group)
            .stdin(Stdio::null())
            .stdout(log_copy()?)
            .stderr(log_copy()?);
        command.spawn().map_err(|error| self.run_error("postgres", error))
    }

    /// The server once it is ready, or how it ended before.
    fn wait_until_ready(&self, process: &mut Child) -> Result<std::result::Result<Postmaster, ExitStatus>> {
        let started = Instant::now();
        loop {
            if let State::Ready(postmaster) = postmaster::observe(&self.data_dir())?
                && postmaster.pid.as_raw_nonzero().get() == process.id().cast_signed()
            {
                return Ok(Ok(postmaster));
            }
            if let Some(status) = process.try_wait().map_err(Error::io("wait for postgres"))? {
                return Ok(Err(status));
            }
            if started.elapsed() > PATIENCE {
                return Err(self.slow(process.id(), "starting"));
            }
            thread::sleep(POLL);
        }
    }

    pub(crate) fn slow(&self, pid: u32, doing: &'static str) -> Error {
        Error::Slow { data_dir: self.data_dir(), pid, doing, seconds: PATIENCE.as_secs() }
    }

    /// One of PostgreSQL's programs, as the server's account.
    fn command(&self, program: &str, process_group: i32) -> Command {
        let mut command = self.account.command(self.binaries.program(program));
        // Our own directory may be closed to that account, and ought not to be kept busy.
        command.current_dir(self.data_dir()).process_group(process_group);
        command
    }

    /// The programs are known to run, so it is their directory that is closed to the account.
    fn run_error(&self, program: &str, error: std::io::Error) -> Error {
        if error.kind() == std::io::ErrorKind::PermissionDenied && self.account.is_other() {
            return Error::Unreachable { path: self.root.clone(), user: self.account.name().to_owned() };
        }
        Error::io(format!("run {program}"))(error)
    }

    fn open_log(&self) -> Result<File> {
        let path = self.log_file();
        OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io(format!("open {}", path.display())))
    }

    fn start_error(&self, mut log: File, from: u64, status: ExitStatus) -> Error {
        let mut text = Vec::new();
        let _ = log.seek(SeekFrom::Start(from)).and_then(|_| log.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let tail = match lines.len() {
            0 => format!("(nothing; postgres ended with {status})"),
            count => lines[count.saturating_sub(TAIL_LINES)..].join("\n"),
        };
        Error::Start { data_dir: self.data_dir(), log: self.log_file(), tail }
    }

    /// Whether `root` is a directory that we made.
    pub(crate) fn is_ours(root: &Path) -> bool {
        root.join(MARKER).is_file()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn socket_dir(&self) -> PathBuf {
        self.root.join("socket")
    }

    pub(crate) fn port_file(&self) -> PathBuf {
        self.root.join("port")
    }

    pub(crate) fn programs_file(root: &Path) -> PathBuf {
        root.join("programs")
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        self.root.join("server.log")
    }

    pub(crate) fn password(&self) -> Result<String> {
        secret::read_private(&self.password_file())
    }

    fn password_file(&self) -> PathBuf {
        self.root.join("password")
    }
}

/// Whether a socket in this directory has a path that the kernel takes.
pub(crate) fn fits_a_socket(directory: &Path) -> bool {
    directory.as_os_str().len() + "/.s.PGSQL.65535".len() <= SOCKET_PATH_LIMIT
}

/// The setting is a list in which a directory with a comma or a space needs quotes.
fn socket_setting(directory: &Path) -> OsString {
    let mut setting = OsString::from("unix_socket_directories=\"");
    setting.push(directory);
    setting.push("\"");
    setting
}

fn check(program: &'static str, output: &Output, succeeded: bool) -> Result<()> {
    if succeeded {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let output = if said.is_empty() { output.status.to_string() } else { said };
    Err(Error::Program { program, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_longer_than_the_kernel_takes_is_noticed() {
        assert!(fits_a_socket(Path::new("/home/somebody/.local/share/howdah/default/socket")));
        assert!(fits_a_socket(Path::new(&"x".repeat(88))));
        assert!(!fits_a_socket(Path::new(&"x".repeat(89))));
    }
}
