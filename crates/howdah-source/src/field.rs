//! A field of a record: where its bytes lie, what they are, and the value they spell.

use wide::u8x16;

use crate::dialect::Dialect;

/// One field of a record, as a range of the piece.
///
/// Packed into one word: written as three, the compiler puts it together in memory and reads it back before the parts
/// have arrived, which cost a fifth of the whole encoding (perf, store forwarding).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Field(u64);

/// Bits of an offset: pieces stay below 1 GiB.
const OFFSET_BITS: u32 = 30;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// What fields are ranges of has no more bytes.
pub(crate) const MOST_BYTES: usize = (1 << OFFSET_BITS) - 1;

impl Field {
    /// A field that is not in the record.
    pub const NULL: Field = Field((Form::Null as u64) << (2 * OFFSET_BITS));

    /// A field of the bytes from `start` up to `end`, written in `form`.
    #[inline]
    pub fn new(start: usize, end: usize, form: Form) -> Self {
        Field(start as u64 | (end as u64) << OFFSET_BITS | (form as u64) << (2 * OFFSET_BITS))
    }

    /// The place of the field's bytes in the piece.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        (self.0 & OFFSET_MASK) as usize..(self.0 >> OFFSET_BITS & OFFSET_MASK) as usize
    }

    /// What the field's bytes are.
    #[inline]
    pub fn form(self) -> Form {
        match self.0 >> (2 * OFFSET_BITS) {
            0 => Form::Plain,
            1 => Form::Null,
            2 => Form::Quoted,
            3 => Form::CsvEscaped,
            4 => Form::CopyEscaped,
            5 => Form::Default,
            _ => Form::Nested,
        }
    }
}

/// What the bytes of a field are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The value itself.
    Plain = 0,
    /// SQL NULL.
    Null = 1,
    /// The value itself; it stood in quotes, so it is never NULL.
    Quoted = 2,
    /// CSV with quotes or escapes inside: see [`value`].
    CsvEscaped = 3,
    /// COPY text with backslashes: see [`value`].
    CopyEscaped = 4,
    /// The column's DEFAULT.
    Default = 5,
    /// The value itself, which is JSON.
    Nested = 6,
}

/// The value of a field, or `None` for NULL and DEFAULT: a slice of the piece where possible, else unescaped into `scratch`.
#[inline]
pub fn value<'v>(
    field: Field,
    piece: &'v [u8],
    dialect: &Dialect,
    scratch: &'v mut Vec<u8>,
) -> Option<&'v [u8]> {
    let raw = &piece[field.range()];
    match field.form() {
        Form::Plain | Form::Quoted | Form::Nested => Some(raw),
        Form::Null | Form::Default => None,
        Form::CsvEscaped if dialect.escape == dialect.quote => {
            Some(unescape_doubled(raw, dialect.quote, scratch))
        }
        Form::CsvEscaped => {
            scratch.clear();
            unescape_csv(raw, dialect, scratch);
            Some(scratch)
        }
        Form::CopyEscaped => {
            scratch.clear();
            howdah_encode::copy_text::unescape(raw, scratch);
            Some(scratch)
        }
    }
}

/// Bytes looked at, and copied, in one go.
const LANE: usize = 16;

/// Removes quotes where a quote is its own escape: it toggles anywhere, and of two side by side inside quotes the second
/// stays. JSON in CSV is full of such pairs a few bytes apart, so pieces between them are copied by whole lanes and what was
/// copied too much is overwritten by the next. `out` is memory to reuse; what it held is lost.
fn unescape_doubled<'v>(raw: &[u8], quote: u8, out: &'v mut Vec<u8>) -> &'v [u8] {
    if out.len() < raw.len() + LANE {
        out.resize(raw.len() + LANE, 0);
    }
    let mut unquoted = Unquoted { raw, quote, out, len: 0, from: 0, inside: false, literal: usize::MAX };
    let (lanes, rest) = raw.as_chunks::<LANE>();
    let wanted = u8x16::splat(quote);
    for (number, lane) in lanes.iter().enumerate() {
        let mut mask = u8x16::new(*lane).simd_eq(wanted).to_bitmask();
        while mask != 0 {
            unquoted.meet(number * LANE + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
    let start = raw.len() - rest.len();
    for at in memchr::memchr_iter(quote, rest) {
        unquoted.meet(start + at);
    }
    unquoted.copy_to(raw.len());
    let len = unquoted.len;
    &out[..len]
}

/// A field being unquoted.
struct Unquoted<'v> {
    raw: &'v [u8],
    quote: u8,
    /// At least a lane longer than `raw`.
    out: &'v mut [u8],
    len: usize,
    /// Where the bytes begin that were not copied yet.
    from: usize,
    inside: bool,
    /// The second quote of a pair, which stays.
    literal: usize,
}

impl Unquoted<'_> {
    /// The next quote.
    #[inline(always)]
    fn meet(&mut self, at: usize) {
        if at == self.literal {
            return;
        }
        self.copy_to(at);
        self.from = at + 1;
        if self.inside && self.raw.get(at + 1) == Some(&self.quote) {
            self.literal = at + 1;
        } else {
            self.inside = !self.inside;
        }
    }

    #[inline(always)]
    fn copy_to(&mut self, end: usize) {
        let count = end - self.from;
        match (self.raw.get(self.from..self.from + LANE), self.out.get_mut(self.len..self.len + LANE)) {
            (Some(from), Some(to)) if count <= LANE => to.copy_from_slice(from),
            _ => self.out[self.len..self.len + count].copy_from_slice(&self.raw[self.from..end]),
        }
        self.len += count;
    }
}

/// Removes quotes and escapes as `CopyReadAttributesCSV` does where they differ: a quote toggles anywhere.
fn unescape_csv(raw: &[u8], dialect: &Dialect, out: &mut Vec<u8>) {
    let (quote, escape) = (dialect.quote, dialect.escape);
    let mut rest = raw;
    while let Some(opening) = memchr::memchr(quote, rest) {
        out.extend_from_slice(&rest[..opening]);
        rest = &rest[opening + 1..];
        // Inside quotes.
        loop {
            let Some(at) = memchr::memchr2(quote, escape, rest) else {
                out.extend_from_slice(rest);
                return;
            };
            out.extend_from_slice(&rest[..at]);
            let byte = rest[at];
            let next = rest.get(at + 1).copied();
            if byte == escape
                && let Some(literal) = next.filter(|n| *n == escape || *n == quote)
            {
                out.push(literal);
                rest = &rest[at + 2..];
            } else {
                rest = &rest[at + 1..];
                if byte == quote {
                    break;
                }
                out.push(byte);
            }
        }
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_fast_way_to_unquote_gives_what_the_plain_one_gives(raw in "[\"x]{0,80}", old in 0_usize..90) {
            let dialect = Dialect {
                family: super::super::dialect::Family::Csv,
                delimiter: b','.into(),
                quote: b'"',
                escape: b'"',
                null: Vec::new(),
                default: None,
            };
            let mut expected = Vec::new();
            unescape_csv(raw.as_bytes(), &dialect, &mut expected);
            let mut out = vec![b'?'; old];
            prop_assert_eq!(unescape_doubled(raw.as_bytes(), b'"', &mut out), expected);
        }
    }
}
