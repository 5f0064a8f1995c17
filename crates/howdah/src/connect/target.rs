//! A server to connect to, with everything known about how: resolved once, connected to as often as needed.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation, TargetSessionAttrs};

use super::conninfo::{Parameters, refuse};
use super::pgpass;
use super::{Connection, Environment};
use crate::error::{Error, ErrorKind};

/// Where Unix-domain sockets are by default: Debian's place, then PostgreSQL's own.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// How encryption is negotiated, in libpq's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
}

/// Hosts, user, database, and how to reach and convince the server.
#[derive(Clone)]
pub struct Target {
    hosts: Vec<Host>,
    mode: Mode,
    user: String,
    dbname: String,
    notices: Vec<String>,
}

/// One host of the list; each has its own driver configuration, since sockets know no TLS and passwords may differ.
#[derive(Clone)]
struct Host {
    /// Host name, address, or socket directory.
    name: String,
    port: u16,
    is_socket: bool,
    config: Config,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.describe()).finish()
    }
}

impl Target {
    pub(super) fn new(parameters: Parameters, environment: &Environment) -> Result<Target, Error> {
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let mode = match get("sslmode").unwrap_or("prefer") {
            "disable" => Mode::Disable,
            "allow" => Mode::Allow,
            "prefer" => Mode::Prefer,
            "require" => Mode::Require,
            verify @ ("verify-ca" | "verify-full") => {
                return Err(refuse(format!("sslmode {verify:?} is not supported yet"))
                    .with_hint("sslmode=require encrypts, but does not verify the server's certificate"));
            }
            other => return Err(refuse(format!("invalid sslmode value: {other:?}"))),
        };
        if let Some(value @ "require") = get("gssencmode") {
            return Err(refuse(format!("gssencmode {value:?} is not supported: howdah speaks no GSSAPI")));
        }
        let user = match get("user").or(environment.user()) {
            Some(user) => user.to_owned(),
            None => {
                return Err(refuse("no user name: the operating system knows none for this process")
                    .with_hint("-U names one"));
            }
        };
        let dbname = get("dbname").unwrap_or(&user).to_owned();
        let base = base_config(&parameters, &user, &dbname)?;
        let mut notices = Vec::new();
        let mut hosts = host_list(&parameters)?;
        for host in &mut hosts {
            let mut config = base.clone();
            config.host(&host.name).port(host.port);
            if let Some(address) = &host.address {
                config.hostaddr(*address);
            }
            let password = get("password").map(str::to_owned);
            let password = password
                .or_else(|| stored_password(host, &parameters, environment, &user, &dbname, &mut notices));
            if let Some(password) = password {
                config.password(password);
            }
            host.config = config;
        }
        let mut hosts: Vec<Host> = hosts.into_iter().map(ListedHost::into_host).collect();
        match get("load_balance_hosts").unwrap_or("disable") {
            "disable" => {}
            "random" => shuffle(&mut hosts),
            other => return Err(refuse(format!("invalid load_balance_hosts value: {other:?}"))),
        }
        notices.dedup();
        Ok(Target { hosts, mode, user, dbname, notices })
    }

    /// Connects to the first host that will have us.
    ///
    /// # Errors
    /// What each host said, as a connection error; or that a password is needed.
    pub async fn connect(&self) -> Result<Connection, Error> {
        let mut failures = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            match self.connect_to(host).await {
                Ok(connection) => return Ok(connection.on_host(index)),
                // Another host would ask the same person the same question.
                Err(error) if error.kind() == ErrorKind::PasswordRequired => return Err(error),
                Err(error) => failures.push(error),
            }
        }
        let mut failures = failures.into_iter();
        let first = failures.next().unwrap_or_else(|| refuse("no host to connect to"));
        let others: Vec<String> = failures.map(|error| error.message().to_owned()).collect();
        Err(if others.is_empty() { first } else { first.with_detail(others.join("; ")) })
    }

    /// Tries one host in the ways that the mode allows, as libpq does: `prefer` without TLS when the server refuses the
    /// encrypted session, `allow` the other way round.
    async fn connect_to(&self, host: &Host) -> Result<Connection, Error> {
        let attempts: &[SslMode] = match self.mode {
            _ if host.is_socket => &[SslMode::Disable],
            Mode::Disable => &[SslMode::Disable],
            Mode::Allow => &[SslMode::Disable, SslMode::Require],
            Mode::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Mode::Require => &[SslMode::Require],
        };
        let mut first_failure = None;
        for attempt in attempts {
            let mut config = host.config.clone();
            config.ssl_mode(*attempt);
            let failure = match Connection::open(&config).await? {
                Ok(connection) => return Ok(connection),
                Err(failure) => failure,
            };
            let encryption_may_matter = match failure.as_db_error() {
                Some(db) => db.code().code() == "28000",
                None => failure.to_string().contains("TLS"),
            };
            let error = explain(host, &failure);
            if !encryption_may_matter {
                return Err(first_failure.unwrap_or(error));
            }
            first_failure.get_or_insert(error);
        }
        Err(first_failure.unwrap_or_else(|| refuse("no way to connect was tried")))
    }

    /// The server that answered, alone: the connections of one load must not spread over several.
    #[must_use]
    pub fn pinned_to(&self, connection: &Connection) -> Target {
        let mut pinned = self.clone();
        pinned.hosts = self.hosts.get(connection.host()).cloned().into_iter().collect();
        pinned
    }

    /// For people; without the password.
    pub fn describe(&self) -> String {
        let places: Vec<String> = self.hosts.iter().map(Host::describe).collect();
        format!("{:?} on {} as {:?}", self.dbname, places.join(" or "), self.user)
    }

    /// The role that logs in.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Whether data would cross a network to a server whose identity nobody checked.
    pub fn is_remote_unverified(&self) -> bool {
        self.hosts.iter().any(Host::is_remote)
    }

    /// The same target with a password that somebody typed.
    #[must_use]
    pub fn with_password(mut self, password: String) -> Target {
        for host in &mut self.hosts {
            host.config.password(&password);
        }
        self
    }

    /// What came up while resolving (a password file that others can read, …).
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

impl Host {
    fn describe(&self) -> String {
        if self.is_socket {
            self.socket().display().to_string()
        } else {
            format!("{}:{}", self.name, self.port)
        }
    }

    fn socket(&self) -> PathBuf {
        Path::new(&self.name).join(format!(".s.PGSQL.{}", self.port))
    }

    fn is_remote(&self) -> bool {
        let is_loopback = |text: &str| text.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        let addresses = self.config.get_hostaddrs();
        let local = if addresses.is_empty() {
            self.name == "localhost" || is_loopback(&self.name)
        } else {
            addresses.iter().all(IpAddr::is_loopback)
        };
        !self.is_socket && !local
    }
}

/// A host before its configuration is complete.
struct ListedHost {
    name: String,
    port: u16,
    address: Option<IpAddr>,
    is_socket: bool,
    config: Config,
}

impl ListedHost {
    fn into_host(self) -> Host {
        Host { name: self.name, port: self.port, is_socket: self.is_socket, config: self.config }
    }
}

fn host_list(parameters: &Parameters) -> Result<Vec<ListedHost>, Error> {
    let list = |name: &str| -> Vec<String> {
        parameters.get(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len()).max(1);
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(refuse(format!(
            "could not match {} host names to {} hostaddr values",
            names.len(),
            addresses.len()
        )));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(refuse(format!("could not match {} port numbers to {count} hosts", ports.len())));
    }
    let mut hosts = Vec::with_capacity(count);
    for at in 0..count {
        let port = match ports.get(at).or(ports.first()).map(String::as_str) {
            None | Some("") => 5432,
            Some(text) => match text.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(refuse(format!("invalid port number: {text:?}"))),
            },
        };
        let address = match addresses.get(at).map(String::as_str) {
            None | Some("") => None,
            Some(text) => {
                Some(text.parse().map_err(|_| refuse(format!("could not parse network address {text:?}")))?)
            }
        };
        let name = names.get(at).filter(|name| !name.is_empty()).cloned();
        let name = name
            .or_else(|| address.map(|address: IpAddr| address.to_string()))
            .unwrap_or_else(|| default_host(port));
        hosts.push(ListedHost {
            is_socket: name.starts_with('/') && address.is_none(),
            name,
            port,
            address,
            config: Config::new(),
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

fn base_config(parameters: &Parameters, user: &str, dbname: &str) -> Result<Config, Error> {
    let get = |name: &str| parameters.get(name).map(String::as_str);
    let number = |name: &str| -> Result<Option<u64>, Error> {
        let Some(text) = get(name) else { return Ok(None) };
        let value = text.trim().parse::<i64>();
        // libpq takes negative numbers for zero.
        value
            .map(|value| Some(u64::try_from(value).unwrap_or(0)))
            .map_err(|_| refuse(format!("invalid integer value {text:?} for connection option {name:?}")))
    };
    let invalid = |name: &str, value: &str| refuse(format!("invalid {name} value: {value:?}"));
    let mut config = Config::new();
    config.user(user).dbname(dbname);
    config.application_name(get("application_name").or(get("fallback_application_name")).unwrap_or("howdah"));
    if let Some(options) = get("options") {
        config.options(options);
    }
    if let Some(encoding) = get("client_encoding")
        && !["utf8", "utf-8", "unicode", "auto"].contains(&encoding.to_ascii_lowercase().as_str())
    {
        return Err(refuse(format!(
            "client_encoding {encoding:?} is not possible: howdah speaks UTF-8 to the server"
        )));
    }
    if let Some(seconds) = number("connect_timeout")?.filter(|seconds| *seconds > 0) {
        // libpq waits at least two seconds.
        config.connect_timeout(Duration::from_secs(seconds.max(2)));
    }
    config.keepalives(number("keepalives")? != Some(0));
    if let Some(seconds) = number("keepalives_idle")?.filter(|n| *n > 0) {
        config.keepalives_idle(Duration::from_secs(seconds));
    }
    if let Some(seconds) = number("keepalives_interval")?.filter(|n| *n > 0) {
        config.keepalives_interval(Duration::from_secs(seconds));
    }
    if let Some(count) = number("keepalives_count")?.filter(|n| *n > 0) {
        config.keepalives_retries(u32::try_from(count).unwrap_or(u32::MAX));
    }
    if let Some(milliseconds) = number("tcp_user_timeout")?.filter(|n| *n > 0) {
        config.tcp_user_timeout(Duration::from_millis(milliseconds));
    }
    config.ssl_negotiation(match get("sslnegotiation").unwrap_or("postgres") {
        "postgres" => SslNegotiation::Postgres,
        "direct" if get("sslmode") == Some("require") => SslNegotiation::Direct,
        "direct" => return Err(refuse("sslnegotiation=direct needs sslmode=require")),
        other => return Err(invalid("sslnegotiation", other)),
    });
    config.channel_binding(match get("channel_binding").unwrap_or("prefer") {
        "disable" => ChannelBinding::Disable,
        "prefer" => ChannelBinding::Prefer,
        "require" => ChannelBinding::Require,
        other => return Err(invalid("channel_binding", other)),
    });
    config.target_session_attrs(match get("target_session_attrs").unwrap_or("any") {
        "any" => TargetSessionAttrs::Any,
        "read-write" | "primary" => TargetSessionAttrs::ReadWrite,
        "read-only" | "standby" | "prefer-standby" => {
            return Err(refuse("target_session_attrs asks for a server that cannot be written to"));
        }
        other => return Err(invalid("target_session_attrs", other)),
    });
    Ok(config)
}

fn stored_password(
    host: &ListedHost,
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

/// Fisher and Yates, on the randomness that hash maps are seeded with.
fn shuffle(hosts: &mut [Host]) {
    use std::hash::{BuildHasher, Hasher};
    for last in (1..hosts.len()).rev() {
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let other = usize::try_from(random % (last as u64 + 1)).unwrap_or(last);
        hosts.swap(last, other);
    }
}

/// The failure in libpq's words.
fn explain(host: &Host, failure: &tokio_postgres::Error) -> Error {
    let place = if host.is_socket {
        format!("connection to server on socket \"{}\" failed", host.socket().display())
    } else {
        format!("connection to server at \"{}\", port {} failed", host.name, host.port)
    };
    if let Some(db) = failure.as_db_error() {
        return Error::from_db(db).prefixed(&place).of_kind(ErrorKind::Connect);
    }
    let mut reason = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = inner.source();
    }
    if reason.contains("password missing") {
        return Error::new(
            ErrorKind::PasswordRequired,
            format!("{place}: the server asks for a password and none is known"),
        )
        .with_hint("PGPASSWORD or a password file (~/.pgpass) supplies one without asking");
    }
    let reason = reason.trim_start_matches("error connecting to server: ");
    let reason = reason.split(" (os error").next().unwrap_or(reason);
    let error = refuse(format!("{place}: {reason}"));
    if host.is_socket {
        error.with_hint("is the server running locally and accepting connections on that socket?")
    } else {
        error.with_hint("is the server running on that host and accepting TCP/IP connections?")
    }
}
