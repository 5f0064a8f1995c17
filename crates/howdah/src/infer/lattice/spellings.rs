//! In which other spellings every value of a column would be a number or a date: what `decimal`, `thousands` or `date_format` would
//! make of a column that is text without them.

use std::sync::LazyLock;

use howdah_source::spelling::NumberMarks;
use howdah_source::{DateFormat, Thousands};

use super::{InferredType, Observed, TypeSet, classify};

/// The spellings of numbers that are tried. What fits an earlier one needs no mark of a later one.
pub(crate) const NUMBERS: [NumberMarks; 7] = [
    NumberMarks { decimal_comma: true, thousands: None },
    NumberMarks { decimal_comma: false, thousands: Some(Thousands::Comma) },
    NumberMarks { decimal_comma: true, thousands: Some(Thousands::Point) },
    NumberMarks { decimal_comma: false, thousands: Some(Thousands::Apostrophe) },
    NumberMarks { decimal_comma: true, thousands: Some(Thousands::Apostrophe) },
    NumberMarks { decimal_comma: false, thousands: Some(Thousands::Space) },
    NumberMarks { decimal_comma: true, thousands: Some(Thousands::Space) },
];

/// What a person calls them.
pub(crate) const NAMES: [&str; 7] = [
    "numbers with decimal commas",
    "numbers with commas between thousands",
    "numbers with decimal commas, and points between thousands",
    "numbers with apostrophes between thousands",
    "numbers with decimal commas, and apostrophes between thousands",
    "numbers with spaces between thousands",
    "numbers with decimal commas, and spaces between thousands",
];

/// A decimal comma, as in `1,5`.
pub(crate) const DECIMAL_COMMA: usize = 0;
/// Commas between thousands, as in `1,234`.
pub(crate) const COMMAS: usize = 1;
/// Points between thousands, as in `1.682,97`.
pub(crate) const POINTS: usize = 2;
/// Apostrophes between thousands, as in `1'234.5`.
const APOSTROPHES: usize = 3;
/// Spaces between thousands, as in `1 234.5`.
const SPACES: usize = 5;

/// The spellings of dates that are tried; each also with a time.
const DAYS: [&str; 16] = [
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%y.%m.%d",
    "%y/%m/%d",
    "%y-%m-%d",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
];
const TIMES: [&str; 3] = ["", " %H:%M", " %H:%M:%S"];

/// The formats of dates, in the order of their bits.
pub(crate) static DATES: LazyLock<Vec<DateFormat>> = LazyLock::new(|| {
    let formats = TIMES.iter().flat_map(|time| DAYS.iter().map(move |day| format!("{day}{time}")));
    formats.filter_map(|format| DateFormat::parse(&format).ok()).collect()
});

/// Bits of [`NUMBERS`], those of [`DATES`] above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spellings {
    fitting: u64,
    /// A value can only be a number with points between thousands.
    is_pointed: bool,
}

impl Spellings {
    /// Nothing is looked for.
    pub(crate) const NONE: Spellings = Spellings { fitting: 0, is_pointed: false };
    /// No value was seen yet.
    pub(crate) const ALL: Spellings =
        Spellings { fitting: (1 << (NUMBERS.len() + DAYS.len() * TIMES.len())) - 1, is_pointed: false };
    const ALL_NUMBERS: u64 = (1 << NUMBERS.len()) - 1;
    /// The spellings whose decimal point is PostgreSQL's.
    const WITH_DECIMAL_POINT: u64 = 1 << COMMAS | 1 << APOSTROPHES | 1 << SPACES;

    /// Takes a value into account, which `types` take as it is read now.
    #[inline]
    pub(super) fn see(&mut self, value: Observed<'_>, types: TypeSet) {
        if self.fitting == 0 {
            return;
        }
        let is_as_written = std::ptr::eq(value.read, value.written);
        if is_as_written && types.has(InferredType::Bigint) {
            self.fitting &= Self::ALL_NUMBERS;
        } else if is_as_written && types != TypeSet::NONE && !types.has(InferredType::Numeric) {
            self.fitting = 0;
        } else if is_as_written && types.has(InferredType::Numeric) && self.fitting & 1 << POINTS == 0 {
            self.fitting &= Self::WITH_DECIMAL_POINT;
        } else {
            self.look(value.written, types);
        }
    }

    /// Adds what another saw of the same column.
    pub(super) fn merge(&mut self, other: Self) {
        self.fitting &= other.fitting;
        self.is_pointed |= other.is_pointed;
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, value: &[u8], types: TypeSet) {
        let mut scratch = Vec::new();
        let mut left = self.fitting;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let fits = match NUMBERS.get(at) {
                Some(marks) => classify(marks.as_number(value, &mut scratch)).has(InferredType::Numeric),
                None => DATES
                    .get(at - NUMBERS.len())
                    .is_some_and(|format| format.rewritten(value, &mut scratch).is_some()),
            };
            if !fits {
                self.fitting &= !(1 << at);
            }
        }
        self.is_pointed |= types == TypeSet::NONE && value.contains(&b'.');
    }

    /// Whether every value is a number with the marks at this place.
    pub(crate) fn has_number(self, at: usize) -> bool {
        self.fitting & 1 << at != 0
    }

    /// The places of the date formats in which every value is one.
    pub(crate) fn dates(self) -> Vec<usize> {
        (0..DATES.len()).filter(|at| self.fitting & 1 << (NUMBERS.len() + at) != 0).collect()
    }

    /// The first of the marks with which every value is a number, of those with a `decimal_comma` where that is said; `None`
    /// where two of them would make different numbers of the same values.
    pub(crate) fn number(self, decimal_comma: bool) -> Option<usize> {
        let may_be = |at: usize| self.has_number(at) && (NUMBERS[at].decimal_comma || !decimal_comma);
        let found = (0..NUMBERS.len()).find(|at| may_be(*at))?;
        let is_ambiguous = may_be(COMMAS) && (may_be(DECIMAL_COMMA) || may_be(POINTS));
        // `1.234` beside `1,5` may be two ways of writing as well as one.
        let is_proven = found != POINTS || self.is_pointed;
        (!is_ambiguous && is_proven).then_some(found)
    }
}
