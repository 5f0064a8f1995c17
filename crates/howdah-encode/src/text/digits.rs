//! Up to sixteen decimal digits at once, without a branch per digit; hexadecimal digits by table.

use std::ops::Range;

/// Eight bytes of '0'.
const ZEROS: u64 = 0x3030_3030_3030_3030;
/// The high bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Added to a byte of 0 to 9 this leaves the high bit clear; to any other below 0x80 it sets it.
const ABOVE_NINE: u64 = 0x7676_7676_7676_7676;

/// One to eight characters at the end of a word in which the first character of the text has the lowest address;
/// '0' has been subtracted (by exclusive or), so that digits are 0 to 9 and the padding in front reads as zeros.
#[inline]
pub(super) fn load8(text: &[u8]) -> Option<u64> {
    let length = text.len();
    let pad = match length {
        1..=8 => 8 * (8 - length),
        _ => return None,
    };
    let word = if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (u64::from(u32::from_le_bytes(*last)) << 32) | (u64::from(u32::from_le_bytes(*first)) << pad)
    } else {
        let (first, middle, last) = (text[0], text[length / 2], text[length - 1]);
        (u64::from(first) << pad) | (u64::from(middle) << (pad + 8 * (length / 2))) | (u64::from(last) << 56)
    };
    Some(word ^ (ZEROS << pad))
}

/// What [`load8`] gives for `text[range]`, without a branch on its length: the characters before it are loaded along.
/// The second value says whether a minus sign was passed over.
#[inline(always)]
pub(super) fn signed8_within(text: &[u8], range: Range<usize>) -> Option<(bool, u64)> {
    let negative = text.get(range.start) == Some(&b'-');
    let length = range.end.wrapping_sub(range.start + usize::from(negative));
    let last = text.get(range.end.wrapping_sub(8)..range.end)?.first_chunk()?;
    if length.wrapping_sub(1) >= 8 {
        return None;
    }
    let pad = 64 - 8 * length;
    Some((negative, (u64::from_le_bytes(*last) ^ ZEROS) >> pad << pad))
}

/// Nine to sixteen characters, laid out like [`load8`]: the first word and the second.
#[inline]
pub(super) fn load16(text: &[u8]) -> Option<(u64, u64)> {
    if !(9..=16).contains(&text.len()) {
        return None;
    }
    let pad = 8 * (16 - text.len());
    let first = u64::from_le_bytes(*text.first_chunk()?) << pad;
    let last = u64::from_le_bytes(*text.last_chunk()?);
    Some((first ^ (ZEROS << pad), last ^ ZEROS))
}

/// Whether each byte of a loaded word is a digit.
#[inline]
pub(super) fn all_digits(word: u64) -> bool {
    (word.wrapping_add(ABOVE_NINE) | word) & HIGH == 0
}

/// The number that a loaded word of digits says: pairs, then fours, then eight.
#[inline]
pub(super) fn value8(word: u64) -> u64 {
    const PAIRS: u64 = 0x00ff_00ff_00ff_00ff;
    const FOURS: u64 = 0x0000_ffff_0000_ffff;
    let pairs = (word.wrapping_mul(1 + (10 << 8)) >> 8) & PAIRS;
    let fours = (pairs.wrapping_mul(1 + (100 << 16)) >> 16) & FOURS;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

/// A mask of 0x80 at the lowest byte that equals `byte` (after the exclusive or of loading); higher bits may be
/// set wrongly.
#[inline]
fn find(word: u64, byte: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & HIGH
}

/// A sign, digits and perhaps a point, at most sixteen characters after the sign: whether it is negative, the
/// digits as a number, and how many of them stand after the point.
#[inline(always)]
pub(super) fn short_decimal(literal: &[u8]) -> Option<(bool, u64, usize)> {
    let negative = literal.first() == Some(&b'-');
    let text = &literal[usize::from(negative)..];
    if let Some(word) = load8(text) {
        if word == LONE_POINT && text.len() == 1 {
            return None;
        }
        let (value, places) = decimal8(word)?;
        return Some((negative, value, places));
    }
    let (mut high, mut low) = load16(text)?;
    let mut places = 0;
    let in_low = find(low, POINT);
    let in_high = find(high, POINT);
    if in_high != 0 {
        let after;
        (high, after) = without_point(high, in_high);
        places = after + 8;
    } else if in_low != 0 {
        (low, places) = without_point(low, in_low);
        low |= high >> 56;
        high <<= 8;
    }
    (all_digits(high) && all_digits(low))
        .then(|| (negative, value8(high) * 100_000_000 + value8(low), places))
}

/// '.' as loading leaves it.
const POINT: u8 = b'.' ^ b'0';

/// A word loaded from a point behind zeros, or from a point alone, which is no number.
pub(super) const LONE_POINT: u64 = (POINT as u64) << 56;

/// The number of a loaded word of digits and perhaps a point, and how many of them stand after it.
#[inline(always)]
pub(super) fn decimal8(word: u64) -> Option<(u64, usize)> {
    if all_digits(word) {
        return Some((value8(word), 0));
    }
    let mark = find(word, POINT);
    if mark == 0 {
        return None;
    }
    let (digits, places) = without_point(word, mark);
    all_digits(digits).then(|| (value8(digits), places))
}

/// Closes the gap of the point at the lowest set byte of `mark`, and counts the bytes behind it.
#[inline]
fn without_point(word: u64, mark: u64) -> (u64, usize) {
    let at = mark.trailing_zeros() & !7;
    let before = word & ((1 << at) - 1);
    let behind = (word >> at >> 8) << at << 8;
    (behind | (before << 8), 7 - (at >> 3) as usize)
}

/// What [`hex_value`] says of a byte that is no digit; all values are below.
pub(super) const NOT_HEX: u8 = 0x80;

/// The value of a hexadecimal digit.
#[inline]
pub(super) fn hex_value(digit: u8) -> u8 {
    const VALUES: [u8; 256] = {
        let mut values = [NOT_HEX; 256];
        let mut value = 0;
        while value < 16 {
            values[b"0123456789abcdef"[value as usize] as usize] = value;
            values[b"0123456789ABCDEF"[value as usize] as usize] = value;
            value += 1;
        }
        values
    };
    VALUES[usize::from(digit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_length_are_read() {
        let text = b"9081726354453627";
        for length in 1..=16 {
            let digits = &text[..length];
            let expected: u64 = std::str::from_utf8(digits).unwrap().parse().unwrap();
            let value = match load8(digits) {
                Some(word) => value8(word),
                None => load16(digits).map(|(high, low)| value8(high) * 100_000_000 + value8(low)).unwrap(),
            };
            assert_eq!(value, expected);
        }
        assert!(load8(b"").is_none() && load16(b"12345678901234567").is_none());
    }

    #[test]
    fn a_number_within_other_text_is_read_as_alone() {
        let text = b"7,-9.5,1234567,-.5,.,-12345678,123456789,-,x";
        let mut start = 0;
        for field in text.split(|byte| *byte == b',') {
            let range = start..start + field.len();
            start = range.end + 1;
            let alone = (field.first() == Some(&b'-'), load8(field.strip_prefix(b"-").unwrap_or(field)));
            // Too near to the start of the text, nothing is said.
            let within = signed8_within(text, range.clone());
            assert!(within.is_some() == (alone.1.is_some() && range.end >= 8));
            assert!(within.is_none_or(|(negative, word)| (negative, Some(word)) == alone));
        }
    }

    #[test]
    fn a_byte_that_is_no_digit_is_seen_at_every_place() {
        for byte in (0..=255_u8).filter(|b| !b.is_ascii_digit()) {
            for at in 0..8 {
                let mut text = *b"98765432";
                text[at] = byte;
                assert!(!all_digits(load8(&text).unwrap()), "{byte} at {at}");
            }
        }
        assert!(all_digits(load8(b"09").unwrap()));
    }
}
