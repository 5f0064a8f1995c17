//! What a reject file knows of the load that wrote it.

use serde::{Deserialize, Serialize};

/// How the refused records were read and where they were meant to go: what loading the mended file needs to know.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// The target, as the command line takes it.
    pub(crate) table: String,
    /// The column of each field; `None` for a field that is not loaded.
    pub(crate) columns: Vec<Option<String>>,
    /// In JSON, the key of each field.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) keys: Vec<String>,
    /// In JSON, other keys are passed over.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) passes_over: bool,
    /// The mode, where rows are matched with those of the table: inserting them instead would be wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) mode: Option<String>,
    /// What they are matched by, when somebody said so.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) key: Vec<String>,
    /// The input's format and what differs from its defaults.
    pub(crate) format: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) delimiter: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) quote: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) escape: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) null: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) decimal: Option<char>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) force_null: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) force_not_null: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) date_format: Option<String>,
    /// The column that gets the name of the file a record comes from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) file_column: Option<String>,
}
