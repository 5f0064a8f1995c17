//! What a rule is asked about: the facts, and the load that is to come.

use howdah::facts::{Fact, Facts, SettingFacts, TableFacts, Unseen};
use serde::{Deserialize, Serialize};

use crate::figures::bytes;
use crate::finding::Gap;
use crate::sql;
use crate::trials::Trials;
use crate::verdict::Verdict;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The load that is to come, as far as somebody said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// Its rows.
    pub rows: Option<u64>,
    /// Its bytes, as they lie in the table.
    pub bytes: Option<u64>,
    /// The input's rows, if somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputEstimate>,
}

impl Ask {
    /// The rows of the load, if somebody said or looked.
    pub(crate) fn rows_to_come(&self) -> Option<u64> {
        self.rows.or(self.input.map(|input| input.rows))
    }
}

/// How many rows an input has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputEstimate {
    /// Rows.
    pub rows: u64,
    /// Whether all were read: else they are about so many.
    pub is_counted: bool,
}

/// The load that is to come, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Incoming {
    pub(crate) bytes: f64,
    pub(crate) rows: Option<f64>,
    /// Where the size is from.
    pub(crate) source: &'static str,
}

impl Incoming {
    /// As evidence.
    pub(crate) fn said(&self) -> String {
        format!("to come: {} ({})", bytes(self.bytes), self.source)
    }
}

/// Facts, measurements, and a load.
pub(crate) struct Case<'f> {
    pub(crate) facts: &'f Facts,
    pub(crate) ask: &'f Ask,
    /// What was measured, if anything was.
    pub(crate) trials: Option<&'f Trials>,
}

impl<'f> Case<'f> {
    pub(crate) fn setting(&self, name: &str) -> Option<&'f SettingFacts> {
        self.facts.setting(name)
    }

    /// The number that a setting has.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.setting(name)?.number()
    }

    /// The table, if one was named and seen.
    pub(crate) fn table(&self) -> Option<&'f TableFacts> {
        self.facts.table.as_ref().filter(|table| !table.name.is_empty())
    }

    /// The role, for SQL.
    pub(crate) fn role(&self) -> String {
        sql::name(&self.facts.session.role)
    }

    pub(crate) fn version(&self) -> i32 {
        self.facts.session.version_num
    }

    /// The load that is to come: what was said, or a tenth of the table, or 1 GiB.
    pub(crate) fn incoming(&self) -> Incoming {
        let table = self.table();
        let rows_there = table.and_then(|table| table.rows).filter(|rows| *rows > 0.0);
        let width =
            table.zip(rows_there).map(|(table, rows)| table.bytes / rows).filter(|width| *width > 0.0);
        match (self.ask.bytes, self.ask.rows_to_come()) {
            (Some(bytes), rows) => {
                let bytes = bytes as f64;
                let rows = rows.map(|rows| rows as f64).or(width.map(|width| bytes / width));
                Incoming { bytes, rows, source: "as you said" }
            }
            (None, Some(rows)) => {
                let rows = rows as f64;
                // A row without a column takes 28 bytes, and one of a few columns about a hundred.
                let (width, source) = match (width, self.ask.rows) {
                    (Some(width), Some(_)) => (width, "your rows, as wide as those that are there"),
                    (None, Some(_)) => (100.0, "your rows, taken to be 100 bytes wide"),
                    (Some(width), None) => (width, "the input's rows, as wide as those that are there"),
                    (None, None) => (100.0, "the input's rows, taken to be 100 bytes wide"),
                };
                Incoming { bytes: rows * width, rows: Some(rows), source }
            }
            (None, None) => match table.zip(rows_there) {
                Some((table, rows)) if table.bytes > 0.0 => Incoming {
                    bytes: table.bytes / 10.0,
                    rows: Some(rows / 10.0),
                    source: "taken to be a tenth of the table",
                },
                _ => Incoming { bytes: GIB, rows: None, source: "taken to be 1 GiB, since nothing was said" },
            },
        }
    }

    /// What `known` holds, or the verdict that it was not seen.
    pub(crate) fn see<'k, T>(&self, known: &'k Fact<T>, what: &str) -> Result<&'k T, Verdict> {
        match known {
            Fact::Seen(fact) => Ok(fact),
            Fact::Hidden(why) => Err(Verdict::NotSeen(self.gap(what, *why, self.monitor()))),
        }
    }

    /// The setting of that name, or the verdict that it was not seen.
    pub(crate) fn see_setting(&self, name: &str) -> Result<&'f SettingFacts, Verdict> {
        self.setting(name).ok_or_else(|| self.hidden_setting(name))
    }

    pub(crate) fn hidden_setting(&self, name: &str) -> Verdict {
        let why = if self.facts.settings.seen().is_some() { Unseen::NoRight } else { Unseen::NotAsked };
        let grant = format!("GRANT pg_read_all_settings TO {};", self.role());
        Verdict::NotSeen(self.gap(&format!("the setting {name}"), why, grant))
    }

    /// The table, or the verdict that there is none to judge.
    pub(crate) fn see_table(&self) -> Result<&'f TableFacts, Verdict> {
        let Some(table) = &self.facts.table else { return Err(Verdict::DoesNotApply) };
        if table.name.is_empty() {
            return Err(Verdict::NotSeen(self.gap("the table", Unseen::Failed, String::new())));
        }
        Ok(table)
    }

    /// The statement that shows what others do.
    pub(crate) fn monitor(&self) -> String {
        format!("GRANT pg_monitor TO {};", self.role())
    }

    /// Something that was not seen; `grant` shows it, if that is why.
    pub(crate) fn gap(&self, what: &str, why: Unseen, grant: String) -> Gap {
        let (why, helps) = match why {
            Unseen::NoRight => ("the role may not see it", true),
            Unseen::Locked => ("somebody holds a lock on it", false),
            Unseen::TooSlow => ("the answer took longer than five seconds", false),
            Unseen::Elsewhere => ("only a program on the server's own machine can see it", false),
            Unseen::NotInstalled => ("the database lacks the extension that sees it", true),
            Unseen::NotLoaded => ("the server has not loaded the extension that sees it", true),
            Unseen::NotCounted => ("the server does not count it", true),
            Unseen::Failed => ("the server refused the question", false),
            Unseen::NotAsked => ("nobody looked", false),
        };
        Gap { what: what.to_owned(), why, shown_by: helps.then_some(grant) }
    }
}
