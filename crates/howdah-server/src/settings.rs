//! Server settings, as pairs of name and value, and their form in `postgresql.conf`.

use std::collections::HashMap;
use std::fmt::Write;

use crate::error::{Error, Result};
use crate::machine::Machine;

const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

/// Stands above the lines of [`Settings::for_loads`] in `postgresql.conf`.
pub(crate) const CHOSEN: &str =
    "# Chosen by howdah for loads, from the memory and the disk there were. ALTER SYSTEM has the last word.";

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

    /// For a server that takes loads, by what `machine` has; as durable as PostgreSQL's defaults. The write-ahead log may grow
    /// (by default a load of a few GB checkpoints all the time, and writes each page anew into the log after each), its files
    /// are used again, indexes find their pages in memory, and are built there.
    pub(crate) fn for_loads(machine: Machine) -> Settings {
        let mut settings = Settings::new();
        if let Some(free) = machine.free_disk {
            let log = (free / 10).clamp(GB, 8 * GB);
            settings = settings
                .with("max_wal_size", format!("{}MB", log / MB))
                .with("min_wal_size", format!("{}MB", log / 4 / MB))
                .with("checkpoint_timeout", "30min");
        }
        if let Some(memory) = machine.memory {
            settings = settings
                .with("shared_buffers", format!("{}MB", (memory / 8).clamp(128 * MB, GB) / MB))
                .with("maintenance_work_mem", format!("{}MB", (memory / 32).clamp(64 * MB, GB / 2) / MB));
        }
        settings
    }

    /// Those of [`Settings::for_loads`] that stand in `conf`, the text of a `postgresql.conf`, as `name value`: with the values
    /// that `ALTER SYSTEM` gave them in `altered`, the text of a `postgresql.auto.conf`.
    pub(crate) fn chosen(conf: &str, altered: &str) -> Vec<String> {
        let pair = |line: &str| {
            let (name, value) = line.split_once(" = ")?;
            Some((name.to_owned(), value.trim_matches('\'').to_owned()))
        };
        let altered: HashMap<String, String> = altered.lines().filter_map(pair).collect();
        let lines = conf.split_once(CHOSEN).map_or("", |(_, lines)| lines).lines().skip(1);
        let chosen = lines.map_while(pair);
        chosen.map(|(name, value)| format!("{name} {}", altered.get(&name).unwrap_or(&value))).collect()
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
pub(crate) fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r")
}

/// What [`quoted`] was given.
pub(crate) fn unquoted(inside: &str) -> String {
    let mut value = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        match (c, c == '\\' || c == '\'') {
            (_, false) => value.push(c),
            ('\\', _) => value.extend(rest.next().map(|escaped| match escaped {
                'n' => '\n',
                'r' => '\r',
                other => other,
            })),
            _ => value.extend(rest.next()),
        }
    }
    value
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
    fn a_server_for_loads_takes_what_there_is_and_no_more_than_it_can_use() {
        let chosen = |memory, free_disk| {
            let settings = Settings::for_loads(Machine { memory, free_disk });
            Settings::chosen(&format!("# before\n{CHOSEN}\n{}", settings.to_conf().unwrap()), "")
        };
        assert_eq!(
            chosen(Some(24 * GB), Some(40 * GB)),
            [
                "max_wal_size 4096MB",
                "min_wal_size 1024MB",
                "checkpoint_timeout 30min",
                "shared_buffers 1024MB",
                "maintenance_work_mem 512MB"
            ]
        );
        // PostgreSQL's defaults, where there is little.
        let little = chosen(Some(GB / 2), Some(2 * GB));
        assert_eq!(little[0], "max_wal_size 1024MB");
        assert_eq!(little[3..], ["shared_buffers 128MB", "maintenance_work_mem 64MB"]);
        assert_eq!(chosen(None, None), Vec::<String>::new());
        assert_eq!(Settings::chosen("fsync = off\n", "max_wal_size = '1GB'\n"), Vec::<String>::new());
        // What somebody altered is as it is now.
        let conf = format!("{CHOSEN}\nmax_wal_size = '4096MB'\nshared_buffers = '1024MB'\n");
        let altered = "# by ALTER SYSTEM\nwork_mem = '8MB'\nmax_wal_size = '100MB'\n";
        assert_eq!(Settings::chosen(&conf, altered), ["max_wal_size 100MB", "shared_buffers 1024MB"]);
    }

    #[test]
    fn a_name_cannot_smuggle_in_another_setting() {
        for name in ["", "a b", "a=1\nb", "include '", "1a"] {
            assert!(Settings::new().with(name, "1").to_conf().is_err(), "{name:?}");
        }
        assert!(Settings::new().with("my_extension.level", "1").to_conf().is_ok());
    }
}
