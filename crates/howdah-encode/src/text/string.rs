//! `character varying(n)` and `character(n)`: lengths in characters; surplus blanks may be cut, nothing else.
//!
//! The literal is sent whole: the server's receive functions cut and pad by the same rules as its input functions.

use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// Characters that a modifier allows; the server counts a four-byte header in.
pub(super) fn limit(typmod: i32) -> Option<usize> {
    usize::try_from(typmod).ok()?.checked_sub(4)
}

#[inline]
pub(super) fn put_varchar(literal: &[u8], limit: Option<usize>, out: &mut Vec<u8>) -> Verdict {
    check(literal, limit, "character varying")?;
    wire::put_bytes(out, literal)
}

#[inline]
pub(super) fn put_bpchar(literal: &[u8], limit: Option<usize>, out: &mut Vec<u8>) -> Verdict {
    check(literal, limit, "character")?;
    wire::put_bytes(out, literal)
}

#[inline]
fn check(literal: &[u8], limit: Option<usize>, type_name: &str) -> Verdict {
    match limit {
        Some(limit) if literal.len() > limit => check_characters(literal, limit, type_name),
        _ => Ok(()),
    }
}

/// A character begins at every byte that does not continue one.
#[inline(never)]
fn check_characters(literal: &[u8], limit: usize, type_name: &str) -> Verdict {
    let begins = |byte: &u8| byte & 0xc0 != 0x80;
    let blanks = literal.iter().rev().take_while(|&&byte| byte == b' ').count();
    let kept = &literal[..literal.len() - blanks];
    if kept.len() <= limit || kept.iter().filter(|&byte| begins(byte)).count() <= limit {
        return Ok(());
    }
    Err(NotEncoded::invalid("22001", format!("value too long for type {type_name}({limit})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varchar(literal: &str, limit: usize) -> Verdict {
        put_varchar(literal.as_bytes(), Some(limit), &mut Vec::new())
    }

    #[test]
    fn lengths_count_characters_not_bytes() {
        assert_eq!(varchar("äöü€", 4), Ok(()));
        assert_eq!(varchar("日本語", 3), Ok(()));
        let Err(NotEncoded::Invalid(invalid)) = varchar("äöü€", 3) else {
            panic!("four characters fit in three")
        };
        assert_eq!(invalid.sqlstate, "22001");
        assert_eq!(invalid.reason, "value too long for type character varying(3)");
    }

    #[test]
    fn only_blanks_may_be_cut() {
        assert_eq!(varchar("abc   ", 3), Ok(()));
        assert!(varchar("abc\t", 3).is_err());
        assert!(varchar("abc\u{a0}", 3).is_err());
        assert!(varchar("abc x", 3).is_err());
        let Err(NotEncoded::Invalid(invalid)) = put_bpchar(b"abcd", Some(3), &mut Vec::new()) else {
            panic!("fits")
        };
        assert_eq!(invalid.reason, "value too long for type character(3)");
    }

    #[test]
    fn a_type_without_modifier_has_no_limit() {
        assert_eq!(limit(-1), None);
        assert_eq!(limit(14), Some(10));
        let mut out = Vec::new();
        assert_eq!(put_varchar(b"any  ", None, &mut out), Ok(()));
        assert_eq!(out, *b"\0\0\0\x05any  ");
    }
}
