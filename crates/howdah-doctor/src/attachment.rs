//! What is attached to a table and takes time of each row, and copies of the table that lack some of it.

use howdah::facts::TableFacts;
use serde::{Deserialize, Serialize};

/// Something that rows are held against, led into or handed to. Names are those of the table itself, and not of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// An index, with the constraint that owns it.
    Index(String),
    /// A foreign key.
    ForeignKey(String),
    /// A trigger, of which only the call was measured.
    Trigger(String),
    /// All CHECKs together.
    Checks,
    /// A column that is computed and stored.
    Generated(String),
    /// The log, in which each row is written first.
    Log,
}

impl Attachment {
    /// As a reader calls it; `name` makes a name safe for SQL.
    pub(crate) fn named(&self, name: impl Fn(&str) -> String) -> String {
        match self {
            Attachment::Index(index) => format!("index {}", name(index)),
            Attachment::ForeignKey(key) => format!("foreign key {}", name(key)),
            Attachment::Trigger(trigger) => format!("trigger {}", name(trigger)),
            Attachment::Checks => "all CHECKs together".to_owned(),
            Attachment::Generated(column) => format!("generated column {}", name(column)),
            Attachment::Log => "the log".to_owned(),
        }
    }

    /// Those of the table's definition that can be measured, the largest indexes first.
    pub(crate) fn all_of(table: &TableFacts) -> Vec<Attachment> {
        let mut indexes: Vec<_> = table.indexes.seen().into_iter().flatten().collect();
        indexes.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
        let mut attachments: Vec<Attachment> =
            indexes.into_iter().map(|index| Attachment::Index(index.name.clone())).collect();
        let keys = table.foreign_keys.seen().into_iter().flatten();
        attachments.extend(keys.map(|key| Attachment::ForeignKey(key.name.clone())));
        let triggers = table.triggers.seen().into_iter().flatten();
        // Statement triggers without a transition table cost a call for the whole load.
        let called = triggers.filter(|trigger| trigger.is_for_rows || trigger.has_new_table);
        attachments.extend(called.map(|trigger| Attachment::Trigger(trigger.name.clone())));
        if table.checks.seen().is_some_and(|checks| checks.iter().any(|check| check.calls.is_empty())) {
            attachments.push(Attachment::Checks);
        }
        let columns = table.columns.seen().into_iter().flatten();
        let generated = columns.filter(|column| column.is_generated);
        attachments.extend(generated.map(|column| Attachment::Generated(column.name.clone())));
        attachments
    }
}

/// How a copy of the table differs from the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Not at all.
    Whole,
    /// Not at all: the last run of a round, which shows how much the machine wavers.
    WholeAgain,
    /// It lacks one attachment.
    Without(Attachment),
    /// It lacks all of them.
    Bare,
    /// It lacks several of them together: what costs time for sure, or what somebody wants tried.
    Prescribed,
    /// It is not logged.
    Unlogged,
    /// Not at all, and its rows come as text.
    Text,
    /// Not at all, and its rows come as CSV.
    Csv,
}
