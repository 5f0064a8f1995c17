//! What is wrong with a project, where, and what to do: all of it at once, for people, editors and programs.

mod code;
mod lines;
mod list;
mod render;

pub use code::{Code, Stage};
pub(crate) use lines::Lines;
pub use list::Diagnostics;
pub use render::FORMAT;

use serde::Serialize;

/// A message about one place of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// An error, or only a warning.
    pub severity: Severity,
    /// A stable name, such as `MISSING_VARIABLE`: SQG's where it has one.
    pub code: Code,
    /// One sentence in lower case without a full stop.
    pub message: String,
    /// What to write or do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Where it is, if it is anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The block, as `QUERY find_user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// The server's code, if the server said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlstate: Option<String>,
}

/// Whether a project can be used in spite of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// Code is generated all the same.
    Warning,
}

/// A range in a file of the project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// How many characters of the line are meant, at least 1.
    pub length: usize,
}

impl Diagnostic {
    /// An error at a place.
    pub(crate) fn error(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            suggestion: None,
            place: Some(place),
            block: None,
            sqlstate: None,
        }
    }

    /// A warning at a place.
    pub(crate) fn warning(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, place, message) }
    }

    /// With what to do.
    #[must_use]
    pub(crate) fn help(self, suggestion: impl Into<String>) -> Self {
        Self { suggestion: Some(suggestion.into()), ..self }
    }
}

/// What was probably meant by a word that is not known.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &word.to_lowercase());
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
