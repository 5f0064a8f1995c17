//! `boolean`: unique prefixes of true, false, yes, no, on, off in any case, and 1 and 0.

use super::space::trimmed;
use crate::verdict::NotEncoded;

#[inline]
pub(super) fn parse_bool(literal: &[u8]) -> Result<bool, NotEncoded> {
    match literal {
        b"t" | b"true" | b"1" => Ok(true),
        b"f" | b"false" | b"0" => Ok(false),
        _ => parse_any(literal),
    }
}

/// The words and how many letters make a prefix unique.
const WORDS: [(&[u8], usize, bool); 6] = [
    (b"true", 1, true),
    (b"false", 1, false),
    (b"yes", 1, true),
    (b"no", 1, false),
    (b"on", 2, true),
    (b"off", 2, false),
];

#[inline(never)]
fn parse_any(literal: &[u8]) -> Result<bool, NotEncoded> {
    let word = trimmed(literal);
    for (full, shortest, value) in WORDS {
        if word.len() >= shortest
            && full.get(..word.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
        {
            return Ok(value);
        }
    }
    match word {
        b"1" => Ok(true),
        b"0" => Ok(false),
        _ => Err(NotEncoded::syntax("boolean", literal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unique_prefix_is_read_and_no_other() {
        for yes in
            ["t", "tr", "tru", "true", "TRUE", "y", "Ye", "yes", "on", "ON", "1", " true ", "\x0bt\x0c"]
        {
            assert_eq!(parse_bool(yes.as_bytes()), Ok(true), "{yes:?}");
        }
        for no in ["f", "fals", "False", "n", "no", "of", "off", "0", "\t0\n"] {
            assert_eq!(parse_bool(no.as_bytes()), Ok(false), "{no:?}");
        }
        for bad in ["", " ", "o", "2", "truee", "01", "t rue"] {
            let Err(NotEncoded::Invalid(invalid)) = parse_bool(bad.as_bytes()) else {
                panic!("{bad:?} was read")
            };
            assert_eq!(invalid.reason, format!("invalid input syntax for type boolean: \"{bad}\""));
            assert_eq!(invalid.sqlstate, "22P02");
        }
    }
}
