//! `vector` of pgvector from lists of numbers.

use std::ops::Range;

use arrow_schema::Field;

use super::allowed::Allowed;
use super::casts::single;
use super::family::{TypeFamily, item};
use super::numbers::put_single;
use super::source::{Source, Values};
use crate::verdict::{NotEncoded, Verdict};

/// The extension's limit.
const MAX_DIMENSIONS: usize = 16_000;

/// Whether a list is one of numbers.
pub(super) fn takes(list: &Field) -> bool {
    item(list.data_type())
        .is_some_and(|item| matches!(TypeFamily::of(item), TypeFamily::Int | TypeFamily::Float))
}

/// Appends the vector without the length in front; `dimensions` is the column's modifier.
pub(super) fn put(
    items: &Source<'_>,
    range: Range<usize>,
    dimensions: Option<u16>,
    allowed: Allowed,
    out: &mut Vec<u8>,
) -> Verdict {
    let count = range.len();
    if let Some(expected) = dimensions
        && count != usize::from(expected)
    {
        return Err(refused(format!("expected {expected} dimensions, not {count}")));
    }
    let number = match u16::try_from(count) {
        Ok(0) => return Err(refused("vector must have at least 1 dimension".to_owned())),
        Ok(number) if count <= MAX_DIMENSIONS => number,
        _ => {
            let reason = format!("vector cannot have more than {MAX_DIMENSIONS} dimensions");
            return Err(NotEncoded::invalid("54000", reason));
        }
    };
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    each(items, range, allowed, |value| out.extend_from_slice(&value.to_be_bytes()))
}

/// Appends the literal.
pub(super) fn literal(
    items: &Source<'_>,
    range: Range<usize>,
    allowed: Allowed,
    out: &mut Vec<u8>,
) -> Verdict {
    out.push(b'[');
    let mut is_first = true;
    each(items, range, allowed, |value| {
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        put_single(value, out);
    })?;
    out.push(b']');
    Ok(())
}

/// The numbers as a vector holds them.
fn each(items: &Source<'_>, range: Range<usize>, allowed: Allowed, mut put: impl FnMut(f32)) -> Verdict {
    if let Some(Values::Single(numbers)) = items.plain() {
        for &number in &numbers[range] {
            put(finite(number)?);
        }
        return Ok(());
    }
    for row in range {
        if items.is_null(row) {
            return Err(NotEncoded::invalid("22004", "array must not contain nulls".to_owned()));
        }
        if let Some(cell) = items.cell(row)
            && let Some(number) = single(&cell, allowed)?
        {
            put(finite(number)?);
        }
    }
    Ok(())
}

#[inline]
fn finite(number: f32) -> Result<f32, NotEncoded> {
    if number.is_finite() { Ok(number) } else { Err(not_finite(number)) }
}

#[cold]
fn not_finite(number: f32) -> NotEncoded {
    refused(format!("{} not allowed in vector", if number.is_nan() { "NaN" } else { "infinite value" }))
}

#[cold]
fn refused(reason: String) -> NotEncoded {
    NotEncoded::invalid("22000", reason)
}
