//! Writes single values as fields of COPY's [binary format]: a four-byte length in network order, then the bytes that the
//! type's receive function takes.
//!
//! [binary format]: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS

use std::net::IpAddr;
use std::ops::Range;

use crate::verdict::NotEncoded;

/// The header of a binary COPY: signature, no flags, no header extension.
pub const HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The trailer of a binary COPY: a field count of -1.
pub const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

/// The longest field in bytes: PostgreSQL allocates at most 1 GiB - 1 for a value (`MaxAllocSize`), its four-byte header
/// included. See [limits].
///
/// [limits]: https://www.postgresql.org/docs/current/limits.html
pub const MAX_FIELD_BYTES: usize = 0x3fff_ffff - 4;

/// The most digits before the point of a [`numeric`], as PostgreSQL documents it.
///
/// [`numeric`]: https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-NUMERIC-DECIMAL
pub const NUMERIC_INTEGER_DIGITS: usize = 131_072;

/// The most digits behind the point of a [`numeric`], as PostgreSQL documents it.
///
/// [`numeric`]: https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-NUMERIC-DECIMAL
pub const NUMERIC_SCALE: usize = 16_383;

/// Appends NULL: the length -1 and no bytes.
#[inline]
pub fn put_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xff; 4]);
}

/// Appends a bool.
#[inline]
pub fn put_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(&[0, 0, 0, 1, u8::from(value)]);
}

/// Appends an int2.
#[inline]
pub fn put_i16(out: &mut Vec<u8>, value: i16) {
    let [a, b] = value.to_be_bytes();
    out.extend_from_slice(&[0, 0, 0, 2, a, b]);
}

/// Appends an int4, or a date as days since 2000-01-01.
#[inline]
pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&four_bytes(value.to_be_bytes()));
}

/// Appends an int8, a timestamp as microseconds since 2000-01-01 (timestamptz: in UTC), a time as microseconds since
/// midnight, or money in the smallest unit of its currency.
#[inline]
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&eight_bytes(value.to_be_bytes()));
}

/// Appends an oid.
#[inline]
pub fn put_oid(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&four_bytes(value.to_be_bytes()));
}

/// Appends a `"char"`, the type of a single byte.
#[inline]
pub fn put_char(out: &mut Vec<u8>, value: u8) {
    out.extend_from_slice(&[0, 0, 0, 1, value]);
}

/// Appends a timetz: microseconds since midnight and the offset in seconds east of UTC, less than 16 hours.
#[inline]
pub fn put_timetz(out: &mut Vec<u8>, micros: i64, east: i32) {
    // The format counts westwards.
    let west = east.wrapping_neg().to_be_bytes();
    out.extend_from_slice(&12_u32.to_be_bytes());
    out.extend_from_slice(&micros.to_be_bytes());
    out.extend_from_slice(&west);
}

/// Appends an interval: its months, days and microseconds are independent of each other.
#[inline]
pub fn put_interval(out: &mut Vec<u8>, months: i32, days: i32, micros: i64) {
    out.extend_from_slice(&16_u32.to_be_bytes());
    out.extend_from_slice(&micros.to_be_bytes());
    out.extend_from_slice(&days.to_be_bytes());
    out.extend_from_slice(&months.to_be_bytes());
}

/// Appends a float4.
#[inline]
pub fn put_f32(out: &mut Vec<u8>, value: f32) {
    out.extend_from_slice(&four_bytes(value.to_be_bytes()));
}

/// Appends a float8.
#[inline]
pub fn put_f64(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&eight_bytes(value.to_be_bytes()));
}

/// Appends a uuid.
#[inline]
pub fn put_uuid(out: &mut Vec<u8>, value: [u8; 16]) {
    let mut field = [0; 20];
    field[3] = 16;
    field[4..].copy_from_slice(&value);
    out.extend_from_slice(&field);
}

/// Appends an inet; `prefix` counts bits, at most 32 or 128.
#[inline]
pub fn put_inet(out: &mut Vec<u8>, address: IpAddr, prefix: u8) {
    put_network(out, address, prefix, false);
}

/// Appends a cidr; `prefix` counts bits, at most 32 or 128, and no bit is set behind it.
#[inline]
pub fn put_cidr(out: &mut Vec<u8>, address: IpAddr, prefix: u8) {
    put_network(out, address, prefix, true);
}

#[inline]
fn put_network(out: &mut Vec<u8>, address: IpAddr, prefix: u8, is_cidr: bool) {
    // PostgreSQL's own numbers for the families, the same on every platform.
    match address {
        IpAddr::V4(address) => {
            out.extend_from_slice(&[0, 0, 0, 8, 2, prefix, u8::from(is_cidr), 4]);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.extend_from_slice(&[0, 0, 0, 20, 3, prefix, u8::from(is_cidr), 16]);
            out.extend_from_slice(&address.octets());
        }
    }
}

/// Appends a macaddr.
#[inline]
pub fn put_macaddr(out: &mut Vec<u8>, [a, b, c, d, e, f]: [u8; 6]) {
    out.extend_from_slice(&[0, 0, 0, 6, a, b, c, d, e, f]);
}

/// Appends a macaddr8.
#[inline]
pub fn put_macaddr8(out: &mut Vec<u8>, value: [u8; 8]) {
    out.extend_from_slice(&eight_bytes(value));
}

/// Appends a pg_lsn: a position in the write-ahead log in bytes.
#[inline]
pub fn put_lsn(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&eight_bytes(value.to_be_bytes()));
}

/// Appends raw bytes: bytea, text and its relatives in the client's encoding, json.
///
/// # Errors
/// `Invalid` (54000) beyond [`MAX_FIELD_BYTES`].
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, value: &[u8]) -> Result<(), NotEncoded> {
    let length = field_length(value.len())?;
    out.reserve(4 + value.len());
    out.extend_from_slice(&length);
    out.extend_from_slice(value);
    Ok(())
}

/// How long a value is at most that is copied together with what follows it.
const SHORT: usize = 32;

/// Appends the bytes of `text` at `range` if they are few and more follow them: as many are copied each time, and those beyond are
/// taken back, which spares the branches on their length. If false, nothing was appended.
#[inline(always)]
pub(crate) fn put_short_bytes(out: &mut Vec<u8>, text: &[u8], range: Range<usize>) -> bool {
    let length = range.len();
    let Some(bytes) = text.get(range.start..).and_then(|rest| rest.first_chunk::<SHORT>()) else {
        return false;
    };
    if length > SHORT {
        return false;
    }
    let mut field = [0; 4 + SHORT];
    #[expect(clippy::cast_possible_truncation, reason = "at most 32")]
    let length_word = (length as u32).to_be_bytes();
    field[..4].copy_from_slice(&length_word);
    field[4..].copy_from_slice(bytes);
    out.extend_from_slice(&field);
    out.truncate(out.len() - (SHORT - length));
    true
}

/// Appends a jsonb: its version byte, then the JSON text, which the server parses.
///
/// # Errors
/// `Invalid` (54000) beyond [`MAX_FIELD_BYTES`].
#[inline]
pub fn put_jsonb(out: &mut Vec<u8>, json: &[u8]) -> Result<(), NotEncoded> {
    const VERSION: u8 = 1;
    let [a, b, c, d] = field_length(json.len().saturating_add(1))?;
    out.reserve(5 + json.len());
    out.extend_from_slice(&[a, b, c, d, VERSION]);
    out.extend_from_slice(json);
    Ok(())
}

/// The value of a finite numeric without its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumericHead {
    /// Whether the value is below zero; zero itself is not.
    pub negative: bool,
    /// Power of 10,000 of the first digit; 0 for zero.
    pub weight: i16,
    /// Decimal digits after the point that are shown, at most 16,383.
    pub dscale: u16,
}

/// A numeric without digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumericSpecial {
    /// Not a number.
    NaN,
    /// Infinity.
    Infinity,
    /// Minus infinity.
    NegativeInfinity,
}

impl NumericHead {
    /// A field's length and head, for so many digits.
    #[inline]
    fn bytes(self, digits: u16) -> [u8; 12] {
        let sign: u16 = if self.negative { 0x4000 } else { 0 };
        let [length_0, length_1, length_2, length_3] = (8 + 2 * u32::from(digits)).to_be_bytes();
        let [count_0, count_1] = digits.to_be_bytes();
        let [weight_0, weight_1] = self.weight.to_be_bytes();
        let [sign_0, sign_1] = sign.to_be_bytes();
        let [dscale_0, dscale_1] = self.dscale.to_be_bytes();
        [
            length_0, length_1, length_2, length_3, count_0, count_1, weight_0, weight_1, sign_0, sign_1,
            dscale_0, dscale_1,
        ]
    }
}

/// Appends a finite numeric; `digits` are base 10,000, the first and the last not zero.
///
/// # Errors
/// `Invalid` (22003) for more than 65,535 digits, almost twice as many as PostgreSQL's numbers have; nothing is appended.
#[inline]
pub fn put_numeric(
    out: &mut Vec<u8>,
    head: NumericHead,
    digits: impl ExactSizeIterator<Item = u16>,
) -> Result<(), NotEncoded> {
    let Ok(count) = u16::try_from(digits.len()) else { return Err(NotEncoded::numeric_overflow()) };
    out.reserve(12 + 2 * usize::from(count));
    out.extend_from_slice(&head.bytes(count));
    for digit in digits {
        out.extend_from_slice(&digit.to_be_bytes());
    }
    Ok(())
}

/// How many digits [`put_short_numeric`] takes at most.
pub(crate) const FEW_DIGITS: usize = 5;

/// Does the same with the first `count` of `digits`, which are at most five. As many are copied each time if they are there, and
/// those beyond are taken back, which spares the branches on their number.
#[inline(always)]
pub(crate) fn put_short_numeric(out: &mut Vec<u8>, head: NumericHead, digits: &[u16], count: usize) {
    #[expect(clippy::cast_possible_truncation, reason = "at most five")]
    let count = count.min(FEW_DIGITS) as u16;
    let mut field = [0; 12 + 2 * FEW_DIGITS];
    field[..12].copy_from_slice(&head.bytes(count));
    for (place, digit) in field[12..].as_chunks_mut::<2>().0.iter_mut().zip(digits) {
        *place = digit.to_be_bytes();
    }
    out.extend_from_slice(&field);
    out.truncate(out.len() - 2 * (FEW_DIGITS - usize::from(count)));
}

/// Appends a numeric that is not finite.
#[inline]
pub fn put_numeric_special(out: &mut Vec<u8>, value: NumericSpecial) {
    let sign = match value {
        NumericSpecial::NaN => 0xc0,
        NumericSpecial::Infinity => 0xd0,
        NumericSpecial::NegativeInfinity => 0xf0,
    };
    out.extend_from_slice(&[0, 0, 0, 8, 0, 0, 0, 0, sign, 0, 0, 0]);
}

/// Appends a field whose value `put` appends; leaves nothing behind when that fails.
pub(crate) fn framed(
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>) -> Result<(), NotEncoded>,
) -> Result<(), NotEncoded> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let framed = put(out).and_then(|()| field_length(out.len() - start - 4));
    match framed {
        Ok(length) => out[start..start + 4].copy_from_slice(&length),
        Err(_) => out.truncate(start),
    }
    framed.map(drop)
}

/// The length prefix, checked before it is cast.
#[inline]
pub(crate) fn field_length(bytes: usize) -> Result<[u8; 4], NotEncoded> {
    match i32::try_from(bytes) {
        Ok(length) if bytes <= MAX_FIELD_BYTES => Ok(length.to_be_bytes()),
        _ => Err(too_long(bytes)),
    }
}

#[cold]
fn too_long(bytes: usize) -> NotEncoded {
    let reason = format!("field of {bytes} bytes exceeds PostgreSQL's limit of {MAX_FIELD_BYTES} bytes");
    NotEncoded::invalid("54000", reason)
}

/// A count of elements or columns, which the formats of arrays and records write as four bytes.
///
/// Callers bound what they count far below 2^32; should one forget to, the server is asked instead of sent a wrong count.
#[inline]
pub(crate) fn count(things: usize) -> Result<[u8; 4], NotEncoded> {
    u32::try_from(things).map(u32::to_be_bytes).map_err(|_| NotEncoded::Unsure)
}

#[inline]
fn four_bytes([a, b, c, d]: [u8; 4]) -> [u8; 8] {
    [0, 0, 0, 4, a, b, c, d]
}

#[inline]
fn eight_bytes([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u8; 12] {
    [0, 0, 0, 8, a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out);
        out
    }

    #[test]
    fn fields_carry_length_and_value_in_network_order() {
        assert_eq!(field(put_null), [0xff, 0xff, 0xff, 0xff]);
        assert_eq!(field(|o| put_bool(o, true)), [0, 0, 0, 1, 1]);
        assert_eq!(field(|o| put_i16(o, -2)), [0, 0, 0, 2, 0xff, 0xfe]);
        assert_eq!(field(|o| put_i32(o, 258)), [0, 0, 0, 4, 0, 0, 1, 2]);
        assert_eq!(field(|o| put_i64(o, 1)), [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(field(|o| put_oid(o, u32::MAX)), [0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(field(|o| put_char(o, b'a')), [0, 0, 0, 1, b'a']);
        let at_utc_plus_1 = [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 7, 0xff, 0xff, 0xf1, 0xf0];
        assert_eq!(field(|o| put_timetz(o, 7, 3600)), at_utc_plus_1);
        let interval = [0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1];
        assert_eq!(field(|o| put_interval(o, 1, 2, 3)), interval);
        assert_eq!(field(|o| put_f32(o, 1.0)), [0, 0, 0, 4, 0x3f, 0x80, 0, 0]);
        assert_eq!(field(|o| put_f64(o, -2.0)), [0, 0, 0, 8, 0xc0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(field(|o| put_bytes(o, b"ab").unwrap()), [0, 0, 0, 2, b'a', b'b']);
        assert_eq!(field(|o| put_jsonb(o, b"1").unwrap()), [0, 0, 0, 2, 1, b'1']);
        assert_eq!(field(|o| put_inet(o, [10, 0, 0, 1].into(), 24)), [0, 0, 0, 8, 2, 24, 0, 4, 10, 0, 0, 1]);
        assert_eq!(field(|o| put_cidr(o, [0_u8; 16].into(), 0))[..8], [0, 0, 0, 20, 3, 0, 1, 16]);
        assert_eq!(field(|o| put_macaddr(o, [1, 2, 3, 4, 5, 6])), [0, 0, 0, 6, 1, 2, 3, 4, 5, 6]);
        assert_eq!(field(|o| put_lsn(o, 1 << 32)), [0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0]);
        let head = NumericHead { negative: true, weight: 0, dscale: 2 };
        let minus_1_5 = [0, 0, 0, 12, 0, 2, 0, 0, 0x40, 0, 0, 2, 0, 1, 0x13, 0x88];
        assert_eq!(field(|o| put_numeric(o, head, [1, 5000].into_iter()).unwrap()), minus_1_5);
        assert_eq!(field(|o| put_short_numeric(o, head, &[1, 5000, 7, 8, 9], 2)), minus_1_5);
    }

    #[test]
    fn a_short_value_is_followed_by_nothing() {
        let text: Vec<u8> = (0..100).collect();
        let mut out = vec![7];
        assert!(put_short_bytes(&mut out, &text, 10..13));
        assert_eq!(out, [7, 0, 0, 0, 3, 10, 11, 12]);
        assert!(put_short_bytes(&mut out, &text, 68..100));
        assert_eq!((out.len(), out.last()), (8 + 36, Some(&99)));
        assert!(put_short_bytes(&mut out, &text, 5..5));
        assert_eq!(out[44..], [0; 4]);
        // Too long, and too near to the end.
        assert!(!put_short_bytes(&mut out, &text, 0..33) && !put_short_bytes(&mut out, &text, 69..71));
        assert_eq!(out.len(), 48);
    }

    #[test]
    fn a_numeric_with_more_digits_than_its_count_holds_is_refused_not_cut() {
        let head = NumericHead { negative: false, weight: 0, dscale: 0 };
        let mut out = Vec::new();
        let digits = vec![1; usize::from(u16::MAX) + 1];
        let refused = put_numeric(&mut out, head, digits.iter().copied());
        assert!(matches!(refused, Err(NotEncoded::Invalid(invalid)) if invalid.sqlstate == "22003"));
        assert!(out.is_empty());
        assert!(put_numeric(&mut out, head, digits[1..].iter().copied()).is_ok());
    }

    #[test]
    fn a_length_beyond_the_servers_limit_is_refused_not_wrapped() {
        assert!(field_length(MAX_FIELD_BYTES).is_ok());
        for bytes in [MAX_FIELD_BYTES + 1, 1 << 31, (1 << 32) + 4, usize::MAX] {
            assert!(
                matches!(field_length(bytes), Err(NotEncoded::Invalid(i)) if i.sqlstate == "54000"),
                "{bytes}"
            );
        }
    }

    #[test]
    fn the_header_is_19_bytes_with_the_signature() {
        assert_eq!(&HEADER[..11], b"PGCOPY\n\xff\r\n\0");
        assert_eq!(TRAILER, [0xff, 0xff]);
    }
}
