//! Server settings, as pairs of name and value, and their form in `postgresql.conf`.

use std::fmt::Write;

use crate::error::{Error, Result};

/// Settings that differ from PostgreSQL's defaults. Empty by default, so that a benchmark measures what people run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// PostgreSQL's defaults.
    pub fn new() -> Self {
        Settings::default()
    }

    /// For tests, which need no data after a crash: no fsync, no full pages in the log, no waiting for commits.
    pub fn fast_and_unsafe() -> Self {
        Settings::new().with("fsync", "off").with("full_page_writes", "off").with("synchronous_commit", "off")
    }

    /// For tests that end servers by force: what was committed survives the death of any process, if not of the machine.
    pub fn safe_from_crashes() -> Self {
        Settings::new().with("fsync", "off").with("full_page_writes", "off")
    }

    /// One more setting; a later one of the same name wins.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    /// The pairs, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Lines to append to `postgresql.conf`.
    pub(crate) fn to_conf(&self) -> Result<String> {
        let mut conf = String::new();
        for (name, value) in self.iter() {
            let ok = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(ok) {
                return Err(Error::BadSetting(name.to_owned()));
            }
            let _ = writeln!(conf, "{name} = '{}'", quoted(value));
        }
        Ok(conf)
    }
}

/// The inside of a quoted value; a line end would end the setting, so it travels as an escape.
fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_smuggle_in_another_setting() {
        let settings = Settings::new().with("cluster_name", "a'b\\c\nfsync = off");
        assert_eq!(settings.to_conf().unwrap(), "cluster_name = 'a''b\\\\c\\nfsync = off'\n");
    }

    #[test]
    fn a_name_cannot_smuggle_in_another_setting() {
        for name in ["", "a b", "a=1\nb", "include '", "1a"] {
            assert!(Settings::new().with(name, "1").to_conf().is_err(), "{name:?}");
        }
        assert!(Settings::new().with("my_extension.level", "1").to_conf().is_ok());
    }
}
