//! One-dimensional arrays out of fields: the parameters of `unnest`.

use std::borrow::Cow;

use super::fields::{Field, Unsendable};
use crate::plan::row_form::RowForm;

/// An array of values, in the form that they have.
pub(crate) fn of<'a>(
    values: impl Iterator<Item = &'a Field<'a>> + Clone,
    element_oid: u32,
    delimiter: u8,
    form: RowForm,
) -> Field<'static> {
    let bytes = match form {
        RowForm::Binary => binary(values, element_oid),
        RowForm::Text | RowForm::Csv(_) => literal(values, delimiter),
    };
    Field { value: bytes.map(|bytes| Some(Cow::Owned(bytes))), form }
}

fn binary<'a>(
    values: impl Iterator<Item = &'a Field<'a>> + Clone,
    element_oid: u32,
) -> Result<Vec<u8>, Unsendable> {
    let (mut length, mut has_null, mut bytes) = (0_usize, 0_i32, 20);
    for field in values.clone() {
        let value = field.value.as_ref().map_err(|why| *why)?;
        length += 1;
        has_null |= i32::from(value.is_none());
        bytes += 4 + value.as_ref().map_or(0, |value| value.len());
    }
    let length = i32::try_from(length)?;
    let mut out = Vec::with_capacity(bytes);
    // One dimension, from 1.
    for word in [1i32.to_be_bytes(), has_null.to_be_bytes(), element_oid.to_be_bytes(), length.to_be_bytes()]
    {
        out.extend_from_slice(&word);
    }
    out.extend_from_slice(&1i32.to_be_bytes());
    for field in values {
        match field.value.as_ref().map_err(|why| *why)? {
            None => out.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                out.extend_from_slice(&i32::try_from(value.len())?.to_be_bytes());
                out.extend_from_slice(value);
            }
        }
    }
    Ok(out)
}

/// As `array_in` reads it. Every value is quoted: then no word of it is NULL and nothing in it is a brace.
fn literal<'a>(values: impl Iterator<Item = &'a Field<'a>>, delimiter: u8) -> Result<Vec<u8>, Unsendable> {
    let mut out = vec![b'{'];
    for (at, field) in values.enumerate() {
        if at > 0 {
            out.push(delimiter);
        }
        let Some(value) = field.value.as_ref().map_err(|why| *why)? else {
            out.extend_from_slice(b"NULL");
            continue;
        };
        out.push(b'"');
        for byte in value.iter() {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    out.push(b'}');
    Ok(out)
}
