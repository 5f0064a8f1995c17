//! What a reject file knows of the load that wrote it.

use serde::{Deserialize, Serialize};

/// The form of reject files that this howdah writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// The way in which refused records were read, and where they were meant to go: what loading the corrected file needs to know.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Provenance {
    /// The number of the file's form. A file without one has 1; a greater one is of a later howdah.
    #[serde(default = "first")]
    pub version: u32,
    /// The target, as the command line takes it.
    pub table: String,
    /// The column of each field; `None` for a field that is not loaded.
    pub columns: Vec<Option<String>>,
    /// Nothing may stand in the last field, which is not loaded.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub empty_end: bool,
    /// In JSON, the key of each field.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub keys: Vec<String>,
    /// Those of the keys that are paths into objects.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub paths: Vec<String>,
    /// In JSON, other keys are passed over.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub passes_over: bool,
    /// The mode, where rows are matched with those of the table: inserting them instead would be wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<String>,
    /// What they are matched by, when somebody said so.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub key: Vec<String>,
    /// The input's format and what differs from its defaults.
    pub format: String,
    /// The values had types, of Parquet or Arrow: they are not rounded when they are read again.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub had_types: bool,
    /// What stands between fields, where it is not the format's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delimiter: Option<String>,
    /// The quote, where it is not `"`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quote: Option<char>,
    /// What escapes a quote inside quotes, where it is not the quote.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub escape: Option<char>,
    /// What stands for NULL, where it is not the format's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub null: Option<String>,
    /// What stands for the column's DEFAULT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default: Option<String>,
    /// The decimal point, where it is a comma.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decimal: Option<char>,
    /// What stands between thousands.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub thousands: Option<String>,
    /// Words for true and false beside PostgreSQL's.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub booleans: Vec<(String, String)>,
    /// Columns in which the NULL marker stands for NULL in quotes too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub force_null: Vec<String>,
    /// Columns in which nothing stands for NULL.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub force_not_null: Vec<String>,
    /// How dates and times are written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub date_format: Option<String>,
    /// The column that gets the name of the file a record comes from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_column: Option<String>,
}

/// The version of files that have no number.
fn first() -> u32 {
    1
}
