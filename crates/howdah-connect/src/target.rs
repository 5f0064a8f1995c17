//! A server to connect to, with everything known about how: resolved once, connected to as often as needed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation};

use crate::connection::Connection;
use crate::connection::Route;
use crate::conninfo::Parameters;
use crate::dial::{Address, Dialing};
use crate::environment::Environment;
use crate::error::{Error, ErrorKind};
use crate::failure::Refusal;
use crate::hosts::{self, Host};
use crate::login::Required;
use crate::session_attrs::Wanted;
use crate::startup::StartupSettings;
use crate::tls::{Mode, Tls};

/// A server to connect to, with everything known about how: made by [`ConnectOptions::resolve`](crate::ConnectOptions::resolve)
/// and connected to as often as needed.
#[derive(Clone)]
pub struct Target {
    hosts: Vec<Host>,
    /// The driver's part: user, database, session options; without password and TLS mode.
    config: Config,
    tls: Arc<Tls>,
    dialing: Dialing,
    required: Required,
    startup: StartupSettings,
    wanted: Wanted,
    balances: bool,
    user: String,
    dbname: String,
    notices: Vec<String>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.describe()).finish()
    }
}

impl Target {
    pub(crate) fn of(parameters: Parameters, environment: &Environment) -> Result<Target, Error> {
        let get = |name: &str| parameters.get(name).map(String::as_str);
        let tls = Tls::new(&parameters, environment)?;
        if let Some(value @ "require") = get("gssencmode") {
            return Err(Error::configuration(format!(
                "gssencmode {value:?} is not supported: there is no GSSAPI here"
            )));
        }
        let user = match get("user").or(environment.user()) {
            Some(user) => user.to_owned(),
            None => {
                return Err(Error::new(
                    ErrorKind::NoUser,
                    "no user name: the operating system knows none for this process",
                )
                .with_hint("user=NAME in the connection string names one, or PGUSER"));
            }
        };
        let dbname = get("dbname").unwrap_or(&user).to_owned();
        let config = session_config(&parameters, &user, &dbname, tls.direct)?;
        let mut notices = Vec::new();
        let mut hosts = hosts::list(&parameters)?;
        for host in &mut hosts {
            host.password = get("password").map(str::to_owned).or_else(|| {
                hosts::stored_password(host, &parameters, environment, &user, &dbname, &mut notices)
            });
            if tls.mode == Mode::VerifyFull && !host.is_named && !host.is_socket {
                return Err(Error::configuration(
                    "host name must be specified for a verified SSL connection",
                )
                .with_hint(
                    "host=NAME says which name the certificate must have, hostaddr where to connect",
                ));
            }
        }
        let balances = match get("load_balance_hosts").unwrap_or("disable") {
            "disable" => false,
            "random" => true,
            other => {
                return Err(Error::configuration(format!("invalid load_balance_hosts value: {other:?}")));
            }
        };
        if balances {
            fastrand::shuffle(&mut hosts);
        }
        notices.dedup();
        Ok(Target {
            hosts,
            config,
            tls: Arc::new(tls),
            dialing: Dialing::new(&parameters)?,
            required: Required::parse(get("require_auth").unwrap_or(""))?,
            startup: StartupSettings::of(environment),
            wanted: Wanted::parse(get("target_session_attrs").unwrap_or("any"))?,
            balances,
            user,
            dbname,
            notices,
        })
    }

    /// Connects to the first host that lets the user in and is of the kind that `target_session_attrs` asks for. Hosts and
    /// their addresses are tried in order, or in random order with `load_balance_hosts=random`
    /// ([Specifying Multiple Hosts](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS)). An
    /// address is given up after `connect_timeout`, or 30 seconds.
    ///
    /// To be called within a tokio runtime with I/O and time, in which a task then serves the connection.
    ///
    /// # Errors
    /// What the first host said, with what the others said as its detail. A server that refuses the login ends the search, as
    /// in libpq: then it is that server's error, or [`ErrorKind::PasswordRequired`].
    pub async fn connect(&self) -> Result<Connection, Error> {
        let mut failures = Vec::new();
        for wanted in self.wanted.passes() {
            for (index, host) in self.hosts.iter().enumerate() {
                match self.connect_to(index, host, *wanted, &mut failures).await {
                    Ok(Some(connection)) => return Ok(connection),
                    Ok(None) => {}
                    Err(error) => {
                        failures.push(error);
                        return Err(together(failures));
                    }
                }
            }
        }
        Err(together(failures))
    }

    /// Tries all addresses of a host. `None`: another host may do, the reasons are in `failures`. An error is final, as in
    /// libpq: a server that refuses a password is not passed over for the next.
    async fn connect_to(
        &self,
        index: usize,
        host: &Host,
        wanted: Wanted,
        failures: &mut Vec<Error>,
    ) -> Result<Option<Connection>, Error> {
        let mut addresses = match host.addresses().await {
            Ok(addresses) => addresses,
            Err(error) => {
                let text = error.to_string();
                let reason = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
                let text = format!("could not translate host name {:?} to address: {reason}", host.name);
                failures.push(
                    Error::new(ErrorKind::Unreachable, text)
                        .with_hint("is the host's name spelled right?")
                        .caused_by(error),
                );
                return Ok(None);
            }
        };
        if self.balances {
            fastrand::shuffle(&mut addresses);
        }
        for address in addresses {
            let route = Route {
                host: index,
                name: host.name.clone(),
                address,
                dialing: self.dialing.clone(),
                tls: self.tls.clone(),
                required: self.required.clone(),
                startup: self.startup.clone(),
            };
            match self.connect_by(&route, host).await {
                Ok(connection) => match wanted.unmet(&connection).await? {
                    None => return Ok(Some(connection)),
                    Some(reason) => {
                        let text = format!("{}: {reason}", host.place(Some(&route.address)));
                        failures.push(Error::new(ErrorKind::Unsuitable, text));
                        return Ok(None);
                    }
                },
                Err(refusal) if refusal.is_final => return Err(refusal.error),
                Err(refusal) => failures.push(refusal.error),
            }
        }
        Ok(None)
    }

    /// Tries one address in the ways that the mode allows.
    async fn connect_by(&self, route: &Route, host: &Host) -> Result<Connection, Refusal> {
        let attempts = if host.is_socket { &[SslMode::Disable][..] } else { self.tls.attempts() };
        let mut first: Option<Refusal> = None;
        for attempt in attempts {
            let mut config = self.config.clone();
            config.ssl_mode(*attempt);
            if let Some(password) = &host.password {
                config.password(password);
            }
            let refusal = match Connection::open(route, &config).await {
                Ok(connection) => return Ok(connection),
                Err(failure) => Refusal::new(host, &route.address, failure),
            };
            let ends = !refusal.encryption_may_matter;
            let refusal = first.unwrap_or(refusal);
            if ends {
                return Err(refusal);
            }
            first = Some(refusal);
        }
        Err(first.unwrap_or_else(|| Refusal::of(Error::configuration("no way to connect was tried"))))
    }

    /// A target of only the server and address to which `connection` goes, so that further connections reach the same one.
    #[must_use]
    pub fn pinned_to(&self, connection: &Connection) -> Target {
        let mut pinned = self.clone();
        let route = connection.route();
        pinned.hosts = self.hosts.get(route.host).cloned().into_iter().collect();
        for host in &mut pinned.hosts {
            if let Address::Tcp(address) = &route.address {
                host.address = Some(address.ip());
            }
        }
        pinned.wanted = Wanted::Any;
        pinned
    }

    /// Whether the machine of one of the hosts is there: it takes a connection, or refuses it, `within` this time for each
    /// address. Nobody logs in.
    pub async fn answers(&self, within: Duration) -> bool {
        for host in &self.hosts {
            for address in host.addresses().await.unwrap_or_default() {
                if self.dialing.answers(&address, within).await {
                    return true;
                }
            }
        }
        false
    }

    /// Database, hosts and user in words, without the password.
    pub fn describe(&self) -> String {
        let places: Vec<String> = self.hosts.iter().map(Host::describe).collect();
        format!("{:?} on {} as {:?}", self.dbname, places.join(" or "), self.user)
    }

    /// The role that logs in.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Whether data would cross a network to a server whose certificate is not checked.
    pub fn is_remote_unverified(&self) -> bool {
        !self.tls.always_verifies() && self.hosts.iter().any(Host::is_remote)
    }

    /// Sets the password, as for one that a person was asked for.
    #[must_use]
    pub fn with_password(mut self, password: String) -> Target {
        for host in &mut self.hosts {
            host.password = Some(password.clone());
        }
        self
    }

    /// The same server and role, in another database.
    #[must_use]
    pub fn with_dbname(mut self, dbname: &str) -> Target {
        self.config.dbname(dbname);
        dbname.clone_into(&mut self.dbname);
        self
    }

    /// Sets the name under which the server lists the connections, where neither `application_name` nor
    /// `fallback_application_name` was given.
    #[must_use]
    pub fn with_fallback_application_name(mut self, name: &str) -> Target {
        if self.config.get_application_name().is_none() {
            self.config.application_name(name);
        }
        self
    }

    /// What a person should know about the files that were read, as sentences: a password file that others can read is
    /// ignored, for one.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// The first failure, with the others as its detail; one that only needs a password is what a person can mend.
fn together(failures: Vec<Error>) -> Error {
    if let Some(last) = failures.last().filter(|error| error.kind() == ErrorKind::PasswordRequired) {
        return last.clone();
    }
    let mut failures = failures.into_iter();
    let first = failures.next().unwrap_or_else(|| Error::configuration("no host to connect to"));
    let mut others: Vec<String> = failures.map(|error| error.message().to_owned()).collect();
    others.dedup();
    if others.is_empty() { first } else { first.with_detail(others.join("; ")) }
}

/// What the driver says to the server when the session begins.
fn session_config(parameters: &Parameters, user: &str, dbname: &str, direct: bool) -> Result<Config, Error> {
    let get = |name: &str| parameters.get(name).map(String::as_str);
    let mut config = Config::new();
    config.user(user).dbname(dbname);
    if let Some(name) = get("application_name").or(get("fallback_application_name")) {
        config.application_name(name);
    }
    if let Some(options) = get("options") {
        config.options(options);
    }
    if let Some(encoding) = get("client_encoding")
        && !["utf8", "utf-8", "unicode", "auto"].contains(&encoding.to_ascii_lowercase().as_str())
    {
        return Err(Error::configuration(format!(
            "client_encoding {encoding:?} is not possible: the driver speaks UTF-8 to the server"
        )));
    }
    config.ssl_negotiation(if direct { SslNegotiation::Direct } else { SslNegotiation::Postgres });
    config.channel_binding(match get("channel_binding").unwrap_or("prefer") {
        "disable" => ChannelBinding::Disable,
        "prefer" => ChannelBinding::Prefer,
        "require" => ChannelBinding::Require,
        other => return Err(Error::configuration(format!("invalid channel_binding value: {other:?}"))),
    });
    Ok(config)
}
