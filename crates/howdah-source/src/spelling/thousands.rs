//! What stands between the thousands of a number.

use howdah_message::{Mention, setting};

use crate::error::Error;

/// What stands between groups of three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thousands {
    /// `1,234`
    Comma,
    /// `1.234`, where the decimal point is a comma.
    Point,
    /// `1'234`, also with the typographic one (U+2019).
    Apostrophe,
    /// `1 234`, also with a space that does not break: wide (U+00A0) or narrow (U+202F).
    Space,
}

impl Thousands {
    /// The separator that `text` is: the character, or `space`.
    ///
    /// # Errors
    /// A usage error: nothing that separates thousands.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "," => Ok(Thousands::Comma),
            "." => Ok(Thousands::Point),
            "'" | "\u{2019}" => Ok(Thousands::Apostrophe),
            " " | "\u{a0}" | "\u{202f}" | "space" => Ok(Thousands::Space),
            _ => Err(Error::usage(message![setting::THOUSANDS, " takes , . ' or space and not {text:?}"])),
        }
    }

    /// The separator as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Thousands::Comma => ",",
            Thousands::Point => ".",
            Thousands::Apostrophe => "'",
            Thousands::Space => "space",
        }
    }

    /// Mentions the option with the separator.
    pub fn mention(self) -> Mention {
        match self {
            Thousands::Apostrophe => setting::THOUSANDS.text(self.name()),
            _ => setting::THOUSANDS.word(self.name()),
        }
    }

    /// What follows the separator that `text` begins with.
    #[inline]
    pub(super) fn strip(self, text: &[u8]) -> Option<&[u8]> {
        match (self, text) {
            (Thousands::Comma, [b',', rest @ ..])
            | (Thousands::Point, [b'.', rest @ ..])
            | (Thousands::Apostrophe, [b'\'', rest @ ..] | [0xe2, 0x80, 0x99, rest @ ..])
            | (
                Thousands::Space,
                [b' ', rest @ ..] | [0xc2, 0xa0, rest @ ..] | [0xe2, 0x80, 0xaf, rest @ ..],
            ) => Some(rest),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_is_read_as_it_is_typed_or_copied_from_a_file() {
        for (typed, name) in [
            (",", ","),
            (".", "."),
            ("'", "'"),
            ("’", "'"),
            (" ", "space"),
            ("\u{a0}", "space"),
            ("\u{202f}", "space"),
            ("space", "space"),
        ] {
            assert_eq!(Thousands::parse(typed).unwrap().name(), name);
        }
        for wrong in ["", "_", ",,", "comma"] {
            assert!(Thousands::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
