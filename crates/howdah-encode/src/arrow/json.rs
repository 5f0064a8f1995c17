//! JSON of Arrow values as `to_jsonb` would write it, nothing lost: numbers with all their digits, nanoseconds too.

use arrow_array::ArrayRef;
use arrow_schema::{FieldRef, Schema};

use super::extension::Extension;
use super::moments::{Style, put_clock, put_day, utc};
use super::numbers::{put_bool, put_double, put_int, put_single, special};
use super::source::{Cell, Source};
use super::strings::{put_hex, put_uuid};
use crate::json::is_jsonb;

/// Appends one row as a JSON object, keys in the schema's order: what a reject file keeps of it, readable again as
/// NDJSON. Columns of types that have no counterpart in PostgreSQL are null.
///
/// # Panics
/// When a column has no such row.
pub fn json_row(schema: &Schema, columns: &[ArrayRef], row: usize, out: &mut Vec<u8>) {
    let columns = schema.fields().iter().zip(columns).map(|column| (column.0.name().as_str(), column));
    let put_column = |(field, column): (&FieldRef, &ArrayRef), out: &mut Vec<u8>| match Source::bind(
        column,
        Extension::of(field),
    ) {
        Ok(source) => put(&source, row, out),
        Err(_) => out.extend_from_slice(b"null"),
    };
    put_object(columns, put_column, out);
}

/// Appends the members of an object, each written by `put`.
fn put_object<'n, T>(
    members: impl Iterator<Item = (&'n str, T)>,
    mut put: impl FnMut(T, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    for (index, (name, member)) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put_string(name.as_bytes(), out);
        out.push(b':');
        put(member, out);
    }
    out.push(b'}');
}

/// Appends the value of a row.
pub(super) fn put(source: &Source<'_>, row: usize, out: &mut Vec<u8>) {
    let cell = if source.is_null(row) { None } else { source.cell(row) };
    let Some(cell) = cell else { return out.extend_from_slice(b"null") };
    match cell {
        Cell::Bool(value) => put_bool(value, out),
        Cell::Int(value) => put_int(value, out),
        Cell::Single(value) if special(value.into()).is_none() => put_single(value, out),
        Cell::Double(value) if special(value).is_none() => put_double(value, out),
        Cell::Decimal(value) => value.put(out),
        Cell::Text(text) => put_string(text, out),
        Cell::Json(text) if is_jsonb(text) => put_on_one_line(text, out),
        Cell::Json(text) => put_string(text, out),
        Cell::List(items, range) => {
            out.push(b'[');
            let first = range.start;
            for row in range {
                if row > first {
                    out.push(b',');
                }
                put(items, row, out);
            }
            out.push(b']');
        }
        Cell::Struct(members, row) => {
            let members = members.iter().map(|member| (member.name, &member.source));
            put_object(members, |source, out| put(source, row, out), out);
        }
        Cell::Map(keys, values, range) => put_map(keys, values, range, out),
        // The others are written as text, which needs no escapes but of bytea.
        Cell::Bytes(bytes) => {
            out.extend_from_slice(b"\"\\");
            put_hex(bytes, out);
            out.push(b'"');
        }
        cell => {
            out.push(b'"');
            put_text(&cell, out);
            out.push(b'"');
        }
    }
}

/// Appends what stands between the quotes of a value that JSON has no form of its own for.
fn put_text(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match *cell {
        Cell::Single(value) => put_single(value, out),
        Cell::Double(value) => put_double(value, out),
        Cell::Uuid(bytes) => put_uuid(bytes, out),
        Cell::Date(days) => put_day(days, out),
        Cell::Time(nanos) => put_clock(nanos, out),
        Cell::Local(moment) => moment.put(Style::Json, "", out),
        Cell::Instant(moment) => moment.put(Style::Json, utc(Style::Json), out),
        Cell::Interval(span) => span.put(out),
        _ => {}
    }
}

/// A map is an object; a key that is no text becomes what it would be as a string, or the JSON that it is.
fn put_map(keys: &Source<'_>, values: &Source<'_>, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
    let mut key = Vec::new();
    out.push(b'{');
    let first = range.start;
    for row in range {
        if row > first {
            out.push(b',');
        }
        key.clear();
        put(keys, row, &mut key);
        match key.first() {
            Some(b'"') => out.extend_from_slice(&key),
            _ => put_string(&key, out),
        }
        out.push(b':');
        put(values, row, out);
    }
    out.push(b'}');
}

/// Appends a JSON value without its line ends, which can only be white space.
fn put_on_one_line(json: &[u8], out: &mut Vec<u8>) {
    out.extend(json.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}

/// Appends a string with the escapes of `to_jsonb`.
fn put_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control @ ..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.push(b'0' + (control >> 4));
                out.push(b"0123456789abcdef"[usize::from(control & 15)]);
            }
            itself => out.extend_from_slice(&[b'\\', itself]),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
