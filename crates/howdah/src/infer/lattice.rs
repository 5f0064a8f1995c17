//! The lattice of types: what the columns of a new table are, found out by looking at every value.
//!
//! A column starts as able to be anything; every value crosses out the types that would refuse it or give it back
//! changed. What is left, most specific first, is the answer. Crossing out commutes, so threads may each look at a
//! part of a file and [`ColumnLattice::merge`] what they saw.

pub(crate) mod ascent;
mod json;
pub(crate) mod mostly;
mod number;
pub(crate) mod spellings;
mod temporal;
#[cfg(test)]
mod tests;

use howdah_source::Spelling;

use crate::catalog::inferred_type::InferredType;
use mostly::{Class, ValuePosition};
use spellings::Spellings;

/// A set of types, one bit each. `Text` takes everything and needs no bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TypeSet(u16);

impl TypeSet {
    const NONE: Self = Self(0);
    const ALL: Self = Self::of(&InferredType::SPECIFIC);

    const fn of(types: &[InferredType]) -> Self {
        let mut bits = 0;
        let mut next = 0;
        while next < types.len() {
            bits |= 1 << types[next] as u16;
            next += 1;
        }
        Self(bits)
    }

    const fn has(self, ty: InferredType) -> bool {
        self.0 & Self::of(&[ty]).0 != 0
    }

    const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// What other programs write for NULL and COPY takes for a string unless told.
pub(crate) const NULL_MARKERS: [&str; 3] = [r"\N", "NULL", "NA"];

/// The share of fields above which a marker is taken for NULL rather than for a word that happens to occur.
const MARKER_SHARE: f64 = 0.01;

/// Bytes of a value that makes a row wider than what the server stores without compressing it.
pub(crate) const WIDE: usize = 2_000;

/// What is known of one column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLattice {
    /// Types that would take every value so far; all of them while there was none.
    possible: TypeSet,
    /// Fields, NULL ones too.
    fields: u64,
    /// NULL ones.
    nulls: u64,
    /// Fields that are exactly the marker at the same place in [`NULL_MARKERS`].
    markers: [u64; NULL_MARKERS.len()],
    /// Bytes of the longest value.
    longest: usize,
    /// Values by the types that take them.
    classes: Vec<Class>,
    /// Other spellings in which every value so far would be a number or a date, where these are looked for.
    spellings: Spellings,
}

impl Default for ColumnLattice {
    fn default() -> Self {
        Self {
            possible: TypeSet::ALL,
            fields: 0,
            nulls: 0,
            markers: [0; NULL_MARKERS.len()],
            longest: 0,
            classes: Vec::new(),
            spellings: Spellings::NONE,
        }
    }
}

/// A value that is looked at: decoded text, which must be valid UTF-8.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'v> {
    /// As it stands in the input.
    pub(crate) written: &'v [u8],
    /// As PostgreSQL writes it.
    pub(crate) read: &'v [u8],
    /// It is one of the input's own words for true and false.
    is_boolean: bool,
}

impl<'v> Observed<'v> {
    /// A value that is written in the input's `spelling`.
    #[inline]
    pub(crate) fn of(value: &'v [u8], spelling: &Spelling, scratch: &'v mut [Vec<u8>; 2]) -> Self {
        Observed {
            written: value,
            read: spelling.seen(value, scratch),
            is_boolean: spelling.booleans.has(value),
        }
    }

    /// Whether the type takes it and gives it back.
    pub(crate) fn fits(self, ty: InferredType) -> bool {
        self.types().has(ty)
    }

    #[inline]
    fn types(self) -> TypeSet {
        let types = classify(self.read);
        // Words may be numbers too: a column of 0 and 1 is boolean, one with a 2 is not.
        if self.is_boolean { types.union(TypeSet::of(&[InferredType::Boolean])) } else { types }
    }
}

impl<'v> From<&'v [u8]> for Observed<'v> {
    /// A value that is written as PostgreSQL does.
    #[inline]
    fn from(value: &'v [u8]) -> Self {
        Observed { written: value, read: value, is_boolean: false }
    }
}

impl ColumnLattice {
    /// One that looks for other spellings too.
    pub(crate) fn with_spellings() -> Self {
        Self { spellings: Spellings::ALL, ..Self::default() }
    }

    /// Takes one field into account: `None` is NULL.
    #[inline]
    pub(crate) fn observe(&mut self, value: Option<Observed<'_>>) {
        self.fields += 1;
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        // A marker fits no type but text, so only columns without another type left can hold one from here on.
        if self.possible != TypeSet::NONE {
            self.possible = self.possible.intersection(value.types());
        }
        if self.possible == TypeSet::NONE {
            self.count_marker(value.written);
        }
    }

    /// As [`Self::observe`], and remembers what keeps the column from which type: `spot` is where the value stands.
    #[inline]
    pub(crate) fn observe_at(&mut self, value: Option<Observed<'_>>, spot: impl FnOnce() -> ValuePosition) {
        self.fields += 1;
        let Some(value) = value else {
            self.nulls += 1;
            return;
        };
        let types = value.types();
        self.longest = self.longest.max(value.written.len());
        self.possible = self.possible.intersection(types);
        mostly::count(&mut self.classes, types, value.written, spot);
        self.spellings.see(value, types);
        if types == TypeSet::NONE {
            self.count_marker(value.written);
        }
    }

    /// Adds what another saw of the same column, in any order.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.possible = self.possible.intersection(other.possible);
        self.fields += other.fields;
        self.nulls += other.nulls;
        for (count, more) in self.markers.iter_mut().zip(other.markers) {
            *count += more;
        }
        self.longest = self.longest.max(other.longest);
        mostly::merge(&mut self.classes, &other.classes);
        self.spellings.merge(other.spellings);
    }

    /// The most specific type that takes every value seen; [`InferredType::Text`] when there was none.
    #[must_use]
    pub(crate) fn decide(&self) -> InferredType {
        if self.possible == TypeSet::ALL {
            return InferredType::Text;
        }
        InferredType::SPECIFIC.into_iter().find(|&ty| self.possible.has(ty)).unwrap_or(InferredType::Text)
    }

    /// Whether a value was seen that the server would compress.
    pub(crate) fn has_wide(&self) -> bool {
        self.longest >= WIDE
    }

    /// Other spellings in which every value would be a number or a date.
    pub(crate) fn spellings(&self) -> Spellings {
        self.spellings
    }

    /// Whether there were values that only text takes, or that no other type takes together.
    pub(crate) fn is_of_text(&self) -> bool {
        self.possible == TypeSet::NONE
    }

    /// Whether there were values, and all of them are integers.
    pub(crate) fn is_of_integers(&self) -> bool {
        self.possible != TypeSet::ALL && self.possible.has(InferredType::Bigint)
    }

    /// Whether there were values, and no NULL among them.
    pub(crate) fn never_null(&self) -> bool {
        self.fields > 0 && self.nulls == 0
    }

    /// The most frequent of `\N`, `NULL` and `NA` with its share of all fields, when that is more than 1 %: a sign
    /// that the load wants `--null`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share for people needs no 53 bits")]
    pub(crate) fn null_markers(&self) -> Option<(&'static str, f64)> {
        let (marker, count) = NULL_MARKERS.into_iter().zip(self.markers).max_by_key(|&(_, count)| count)?;
        let share = count as f64 / self.fields.max(1) as f64;
        (share > MARKER_SHARE).then_some((marker, share))
    }

    #[inline]
    fn count_marker(&mut self, value: &[u8]) {
        if value.len() <= 4 && matches!(value.first(), Some(b'\\' | b'N')) {
            for (count, marker) in self.markers.iter_mut().zip(NULL_MARKERS) {
                *count += u64::from(value == marker.as_bytes());
            }
        }
    }
}

/// The types that take `value` and give it back, found by its first byte and length before anything is parsed.
#[inline]
fn classify(value: &[u8]) -> TypeSet {
    match value {
        [b'0'..=b'9', _, _, _, b'-', _, _, b'-', ..] => temporal::classify(value),
        [first, _, _, _, _, _, _, _, b'-', ..] if value.len() == UUID_LEN && first.is_ascii_hexdigit() => {
            classify_uuid(value)
        }
        [b'0'..=b'9' | b'-' | b'.', ..] => number::classify(value),
        [b't' | b'T' | b'f' | b'F', ..] => classify_boolean(value),
        [b'{' | b'[', ..] if howdah_encode::json::is_jsonb(value) => TypeSet::of(&[InferredType::Jsonb]),
        _ => TypeSet::NONE,
    }
}

fn classify_boolean(value: &[u8]) -> TypeSet {
    match value {
        b"true" | b"TRUE" | b"True" | b"false" | b"FALSE" | b"False" => TypeSet::of(&[InferredType::Boolean]),
        _ => TypeSet::NONE,
    }
}

const UUID_LEN: usize = 36;

fn classify_uuid(value: &[u8]) -> TypeSet {
    // Without a branch per byte: digits and letters alternate at random, which no predictor learns.
    let hexadecimal =
        |group: &[u8]| group.iter().fold(true, |so_far, byte| so_far & byte.is_ascii_hexdigit());
    let groups = [&value[..8], &value[9..13], &value[14..18], &value[19..23], &value[24..]];
    let dashed = [8, 13, 18, 23].into_iter().all(|at| value[at] == b'-');
    if dashed && groups.into_iter().all(hexadecimal) {
        TypeSet::of(&[InferredType::Uuid])
    } else {
        TypeSet::NONE
    }
}
