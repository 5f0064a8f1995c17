//! The only reader of the process's environment in this crate: libpq's variables, the home directory, the user's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a connection takes from its process: libpq's variables, the home directory and the name of the user.
///
/// Everything in this crate reads it from here, so a program can also put one together by hand, as tests do
/// ([Environment Variables](https://www.postgresql.org/docs/current/libpq-envars.html)).
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
}

/// Variables that say how a session goes, on any server.
const OF_SESSION: [&str; 5] = ["PGAPPNAME", "PGDATESTYLE", "PGGEQO", "PGOPTIONS", "PGTZ"];

impl Environment {
    /// Reads the variables that begin with `PG`, `HOME`, and the name of the user who runs the process. A variable that is not
    /// UTF-8 counts as not set.
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]
    pub fn from_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("PG"))
            .collect();
        let uid = nix::unistd::geteuid();
        // As libpq does: $USER may be anything.
        let user = nix::unistd::User::from_uid(uid).ok().flatten().map(|user| user.name);
        Environment { variables, home: std::env::var_os("HOME").map(PathBuf::from), user }
    }

    /// Holds the given variables and nothing else: no home directory, no user.
    pub fn from_pairs<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment { variables, home: None, user: None }
    }

    /// What of it is about the session, whichever server it is on: neither where that is, nor who logs in, nor how the
    /// connection is secured.
    #[must_use]
    pub fn of_session(&self) -> Self {
        let is_kept = |name: &&String| OF_SESSION.contains(&name.as_str());
        let kept = self.variables.iter().filter(|(name, _)| is_kept(name));
        let variables = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        Environment { variables, home: None, user: None }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the home directory, in which `.pgpass`, `.pg_service.conf` and `.postgresql` are looked for.
    #[must_use]
    pub fn with_home(self, home: impl Into<PathBuf>) -> Self {
        Environment { home: Some(home.into()), ..self }
    }

    /// A variable's value; empty ones count as not set, as in libpq.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
}
