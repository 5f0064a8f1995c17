//! JSON as an input: an object a line, objects one after the other, or the elements of an array.
//!
//! `forms` tells which of these an input is and where it may be cut, and `regions` finds the records of a piece by their
//! brackets. The grammar, which checks them, is [`howdah_encode::json`]. `record` puts the values of an object into the
//! plan's order, spelled as COPY would spell them: strings without their escapes, arrays and composites as literals
//! (`literal`), `path` finds the values within objects. Nothing after that knows JSON.

mod forms;
mod keys;
mod literal;
mod path;
mod record;
mod regions;
mod walk;

use howdah_encode::json::{EscapeError, MAX_DEPTH, SyntaxError, is_space};
use howdah_message::Message;

pub use forms::{begins_an_object, form, form_name, last_record_end};
pub use keys::{Habit, Keys, PathNames};
pub use path::{Blocked, Path, Paths};
pub use record::Reader;
pub use regions::Regions;

/// The first place from `at` that is no white space.
fn skip_space(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| !is_space(*byte)).map_or(bytes.len(), |length| at + length)
}

/// Why a record cannot be a row, as PostgreSQL would say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The five-character SQLSTATE that PostgreSQL gives.
    pub sqlstate: &'static str,
    /// The message.
    pub reason: String,
    /// More about the cause.
    pub detail: Option<&'static str>,
    /// What to do about it.
    pub hint: Option<Box<Message>>,
    /// The field of the plan whose value it is.
    pub field: Option<usize>,
    /// Where the text is no JSON, in the bytes that were read, and what would have been.
    pub fault: Option<(usize, &'static str)>,
}

impl Refusal {
    /// A refusal with a reason alone.
    pub fn new(sqlstate: &'static str, reason: impl Into<String>) -> Self {
        Refusal { sqlstate, reason: reason.into(), detail: None, hint: None, field: None, fault: None }
    }

    /// The refusal of a record that is not JSON; its text starts at `start` of what was read.
    #[cold]
    pub fn not_json(error: SyntaxError, start: usize) -> Self {
        match error.expected() {
            Some(expected) => Refusal {
                fault: Some((start + error.position(), expected)),
                ..Refusal::new("22P02", "invalid input syntax for type json")
            },
            None => Refusal::new("54001", format!("a value is nested deeper than {MAX_DEPTH} levels")),
        }
    }
}

impl From<EscapeError> for Refusal {
    #[cold]
    fn from(error: EscapeError) -> Self {
        Refusal { detail: Some(error.detail()), ..Refusal::new(error.sqlstate(), error.message()) }
    }
}
