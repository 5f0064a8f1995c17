//! The hosts of a connection string: names, addresses, ports, sockets, and the passwords stored for them.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::conninfo::Parameters;
use crate::dial::Address;
use crate::environment::Environment;
use crate::error::Error;
use crate::pgpass;

/// Where Unix-domain sockets are by default: Debian's place, then PostgreSQL's own.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// One host of the list.
#[derive(Clone)]
pub(crate) struct Host {
    /// Host name, address, or socket directory.
    pub(crate) name: String,
    /// Whether it was given: neither a default nor an address is a name that a certificate could be checked for.
    pub(crate) is_named: bool,
    pub(crate) port: u16,
    pub(crate) is_socket: bool,
    /// `hostaddr`, or the address that answered.
    pub(crate) address: Option<IpAddr>,
    pub(crate) password: Option<String>,
}

impl Host {
    pub(crate) fn describe(&self) -> String {
        if self.is_socket {
            self.socket().display().to_string()
        } else {
            format!("{}:{}", self.name, self.port)
        }
    }

    /// How libpq names it in a failure.
    pub(crate) fn place(&self, address: Option<&Address>) -> String {
        match address {
            _ if self.is_socket => {
                format!("connection to server on socket \"{}\" failed", self.socket().display())
            }
            Some(Address::Tcp(address)) if address.ip().to_string() != self.name => format!(
                "connection to server at \"{}\" ({}), port {} failed",
                self.name,
                address.ip(),
                self.port
            ),
            _ => format!("connection to server at \"{}\", port {} failed", self.name, self.port),
        }
    }

    fn socket(&self) -> PathBuf {
        Path::new(&self.name).join(format!(".s.PGSQL.{}", self.port))
    }

    /// Everywhere that the name leads to.
    pub(crate) async fn addresses(&self) -> std::io::Result<Vec<Address>> {
        if self.is_socket {
            return Ok(vec![Address::Unix(self.socket())]);
        }
        if let Some(address) = self.address {
            return Ok(vec![Address::Tcp(SocketAddr::new(address, self.port))]);
        }
        Ok(tokio::net::lookup_host((self.name.as_str(), self.port)).await?.map(Address::Tcp).collect())
    }

    pub(crate) fn is_remote(&self) -> bool {
        let is_loopback = |text: &str| text.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        let local = match self.address {
            None => self.name == "localhost" || is_loopback(&self.name),
            Some(address) => address.is_loopback(),
        };
        !self.is_socket && !local
    }
}

/// The hosts that `host`, `hostaddr` and `port` name, or the default one.
pub(crate) fn list(parameters: &Parameters) -> Result<Vec<Host>, Error> {
    let list = |name: &str| -> Vec<String> {
        parameters.get(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len()).max(1);
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(Error::configuration(format!(
            "could not match {} host names to {} hostaddr values",
            names.len(),
            addresses.len()
        )));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(Error::configuration(format!(
            "could not match {} port numbers to {count} hosts",
            ports.len()
        )));
    }
    let mut hosts = Vec::with_capacity(count);
    for at in 0..count {
        let port = match ports.get(at).or(ports.first()).map(String::as_str) {
            None | Some("") => 5432,
            Some(text) => match text.parse() {
                Ok(port) if port > 0 => port,
                // Of `user:password/db`, without a host, it is the password.
                _ => {
                    return Err(Error::configuration("invalid port number")
                        .with_hint("a port is a number from 1 to 65535; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"));
                }
            },
        };
        let address: Option<IpAddr> = match addresses.get(at).map(String::as_str) {
            None | Some("") => None,
            Some(text) => Some(
                text.parse()
                    .map_err(|_| Error::configuration(format!("could not parse network address {text:?}")))?,
            ),
        };
        let name = names.get(at).filter(|name| !name.is_empty()).cloned();
        let is_named = name.is_some();
        let name =
            name.or_else(|| address.map(|address| address.to_string())).unwrap_or_else(|| default_host(port));
        hosts.push(Host {
            is_socket: (name.starts_with('/')) && address.is_none(),
            is_named,
            name,
            port,
            address,
            password: None,
        });
    }
    Ok(hosts)
}

/// The socket directory in which a server listens, else the first that exists, else TCP.
fn default_host(port: u16) -> String {
    let directories = || SOCKET_DIRECTORIES.into_iter().filter(|directory| Path::new(directory).is_dir());
    let with_socket =
        directories().find(|directory| Path::new(directory).join(format!(".s.PGSQL.{port}")).exists());
    with_socket.or_else(|| directories().next()).unwrap_or("localhost").to_owned()
}

/// What the password file has for one host.
pub(crate) fn stored_password(
    host: &Host,
    parameters: &Parameters,
    environment: &Environment,
    user: &str,
    dbname: &str,
    notices: &mut Vec<String>,
) -> Option<String> {
    let path = match parameters.get("passfile") {
        Some(path) => PathBuf::from(path),
        None => environment.home()?.join(".pgpass"),
    };
    let is_default_socket = SOCKET_DIRECTORIES.contains(&host.name.as_str());
    let name = if is_default_socket { "localhost" } else { &host.name };
    let found = pgpass::find(&path, [name, &host.port.to_string(), dbname, user]);
    notices.extend(found.notice);
    found.password
}
