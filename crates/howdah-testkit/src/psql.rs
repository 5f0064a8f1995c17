//! psql in front of a database: the oracle.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program and whom it connects to.
#[derive(Debug, Clone)]
pub(crate) struct Psql {
    /// The directory of the server's programs.
    pub(crate) bin_dir: PathBuf,
    pub(crate) conninfo: String,
}

impl Psql {
    /// Ready to be given commands.
    pub(crate) fn command(&self) -> Command {
        let mut psql = Command::new(self.bin_dir.join("psql"));
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", &self.conninfo]);
        psql
    }

    /// What the commands print, without the last line end.
    pub(crate) fn run(&self, commands: &str) -> String {
        self.try_run(commands).unwrap_or_else(|error| panic!("{commands}: {error}"))
    }

    /// Like [`Psql::run`], but returns what psql said on standard error instead of panicking.
    pub(crate) fn try_run(&self, commands: &str) -> Result<String, String> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut psql = command.spawn().unwrap();
        // Where it cannot connect it does not read, and says why below.
        let _ = psql.stdin.take().unwrap().write_all(commands.as_bytes());
        let output = psql.wait_with_output().unwrap();
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// What `conninfo` says of `keyword`; of a keyword that stands there twice the last counts.
pub(crate) fn keyword<'a>(conninfo: &'a str, keyword: &str) -> Option<&'a str> {
    let start = format!("{keyword}=");
    let (_, rest) = conninfo.rsplit_once(&start)?;
    rest.trim_start_matches('\'').split([' ', '\'']).next()
}
