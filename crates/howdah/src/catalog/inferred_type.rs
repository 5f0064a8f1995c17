//! The types that a column of a new table may get when its values decide.

use tokio_postgres::types::Type;

/// The types a new column may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum InferredType {
    /// `true` and `false`.
    Boolean,
    /// Integers in range, written the one canonical way.
    Bigint,
    /// Decimals that `double precision` prints back digit for digit.
    DoublePrecision,
    /// Any other decimals: exact, the scale kept.
    Numeric,
    /// ISO dates.
    Date,
    /// ISO timestamps without a zone; dates among them.
    Timestamp,
    /// ISO timestamps, every one with an explicit zone.
    Timestamptz,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// JSON objects and arrays.
    Jsonb,
    /// Everything else.
    Text,
}

impl InferredType {
    /// All but `Text`, each before the wider type that would take its values too.
    pub(crate) const SPECIFIC: [Self; 9] = [
        Self::Boolean,
        Self::Bigint,
        Self::DoublePrecision,
        Self::Numeric,
        Self::Date,
        Self::Timestamp,
        Self::Timestamptz,
        Self::Uuid,
        Self::Jsonb,
    ];

    /// The type's name in DDL.
    #[must_use]
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Bigint => "bigint",
            Self::DoublePrecision => "double precision",
            Self::Numeric => "numeric",
            Self::Date => "date",
            Self::Timestamp => "timestamp without time zone",
            Self::Timestamptz => "timestamp with time zone",
            Self::Uuid => "uuid",
            Self::Jsonb => "jsonb",
            Self::Text => "text",
        }
    }

    /// The type's name as people type it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            other => other.sql(),
        }
    }

    /// The type's OID in `pg_type`.
    pub(crate) fn oid(self) -> u32 {
        match self {
            Self::Boolean => Type::BOOL,
            Self::Bigint => Type::INT8,
            Self::DoublePrecision => Type::FLOAT8,
            Self::Numeric => Type::NUMERIC,
            Self::Date => Type::DATE,
            Self::Timestamp => Type::TIMESTAMP,
            Self::Timestamptz => Type::TIMESTAMPTZ,
            Self::Uuid => Type::UUID,
            Self::Jsonb => Type::JSONB,
            Self::Text => Type::TEXT,
        }
        .oid()
    }
}
