//! JSON as an input: an object a line, objects one after the other, or the elements of an array.
//!
//! `forms` tells which and where an input may be cut, `regions` finds the records of a piece by their brackets, `grammar`
//! checks them, and `record` puts the values of an object into the plan's order, spelled as COPY would spell them: strings
//! without their escapes, arrays and composites as literals (`literal`). Nothing behind it knows JSON.

use howdah_message::Message;

mod forms;
mod grammar;
mod keys;
mod literal;
mod record;
mod regions;
mod strings;
mod walk;

pub use forms::{form, form_name, last_record_end};
pub use grammar::{Kind, Member, Members};
pub use keys::{Habit, Keys};
pub use record::Reader;
pub use regions::{CUT_OFF, Regions};
pub use strings::unescape;

/// White space between tokens.
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The first place from `at` that is no white space.
fn skip_space(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| !is_space(*byte)).map_or(bytes.len(), |length| at + length)
}

/// Why a record cannot be a row, as PostgreSQL would say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub sqlstate: &'static str,
    pub reason: String,
    pub detail: Option<&'static str>,
    pub hint: Option<Message>,
    /// The field of the plan whose value it is.
    pub field: Option<usize>,
    /// Where the text is no JSON, in the bytes that were read, and what would have been.
    pub fault: Option<(usize, &'static str)>,
}

impl Refusal {
    pub fn new(sqlstate: &'static str, reason: impl Into<String>) -> Self {
        Refusal { sqlstate, reason: reason.into(), detail: None, hint: None, field: None, fault: None }
    }
}
