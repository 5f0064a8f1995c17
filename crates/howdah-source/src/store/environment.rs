//! The only reader of the process environment for object stores: `AWS_*`, `GOOGLE_*` and `AZURE_*`.

use std::collections::BTreeMap;

/// What stores take from the process's environment; made by hand in tests.
#[derive(Clone, Default)]
pub(super) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables that object stores know. Credentials that the libraries look for elsewhere (files, metadata services)
    /// are found by themselves.
    #[expect(clippy::disallowed_methods, reason = "this module reads the environment")]
    pub(super) fn from_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix)));
        Environment(variables.collect())
    }

    /// The given variables and nothing else.
    #[cfg(test)]
    pub(super) fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        Environment(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// The variables that begin with `prefix`, their names in lower case, in which the stores spell them.
    pub(super) fn settings(&self, prefix: &str) -> impl Iterator<Item = (String, &str)> {
        let settings =
            self.0.iter().filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        settings.map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
    }

    /// A variable's value; empty ones count as not set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
