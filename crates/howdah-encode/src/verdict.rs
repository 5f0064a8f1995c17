//! The verdict of a codec on a literal: encoded, invalid, or unsure.

use std::fmt;

/// The verdict of a codec: `Ok` when the field was appended; otherwise the output is exactly as it was before the call.
pub type Verdict = Result<(), NotEncoded>;

/// Why a literal was not encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotEncoded {
    /// The server would certainly refuse the literal. It is boxed, so that the verdict fits two registers.
    Invalid(Box<Invalid>),
    /// Only the server can tell what the literal means.
    Unsure,
}

/// The error with which PostgreSQL refuses a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The SQLSTATE, five characters as listed in [PostgreSQL's error codes].
    ///
    /// [PostgreSQL's error codes]: https://www.postgresql.org/docs/current/errcodes-appendix.html
    pub sqlstate: &'static str,
    /// PostgreSQL's message, and its detail after a colon where there is one.
    pub reason: String,
    /// The loss that would have to be allowed for the value to pass.
    pub loss: Option<Loss>,
}

/// A way in which a value can arrive as another than it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// Nanoseconds are cut off to microseconds.
    Nanoseconds,
    /// Decimals are rounded to what the column holds.
    Decimals,
    /// Numbers are rounded to the nearest that the type can hold.
    Floats,
}

impl Loss {
    /// The loss's name, as messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Nanoseconds => "nanoseconds",
            Loss::Decimals => "decimals",
            Loss::Floats => "floats",
        }
    }
}

impl Invalid {
    /// `invalid input syntax for type …` with the start of `literal`, as PostgreSQL says it of a value that its type's input
    /// function does not read; `sqlstate` is that function's.
    #[cold]
    pub fn syntax(sqlstate: &'static str, type_name: &str, literal: &[u8]) -> Self {
        let reason = format!("invalid input syntax for type {type_name}: \"{}\"", shown(literal));
        Invalid { sqlstate, reason, loss: None }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Invalid {}

/// Bytes of a literal shown in a reason: a person recognises the value by then, and a refused 200 MB field must not
/// be copied into its own error.
const SHOWN_BYTES: usize = 1000;

impl NotEncoded {
    #[cold]
    pub(crate) fn invalid(sqlstate: &'static str, reason: String) -> Self {
        NotEncoded::Invalid(Box::new(Invalid { sqlstate, reason, loss: None }))
    }

    /// `invalid input syntax for type …`, unless a byte outside ASCII makes it a matter of the server's locale:
    /// on some systems `isspace` accepts such bytes.
    #[cold]
    pub(crate) fn syntax(type_name: &str, literal: &[u8]) -> Self {
        if !literal.is_ascii() {
            return NotEncoded::Unsure;
        }
        NotEncoded::Invalid(Box::new(Invalid::syntax("22P02", type_name, literal)))
    }

    /// `value … is out of range for type …`.
    #[cold]
    pub(crate) fn out_of_range(type_name: &str, literal: &[u8]) -> Self {
        Self::invalid("22003", format!("value \"{}\" is out of range for type {type_name}", shown(literal)))
    }

    #[cold]
    pub(crate) fn numeric_overflow() -> Self {
        Self::invalid("22003", "value overflows numeric format".to_owned())
    }

    /// `malformed … literal`, for readers that know no white space but ASCII's wherever they run.
    #[cold]
    pub(crate) fn malformed(kind: &str, literal: &[u8]) -> Self {
        Self::invalid("22P02", format!("malformed {kind} literal: \"{}\"", shown(literal)))
    }

    /// `malformed … literal` with a detail, for readers that ask the server's locale what white space is.
    #[cold]
    pub(crate) fn malformed_in_locale(kind: &str, literal: &[u8], detail: &str) -> Self {
        if !literal.is_ascii() {
            return NotEncoded::Unsure;
        }
        Self::invalid("22P02", format!("malformed {kind} literal: \"{}\": {detail}", shown(literal)))
    }
}

/// The literal as a message shows it, shortened when it is very long.
pub(crate) fn shown(literal: &[u8]) -> String {
    match literal.get(..SHOWN_BYTES) {
        Some(start) if literal.len() > SHOWN_BYTES => format!("{}…", String::from_utf8_lossy(start)),
        _ => String::from_utf8_lossy(literal).into_owned(),
    }
}
