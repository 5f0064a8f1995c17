//! What was decided of record 1, in words: that it is a header or a row, why, and what to type where that is wrong.

use std::fmt;

use howdah_message::{Message, setting};

use crate::catalog::inferred_type::InferredType;
use crate::error::Error;

/// What makes record 1 look like a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Its first field has no name, and the column has a value in every record.
    Index,
    /// Its numbers follow each other, and those below do not.
    Numbers,
    /// Its fields are more like names than like the values below them.
    Names,
}

/// Whether the first record names the columns, by its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderDecision {
    /// The caller says so.
    Asked(bool),
    /// The input has a schema, and may say how many rows it has.
    Schema { rows: Option<u64> },
    /// The input's format has no names.
    Nameless,
    /// The keys of JSON are the names.
    Keys,
    /// A field does not fit the type of those below it.
    DoesNotFit { name: String, below: InferredType },
    /// All is text, and the fields are names as programs write them.
    Identifiers,
    /// All is text, and the fields are distinct: that could be data too.
    AllText,
    /// It looks like a header, and could be data too.
    Likely(Likeness),
    /// The fields could be names but for one that is missing or stands twice.
    NotDistinct,
    /// Nothing tells it from the records below it.
    Alike,
    /// All fields are columns of the table.
    AllColumns,
    /// Some fields are columns of the table, and the others could be names of more.
    SomeColumns,
    /// Some fields are no columns of the table, and the caller names the columns.
    NotAllColumns,
    /// No field is a column of the table, though all could be names, and are with friendly ones.
    StrangeNames {
        are_friendly: bool,
        /// The table, where it is to be replaced, with the columns that it has.
        replaced: Option<String>,
    },
    /// No field is a column of the table, nor could all be names.
    NoColumns,
}

impl HeaderDecision {
    /// Whether record 1 is a header.
    pub(crate) fn is_header(&self) -> bool {
        match self {
            Self::Asked(is_header) => *is_header,
            Self::Schema { .. }
            | Self::Keys
            | Self::DoesNotFit { .. }
            | Self::Identifiers
            | Self::AllText
            | Self::Likely(_)
            | Self::AllColumns
            | Self::SomeColumns => true,
            Self::Nameless
            | Self::NotDistinct
            | Self::Alike
            | Self::NotAllColumns
            | Self::StrangeNames { .. }
            | Self::NoColumns => false,
        }
    }

    /// What to type where record 1 was taken for the wrong thing; `None`: the reason is a good one.
    pub(crate) fn doubt(&self) -> Option<Message> {
        match self {
            Self::NotDistinct => Some(message![setting::HEADER.bool(true), " if they are the columns"]),
            Self::Alike => Some(message![setting::HEADER.bool(true), " if it names the columns"]),
            Self::AllText | Self::Likely(_) => Some(message![setting::HEADER.bool(false), " if it is data"]),
            Self::StrangeNames { are_friendly: true, .. } => {
                Some(message!["if it is a header: ", setting::NAMES.word("snake")])
            }
            Self::StrangeNames { replaced: Some(table), .. } => Some(message![
                format!("if it is a header: DROP TABLE {table} first, as "),
                setting::MODE.word("replace"),
                " keeps the columns that a table has, or ",
                setting::HEADER.bool(true),
                " and ",
                setting::MAP.entry("NAME", "COLUMN")
            ]),
            Self::StrangeNames { .. } => Some(message![
                "if it is a header: ",
                setting::HEADER.bool(true),
                " and ",
                setting::MAP.entry("NAME", "COLUMN")
            ]),
            _ => None,
        }
    }

    /// Explains an `error` of the very first record, where that was data only because its names are not the table's.
    pub(crate) fn explain(&self, error: Error, skipped_lines: u64) -> Error {
        let is_first = error.location().is_some_and(|at| at.line == Some(skipped_lines + 1));
        match self {
            Self::StrangeNames { .. } if is_first => match self.doubt() {
                Some(doubt) => error.with_hint(doubt),
                None => error,
            },
            _ => error,
        }
    }
}

/// As reports and notes say it.
impl fmt::Display for HeaderDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(true) => f.write_str("record 1 is the header, as asked"),
            Self::Asked(false) => f.write_str("record 1 is data, as asked"),
            Self::Schema { rows: None } => f.write_str("the input names its columns"),
            Self::Schema { rows: Some(rows) } => {
                write!(f, "the input names its columns, and has {rows} rows")
            }
            Self::Nameless => f.write_str("the input has no header"),
            Self::Keys => f.write_str("the keys of the objects name the columns"),
            Self::DoesNotFit { name, below } => {
                write!(f, "record 1 is the header: {name:?} does not fit the {} below it", below.sql())
            }
            Self::Identifiers => {
                f.write_str("record 1 is the header: all fields are text and its own are distinct")
            }
            Self::AllText => f.write_str("record 1 is the header, it seems: all fields are text"),
            Self::Likely(Likeness::Index) => f.write_str(
                "record 1 is the header, it seems: its first field has no name, as in front of row names and numbers",
            ),
            Self::Likely(Likeness::Numbers) => {
                f.write_str("record 1 is the header, it seems: its numbers follow each other, those below do not")
            }
            Self::Likely(Likeness::Names) => {
                f.write_str("record 1 is the header, it seems: it looks like names, unlike the records below it")
            }
            Self::NotDistinct => f.write_str("record 1 is data: its fields are not distinct names"),
            Self::Alike => f.write_str("record 1 is data: it looks like the records below it"),
            Self::AllColumns => f.write_str("record 1 is the header: all its fields are column names"),
            Self::SomeColumns => f.write_str(
                "record 1 is the header: some of its fields are column names, and the others could be",
            ),
            Self::NotAllColumns => f.write_str("record 1 is data: not all of its fields are column names"),
            Self::StrangeNames { .. } => f.write_str(
                "record 1 is data: none of its fields is a column name, though all could be names",
            ),
            Self::NoColumns => f.write_str("record 1 is data: none of its fields is a column name"),
        }
    }
}
