//! What only the server can decide: literals that the codecs leave open, and what it says of them.

use std::sync::Arc;

use crate::plan::row_form::RowForm;

/// What the server says of one literal.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// It is a value; with its field for binary rows when that was asked for, length word included.
    Value(Box<[u8]>),
    /// It is a value that the type's receive function would not take: it can travel as text only.
    TextOnly,
    /// It is none.
    Refused(Arc<LiteralRefusal>),
}

/// Why a literal is no value, in the server's words.
#[derive(Debug)]
pub(crate) struct LiteralRefusal {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
}

/// Unsure literals of one type.
pub(crate) struct Question {
    /// As `format_type` writes it, modifier included.
    pub(crate) type_name: String,
    /// OID and modifier, domains resolved.
    pub(crate) base_type: (u32, i32),
    /// The form of the rows that wait: text rows need no bytes.
    pub(crate) form: RowForm,
    /// Distinct.
    pub(crate) literals: Vec<String>,
}
