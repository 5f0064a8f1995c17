//! Whom the server runs as: ourselves, or an unprivileged user when we are root, as PostgreSQL refuses to be root.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::places;

/// The owner of the server's files and processes.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// None: ourselves.
    unprivileged: Option<Unprivileged>,
}

#[derive(Debug, Clone)]
struct Unprivileged {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// Ourselves, or as root `postgres`, or else `nobody`.
    pub(crate) fn for_new_server() -> Result<Account> {
        if !we_are_root() {
            return Ok(Account { unprivileged: None });
        }
        let passwd = fs::read_to_string("/etc/passwd").map_err(Error::io("read /etc/passwd"))?;
        let found = ["postgres", "nobody"].into_iter().find_map(|name| entry(&passwd, name));
        Ok(Account { unprivileged: Some(found.ok_or(Error::NoAccount)?) })
    }

    /// The owner of a data directory that exists: with root's servers, whoever was chosen when it was made.
    pub(crate) fn owning(data_dir: &Path) -> Result<Account> {
        if !we_are_root() {
            return Ok(Account { unprivileged: None });
        }
        let metadata = fs::metadata(data_dir).map_err(Error::io(format!("read {}", data_dir.display())))?;
        if metadata.uid() == 0 {
            return Account::for_new_server();
        }
        let name = format!("number {}", metadata.uid());
        Ok(Account { unprivileged: Some(Unprivileged { name, uid: metadata.uid(), gid: metadata.gid() }) })
    }

    /// Whether processes run as somebody else than we.
    pub(crate) fn is_other(&self) -> bool {
        self.unprivileged.is_some()
    }

    /// The user's name, for messages.
    pub(crate) fn name(&self) -> &str {
        self.unprivileged.as_ref().map_or("howdah's own", |user| &user.name)
    }

    /// A command that runs as this account with the environment that PostgreSQL's programs get.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(places::server_environment());
        if let Some(user) = &self.unprivileged {
            // With `uid` given, the standard library also clears root's supplementary groups.
            command.uid(user.uid).gid(user.gid);
        }
        command
    }

    /// Makes a directory that only this account can enter.
    pub(crate) fn create_private_dir(&self, path: &Path) -> Result<()> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(path)
            .map_err(Error::io(format!("create {}", path.display())))?;
        self.give(path)
    }

    /// Makes a directory of ours whose private subdirectories this account can reach.
    pub(crate) fn create_outer_dir(&self, path: &Path) -> Result<()> {
        // Others may pass through, not look: what the server uses lies below in directories of mode 0700.
        let mode = if self.is_other() { 0o711 } else { 0o700 };
        fs::DirBuilder::new().mode(mode).create(path).map_err(Error::io(format!("create {}", path.display())))
    }

    /// Makes a file or directory of ours this account's.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        match &self.unprivileged {
            None => Ok(()),
            Some(user) => chown(path, Some(user.uid), Some(user.gid)).map_err(Error::io(format!(
                "give {} to user {}",
                path.display(),
                user.name
            ))),
        }
    }
}

/// Whether we are root, and so must run servers as somebody else.
pub(crate) fn we_are_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user `name` of a password file.
fn entry(passwd: &str, name: &str) -> Option<Unprivileged> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        (uid != 0).then(|| Unprivileged { name: name.to_owned(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_named_like_the_start_of_another_is_not_taken() {
        let passwd =
            "root:x:0:0::/:/bin/sh\npostgresql:x:7:8::/:/bin/sh\npostgres:x:101:104:a,b:/var:/bin/bash\n";
        let user = entry(passwd, "postgres").unwrap();
        assert_eq!((user.uid, user.gid), (101, 104));
        assert!(entry(passwd, "nobody").is_none());
    }

    #[test]
    fn an_unprivileged_user_that_is_root_in_disguise_is_refused() {
        assert!(entry("postgres:x:0:0::/:/bin/sh\n", "postgres").is_none());
    }
}
