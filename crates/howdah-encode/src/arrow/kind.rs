//! What an Arrow type means, as far as its mapping depends on it.

use arrow_schema::{DataType, Field, TimeUnit};

/// What the schema says of a column beyond its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    None,
    /// `arrow.uuid`
    Uuid,
    /// `arrow.json`
    Json,
}

impl Extension {
    pub(super) fn of(field: &Field) -> Self {
        match field.extension_type_name() {
            Some("arrow.uuid") => Extension::Uuid,
            Some("arrow.json") => Extension::Json,
            _ => Extension::None,
        }
    }
}

/// The family of a type: what its values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    Span,
    List,
    Struct,
    Map,
    /// Unions, and types that are made of them.
    Unknown,
}

impl Kind {
    pub(super) fn of(field: &Field) -> Self {
        Kind::of_type(value_type(field.data_type()), Extension::of(field))
    }

    fn of_type(data_type: &DataType, extension: Extension) -> Self {
        match data_type {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Bool,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Kind::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Kind::Bytes { length: None },
            DataType::FixedSizeBinary(16) if extension == Extension::Uuid => Kind::Uuid,
            DataType::FixedSizeBinary(length) => Kind::Bytes { length: Some(*length) },
            DataType::Decimal32(precision, _)
            | DataType::Decimal64(precision, _)
            | DataType::Decimal128(precision, _)
            | DataType::Decimal256(precision, _) => Kind::Decimal { precision: *precision },
            DataType::Date32 | DataType::Date64 => Kind::Date,
            DataType::Time32(TimeUnit::Second | TimeUnit::Millisecond)
            | DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) => Kind::Time,
            DataType::Timestamp(_, None) => Kind::Local,
            DataType::Timestamp(_, Some(_)) => Kind::Instant,
            DataType::Duration(_) | DataType::Interval(_) => Kind::Span,
            DataType::Struct(fields) => Kind::made_of(Kind::Struct, fields.iter().map(AsRef::as_ref)),
            DataType::Map(entries, _) => Kind::made_of(Kind::Map, [entries.as_ref()]),
            other if other.is_integer() => Kind::Int,
            other => item(other).map_or(Kind::Unknown, |item| Kind::made_of(Kind::List, [item])),
        }
    }

    fn made_of<'f>(kind: Kind, parts: impl IntoIterator<Item = &'f Field>) -> Self {
        if parts.into_iter().all(|part| Kind::of(part) != Kind::Unknown) { kind } else { Kind::Unknown }
    }

    pub(super) fn is_nested(self) -> bool {
        matches!(self, Kind::List | Kind::Struct | Kind::Map)
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

/// Of a list of any layout, the items.
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
