//! `name` and `"char"`, the types of system catalogs: at most 63 bytes, and one.

use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// Bytes of the longest name, unless the server was built for others.
const LONGEST: usize = 63;
/// A character takes at most twice the bytes of UTF-8 in any encoding of a server.
const LONGEST_UNLESS_ASCII: usize = LONGEST / 2;

/// Where the server cuts a name that is too long depends on how it was built and on its encoding.
#[inline]
pub(super) fn put_name(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    if literal.len() > LONGEST_UNLESS_ASCII && (literal.len() > LONGEST || !literal.is_ascii()) {
        return Err(NotEncoded::Unsure);
    }
    wire::put_bytes(out, literal)
}

/// The first byte of the literal, as `charin` takes it: zero when there is none, and the rest is dropped. Octal escapes have
/// a meaning since PostgreSQL 16.
#[inline]
pub(super) fn parse_char(literal: &[u8]) -> Result<u8, NotEncoded> {
    match literal {
        [] => Ok(0),
        [b'\\', _, _, _] | [0x80..=0xff, ..] => Err(NotEncoded::Unsure),
        [first, ..] => Ok(*first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_cut_where_the_server_would_cut_elsewhere() {
        let put = |text: &str| put_name(text.as_bytes(), &mut Vec::new());
        assert_eq!((put(""), put(" Quoted \"name\" "), put("größe")), (Ok(()), Ok(()), Ok(())));
        assert_eq!((put(&"a".repeat(63)), put(&"é".repeat(15))), (Ok(()), Ok(())));
        for text in ["a".repeat(64), "é".repeat(16), "a".repeat(62) + "é"] {
            assert_eq!(put(&text), Err(NotEncoded::Unsure), "{text}");
        }
    }

    #[test]
    fn a_char_is_the_first_byte() {
        for (text, byte) in
            [("", 0), ("a", b'a'), ("abc", b'a'), (" a", b' '), ("\\", b'\\'), ("\\00", b'\\')]
        {
            assert_eq!(parse_char(text.as_bytes()), Ok(byte), "{text}");
        }
        for text in ["\\001", "\\abc", "é", "\u{a0}a"] {
            assert_eq!(parse_char(text.as_bytes()), Err(NotEncoded::Unsure), "{text}");
        }
    }
}
