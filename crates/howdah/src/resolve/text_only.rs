//! Values that PostgreSQL sends in binary and would not receive, or not as they were.

use std::iter::repeat;

use tokio_postgres::types::{Field, Kind, Type};

/// Of `timestamp` and `timestamptz` in microseconds since 2000: the first that is too large, but for infinity.
const END_OF_TIME: i64 = 9_223_371_331_200_000_000;
/// Of `timetz`: the first that is too far from UTC, in seconds.
const END_OF_OFFSETS: u32 = 16 * 3600;

/// Whether a value, or one that it is made of, is taken as text only. `value` is what the server sent of it.
///
/// - The end of time is rounded to a column's precision after it was looked at: what is read may be after it.
/// - Offsets after letters (`12:00 Z42`) may be of any size.
/// - `xml` is sent with another declaration than it is stored with.
pub(super) fn is_text_only(of: &Type, value: &[u8]) -> bool {
    match *of {
        Type::TIMESTAMP | Type::TIMESTAMPTZ => value
            .first_chunk()
            .map(|bytes| i64::from_be_bytes(*bytes))
            .is_some_and(|micros| (END_OF_TIME..i64::MAX).contains(&micros)),
        Type::TIMETZ => value
            .last_chunk()
            .map(|bytes| i32::from_be_bytes(*bytes))
            .is_some_and(|offset| offset.unsigned_abs() >= END_OF_OFFSETS),
        Type::XML => true,
        // What an array's input function returns, called by its name.
        Type::ANYARRAY => element(value).is_some_and(|element| has_text_only(&element, value)),
        _ => match of.kind() {
            Kind::Domain(base) => is_text_only(base, value),
            Kind::Array(element) => has_text_only(element, value),
            // Flags. (A multirange that a user made is not known as one.)
            Kind::Range(bound) => any_of(parts(value, 1, 0), repeat(bound)),
            // How many; each with its type.
            Kind::Composite(fields) => any_of(parts(value, 4, 4), fields.iter().map(Field::type_)),
            _ => false,
        },
    }
}

/// The type that the head of an array names behind dimensions and flags, if it is one of PostgreSQL's own.
fn element(array: &[u8]) -> Option<Type> {
    Type::from_oid(u32::from_be_bytes(*array.get(8..)?.first_chunk()?))
}

fn has_text_only(element: &Type, array: &[u8]) -> bool {
    let dimensions = array.first_chunk().and_then(|bytes| usize::try_from(i32::from_be_bytes(*bytes)).ok());
    // Dimensions, flags and the element's type; length and lower bound of each dimension.
    dimensions.is_some_and(|dimensions| any_of(parts(array, 12 + 8 * dimensions, 0), repeat(element)))
}

fn any_of<'v, 't>(
    parts: impl Iterator<Item = Option<&'v [u8]>>,
    types: impl IntoIterator<Item = &'t Type>,
) -> bool {
    parts.zip(types).any(|(part, of)| part.is_some_and(|part| is_text_only(of, part)))
}

/// What stands behind a head of so many bytes; `None` for NULL. Each part has `before` bytes and its length in front.
fn parts(value: &[u8], head: usize, before: usize) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = value.get(head..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, behind) = rest.get(before..)?.split_first_chunk()?;
        // -1 is NULL.
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (part, behind) = behind.split_at_checked(length.unwrap_or_default())?;
        rest = behind;
        Some(length.map(|_| part))
    })
}
