//! What a PostgreSQL type takes: which Arrow types have an exact value in it, and which value that is.

use super::allowed::{Allowed, lossy, refused};
use super::array::Array;
use super::casts::{double, integer, single};
use super::codec::ArrowCodec;
use super::composite::Column;
use super::decimal::Decimal;
use super::family::TypeFamily;
use super::moments::{Style, Timestamp, postgres_date, postgres_time};
use super::numbers::Shortest;
use super::source::Cell;
use super::strings::{check_nul, check_text};
use super::value::SqlValue;
use crate::text::NumericLimit;
use crate::verdict::{Loss, NotEncoded, Verdict};
use crate::wire;

/// A PostgreSQL type, domains resolved, as far as values go into it in different ways.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Numeric(Option<NumericLimit>),
    Text,
    Bytea,
    Uuid,
    Date,
    Time,
    Timetz,
    Timestamp,
    Timestamptz,
    Interval,
    /// `json` or `jsonb`
    Json,
    Array(Box<Array>),
    Composite(Box<[Column]>),
    /// `vector` with its dimensions, when the column has them.
    Vector(Option<u16>),
    /// `hstore` from keys and values.
    Hstore(Box<(ArrowCodec, ArrowCodec)>),
    /// Any type, from its literals alone.
    Read,
}

impl Target {
    /// The target for a type that is not made of others.
    pub(super) fn of(oid: u32, typmod: i32) -> Self {
        match oid {
            16 => Target::Bool,
            17 => Target::Bytea,
            20 => Target::Int8,
            21 => Target::Int2,
            23 => Target::Int4,
            25 | 1042 | 1043 => Target::Text,
            26 => Target::Oid,
            114 | 3802 => Target::Json,
            700 => Target::Float4,
            701 => Target::Float8,
            1082 => Target::Date,
            1083 => Target::Time,
            1114 => Target::Timestamp,
            1184 => Target::Timestamptz,
            1186 => Target::Interval,
            1266 => Target::Timetz,
            1700 => Target::Numeric(NumericLimit::from_typmod(typmod)),
            2950 => Target::Uuid,
            _ => Target::Read,
        }
    }

    /// Whether values of a kind go into the type. Types made of others decide by their parts, and text goes everywhere.
    pub(super) fn takes(&self, kind: TypeFamily, allowed: Allowed) -> bool {
        /// Decimal digits that every `real`, and every `double precision`, keeps.
        const REAL_DIGITS: u8 = 6;
        const DOUBLE_DIGITS: u8 = 15;
        match (kind, self) {
            (TypeFamily::Unknown, _) => false,
            (TypeFamily::Null | TypeFamily::Text, _) | (_, Target::Json) => true,
            (_, Target::Text) => !kind.is_nested(),
            (TypeFamily::Bool, Target::Bool) => true,
            (TypeFamily::Int, Target::Oid) => true,
            (
                TypeFamily::Int | TypeFamily::Float,
                Target::Int2
                | Target::Int4
                | Target::Int8
                | Target::Float4
                | Target::Float8
                | Target::Numeric(_),
            ) => true,
            (TypeFamily::Decimal { .. }, Target::Int2 | Target::Int4 | Target::Int8 | Target::Numeric(_)) => {
                true
            }
            (TypeFamily::Decimal { precision }, Target::Float4) => {
                allowed.decimals || precision <= REAL_DIGITS
            }
            (TypeFamily::Decimal { precision }, Target::Float8) => {
                allowed.decimals || precision <= DOUBLE_DIGITS
            }
            (TypeFamily::Bytes { .. } | TypeFamily::Uuid, Target::Bytea)
            | (TypeFamily::Uuid, Target::Uuid) => true,
            (TypeFamily::Bytes { length }, Target::Uuid) => length.is_none_or(|length| length == 16),
            (
                TypeFamily::Date | TypeFamily::Local,
                Target::Date | Target::Timestamp | Target::Timestamptz,
            ) => true,
            (TypeFamily::Instant, Target::Timestamptz) => true,
            (TypeFamily::Time, Target::Time | Target::Timetz) => true,
            (TypeFamily::Interval, Target::Interval) => true,
            _ => false,
        }
    }

    /// What makes the mapping possible after all, where that is no other type of the column.
    pub(super) fn hint(&self, kind: TypeFamily) -> Option<&'static str> {
        Some(match (kind, self) {
            (TypeFamily::Instant, Target::Timestamp | Target::Date) => {
                "make the column timestamp with time zone, or convert the source to timestamps without a zone"
            }
            (TypeFamily::Decimal { .. }, Target::Float4 | Target::Float8) => {
                "make the column numeric, or allow the lossy conversion \"decimals\""
            }
            (TypeFamily::List | TypeFamily::Struct | TypeFamily::Map, Target::Text) => {
                "make the column jsonb"
            }
            _ => return None,
        })
    }

    /// Appends the binary field; `None` where the type reads the value from its literal.
    pub(super) fn put(&self, value: &SqlValue<'_>, out: &mut Vec<u8>) -> Option<Verdict> {
        match (self, value) {
            (Target::Bool, &SqlValue::Bool(value)) => wire::put_bool(out, value),
            (Target::Int2, &SqlValue::Int2(value)) => wire::put_i16(out, value),
            (Target::Int4, &SqlValue::Int4(value)) | (Target::Date, &SqlValue::Date(value)) => {
                wire::put_i32(out, value);
            }
            (Target::Int8, &SqlValue::Int8(value))
            | (Target::Time, &SqlValue::Time(value))
            | (Target::Timestamp, &SqlValue::Timestamp(value))
            | (Target::Timestamptz, &SqlValue::Timestamptz(value)) => wire::put_i64(out, value),
            (Target::Oid, &SqlValue::Oid(value)) => wire::put_oid(out, value),
            (Target::Float4, &SqlValue::Single(value)) => wire::put_f32(out, value),
            (Target::Float8, &SqlValue::Double(value)) => wire::put_f64(out, value),
            (Target::Bytea, SqlValue::Bytes(value)) => return Some(wire::put_bytes(out, value)),
            (Target::Uuid, &SqlValue::Uuid(value)) => wire::put_uuid(out, value),
            (Target::Interval, &SqlValue::Interval(months, days, micros)) => {
                wire::put_interval(out, months, days, micros);
            }
            _ => return None,
        }
        Some(Ok(()))
    }

    /// The value that a cell is in this type.
    pub(super) fn value<'s>(&self, cell: Cell<'s>, allowed: Allowed) -> Result<SqlValue<'s>, NotEncoded> {
        match (self, cell) {
            (_, Cell::Text(text) | Cell::Json(text)) => {
                check_nul(text)?;
                Ok(SqlValue::Text(text))
            }
            (Target::Text | Target::Json, Cell::Bytes(bytes)) => {
                check_text(bytes)?;
                Ok(SqlValue::Text(bytes))
            }
            (Target::Int2, cell) => Ok(SqlValue::Int2(integer(&cell, "smallint", allowed)?)),
            (Target::Int4, cell) => Ok(SqlValue::Int4(integer(&cell, "integer", allowed)?)),
            (Target::Int8, cell) => Ok(SqlValue::Int8(integer(&cell, "bigint", allowed)?)),
            (Target::Oid, cell) => Ok(SqlValue::Oid(integer(&cell, "oid", allowed)?)),
            (Target::Float4, cell) => match single(&cell, allowed)? {
                Some(value) => Ok(SqlValue::Single(value)),
                None => natural(cell, allowed),
            },
            (Target::Float8, cell) => match double(&cell, allowed)? {
                Some(value) => Ok(SqlValue::Double(value)),
                None => natural(cell, allowed),
            },
            (Target::Numeric(limit), cell) => numeric(cell, *limit, allowed),
            (Target::Bytea, Cell::Uuid(bytes)) => Ok(SqlValue::Bytes(bytes)),
            (Target::Uuid, Cell::Bytes(bytes)) => uuid(bytes),
            (Target::Date, Cell::Local(moment)) if moment.nanos != 0 => {
                Err(refused(|out| moment.put(Style::Sql, "", out), "is no date: it is not at midnight"))
            }
            (Target::Date, Cell::Local(moment)) => Ok(SqlValue::Date(postgres_date(moment.days)?)),
            (Target::Timestamp, Cell::Date(days)) => match (Timestamp { days, nanos: 0 }).postgres(allowed) {
                Ok(micros) => Ok(SqlValue::Timestamp(micros)),
                Err(_) => Err(NotEncoded::invalid("22008", "date out of range for timestamp".to_owned())),
            },
            (_, cell) => natural(cell, allowed),
        }
    }
}

/// The value of the PostgreSQL type that is nearest to the cell's own.
fn natural(cell: Cell<'_>, allowed: Allowed) -> Result<SqlValue<'_>, NotEncoded> {
    Ok(match cell {
        Cell::Bool(value) => SqlValue::Bool(value),
        Cell::Int(value) => SqlValue::Int(value),
        Cell::Single(value) => SqlValue::Single(value),
        Cell::Double(value) => SqlValue::Double(value),
        Cell::Decimal(value) => SqlValue::Numeric(value),
        Cell::Text(text) | Cell::Json(text) => SqlValue::Text(text),
        Cell::Bytes(bytes) => SqlValue::Bytes(bytes),
        Cell::Uuid(bytes) => return uuid(bytes),
        Cell::Date(days) => SqlValue::Date(postgres_date(days)?),
        Cell::Time(nanos) => SqlValue::Time(postgres_time(nanos, allowed)?),
        Cell::Local(moment) => SqlValue::Timestamp(moment.postgres(allowed)?),
        Cell::Instant(moment) => SqlValue::Timestamptz(moment.postgres(allowed)?),
        Cell::Interval(span) => SqlValue::Interval(span.months, span.days, span.postgres_micros(allowed)?),
        // The plan lets none through.
        Cell::List(..) | Cell::Struct(..) | Cell::Map(..) => return Err(NotEncoded::Unsure),
    })
}

fn uuid(bytes: &[u8]) -> Result<SqlValue<'static>, NotEncoded> {
    match bytes.try_into() {
        Ok(uuid) => Ok(SqlValue::Uuid(uuid)),
        Err(_) => Err(NotEncoded::invalid("22P03", format!("a uuid has 16 bytes, not {}", bytes.len()))),
    }
}

/// A number as `numeric`. A float is the decimal that it shows.
fn numeric(
    cell: Cell<'_>,
    limit: Option<NumericLimit>,
    allowed: Allowed,
) -> Result<SqlValue<'_>, NotEncoded> {
    let decimal = match cell {
        Cell::Decimal(decimal) => decimal,
        Cell::Int(value) => Decimal::of_int(value),
        Cell::Single(value) if value.is_finite() => Shortest::of(value).decimal(),
        Cell::Double(value) if value.is_finite() => Shortest::of(value).decimal(),
        other => return natural(other, allowed),
    };
    if let Some(NumericLimit { scale, .. }) = limit
        && !allowed.decimals
        && !decimal.fits_scale(scale.into())
    {
        let why = match scale {
            0.. => format!("has more than {scale} decimal places"),
            _ => format!("is no multiple of 10^{}", -scale),
        };
        return Err(lossy(|out| decimal.put(out), &why, Loss::Decimals));
    }
    Ok(SqlValue::Numeric(decimal))
}
