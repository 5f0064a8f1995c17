//! Whether `jsonb` takes a text: JSON's grammar with the limits of what `jsonb` stores.

use super::grammar::{Cursor, Limits, Number};
use super::strings::unicode_escape;
use crate::wire::{NUMERIC_INTEGER_DIGITS, NUMERIC_SCALE};

/// The most bytes of text that certainly fit. A `jsonb` value ends at 256 MiB, and text grows at most sixfold on its way
/// there (`[1,1,…]`: two bytes become an entry of four and a numeric of eight).
const MAX_TEXT_BYTES: usize = 16 << 20;

/// Whether `text`, valid UTF-8, is certainly one JSON value that [`jsonb`] takes; `json` takes it too.
///
/// The answer is `false` for some texts that a server takes: longer than 16 MiB, nested deeper than
/// [`MAX_DEPTH`](super::MAX_DEPTH), or with an exponent that this does not follow. A server whose encoding is not UTF-8
/// may still refuse characters that `\u` escapes name.
///
/// [`jsonb`]: https://www.postgresql.org/docs/current/datatype-json.html
#[must_use]
pub fn is_jsonb(text: &[u8]) -> bool {
    if text.len() > MAX_TEXT_BYTES {
        return false;
    }
    let mut cursor = Cursor::new(text);
    cursor.skip_space();
    if cursor.limited_value::<Jsonb>().is_err() {
        return false;
    }
    cursor.skip_space();
    cursor.position() == text.len()
}

/// What `jsonb` stores: characters, and numbers as `numeric`.
struct Jsonb;

impl Limits for Jsonb {
    const ARE_SOME: bool = true;

    /// Whether the number fits `numeric` once the exponent has moved the point.
    #[inline]
    fn take_number(number: Number) -> bool {
        let fits = |digits: usize, power: isize, limit: usize| {
            digits.checked_add_signed(power).is_none_or(|digits| digits <= limit)
        };
        fits(number.integer_digits, number.exponent, NUMERIC_INTEGER_DIGITS)
            && fits(number.fraction_digits, number.exponent.saturating_neg(), NUMERIC_SCALE)
    }

    /// An escape must name a character: not NUL, and no half of a surrogate pair.
    #[inline]
    fn take_unicode_escape(text: &[u8]) -> Option<usize> {
        match unicode_escape(text) {
            Ok(('\0', _)) | Err(_) => None,
            Ok((_, length)) => Some(length),
        }
    }
}
