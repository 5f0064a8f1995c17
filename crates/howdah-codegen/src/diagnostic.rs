//! What is wrong with a project, where, and what to do: all of it at once, for people, editors and programs.

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

/// The kinds of messages. Their names in JSON are a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// Two things would have one name in the code; one of them got another.
    NameCollision,
    /// Rows of different columns share a name.
    ResultConflict,
    /// A template cannot be laid out.
    TemplateError,
    /// A variable is used and not set.
    MissingVariable,
}
