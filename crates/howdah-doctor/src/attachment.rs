//! What is attached to a table, or how it stores rows, and takes time of each; and copies of the table that do without some of it.

use howdah::facts::{CheckFacts, TableFacts};
use serde::{Deserialize, Serialize};

/// Something that rows are held against, led into or handed to, or that is done to store them. Names are those of the table itself,
/// and not of a copy.
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
    /// The compression of wide values of these columns by `pglz`, instead of which `lz4` compresses them.
    Pglz(Vec<String>),
    /// The compression of wide values of these columns, without which they are stored as they are.
    Compression(Vec<String>),
    /// The room that stays free in pages, which are filled without it.
    FreeRoom,
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
            Attachment::Pglz(columns) => format!("pglz instead of lz4 for {}", all(columns, name)),
            Attachment::Compression(columns) => format!("compression of {}", all(columns, name)),
            Attachment::FreeRoom => "free room in pages".to_owned(),
            Attachment::Log => "the log".to_owned(),
        }
    }

    /// Whether it is a way in which the columns store their values, and nothing beside them.
    pub(crate) fn is_storage(&self) -> bool {
        matches!(self, Attachment::Pglz(_) | Attachment::Compression(_) | Attachment::FreeRoom)
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
        if table.checks.seen().is_some_and(|checks| checks.iter().any(CheckFacts::may_judge_rows)) {
            attachments.push(Attachment::Checks);
        }
        let columns = table.columns.seen().into_iter().flatten();
        let generated = columns.filter(|column| column.is_generated);
        attachments.extend(generated.map(|column| Attachment::Generated(column.name.clone())));
        if table.fillfactor.is_some_and(|percent| percent < 100.0) {
            attachments.push(Attachment::FreeRoom);
        }
        attachments
    }
}

fn all(columns: &[String], name: impl Fn(&str) -> String) -> String {
    columns.iter().map(|column| name(column)).collect::<Vec<_>>().join(", ")
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
    /// It lacks all of them, and stores values as the table does.
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
