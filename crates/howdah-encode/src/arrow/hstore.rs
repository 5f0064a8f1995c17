//! `hstore` from maps.

use std::ops::Range;

use arrow_schema::{DataType, Field};

use super::allowed::Allowed;
use super::codec::ArrowCodec;
use super::family::value_type;
use super::source::Source;
use super::strings::put_quoted;
use crate::shape::TypeShape;
use crate::verdict::Verdict;

/// The OID of `text`.
const TEXT: u32 = 25;

/// Plans keys and values, which hstore keeps as text; `None` when they have none.
pub(super) fn entries(map: &Field, allowed: Allowed) -> Option<(ArrowCodec, ArrowCodec)> {
    let DataType::Map(entries, _) = value_type(map.data_type()) else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    let [key, value] = &**fields else { return None };
    let text =
        |field: &Field| ArrowCodec::of(field, &TypeShape::Base { oid: TEXT }, -1, "text", None, allowed).ok();
    Some((text(key)?, text(value)?))
}

/// Appends the literal.
pub(super) fn literal(
    (key_codec, value_codec): &(ArrowCodec, ArrowCodec),
    keys: &Source<'_>,
    values: &Source<'_>,
    range: Range<usize>,
    out: &mut Vec<u8>,
) -> Verdict {
    let mut text = Vec::new();
    let first = range.start;
    for row in range {
        if row > first {
            out.push(b',');
        }
        text.clear();
        key_codec.literal_at(keys, row, &mut text)?;
        put_quoted(&text, out);
        out.extend_from_slice(b"=>");
        if values.is_null(row) {
            out.extend_from_slice(b"NULL");
        } else {
            text.clear();
            value_codec.literal_at(values, row, &mut text)?;
            put_quoted(&text, out);
        }
    }
    Ok(())
}
