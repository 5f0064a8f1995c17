//! `macaddr` and `macaddr8`: hexadecimal octets in six or more spellings.

use super::digits::{NOT_HEX, hex_value};
use super::space::{is_space, trimmed};
use crate::verdict::{NotEncoded, shown};

/// Two hexadecimal digits a byte, with `separator` between the bytes.
#[inline]
fn pairs<const BYTES: usize>(text: &[u8]) -> Option<[u8; BYTES]> {
    let separator = *text.get(2)?;
    if text.len() != 3 * BYTES - 1 || !matches!(separator, b':' | b'-') {
        return None;
    }
    let mut address = [0; BYTES];
    let mut seen = 0;
    for (byte, pair) in address.iter_mut().zip(text.chunks(3)) {
        let (high, low) = (hex_value(pair[0]), hex_value(pair[1]));
        seen |= high | low | if pair.get(2).is_none_or(|b| *b == separator) { 0 } else { NOT_HEX };
        *byte = high << 4 | low;
    }
    (seen < NOT_HEX).then_some(address)
}

#[inline(never)]
pub(super) fn parse_macaddr(literal: &[u8]) -> Result<[u8; 6], NotEncoded> {
    match pairs(literal) {
        Some(address) => Ok(address),
        None => scanned(literal),
    }
}

/// The server tries a row of `sscanf` formats. What those do with signs, with `0x` and with white space inside is
/// left to its C library.
#[cold]
fn scanned(literal: &[u8]) -> Result<[u8; 6], NotEncoded> {
    let text = trimmed(literal);
    let syntax = || NotEncoded::syntax("macaddr", literal);
    let digits = text.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let known =
        |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'-' | b'.' | b'+' | b'x' | b'X');
    // Six numbers have six digits, and a byte that belongs to no number and no separator is never passed over.
    if digits < 6 || !text.iter().all(|byte| known(byte) || is_space(*byte)) {
        return Err(syntax());
    }
    if text.iter().any(|byte| is_space(*byte) || matches!(byte, b'+' | b'x' | b'X')) {
        return Err(NotEncoded::Unsure);
    }
    let separator = text.iter().copied().find(|byte| !byte.is_ascii_hexdigit());
    let groups: Vec<&[u8]> = text.split(|byte| Some(*byte) == separator).collect();
    if groups.iter().any(|group| group.is_empty() || !group.iter().all(u8::is_ascii_hexdigit)) {
        // A hyphen can be read as a sign.
        return Err(if text.contains(&b'-') { NotEncoded::Unsure } else { syntax() });
    }
    match (separator, groups.len()) {
        (Some(b':' | b'-'), 6) => six_numbers(&groups, literal),
        (None, 1) | (Some(b':' | b'-'), 2) | (Some(b'.' | b'-'), 3) => {
            // All pairs are full but the last before a separator or the end.
            let pairs: Vec<&[u8]> = groups.iter().flat_map(|group| group.chunks(2)).collect();
            let even = groups.iter().all(|group| group.chunks(2).len() == 6 / groups.len());
            match even {
                true => six_numbers(&pairs, literal),
                false if separator == Some(b'-') => Err(NotEncoded::Unsure),
                false => Err(syntax()),
            }
        }
        (Some(b'-'), _) => Err(NotEncoded::Unsure),
        _ => Err(syntax()),
    }
}

fn six_numbers(numbers: &[&[u8]], literal: &[u8]) -> Result<[u8; 6], NotEncoded> {
    let mut address = [0; 6];
    let mut fits = true;
    for (byte, digits) in address.iter_mut().zip(numbers) {
        // More do not fit the server's int.
        if digits.len() > 8 {
            return Err(NotEncoded::Unsure);
        }
        let value = digits.iter().fold(0_u32, |value, digit| value << 4 | u32::from(hex_value(*digit)));
        match u8::try_from(value) {
            Ok(value) => *byte = value,
            Err(_) => fits = false,
        }
    }
    if !fits {
        let reason = format!("invalid octet value in \"macaddr\" value: \"{}\"", shown(literal));
        return Err(NotEncoded::invalid("22003", reason));
    }
    Ok(address)
}

#[inline(never)]
pub(super) fn parse_macaddr8(literal: &[u8]) -> Result<[u8; 8], NotEncoded> {
    if let Some(address) = pairs(literal) {
        return Ok(address);
    }
    match pairs(literal) {
        Some(address) => Ok(widened(address)),
        None => spaced(literal),
    }
}

/// EUI-48 as EUI-64.
fn widened([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, 0xff, 0xfe, d, e, f]
}

/// Pairs of digits, any number of them with one and the same separator between.
#[cold]
fn spaced(literal: &[u8]) -> Result<[u8; 8], NotEncoded> {
    let syntax = || NotEncoded::syntax("macaddr8", literal);
    let mut rest = trimmed(literal);
    let (mut bytes, mut count, mut separator) = ([0; 8], 0, None);
    while let [first, second, after @ ..] = rest {
        let [high, low] = [*first, *second].map(hex_value);
        let slot = bytes.get_mut(count).filter(|_| high | low < NOT_HEX);
        *slot.ok_or_else(syntax)? = high << 4 | low;
        count += 1;
        rest = match after {
            [byte @ (b':' | b'-' | b'.'), behind @ ..] if separator.is_none_or(|known| known == *byte) => {
                separator = Some(*byte);
                // A separator at the end, or one character more, is passed over: an oversight that may be corrected.
                if behind.len() < 2 && matches!(count, 6 | 8) {
                    return Err(NotEncoded::Unsure);
                }
                behind
            }
            _ => after,
        };
    }
    match (count, bytes) {
        (6 | 8, _) if !rest.is_empty() => Err(NotEncoded::Unsure),
        (6, [a, b, c, d, e, f, ..]) => Ok(widened([a, b, c, d, e, f])),
        (8, address) => Ok(address),
        _ => Err(syntax()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: [u8; 6] = [0x08, 0x00, 0x2b, 0x01, 0x02, 0x03];

    fn refusal<T: std::fmt::Debug>(result: Result<T, NotEncoded>) -> (&'static str, String) {
        match result {
            Err(NotEncoded::Invalid(invalid)) => (invalid.sqlstate, invalid.reason),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn all_documented_spellings_are_read() {
        for text in [
            "08:00:2b:01:02:03",
            "08-00-2B-01-02-03",
            "08002b:010203",
            "08002b-010203",
            "0800.2b01.0203",
            "0800-2b01-0203",
            "08002b010203",
            " 08:00:2b:01:02:03\n",
        ] {
            assert_eq!(parse_macaddr(text.as_bytes()), Ok(ADDRESS), "{text}");
            assert_eq!(parse_macaddr8(text.as_bytes()), Ok(widened(ADDRESS)), "{text}");
        }
        for text in
            ["08:00:2b:01:02:03:04:05", "08002b:0102030405", "0800.2b01.0203.0405", "08002b0102030405"]
        {
            assert_eq!(parse_macaddr8(text.as_bytes()), Ok([8, 0, 0x2b, 1, 2, 3, 4, 5]), "{text}");
        }
    }

    #[test]
    fn short_numbers_are_read_where_scanf_reads_them() {
        for text in ["8:0:2b:1:2:3", "8-0-2b-1-2-3", "008:0:2b:00000001:2:3", "0800.2b01.023", "08002b01023"]
        {
            let last = [0x08, 0x00, 0x2b, 0x01, 0x02, 0x03];
            assert_eq!(parse_macaddr(text.as_bytes()), Ok(last), "{text}");
        }
        assert_eq!(parse_macaddr(b"08002:01020"), Ok([8, 0, 2, 1, 2, 0]));
        assert_eq!(refusal(parse_macaddr8(b"8:0:2b:1:2:3")).0, "22P02");
    }

    #[test]
    fn what_is_no_address_is_refused_in_the_servers_words() {
        for text in [
            "",
            " ",
            "08:00:2b:01:02",
            "08:00:2b:01:02:03:04",
            "08:00:2b:01:02:0g",
            "08:00:2b:01:02:",
            "08002b0102",
            "08002b0102030",
            "0800.2b01.02",
            "08.00.2b.01.02.03",
            "08:00.2b:01:02:03",
            "08::00:2b:01:02:03",
            "not a mac",
        ] {
            let reason = format!("invalid input syntax for type macaddr: \"{text}\"");
            assert_eq!(refusal(parse_macaddr(text.as_bytes())), ("22P02", reason));
        }
        let reason = "invalid octet value in \"macaddr\" value: \"108:00:2b:01:02:03\"".to_owned();
        assert_eq!(refusal(parse_macaddr(b"108:00:2b:01:02:03")), ("22003", reason));
        for text in
            ["", "08:00:2b:01:02", "08:00-2b:01:02:03", "08:00:2b:01:02:03:04", "0:8:00:2b:01:02:03", "zz"]
        {
            let reason = format!("invalid input syntax for type macaddr8: \"{text}\"");
            assert_eq!(refusal(parse_macaddr8(text.as_bytes())), ("22P02", reason));
        }
    }

    #[test]
    fn what_scanf_or_an_oversight_decides_is_left_to_the_server() {
        for text in [
            "0x8:0:2b:1:2:3",
            "+8:0:2b:1:2:3",
            "8: 0:2b:1:2:3",
            "08--00-2b-01-02-03",
            "08-00-2b-01-02",
            "08:00:2b:01:02:-3",
            "000000008:0:2b:1:2:3",
            "08:00:2b:01:02:0３",
        ] {
            assert_eq!(parse_macaddr(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
        for text in ["08002b010203x", "08:00:2b:01:02:03:", "08:00:2b:01:02:03:4", "08:00:2b:01:02:03:04:05-"]
        {
            assert_eq!(parse_macaddr8(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
    }
}
