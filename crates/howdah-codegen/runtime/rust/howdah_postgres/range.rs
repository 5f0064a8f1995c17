//! Ranges and multiranges.

use std::ops::Bound;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{Kind, Type};

use super::codec::{Decode, Encode, Refused, Value, base, decode, item, take, take_i32, take_item};
use super::containers::quote;

const EMPTY: u8 = 0x01;
const LOWER_INCLUDED: u8 = 0x02;
const UPPER_INCLUDED: u8 = 0x04;
const LOWER_INFINITE: u8 = 0x08;
const UPPER_INFINITE: u8 = 0x10;
/// OIDs below are PostgreSQL's own.
const FIRST_OF_USERS: u32 = 16_384;

/// A range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range<T> {
    /// It holds nothing.
    Empty,
    /// It begins and ends there.
    Between(Bound<T>, Bound<T>),
}

impl<T> From<std::ops::Range<T>> for Range<T> {
    fn from(range: std::ops::Range<T>) -> Self {
        Self::Between(Bound::Included(range.start), Bound::Excluded(range.end))
    }
}

impl<T> From<std::ops::RangeInclusive<T>> for Range<T> {
    fn from(range: std::ops::RangeInclusive<T>) -> Self {
        let (start, end) = range.into_inner();
        Self::Between(Bound::Included(start), Bound::Included(end))
    }
}

fn subtype(ty: &Type) -> Result<&Type, Refused> {
    match ty.kind() {
        Kind::Range(subtype) => Ok(subtype),
        _ => Err(Refused::new(format!("{ty} is no range"))),
    }
}

fn value<T>(bound: &Bound<T>) -> Option<&T> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

impl<T: Value> Value for Range<T> {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        subtype(ty).is_ok_and(|subtype| T::accepts(base(subtype)))
    }
}

impl<T: Encode> Encode for Range<T> {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        let Self::Between(lower, upper) = self else {
            out.put_u8(EMPTY);
            return Ok(());
        };
        let lower_flag = match lower {
            Bound::Included(_) => LOWER_INCLUDED,
            Bound::Excluded(_) => 0,
            Bound::Unbounded => LOWER_INFINITE,
        };
        let upper_flag = match upper {
            Bound::Included(_) => UPPER_INCLUDED,
            Bound::Excluded(_) => 0,
            Bound::Unbounded => UPPER_INFINITE,
        };
        out.put_u8(lower_flag | upper_flag);
        for value in [lower, upper].into_iter().filter_map(value) {
            item(value, subtype(ty)?, out)?;
        }
        Ok(())
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        let Self::Between(lower, upper) = self else {
            out.push_str("empty");
            return Ok(());
        };
        out.push(if matches!(lower, Bound::Included(_)) {
            '['
        } else {
            '('
        });
        if let Some(value) = value(lower) {
            quote(value, base(subtype(ty)?), out)?;
        }
        out.push(',');
        if let Some(value) = value(upper) {
            quote(value, base(subtype(ty)?), out)?;
        }
        out.push(if matches!(upper, Bound::Included(_)) {
            ']'
        } else {
            ')'
        });
        Ok(())
    }
}

impl<T: Decode> Decode for Range<T> {
    fn decode(ty: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let flags = take(&mut bytes, 1)?[0];
        if flags & EMPTY != 0 {
            return Ok(Self::Empty);
        }
        let subtype = subtype(ty)?;
        let mut bound = |infinite: u8, included: u8| {
            if flags & infinite != 0 {
                return Ok(Bound::Unbounded);
            }
            let bytes = take_item(&mut bytes)?.ok_or_else(|| Refused::new("a bound is null"))?;
            let value = decode(subtype, bytes)?;
            Ok::<_, Refused>(if flags & included != 0 {
                Bound::Included(value)
            } else {
                Bound::Excluded(value)
            })
        };
        Ok(Self::Between(
            bound(LOWER_INFINITE, LOWER_INCLUDED)?,
            bound(UPPER_INFINITE, UPPER_INCLUDED)?,
        ))
    }
}

/// The range of a multirange. The driver does not ask for it where a user made the type.
fn range<T: Value>(ty: &Type) -> Result<Type, Refused> {
    match ty.kind() {
        Kind::Multirange(subtype) => Ok(between(subtype.clone())),
        Kind::Simple if ty.oid() >= FIRST_OF_USERS => match T::built_in() {
            Some(subtype) => Ok(between(subtype)),
            None => Err(Refused::new(format!(
                "the bounds of {ty} are of a type that is not PostgreSQL's"
            ))),
        },
        _ => Err(Refused::new(format!("{ty} is no multirange"))),
    }
}

/// Nobody reads the name and the OID of this range.
fn between(subtype: Type) -> Type {
    if matches!(subtype.kind(), Kind::Range(_)) {
        return subtype;
    }
    Type::new(
        "range".to_owned(),
        0,
        Kind::Range(subtype),
        "pg_catalog".to_owned(),
    )
}

impl<T: Value> Value for [Range<T>] {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        range::<T>(ty).is_ok_and(|range| Range::<T>::accepts(&range))
    }
}

impl<T: Encode> Encode for [Range<T>] {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        let count =
            i32::try_from(self.len()).map_err(|_| Refused::new("it has too many ranges"))?;
        let ty = range::<T>(ty)?;
        out.put_i32(count);
        self.iter().try_for_each(|range| item(range, &ty, out))
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        let ty = range::<T>(ty)?;
        out.push('{');
        for (index, range) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            range.literal(&ty, out)?;
        }
        out.push('}');
        Ok(())
    }
}

impl<T: Value> Value for Vec<Range<T>> {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        <[Range<T>]>::accepts(ty)
    }
}

impl<T: Encode> Encode for Vec<Range<T>> {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.as_slice().binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.as_slice().literal(ty, out)
    }
}

impl<T: Decode> Decode for Vec<Range<T>> {
    fn decode(ty: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let ty = range::<T>(ty)?;
        let count = take_i32(&mut bytes)?;
        let ranges = (0..count).map(|_| {
            let bytes = take_item(&mut bytes)?.ok_or_else(|| Refused::new("a range is null"))?;
            Range::decode(&ty, bytes)
        });
        ranges.collect()
    }
}
