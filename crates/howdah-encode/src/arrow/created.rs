//! The types of new tables' columns.

use arrow_schema::{DataType, Field};

use super::codec::NoMapping;
use super::kind::{Extension, Kind, item, value_type};

/// The type of a new table's column for a field: one that takes every value that the field can have, as far as
/// PostgreSQL has one.
///
/// # Errors
/// There is none: a union, or a type made of one.
pub fn created_type(field: &Field) -> Result<String, NoMapping> {
    let data_type = value_type(field.data_type());
    let name = match Kind::of(field) {
        Kind::Null => "text",
        Kind::Bool => "boolean",
        Kind::Int => return Ok(integer(data_type).to_owned()),
        Kind::Float if *data_type == DataType::Float64 => "double precision",
        Kind::Float => "real",
        Kind::Decimal { precision } => return Ok(numeric(precision, data_type)),
        Kind::Text if Extension::of(field) == Extension::Json => "jsonb",
        Kind::Text => "text",
        Kind::Bytes { .. } => "bytea",
        Kind::Uuid => "uuid",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::Local => "timestamp",
        Kind::Instant => "timestamptz",
        Kind::Span => "interval",
        Kind::Struct | Kind::Map => "jsonb",
        Kind::List => {
            let Some(item) = item(data_type) else { return Err(no_mapping(data_type)) };
            let mut element = created_type(item)?;
            // An array's type says nothing of its dimensions.
            if !element.ends_with("[]") {
                element.push_str("[]");
            }
            return Ok(element);
        }
        Kind::Unknown => return Err(no_mapping(data_type)),
    };
    Ok(name.to_owned())
}

fn no_mapping(data_type: &DataType) -> NoMapping {
    NoMapping {
        reason: format!("Arrow's {data_type} has no counterpart in PostgreSQL"),
        hint: Some("leave the column out, or convert it in the source".to_owned()),
    }
}

/// The narrowest integer that holds all of the type.
fn integer(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => "smallint",
        DataType::UInt16 | DataType::Int32 => "integer",
        DataType::UInt32 | DataType::Int64 => "bigint",
        _ => "numeric(20,0)",
    }
}

/// With all digits of the type; a negative scale is a number of zeros before the point.
fn numeric(precision: u8, data_type: &DataType) -> String {
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)
    | DataType::Decimal256(_, scale)) = *data_type
    else {
        return "numeric".to_owned();
    };
    match scale {
        0.. => format!("numeric({precision},{scale})"),
        _ => format!("numeric({},0)", i16::from(precision) - i16::from(scale)),
    }
}
