//! How a remedy is taken back: by statements, by words, or not at all.

use std::fmt;

use serde::{Serialize, Serializer};

/// How a remedy is taken back. Reports have it as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// By these statements, in this order.
    Sql(Vec<String>),
    /// By the statements that this query prints while the remedy has yet to be run. A definition can hold literals: no report
    /// has it.
    Printed(String),
    /// By what these words say.
    Words(String),
    /// Nothing stays that would have to go.
    NotNeeded,
    /// It cannot be taken back, and why.
    Impossible(String),
}

impl Undo {
    /// One statement.
    pub(crate) fn sql(statement: impl Into<String>) -> Undo {
        Undo::Sql(vec![statement.into()])
    }

    /// Never, and why.
    pub(crate) fn impossible(why: impl Into<String>) -> Undo {
        Undo::Impossible(why.into())
    }
}

impl From<&str> for Undo {
    fn from(words: &str) -> Undo {
        Undo::Words(words.to_owned())
    }
}

impl From<String> for Undo {
    fn from(words: String) -> Undo {
        Undo::Words(words)
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::Sql(statements) => f.write_str(&statements.join(" ")),
            Undo::Printed(query) => write!(f, "run what {query} prints beforehand"),
            Undo::Words(words) => f.write_str(words),
            Undo::NotNeeded => f.write_str("none is needed"),
            Undo::Impossible(why) => write!(f, "none: {why}"),
        }
    }
}

impl Serialize for Undo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
