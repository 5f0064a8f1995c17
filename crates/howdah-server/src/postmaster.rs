//! What `postmaster.pid` says about a data directory, and whether it is still true.
//!
//! The file outlives a killed server and a crashed machine, and its process number may then belong to anybody:
//! PostgreSQL itself would refuse to start for ever. So the process must also look like this directory's server.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::error::{Error, Result};

/// The state of the server of a data directory.
#[derive(Debug)]
pub(crate) enum State {
    /// No server, and nothing that keeps one from starting.
    Down,
    /// No server, but a lock file names a living process that is none: the file must go first.
    Stale,
    /// Starting, recovering or stopping.
    Changing(Pid),
    /// Accepting connections.
    Ready(Postmaster),
}

/// A server that accepts connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Postmaster {
    pub(crate) pid: Pid,
    pub(crate) port: u16,
    pub(crate) socket_dir: PathBuf,
}

/// The lines of the file that matter here.
#[derive(Debug, PartialEq, Eq)]
struct LockFile {
    pid: Pid,
    data_dir: PathBuf,
    ready: Option<Postmaster>,
}

/// The state of the server in `data_dir`.
pub(crate) fn observe(data_dir: &Path) -> Result<State> {
    let path = lock_file(data_dir);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Down),
        Err(error) => return Err(Error::io(format!("read {}", path.display()))(error)),
    };
    // A file without a process number is half-written: by a server that starts this moment, or by a crash.
    let Some(file) = parse(&text) else { return Ok(State::Stale) };
    match test_kill_process(file.pid) {
        // A dead process: PostgreSQL removes the file itself, after looking for orphaned backends.
        Err(rustix::io::Errno::SRCH) => Ok(State::Down),
        // The file may be a copy, of a data directory that was copied with a server running.
        _ if !same_directory(&file.data_dir, data_dir) || !is_server_of(file.pid, &file.data_dir) => {
            Ok(State::Stale)
        }
        _ => Ok(file.ready.map_or(State::Changing(file.pid), State::Ready)),
    }
}

/// The lock file of a data directory.
pub(crate) fn lock_file(data_dir: &Path) -> PathBuf {
    data_dir.join("postmaster.pid")
}

/// Sends a signal, where a process that is gone already is as good as signalled.
pub(crate) fn signal(pid: Pid, signal: Signal) -> Result<()> {
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Error::io(format!("signal process {}", pid.as_raw_nonzero()))(error.into())),
    }
}

/// The file's lines: process, data directory, start time, port, socket directory, address, shared memory, status.
fn parse(text: &str) -> Option<LockFile> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // A negative number is a single-user server's: nothing of ours is still running one.
    let pid = lines.first()?.parse().ok().filter(|pid: &i32| *pid > 0).and_then(Pid::from_raw)?;
    let ready = || {
        if *lines.get(7)? != "ready" {
            return None;
        }
        Some(Postmaster { pid, port: lines.get(3)?.parse().ok()?, socket_dir: PathBuf::from(lines.get(4)?) })
    };
    Some(LockFile { pid, data_dir: PathBuf::from(lines.get(1)?), ready: ready() })
}

/// Whether two paths lead to one directory; the one in the file may go another way, through a link.
fn same_directory(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one).is_some() && identity(one) == identity(other)
}

/// Whether a living process was started as the server of `data_dir`, by its command line and its owner.
pub(crate) fn is_server_of(pid: Pid, data_dir: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let Ok(command) = fs::read(process.join("cmdline")) else {
        return !Path::new("/proc/self/cmdline").exists() && ps_names(pid, data_dir);
    };
    let wanted = data_dir.as_os_str().as_encoded_bytes();
    let same_owner = match (fs::metadata(&process), fs::metadata(data_dir)) {
        (Ok(process), Ok(data)) => process.uid() == data.uid(),
        _ => false,
    };
    same_owner && command.split(|byte| *byte == 0).any(|argument| argument == wanted)
}

/// The same question where there is no `/proc`.
fn ps_names(pid: Pid, data_dir: &Path) -> bool {
    let output =
        Command::new("ps").args(["-o", "command=", "-p", &pid.as_raw_nonzero().to_string()]).output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).contains(&*data_dir.as_os_str().to_string_lossy())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str = "4242\n/d/data\n1763700000\n20123\n/d/socket\n127.0.0.1\n  1  2\nready   \n";

    #[test]
    fn a_server_that_is_not_ready_is_not_used() {
        let pid = Pid::from_raw(4242).unwrap();
        let file = |ready| Some(LockFile { pid, data_dir: "/d/data".into(), ready });
        let ready = Postmaster { pid, port: 20123, socket_dir: "/d/socket".into() };
        assert_eq!(parse(READY), file(Some(ready)));
        for status in ["starting", "stopping"] {
            assert_eq!(parse(&READY.replace("ready", status)), file(None));
        }
        assert_eq!(parse("4242\n/d/data\n"), file(None));
    }

    #[test]
    fn a_half_written_lock_file_names_no_process() {
        for text in ["", "\n", "x\n", "4242\n", "-4242\n/d/data\n", "0\n/d/data\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
