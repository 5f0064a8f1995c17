//! A small process that outlives a killed owner just long enough to end its server, or a server in the making.
//!
//! It reads from a pipe whose other end only the owner holds. However the owner ends, the kernel closes that end; the
//! watchdog then kills its process group, which is the server's, and removes the server's directory.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};
use crate::places;

/// Closed first in every process that may outlive its owner: a descriptor that the owner inherited and passes on (a
/// shell's `3>&1`, make's job pipe) would keep somebody waiting for its end. POSIX shells know these numbers only.
pub(crate) const CLOSE_INHERITED: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";

/// `$1` is the directory. Signals that end the owner must not end the watchdog before it has done its work. QUIT is
/// PostgreSQL's immediate shutdown: the data are about to be removed, so a checkpoint would be wasted. After 3 s of
/// waiting for the postmaster, and 4 s in all, nothing is waited for any more. The final KILL ends the watchdog too.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM TSTP
read -r _
kill -s QUIT 0
rounds=0
while [ -e "$1" ] && [ $rounds -lt 40 ]; do
    rounds=$((rounds + 1))
    if [ ! -e "$1/data/postmaster.pid" ] || [ $rounds -gt 30 ]; then
        rm -rf -- "$1" && break
    fi
    sleep 0.1
done
kill -s KILL 0
"#;

/// The watchdog of one directory, and the end of the pipe that it waits for. Dropping it removes the directory, unless that
/// has been renamed.
#[derive(Debug)]
pub(crate) struct Watchdog {
    process: Child,
    directory: PathBuf,
}

impl Watchdog {
    /// Starts watching over `directory`, before anything is in it.
    pub(crate) fn start(directory: &Path) -> Result<Watchdog> {
        // As ourselves, not as the server's account: it must be able to remove what is ours and to signal both.
        let process = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("{CLOSE_INHERITED}\n{SCRIPT}"))
            .arg("howdah-watchdog")
            .arg(directory)
            .env_clear()
            .envs(places::server_environment())
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io("start /bin/sh as the server's watchdog"))?;
        Ok(Watchdog { process, directory: directory.to_path_buf() })
    }

    /// The process group that the server must be started in: the terminal's Ctrl-C does not reach it, the watchdog's
    /// signals do.
    pub(crate) fn process_group(&self) -> i32 {
        self.process.id().cast_signed()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // Somebody may have killed the watchdog.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
