//! `uuid`: 32 hexadecimal digits, a hyphen allowed after each four of them, braces around.

use super::digits::{NOT_HEX, hex_value};
use crate::verdict::NotEncoded;

#[inline(never)]
pub(super) fn parse_uuid(literal: &[u8]) -> Result<[u8; 16], NotEncoded> {
    if let Some(uuid) = usual(literal).or_else(|| any(literal)) {
        return Ok(uuid);
    }
    Err(NotEncoded::syntax("uuid", literal))
}

/// Groups of 8, 4, 4, 4 and 12 digits.
#[inline]
fn usual(literal: &[u8]) -> Option<[u8; 16]> {
    let (a, rest) = literal.split_first_chunk::<8>()?;
    let ([h1, b @ .., h2], rest) = rest.split_first_chunk::<6>()?;
    let ([c @ .., h3], rest) = rest.split_first_chunk::<5>()?;
    let ([d @ .., h4], rest) = rest.split_first_chunk::<5>()?;
    let e: &[u8; 12] = rest.try_into().ok()?;
    if [*h1, *h2, *h3, *h4] != [b'-'; 4] {
        return None;
    }
    let mut digits = [0; 32];
    digits[..8].copy_from_slice(a);
    digits[8..12].copy_from_slice(b);
    digits[12..16].copy_from_slice(c);
    digits[16..20].copy_from_slice(d);
    digits[20..].copy_from_slice(e);
    let mut uuid = [0; 16];
    let mut seen = 0;
    for (byte, pair) in uuid.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = pair.map(hex_value);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen < NOT_HEX).then_some(uuid)
}

fn any(literal: &[u8]) -> Option<[u8; 16]> {
    let mut rest = match literal {
        [b'{', inner @ .., b'}'] => inner,
        _ => literal,
    };
    let mut uuid = [0; 16];
    for (index, byte) in uuid.iter_mut().enumerate() {
        let (pair, mut after) = rest.split_first_chunk::<2>()?;
        let [high, low] = pair.map(hex_value);
        if high | low >= NOT_HEX {
            return None;
        }
        *byte = high << 4 | low;
        if index % 2 == 1
            && index < 15
            && let [b'-', behind @ ..] = after
        {
            after = behind;
        }
        rest = after;
    }
    rest.is_empty().then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 16] =
        [0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11];

    #[test]
    fn all_documented_forms_are_read() {
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        ] {
            assert_eq!(parse_uuid(text.as_bytes()), Ok(BYTES), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{}",
            " a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0-eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
        ] {
            let Err(NotEncoded::Invalid(invalid)) = parse_uuid(text.as_bytes()) else {
                panic!("{text} was read")
            };
            assert_eq!(invalid.reason, format!("invalid input syntax for type uuid: \"{text}\""));
        }
    }
}
