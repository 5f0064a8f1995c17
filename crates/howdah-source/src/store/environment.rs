//! The only reader of the process environment for object stores: `AWS_*`, `GOOGLE_*`, `AZURE_*` and where home is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What stores take from the process's environment; made by hand in tests.
#[derive(Clone, Default)]
pub(super) struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
}

impl Environment {
    /// The variables that object stores know. Credentials that the libraries look for elsewhere (Google's file, metadata
    /// services) are found by themselves.
    #[expect(clippy::disallowed_methods, reason = "this module reads the environment")]
    pub(super) fn from_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix)));
        Environment { variables: variables.collect(), home: std::env::var_os("HOME").map(PathBuf::from) }
    }

    /// The given variables and nothing else.
    #[cfg(test)]
    pub(super) fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        let variables = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment { variables: variables.collect(), home: None }
    }

    /// The same with a home directory.
    #[cfg(test)]
    pub(super) fn with_home(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    /// The directory in which the files of stores' own tools are looked for.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The variables that begin with `prefix`, their names in lower case, in which the stores spell them.
    pub(super) fn settings(&self, prefix: &str) -> impl Iterator<Item = (String, &str)> {
        let settings =
            self.variables.iter().filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        settings.map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
    }

    /// A variable's value; empty ones count as not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a variable is set to `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Sets a variable, as if the process had it.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }
}
