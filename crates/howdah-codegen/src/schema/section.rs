//! A part of a file that is run, and what its lines say.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::source::lexer;

/// A part that is run.
#[derive(Debug, PartialEq)]
pub(super) struct Section {
    pub(super) range: Range<usize>,
    /// No transaction is around it.
    pub(super) alone: bool,
    /// Its name, if the file is not its name.
    pub(super) name: String,
}

/// What is wrong with a file.
#[derive(Debug)]
pub(super) struct SectionError {
    pub(super) range: Range<usize>,
    code: Code,
    message: String,
    help: &'static str,
}

impl SectionError {
    pub(super) fn new(
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        help: &'static str,
    ) -> Self {
        Self { range, code, message: message.into(), help }
    }

    /// What this version does not read.
    pub(super) fn unsupported(range: Range<usize>, message: impl Into<String>, help: &'static str) -> Self {
        Self::new(Code::NotSupported, range, message, help)
    }

    /// What the tool would not read either.
    pub(super) fn broken(range: Range<usize>, message: impl Into<String>, help: &'static str) -> Self {
        Self::new(Code::SqlParseError, range, message, help)
    }

    pub(super) fn at(self, place: &Place) -> Diagnostic {
        Diagnostic::error(self.code, place.clone(), self.message).help(self.help)
    }
}

/// The lines of a text and where they begin, without their ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let here = start;
        start += line.len();
        (here, line.trim_end_matches(['\n', '\r']))
    })
}

/// The first token that is no blank and no comment.
pub(super) fn first_sql(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let mut at = range.start;
    while at < range.end {
        let token = lexer::next_token(&text[..range.end], at);
        if !token.is_trivia() {
            return Some(token.start..token.end);
        }
        at = token.end;
    }
    None
}
