//! What a column looks like to a person who glances at it: how long its values are, which characters and numbers they have.

use crate::catalog::inferred_type::InferredType;
use crate::plan::header_words::{is_identifier, is_missing};

/// Fewer values show no pattern.
const ENOUGH: u32 = 3;

/// So many values show it; more are not looked at.
const MOST: u32 = 1_000;

/// Values of so many bytes and more are counted as of one length.
const LONG: usize = 32;

/// The kinds of characters that text has, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Characters(u8);

impl Characters {
    const LOWER: u8 = 1;
    const UPPER: u8 = 2;
    const DIGIT: u8 = 4;
    const OTHER_LETTER: u8 = 8;
    const LETTERS: u8 = Self::LOWER | Self::UPPER | Self::OTHER_LETTER;

    pub(super) fn of(text: &str) -> Characters {
        let kind = |c: char| match c {
            _ if c.is_lowercase() => Self::LOWER,
            _ if c.is_uppercase() => Self::UPPER,
            _ if c.is_numeric() => Self::DIGIT,
            _ if c.is_alphabetic() => Self::OTHER_LETTER,
            _ => 0,
        };
        Characters(text.chars().fold(0, |kinds, c| kinds | kind(c)))
    }

    pub(super) fn has_letters(self) -> bool {
        self.0 & Self::LETTERS != 0
    }

    pub(super) fn has_digits(self) -> bool {
        self.0 & Self::DIGIT != 0
    }

    /// Whether all kinds of `self` are in `other`.
    pub(super) fn are_in(self, other: Characters) -> bool {
        self.0 & !other.0 == 0
    }

    fn add(&mut self, more: Characters) {
        self.0 |= more.0;
    }
}

/// What is seen of a column below record 1.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLook {
    /// The type that takes all of its values, where it has some.
    pub(super) ty: InferredType,
    /// Values that are none of the words for a missing one.
    pub(super) values: u32,
    /// A value is missing.
    pub(super) has_gaps: bool,
    /// Some field is not empty, be it a word for a missing value.
    pub(super) has_text: bool,
    /// What record 1 has here stands here again.
    pub(super) recurs: bool,
    pub(super) characters: Characters,
    /// The longest value's bytes.
    pub(super) longest: usize,
    /// Values that are names as programs write them.
    identifiers: u32,
    with_digits: u32,
    /// Values by their length.
    lengths: [u32; LONG + 1],
    /// The least and the greatest integer, if all values are integers.
    pub(super) integers: Option<(i64, i64)>,
    /// The first value is 0 or 1, and each is one more than the one before it.
    pub(super) counts: bool,
    last: Option<i64>,
}

impl Default for ColumnLook {
    fn default() -> Self {
        ColumnLook {
            ty: InferredType::Text,
            values: 0,
            has_gaps: false,
            has_text: false,
            recurs: false,
            characters: Characters::default(),
            longest: 0,
            identifiers: 0,
            with_digits: 0,
            lengths: [0; LONG + 1],
            integers: None,
            counts: true,
            last: None,
        }
    }
}

impl ColumnLook {
    /// The same column, all of whose values are of type `ty`.
    pub(crate) fn of_type(self, ty: InferredType) -> ColumnLook {
        ColumnLook { ty, ..self }
    }

    /// Looks at a value, or at one that is NULL, of a column where record 1 has `name`.
    pub(crate) fn see(&mut self, value: Option<&str>, name: &str) {
        self.has_text |= value.is_some_and(|value| !value.is_empty());
        if self.values == MOST {
            return;
        }
        let Some(value) = value.filter(|value| !is_missing(value)) else {
            self.has_gaps = true;
            self.counts = false;
            return;
        };
        let characters = Characters::of(value);
        self.characters.add(characters);
        self.with_digits += u32::from(characters.has_digits());
        self.identifiers += u32::from(is_identifier(value));
        self.lengths[value.len().min(LONG)] += 1;
        self.longest = self.longest.max(value.len());
        self.recurs |= value == name;
        let integer = value.parse::<i64>().ok();
        self.integers = match (integer, self.integers) {
            (Some(n), _) if self.values == 0 => Some((n, n)),
            (Some(n), Some((least, greatest))) => Some((least.min(n), greatest.max(n))),
            _ => None,
        };
        self.counts &= match (integer, self.last) {
            (Some(n), None) => self.values == 0 && matches!(n, 0 | 1),
            (Some(n), Some(last)) => last.checked_add(1) == Some(n),
            (None, _) => false,
        };
        self.last = integer;
        self.values += 1;
    }

    /// The bytes that nearly all values have, where that is a pattern: one byte is none.
    pub(super) fn usual_length(&self) -> Option<usize> {
        let (length, count) = self.lengths.iter().enumerate().max_by_key(|(_, count)| **count)?;
        let is_usual = f64::from(*count) >= 0.95 * f64::from(self.values);
        (self.values >= ENOUGH && is_usual && (2..LONG).contains(&length)).then_some(length)
    }

    /// Whether most values have digits.
    pub(super) fn has_digits(&self) -> bool {
        self.values > 0 && f64::from(self.with_digits) >= 0.8 * f64::from(self.values)
    }

    /// Whether programs could have named columns by as many as half of the values.
    pub(super) fn has_identifiers(&self) -> bool {
        self.identifiers * 2 >= self.values
    }
}
