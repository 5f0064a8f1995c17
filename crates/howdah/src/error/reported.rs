//! An error as reports and Python show it: its parts, by name.

use howdah_message::{Message, Respell, Spelling};
use serde::Serialize;

use crate::error::Error;

/// The error inside a report.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReportedError {
    /// One line.
    pub message: Message,
    /// SQLSTATE.
    pub sqlstate: Option<String>,
    /// Where in the input.
    pub location: Option<ReportedLocation>,
    /// DETAIL.
    pub detail: Option<Message>,
    /// What to do.
    pub hint: Option<Message>,
    /// What is visible now.
    pub visible: Option<String>,
}

/// A place in an input.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReportedLocation {
    /// The input.
    pub file: String,
    /// Physical line, from 1.
    pub line: Option<u64>,
    /// Bytes from the start of the (decompressed) input.
    pub byte_offset: Option<u64>,
    /// The row group of a Parquet file, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_group: Option<u64>,
    /// The row, from 0, where there are no lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The column.
    pub column: Option<String>,
}

impl From<&Error> for ReportedError {
    fn from(error: &Error) -> Self {
        let [message, detail, hint] = error.messages();
        ReportedError {
            message: message.cloned().unwrap_or_default(),
            sqlstate: error.sqlstate().map(str::to_owned),
            location: error.location().map(|at| ReportedLocation {
                file: at.source.to_string(),
                line: at.line,
                byte_offset: at.byte_offset,
                row_group: at.row_group,
                row: at.row,
                column: error.column().map(str::to_owned),
            }),
            detail: detail.cloned(),
            hint: hint.cloned(),
            visible: error.visible().map(str::to_owned),
        }
    }
}

impl Respell for ReportedError {
    fn respell(&mut self, spelling: &dyn Spelling) {
        self.message.respell(spelling);
        self.detail.respell(spelling);
        self.hint.respell(spelling);
    }
}
