//! How a literal made of a Python object is written, or why there is none.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// How a literal stands in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// There is none: the value is NULL.
    Null,
    /// As it is: a number, true, false, or JSON itself.
    Bare,
    /// In quotes.
    Quoted,
}

/// Why a value has no literal.
pub(crate) enum ConversionError {
    /// Python code failed on the way.
    Python(PyErr),
    /// Nobody could say what it is in PostgreSQL.
    Refused { message: String, hint: Option<&'static str> },
    /// The column's type refuses it.
    Engine(howdah::Error),
}

impl<E: Into<PyErr>> From<E> for ConversionError {
    fn from(error: E) -> Self {
        ConversionError::Python(error.into())
    }
}

impl ConversionError {
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        ConversionError::Refused { message: message.into(), hint: None }
    }
}

/// A text's characters in UTF-8, which half of a surrogate pair is none of.
pub(crate) fn utf8<'t>(text: &'t Bound<'_, PyString>) -> Result<&'t str, ConversionError> {
    text.to_str().map_err(|_| ConversionError::Refused {
        message: format!("the text {} has a lone surrogate, which is no character", shown(text.as_any())),
        hint: Some("what was no text when it was read is bytes: open the file with its own encoding"),
    })
}

/// A value in a message, not too long.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 80;
    let text = value.repr().map_or_else(|_| "a value".to_owned(), |text| text.to_string());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
