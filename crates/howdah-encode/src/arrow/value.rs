//! One value on PostgreSQL's side: its binary field and its literal.

use super::decimal::Decimal;
use super::moments::{EPOCH_DAYS, Interval, Style, Timestamp, put_clock, put_day, utc};
use super::numbers::{put_bool, put_double, put_int, put_single};
use super::strings::{put_hex, put_uuid};

/// A value that PostgreSQL can hold.
pub(super) enum SqlValue<'s> {
    Bool(bool),
    /// An integer of no particular type.
    Int(i128),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Oid(u32),
    Single(f32),
    Double(f64),
    Numeric(Decimal),
    /// A literal of any type, valid UTF-8 without NUL.
    Text(&'s [u8]),
    Bytes(&'s [u8]),
    Uuid([u8; 16]),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 2000-01-01.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 in UTC.
    Timestamptz(i64),
    /// Months, days, microseconds.
    Interval(i32, i32, i64),
}

impl SqlValue<'_> {
    /// Appends the literal from which the type's input function makes this value.
    pub(super) fn literal(&self, out: &mut Vec<u8>) {
        match *self {
            SqlValue::Bool(value) => put_bool(value, out),
            SqlValue::Int(value) => put_int(value, out),
            SqlValue::Int2(value) => put_int(value.into(), out),
            SqlValue::Int4(value) => put_int(value.into(), out),
            SqlValue::Int8(value) => put_int(value.into(), out),
            SqlValue::Oid(value) => put_int(value.into(), out),
            SqlValue::Single(value) => put_single(value, out),
            SqlValue::Double(value) => put_double(value, out),
            SqlValue::Numeric(value) => value.put(out),
            SqlValue::Text(value) => out.extend_from_slice(value),
            SqlValue::Bytes(value) => put_hex(value, out),
            SqlValue::Uuid(value) => put_uuid(&value, out),
            SqlValue::Date(days) => put_day(i64::from(days) + EPOCH_DAYS, out),
            SqlValue::Time(micros) => put_clock(micros * 1000, out),
            SqlValue::Timestamp(micros) => Timestamp::of_postgres(micros).put(Style::Sql, "", out),
            SqlValue::Timestamptz(micros) => {
                Timestamp::of_postgres(micros).put(Style::Sql, utc(Style::Sql), out)
            }
            SqlValue::Interval(months, days, micros) => Interval::of_postgres(months, days, micros).put(out),
        }
    }
}
