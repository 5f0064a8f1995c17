//! The server that the tests of a program share: one of its own, with TLS where `HOWDAH_TEST_TLS` is set, or one that
//! `HOWDAH_TEST_DSN` names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use howdah_server::{Settings, Throwaway};

use crate::psql::{Psql, keyword};
use crate::{require, secrets, tls};

/// Ends with the program, however that ends; a server that was named stays.
pub(crate) enum SharedServer {
    Own {
        server: Box<Throwaway>,
        conninfo: String,
    },
    /// Key/value conninfo of a superuser.
    Named {
        conninfo: String,
        bin_dir: PathBuf,
    },
}

/// The server of this test program.
pub(crate) fn server() -> &'static SharedServer {
    static SERVER: OnceLock<SharedServer> = OnceLock::new();
    SERVER.get_or_init(|| {
        // A mistyped need is an error even where nothing is missing.
        require::required();
        #[expect(clippy::disallowed_methods, reason = "where tests run is no business of the library")]
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let server = match said("HOWDAH_TEST_DSN") {
            Some(conninfo) => SharedServer::named(conninfo),
            None => SharedServer::own(said("HOWDAH_TEST_TLS").is_some()),
        };
        if let Some(password) = keyword(&server.conninfo(), "password") {
            secrets::guard(password);
        }
        server
    })
}

impl SharedServer {
    fn own(with_tls: bool) -> SharedServer {
        let server = Box::new(Throwaway::start(&Settings::fast_and_unsafe()).unwrap());
        hash_the_password_once(&server);
        let conninfo = if with_tls { tls::turn_on(&server) } else { server.conninfo() };
        SharedServer::Own { server, conninfo }
    }

    fn named(conninfo: String) -> SharedServer {
        assert!(
            keyword(&conninfo, "host").is_some() && !conninfo.contains("://"),
            "HOWDAH_TEST_DSN is to be keywords and values, host among them: host=… user=… dbname=…"
        );
        SharedServer::Named { conninfo, bin_dir: programs_beside_psql() }
    }

    pub(crate) fn is_named(&self) -> bool {
        matches!(self, SharedServer::Named { .. })
    }

    /// Key/value conninfo, password included. A keyword that is put behind it counts instead of its own.
    pub(crate) fn conninfo(&self) -> String {
        match self {
            SharedServer::Own { conninfo, .. } | SharedServer::Named { conninfo, .. } => conninfo.clone(),
        }
    }

    /// The directory of psql and what stands beside it.
    pub(crate) fn bin_dir(&self) -> &Path {
        match self {
            SharedServer::Own { server, .. } => server.bin_dir(),
            SharedServer::Named { bin_dir, .. } => bin_dir,
        }
    }

    /// Where it listens for TCP. A server that was named by its socket is taken to listen on the loopback interface too.
    pub(crate) fn tcp_address(&self) -> SocketAddr {
        match self {
            SharedServer::Own { server, .. } => (Ipv4Addr::LOCALHOST, server.port()).into(),
            SharedServer::Named { conninfo, .. } => {
                let host = keyword(conninfo, "host").and_then(|host| host.parse().ok());
                let port = keyword(conninfo, "port").map_or(5432, |port| port.parse().unwrap());
                (host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port).into()
            }
        }
    }
}

/// Both sides of each connection hash the password 4,096 times by default, which is a tenth of what most tests cost. That slows
/// down who guesses, and nobody guesses a random one.
fn hash_the_password_once(server: &Throwaway) {
    let psql = Psql { bin_dir: server.bin_dir().to_owned(), conninfo: server.conninfo() };
    let password = server.password();
    // PostgreSQL 15 has no such setting, and keeps what it has.
    let _ = psql.try_run(&format!("SET scram_iterations = 1; ALTER ROLE CURRENT_USER PASSWORD '{password}'"));
}

/// The directory of the psql that a shell would run.
fn programs_beside_psql() -> PathBuf {
    let output = Command::new("sh").args(["-c", "command -v psql"]).output().unwrap();
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    path.parent().expect("HOWDAH_TEST_DSN needs psql in PATH").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_keyword_counts_as_for_libpq() {
        let conninfo = "host=/tmp/a port=5433 dbname='one' password=x dbname=two";
        assert_eq!(keyword(conninfo, "dbname"), Some("two"));
        assert_eq!(keyword(conninfo, "host"), Some("/tmp/a"));
        assert_eq!(keyword(conninfo, "sslmode"), None);
    }

    #[test]
    fn a_named_server_is_reached_where_it_was_said_to_be() {
        let named = |conninfo: &str| {
            let bin_dir = PathBuf::new();
            SharedServer::Named { conninfo: conninfo.to_owned(), bin_dir }.tcp_address().to_string()
        };
        assert_eq!(named("host=10.0.0.9 port=6000"), "10.0.0.9:6000");
        assert_eq!(named("host=/tmp/a"), "127.0.0.1:5432");
    }
}
