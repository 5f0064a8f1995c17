//! Connections with libpq's meanings: conninfo, services, `PG*`, `.pgpass`, TLS, several hosts.

mod certificate;
mod connection;
mod conninfo;
mod dial;
mod environment;
mod failure;
mod hosts;
mod login;
mod pgpass;
mod service;
mod session;
mod splice;
mod stream;
mod target;
mod tls;
mod verify;

pub use connection::Connection;
pub use conninfo::without_password;
pub use environment::Environment;
pub(crate) use splice::Splice;
pub use target::Target;

use conninfo::{Parameters, refuse};

use crate::error::Error;

/// What a user says of the server; the rest comes from the environment.
#[derive(Clone, Default)]
pub struct ConnectOptions {
    /// `-d`: URI, keyword/value string, or database name.
    pub conninfo: Option<String>,
    /// `-h`: host name, or a directory with a socket in it.
    pub host: Option<String>,
    /// `-p`.
    pub port: Option<String>,
    /// `-U`.
    pub user: Option<String>,
}

/// Variables and the keywords that they stand for.
const VARIABLES: [(&str, &str); 25] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGAPPNAME", "application_name"),
    ("PGOPTIONS", "options"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLCERTMODE", "sslcertmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLSNI", "sslsni"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
];

/// Variables that would change how a connection is made or secured, and that we do not act on: refused, never ignored.
const UNSUPPORTED_VARIABLES: [&str; 2] = ["PGREQUIREPEER", "PGSSLCRLDIR"];

impl ConnectOptions {
    /// Whether the user named a server at all; if not, howdah uses one of its own.
    pub fn is_given(&self, environment: &Environment) -> bool {
        [&self.conninfo, &self.host, &self.port, &self.user].into_iter().any(Option::is_some)
            || ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGDATABASE"]
                .into_iter()
                .any(|name| environment.get(name).is_some())
    }

    /// Puts everything together in psql's order of precedence: what `-d` spells out, the service it names, `-h -p -U`, and
    /// last the environment.
    ///
    /// # Errors
    /// A connection error for a string, variable or value that libpq or we cannot take.
    pub fn resolve(&self, environment: &Environment) -> Result<Target, Error> {
        if let Some(name) = UNSUPPORTED_VARIABLES.into_iter().find(|name| environment.get(name).is_some()) {
            return Err(refuse(format!("the environment variable {name} is not supported"))
                .with_hint(format!("unset it for this command: env -u {name} howdah …")));
        }
        let mut said = Parameters::new();
        for (value, keyword) in [(&self.host, "host"), (&self.port, "port"), (&self.user, "user")] {
            if let Some(value) = value {
                said.insert(keyword, value.clone());
            }
        }
        if let Some(text) = &self.conninfo {
            said.extend(conninfo::parse(text)?);
        }
        said.retain(|_, value| !value.is_empty());
        let mut parameters = Parameters::new();
        for (variable, keyword) in VARIABLES {
            if let Some(value) = environment.get(variable) {
                parameters.insert(keyword, value.to_owned());
            }
        }
        parameters.extend(service::find(&said, environment)?);
        parameters.extend(said);
        parameters.retain(|_, value| !value.is_empty());
        Target::new(parameters, environment)
    }
}
