//! The pairs of types that most data has, without a detour: what is read is written.

use arrow_buffer::BooleanBuffer;

use super::codec::ArrowCodec;
use super::moments::{EPOCH_DAYS, EPOCH_MICROS, micros_of};
use super::numbers::{one_nan_f32, one_nan_f64, short_decimal};
use super::source::{Source, Values};
use super::strings::{Strings, check_nul};
use super::target::Target;
use crate::civil::TIMESTAMPS;
use crate::session::Zone;
use crate::text::numeric::put_short as put_short_numeric;
use crate::text::{NumericLimit, TextCodec};
use crate::wire;

/// Where values come from, one variant a pair of types. What it does not write goes the general way.
pub(super) enum Direct<'a> {
    Nothing,
    Bool(&'a BooleanBuffer),
    Int2(&'a [i16]),
    Int4(&'a [i32]),
    Int8(&'a [i64]),
    Float4(&'a [f32]),
    Float8(&'a [f64]),
    Float4AsFloat8(&'a [f32]),
    /// Integers into another width.
    IntoInt2(Integers<'a>),
    IntoInt4(Integers<'a>),
    IntoInt8(Integers<'a>),
    Date(&'a [i32]),
    /// Counts, microseconds of one of them, and how far the zone of all is east of UTC.
    Moments(&'a [i64], i64, i64),
    /// Counts of nanoseconds, and how far the zone of all is east of UTC.
    Nanoseconds(&'a [i64], i64),
    /// Integers, their decimal places and the limit of the column, which has no fewer.
    Decimal(Integers<'a>, usize, Option<NumericLimit>),
    FloatAsNumeric(&'a [f64], Option<NumericLimit>),
    /// Texts of a type that takes them as they are, and whether none has a NUL.
    Text(Strings<'a>, bool),
    /// Texts for the type's own codec, and whether none has a NUL.
    Literal(Strings<'a>, bool, &'a TextCodec),
}

/// Integers of every width, which a scale can make decimals.
pub(super) enum Integers<'a> {
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Int128(&'a [i128]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
}

impl<'a> Integers<'a> {
    /// The integers, and the scale of decimals.
    fn of(values: &Values<'a>) -> Option<(Self, Option<i8>)> {
        Some(match *values {
            Values::Int8(values) => (Integers::Int8(values), None),
            Values::Int16(values) => (Integers::Int16(values), None),
            Values::Int32(values) => (Integers::Int32(values), None),
            Values::Int64(values) => (Integers::Int64(values), None),
            Values::UInt8(values) => (Integers::UInt8(values), None),
            Values::UInt16(values) => (Integers::UInt16(values), None),
            Values::UInt32(values) => (Integers::UInt32(values), None),
            Values::UInt64(values) => (Integers::UInt64(values), None),
            Values::Decimal32(values, scale) => (Integers::Int32(values), Some(scale)),
            Values::Decimal64(values, scale) => (Integers::Int64(values), Some(scale)),
            Values::Decimal128(values, scale) => (Integers::Int128(values), Some(scale)),
            _ => return None,
        })
    }

    #[inline]
    fn at(&self, row: usize) -> i128 {
        match self {
            Integers::Int8(values) => values[row].into(),
            Integers::Int16(values) => values[row].into(),
            Integers::Int32(values) => values[row].into(),
            Integers::Int64(values) => values[row].into(),
            Integers::Int128(values) => values[row],
            Integers::UInt8(values) => values[row].into(),
            Integers::UInt16(values) => values[row].into(),
            Integers::UInt32(values) => values[row].into(),
            Integers::UInt64(values) => values[row].into(),
        }
    }
}

impl<'a> Direct<'a> {
    /// Chooses the way for a column, all of whose texts may be looked at beforehand.
    pub(super) fn of_column(codec: &'a ArrowCodec, source: &Source<'a>) -> Self {
        let (Values::Text(strings) | Values::Json(strings)) = source.innermost() else {
            return Direct::of(codec, source);
        };
        let is_clean = strings.is_free_of_nul();
        match codec.text() {
            Some(TextCodec::Text | TextCodec::Json | TextCodec::Varchar { limit: None }) => {
                Direct::Text(*strings, is_clean)
            }
            Some(text) => Direct::Literal(*strings, is_clean, text),
            None => Direct::Nothing,
        }
    }

    /// Chooses the way for a column, or for the items of lists.
    pub(super) fn of(codec: &ArrowCodec, source: &Source<'a>) -> Self {
        let values = source.innermost();
        match (codec.target(), values) {
            (Target::Bool, &Values::Bool(values)) => Direct::Bool(values),
            (Target::Int2, &Values::Int16(values)) => Direct::Int2(values),
            (Target::Int4, &Values::Int32(values)) => Direct::Int4(values),
            (Target::Int8, &Values::Int64(values)) => Direct::Int8(values),
            (Target::Float4, &Values::Single(values)) => Direct::Float4(values),
            (Target::Float8, &Values::Double(values)) => Direct::Float8(values),
            (Target::Float8, &Values::Single(values)) => Direct::Float4AsFloat8(values),
            (Target::Date, &Values::Date32(values)) => Direct::Date(values),
            (Target::Timestamp, &Values::Local(counts, unit))
            | (Target::Timestamptz, &Values::Instant(counts, unit)) => {
                Direct::moments(counts, micros_of(unit), 0)
            }
            (Target::Timestamptz, &Values::Local(counts, unit)) => match codec.text() {
                Some(TextCodec::Timestamptz { zone: Zone::Fixed(east) }) => {
                    Direct::moments(counts, micros_of(unit), i64::from(*east) * 1_000_000)
                }
                _ => Direct::Nothing,
            },
            (Target::Numeric(limit), &Values::Double(values)) => Direct::FloatAsNumeric(values, *limit),
            (target, values) => match (target, Integers::of(values)) {
                (Target::Int2, Some((integers, None))) => Direct::IntoInt2(integers),
                (Target::Int4, Some((integers, None))) => Direct::IntoInt4(integers),
                (Target::Int8, Some((integers, None))) => Direct::IntoInt8(integers),
                (Target::Numeric(limit), Some((integers, scale))) => {
                    Direct::decimal(integers, scale.unwrap_or(0), *limit)
                }
                _ => Direct::Nothing,
            },
        }
    }

    fn moments(counts: &'a [i64], micros: Option<i64>, east: i64) -> Self {
        match micros {
            Some(micros) => Direct::Moments(counts, micros, east),
            None => Direct::Nanoseconds(counts, east),
        }
    }

    fn decimal(values: Integers<'a>, scale: i8, limit: Option<NumericLimit>) -> Self {
        match usize::try_from(scale) {
            Ok(places) if limit.is_none_or(|limit| limit.scale >= i16::from(scale)) => {
                Direct::Decimal(values, places, limit)
            }
            _ => Direct::Nothing,
        }
    }

    /// Appends the field at a [`Source::place`]; `false` when nothing was appended.
    #[inline]
    pub(super) fn put(&self, at: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Direct::Nothing => return false,
            Direct::Bool(values) => wire::put_bool(out, values.value(at)),
            Direct::Int2(values) => wire::put_i16(out, values[at]),
            Direct::Int4(values) => wire::put_i32(out, values[at]),
            Direct::Int8(values) => wire::put_i64(out, values[at]),
            Direct::Float4(values) => wire::put_f32(out, one_nan_f32(values[at])),
            Direct::Float8(values) => wire::put_f64(out, one_nan_f64(values[at])),
            Direct::Float4AsFloat8(values) => wire::put_f64(out, one_nan_f64(values[at].into())),
            Direct::IntoInt2(values) => match i16::try_from(values.at(at)) {
                Ok(value) => wire::put_i16(out, value),
                Err(_) => return false,
            },
            Direct::IntoInt4(values) => match i32::try_from(values.at(at)) {
                Ok(value) => wire::put_i32(out, value),
                Err(_) => return false,
            },
            Direct::IntoInt8(values) => match i64::try_from(values.at(at)) {
                Ok(value) => wire::put_i64(out, value),
                Err(_) => return false,
            },
            Direct::Date(values) => match i64::from(values[at]) - EPOCH_DAYS {
                // Well within what PostgreSQL's calendar has.
                days @ -2_000_000..2_000_000_000 => match i32::try_from(days) {
                    Ok(days) => wire::put_i32(out, days),
                    Err(_) => return false,
                },
                _ => return false,
            },
            Direct::Moments(counts, micros, east) => {
                let local = counts[at].checked_mul(*micros).and_then(|count| count.checked_sub(EPOCH_MICROS));
                match local {
                    Some(local) if TIMESTAMPS.contains(&local) && TIMESTAMPS.contains(&(local - east)) => {
                        wire::put_i64(out, local - east);
                    }
                    _ => return false,
                }
            }
            Direct::Nanoseconds(counts, east) => match counts[at] % 1000 {
                // All of them lie within PostgreSQL's calendar.
                0 => wire::put_i64(out, counts[at] / 1000 - EPOCH_MICROS - east),
                _ => return false,
            },
            Direct::Decimal(values, places, limit) => {
                let mantissa = values.at(at);
                return u64::try_from(mantissa.unsigned_abs())
                    .is_ok_and(|digits| put_short_numeric(mantissa < 0, digits, *places, *limit, out));
            }
            Direct::FloatAsNumeric(values, limit) => {
                return short_decimal(values[at]).is_some_and(|(negative, mantissa, places)| {
                    let fits = limit.is_none_or(|limit| i64::from(limit.scale) >= i64::from(places));
                    fits && put_short_numeric(negative, mantissa, usize::from(places), *limit, out)
                });
            }
            Direct::Text(strings, is_clean) => {
                let text = strings.at(at);
                return (*is_clean || check_nul(text).is_ok()) && wire::put_bytes(out, text).is_ok();
            }
            Direct::Literal(strings, is_clean, codec) => {
                let text = strings.at(at);
                return (*is_clean || check_nul(text).is_ok()) && codec.encode(text, out).is_ok();
            }
        }
        true
    }
}
