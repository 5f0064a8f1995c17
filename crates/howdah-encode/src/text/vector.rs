//! `vector` of pgvector: `[1,2.5,-3e-2]`.
//!
//! Its messages differ from version to version: what is not plainly valid is left to the server.

use super::float::parse_f32;
use super::space::trimmed;
use crate::verdict::{NotEncoded, Verdict};

/// The extension's limit.
const MAX_DIMENSIONS: usize = 16_000;

/// Appends the vector without the length in front; `dimensions` is the column's modifier.
pub(super) fn put(literal: &[u8], dimensions: Option<u16>, out: &mut Vec<u8>) -> Verdict {
    let inner = trimmed(literal).strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    let inner = inner.ok_or(NotEncoded::Unsure)?;
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0;
    for element in inner.split(|&byte| byte == b',') {
        let element = trimmed(element);
        let plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
        match parse_f32(element) {
            // Names of numbers that are not finite are refused, and what underflows is a matter of the C library.
            Ok(value) if element.iter().all(plain) && (value == 0.0 || value.is_normal()) => {
                out.extend_from_slice(&value.to_be_bytes());
            }
            _ => return Err(NotEncoded::Unsure),
        }
        count += 1;
    }
    if let Some(expected) = dimensions
        && count != usize::from(expected)
    {
        let reason = format!("expected {expected} dimensions, not {count}");
        return Err(NotEncoded::invalid("22000", reason));
    }
    match u16::try_from(count) {
        Ok(number) if count <= MAX_DIMENSIONS => {
            out[start..start + 2].copy_from_slice(&number.to_be_bytes());
            Ok(())
        }
        _ => Err(NotEncoded::Unsure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_count() {
        for literal in ["[1,-2.5,3e2]", " [ 1 , -2.5,\t3e2 ] ", "[1.0,-25e-1,+300]"] {
            let mut out = Vec::new();
            assert_eq!(put(literal.as_bytes(), Some(3), &mut out), Ok(()), "{literal}");
            assert_eq!(out[..4], [0, 3, 0, 0]);
            let numbers = [1.0_f32, -2.5, 300.0].map(f32::to_be_bytes);
            assert_eq!(out[4..], *numbers.as_flattened());
        }
    }

    #[test]
    fn a_vector_of_another_length_is_refused() {
        let Err(NotEncoded::Invalid(invalid)) = put(b"[1,2]", Some(3), &mut Vec::new()) else {
            panic!("two are not three")
        };
        assert_eq!(invalid.reason, "expected 3 dimensions, not 2");
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_server() {
        let long = format!("[{}1]", "1,".repeat(MAX_DIMENSIONS));
        for literal in [
            "", "[]", "[1", "1,2", "[1,]", "[,1]", "[1 2]", "[nan]", "[inf]", "[1e40]", "[1e-45]", "[0x1]",
            "[1]]", &long,
        ] {
            assert_eq!(put(literal.as_bytes(), None, &mut Vec::new()), Err(NotEncoded::Unsure), "{literal}");
        }
    }
}
