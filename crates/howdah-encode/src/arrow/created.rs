//! The types of new tables' columns.

use arrow_schema::{DataType, Field};

use super::extension::Extension;
use super::family::{TypeFamily, item, value_type};
use super::mapping::NoMapping;

/// Names the type for a new table's column: one that takes every value that the field can have, as far as PostgreSQL has
/// one.
///
/// # Errors
/// PostgreSQL has no type for it: the field is a union, or made of one.
pub fn created_type(field: &Field) -> Result<String, NoMapping> {
    let data_type = value_type(field.data_type());
    let name = match TypeFamily::of(field) {
        TypeFamily::Null => "text",
        TypeFamily::Bool => "boolean",
        TypeFamily::Int => return Ok(integer(data_type).to_owned()),
        TypeFamily::Float if *data_type == DataType::Float64 => "double precision",
        TypeFamily::Float => "real",
        TypeFamily::Decimal { precision } => return Ok(numeric(precision, data_type)),
        TypeFamily::Text if Extension::of(field) == Extension::Json => "jsonb",
        TypeFamily::Text => "text",
        TypeFamily::Bytes { .. } => "bytea",
        TypeFamily::Uuid => "uuid",
        TypeFamily::Date => "date",
        TypeFamily::Time => "time",
        TypeFamily::Local => "timestamp",
        TypeFamily::Instant => "timestamptz",
        TypeFamily::Interval => "interval",
        TypeFamily::Struct | TypeFamily::Map => "jsonb",
        TypeFamily::List => {
            let Some(item) = item(data_type) else { return Err(no_mapping(data_type)) };
            let mut element = created_type(item)?;
            // An array's type says nothing of its dimensions.
            if !element.ends_with("[]") {
                element.push_str("[]");
            }
            return Ok(element);
        }
        TypeFamily::Unknown => return Err(no_mapping(data_type)),
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
