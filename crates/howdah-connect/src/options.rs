//! What a program says of the server it means, and where the rest comes from.

use crate::conninfo::{self, Parameters};
use crate::environment::Environment;
use crate::error::Error;
use crate::service;
use crate::target::Target;

/// The server that a program means; what is left out comes from the environment and libpq's defaults.
///
/// The three fields beside the connection string are psql's options `-h`, `-p` and `-U`: they are read as a connection string's
/// values are, so several hosts or ports stand behind each other with commas.
///
/// # Example
///
/// ```
/// use howdah_connect::{ConnectOptions, Environment};
///
/// let options = ConnectOptions::default().conninfo("postgresql://app@db1,db2/shop");
/// let target = options.resolve(&Environment::from_pairs([("PGCONNECT_TIMEOUT", "5")]))?;
/// assert_eq!(target.describe(), r#""shop" on db1:5432 or db2:5432 as "app""#);
/// # Ok::<(), howdah_connect::Error>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// A URI, a keyword/value string, or the name of a database
    /// ([Connection Strings](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING)).
    pub conninfo: Option<String>,
    /// Host names, addresses, or directories with a server's socket in them.
    pub host: Option<String>,
    /// Port numbers: one for all hosts, or one for each.
    pub port: Option<String>,
    /// The role that logs in.
    pub user: Option<String>,
}

/// libpq's variables and the keywords that they stand for.
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

/// Variables that would change how a connection is made or secured and are not supported: refused, never ignored.
const UNSUPPORTED_VARIABLES: [&str; 3] = ["PGMINPROTOCOLVERSION", "PGREQUIREPEER", "PGSSLCRLDIR"];

impl ConnectOptions {
    /// Sets [`conninfo`](ConnectOptions::conninfo): a URI, a keyword/value string, or the name of a database.
    #[must_use]
    pub fn conninfo(mut self, conninfo: impl Into<String>) -> Self {
        self.conninfo = Some(conninfo.into());
        self
    }

    /// Sets [`host`](ConnectOptions::host): names, addresses or socket directories, with commas between them.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Sets [`port`](ConnectOptions::port): one number for all hosts, or one for each with commas between them.
    #[must_use]
    pub fn port(mut self, port: impl Into<String>) -> Self {
        self.port = Some(port.into());
        self
    }

    /// Sets [`user`](ConnectOptions::user): the role that logs in.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Whether a server is named at all, here or by `PGHOST`, `PGHOSTADDR`, `PGPORT`, `PGSERVICE` or `PGDATABASE`.
    ///
    /// libpq would connect to a default server otherwise; a program may prefer one of its own.
    pub fn is_given(&self, environment: &Environment) -> bool {
        [&self.conninfo, &self.host, &self.port, &self.user].into_iter().any(Option::is_some)
            || ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGDATABASE"]
                .into_iter()
                .any(|name| environment.get(name).is_some())
    }

    /// Puts everything together in psql's order of precedence: what [`conninfo`](ConnectOptions::conninfo) spells out, the
    /// service that it names, [`host`](ConnectOptions::host), [`port`](ConnectOptions::port) and
    /// [`user`](ConnectOptions::user), and last the environment. Reads the files that these name, and connects to nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a string, variable, value or file that libpq or this
    /// crate cannot take; [`ErrorKind::NoUser`](crate::ErrorKind::NoUser).
    pub fn resolve(&self, environment: &Environment) -> Result<Target, Error> {
        if let Some(name) = UNSUPPORTED_VARIABLES.into_iter().find(|name| environment.get(name).is_some()) {
            return Err(Error::configuration(format!("the environment variable {name} is not supported"))
                .with_hint(format!("unset it for this command: env -u {name} …")));
        }
        let mut given = Parameters::new();
        for (value, keyword) in [(&self.host, "host"), (&self.port, "port"), (&self.user, "user")] {
            if let Some(value) = value {
                given.insert(keyword, value.clone());
            }
        }
        if let Some(text) = &self.conninfo {
            given.extend(conninfo::parse(text)?);
        }
        given.retain(|_, value| !value.is_empty());
        // Before a service of that name is looked for, whose name would be shown.
        conninfo::no_password_within(&given)?;
        let mut parameters = Parameters::new();
        for (variable, keyword) in VARIABLES {
            if let Some(value) = environment.get(variable) {
                parameters.insert(keyword, value.to_owned());
            }
        }
        parameters.extend(service::find(&given, environment)?);
        parameters.extend(given);
        parameters.retain(|_, value| !value.is_empty());
        conninfo::no_password_within(&parameters)?;
        Target::of(parameters, environment)
    }
}
impl Target {
    /// The server that `conninfo` names: what psql takes after `-d`, that is a URI, a keyword/value string or a database's
    /// name. The process's environment and files say what it leaves open, as for psql.
    ///
    /// # Errors
    /// As of [`ConnectOptions::resolve`].
    pub fn new(conninfo: impl Into<String>) -> Result<Target, Error> {
        let options = ConnectOptions::default().conninfo(conninfo);
        options.resolve(&Environment::from_process())
    }
}
