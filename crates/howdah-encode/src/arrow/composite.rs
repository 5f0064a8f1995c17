//! Rows of composite types from structs, field by field in their order.

use arrow_schema::{DataType, Field, FieldRef};

use super::allowed::Allowed;
use super::codec::ArrowCodec;
use super::family::value_type;
use super::mapping::NoMapping;
use super::source::StructColumn;
use crate::shape::CompositeField;
use crate::text::TextCodec;
use crate::verdict::Verdict;
use crate::wire;

/// A column of a composite type.
#[derive(Debug, Clone)]
pub(super) struct Column {
    oid: u32,
    codec: ArrowCodec,
}

/// Plans the columns of a composite type; its own codec knows those of its columns.
pub(super) fn columns(
    field: &Field,
    columns: &[CompositeField],
    type_name: &str,
    text: Option<&TextCodec>,
    allowed: Allowed,
) -> Result<Box<[Column]>, NoMapping> {
    let DataType::Struct(members) = value_type(field.data_type()) else {
        return Err(NoMapping::new(format!("Arrow's {} is no struct", field.data_type())));
    };
    if members.len() != columns.len() {
        let (members, columns) = (members.len(), columns.len());
        return Err(NoMapping {
            reason: format!("the struct has {members} fields, {type_name} has {columns}"),
            hint: Some("fields go into the columns of a composite type in their order".to_owned()),
        });
    }
    let column =
        |(index, (member, column)): (usize, (&FieldRef, &CompositeField))| -> Result<Column, NoMapping> {
            let CompositeField { oid, typmod, shape, .. } = column;
            let name = format!("column {} of {type_name}", index + 1);
            let text = text.and_then(|text| text.column(index));
            let codec = ArrowCodec::of(member, shape, *typmod, &name, text, allowed)
                .map_err(|no_mapping| no_mapping.within(&format!("the field {}", member.name())))?;
            Ok(Column { oid: *oid, codec })
        };
    members.iter().zip(columns).enumerate().map(column).collect()
}

/// Appends the row without the length in front.
pub(super) fn put(
    columns: &[Column],
    members: &[StructColumn<'_>],
    row: usize,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Verdict {
    out.extend_from_slice(&wire::count(columns.len())?);
    for (Column { oid, codec }, StructColumn { source, .. }) in columns.iter().zip(members) {
        out.extend_from_slice(&oid.to_be_bytes());
        if source.is_null(row) {
            codec.put_null(out)?;
        } else {
            codec.put_at(source, row, scratch, out)?;
        }
    }
    Ok(())
}

/// Appends the literal.
pub(super) fn literal(
    columns: &[Column],
    members: &[StructColumn<'_>],
    row: usize,
    out: &mut Vec<u8>,
) -> Verdict {
    let mut text = Vec::new();
    out.push(b'(');
    for (index, (Column { codec, .. }, StructColumn { source, .. })) in
        columns.iter().zip(members).enumerate()
    {
        if index > 0 {
            out.push(b',');
        }
        if source.is_null(row) {
            codec.check_null()?;
            continue;
        }
        text.clear();
        codec.literal_at(source, row, &mut text)?;
        quote(&text, out);
    }
    out.push(b')');
    Ok(())
}

/// Appends a column's literal in quotes, where an empty one is not NULL.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b':' | b'_');
    if !text.is_empty() && text.iter().all(is_plain) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}
