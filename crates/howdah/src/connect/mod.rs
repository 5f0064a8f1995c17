//! Connections with libpq's meanings: conninfo, `PG*`, `.pgpass`, sslmode.

mod connection;
mod conninfo;
mod environment;
mod pgpass;
mod target;
mod tls;

pub use connection::Connection;
pub use environment::Environment;
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
    /// Typed at a prompt.
    pub password: Option<String>,
    /// `-w`: nobody may be asked for a password.
    pub never_prompt: bool,
}

/// Variables and the keywords that they stand for.
const VARIABLES: [(&str, &str); 16] = [
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
];

/// Variables that would change how a connection is made or secured, and that we do not act on yet: refused, never ignored.
const UNSUPPORTED_VARIABLES: [&str; 8] = [
    "PGSERVICE",
    "PGREQUIREAUTH",
    "PGREQUIREPEER",
    "PGSSLCERT",
    "PGSSLKEY",
    "PGSSLROOTCERT",
    "PGSSLCRL",
    "PGSSLCRLDIR",
];

impl ConnectOptions {
    /// Whether the user named a server at all; if not, howdah uses one of its own.
    pub fn is_given(&self, environment: &Environment) -> bool {
        [&self.conninfo, &self.host, &self.port, &self.user].into_iter().any(Option::is_some)
            || ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGDATABASE"]
                .into_iter()
                .any(|name| environment.get(name).is_some())
    }

    /// Puts options, conninfo and environment together, in this order of precedence.
    ///
    /// # Errors
    /// A connection error for a string, variable or value that libpq or we cannot take.
    pub fn resolve(&self, environment: &Environment) -> Result<Target, Error> {
        if let Some(name) = UNSUPPORTED_VARIABLES.into_iter().find(|name| environment.get(name).is_some()) {
            return Err(refuse(format!("the environment variable {name} is not supported yet"))
                .with_hint(format!("unset it for this command: env -u {name} howdah …")));
        }
        let mut parameters = Parameters::new();
        for (variable, keyword) in VARIABLES {
            if let Some(value) = environment.get(variable) {
                parameters.insert(keyword, value.to_owned());
            }
        }
        if let Some(text) = &self.conninfo {
            let given = conninfo::parse(text)?;
            if given.contains_key("host") && !given.contains_key("hostaddr") {
                // The address of another host must not follow from the environment.
                parameters.remove("hostaddr");
            }
            parameters.extend(given);
        }
        for (value, keyword) in
            [(&self.host, "host"), (&self.port, "port"), (&self.user, "user"), (&self.password, "password")]
        {
            if let Some(value) = value {
                parameters.insert(keyword, value.clone());
            }
        }
        parameters.retain(|_, value| !value.is_empty());
        Target::new(parameters, environment)
    }
}
