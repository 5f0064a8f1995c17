//! PostgreSQL's binary COPY format, written by hand: the benchmark's floor must not depend on the encoder under test.

/// Signature, flags and length of the header extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The field count that ends a file.
pub(super) const TRAILER: &[u8] = &[0xff, 0xff];

/// Seconds from 1970-01-01 to 2000-01-01, where PostgreSQL's timestamps begin.
const POSTGRES_EPOCH: i64 = 946_684_800;

/// Starts a tuple of so many fields.
pub(super) fn push_tuple(out: &mut Vec<u8>, fields: i16) {
    out.extend_from_slice(&fields.to_be_bytes());
}

pub(super) fn push_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
}

pub(super) fn push_bytes(out: &mut Vec<u8>, value: &[u8]) {
    push_length(out, value.len());
    out.extend_from_slice(value);
}

pub(super) fn push_bool(out: &mut Vec<u8>, value: bool) {
    push_bytes(out, &[u8::from(value)]);
}

pub(super) fn push_int4(out: &mut Vec<u8>, value: i32) {
    push_bytes(out, &value.to_be_bytes());
}

pub(super) fn push_int8(out: &mut Vec<u8>, value: i64) {
    push_bytes(out, &value.to_be_bytes());
}

pub(super) fn push_float8(out: &mut Vec<u8>, value: f64) {
    push_bytes(out, &value.to_bits().to_be_bytes());
}

/// `seconds` since 1970, in UTC.
pub(super) fn push_timestamptz(out: &mut Vec<u8>, seconds: i64) {
    push_int8(out, (seconds - POSTGRES_EPOCH) * 1_000_000);
}

/// The wire form of jsonb is its text behind a version byte.
pub(super) fn push_jsonb(out: &mut Vec<u8>, text: &[u8]) {
    push_length(out, text.len() + 1);
    out.push(1);
    out.extend_from_slice(text);
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    // A value of these data sets is a few hundred bytes long.
    let length = i32::try_from(length).expect("a generated value fits a field");
    out.extend_from_slice(&length.to_be_bytes());
}
