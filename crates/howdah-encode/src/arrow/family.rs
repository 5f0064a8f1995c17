//! Families of Arrow types, as far as the mapping to PostgreSQL's types depends on them.

use arrow_schema::{DataType, Field, TimeUnit};

use super::extension::Extension;

/// The family of an Arrow type: what its values are, whatever their width and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeFamily {
    Null,
    Bool,
    Int,
    Float,
    Decimal {
        precision: u8,
    },
    Text,
    Bytes {
        /// Where all values have the same.
        length: Option<i32>,
    },
    Uuid,
    Date,
    Time,
    /// A timestamp without a zone.
    Local,
    /// A timestamp with one.
    Instant,
    Interval,
    List,
    Struct,
    Map,
    /// Unions, and types that are made of them.
    Unknown,
}

impl TypeFamily {
    pub(super) fn of(field: &Field) -> Self {
        TypeFamily::of_type(value_type(field.data_type()), Extension::of(field))
    }

    fn of_type(data_type: &DataType, extension: Extension) -> Self {
        match data_type {
            DataType::Null => TypeFamily::Null,
            DataType::Boolean => TypeFamily::Bool,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => TypeFamily::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => TypeFamily::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                TypeFamily::Bytes { length: None }
            }
            DataType::FixedSizeBinary(16) if extension == Extension::Uuid => TypeFamily::Uuid,
            DataType::FixedSizeBinary(length) => TypeFamily::Bytes { length: Some(*length) },
            DataType::Decimal32(precision, _)
            | DataType::Decimal64(precision, _)
            | DataType::Decimal128(precision, _)
            | DataType::Decimal256(precision, _) => TypeFamily::Decimal { precision: *precision },
            DataType::Date32 | DataType::Date64 => TypeFamily::Date,
            DataType::Time32(TimeUnit::Second | TimeUnit::Millisecond)
            | DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) => TypeFamily::Time,
            DataType::Timestamp(_, None) => TypeFamily::Local,
            DataType::Timestamp(_, Some(_)) => TypeFamily::Instant,
            DataType::Duration(_) | DataType::Interval(_) => TypeFamily::Interval,
            DataType::Struct(fields) => {
                TypeFamily::made_of(TypeFamily::Struct, fields.iter().map(AsRef::as_ref))
            }
            DataType::Map(entries, _) => TypeFamily::made_of(TypeFamily::Map, [entries.as_ref()]),
            other if other.is_integer() => TypeFamily::Int,
            other => {
                item(other).map_or(TypeFamily::Unknown, |item| TypeFamily::made_of(TypeFamily::List, [item]))
            }
        }
    }

    fn made_of<'f>(kind: TypeFamily, parts: impl IntoIterator<Item = &'f Field>) -> Self {
        if parts.into_iter().all(|part| TypeFamily::of(part) != TypeFamily::Unknown) {
            kind
        } else {
            TypeFamily::Unknown
        }
    }

    pub(super) fn is_nested(self) -> bool {
        matches!(self, TypeFamily::List | TypeFamily::Struct | TypeFamily::Map)
    }
}

/// The type of the values: of a dictionary or of runs, what they hold.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        other => other,
    }
}

/// The items of a list of any layout; `None` for a type that is not a list.
pub(super) fn item(list: &DataType) -> Option<&Field> {
    match value_type(list) {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}
