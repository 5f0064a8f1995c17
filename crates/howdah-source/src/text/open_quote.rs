//! Where a quote was opened that is never closed.

use crate::dialect::Dialect;

/// Where the quote stands that is open at the end of `bytes`, which start a record of CSV.
pub fn open_quote(bytes: &[u8], dialect: &Dialect) -> Option<usize> {
    let Dialect { quote, escape, .. } = *dialect;
    let mut at = 0;
    loop {
        let opened = at + memchr::memchr(quote, &bytes[at..])?;
        at = opened + 1;
        loop {
            let Some(found) = memchr::memchr2(quote, escape, &bytes[at..]) else { return Some(opened) };
            at += found;
            let is_escaped = |next: &u8| *next == quote || *next == escape;
            if bytes[at] == escape && bytes.get(at + 1).is_some_and(is_escaped) {
                at += 2;
                continue;
            }
            at += 1;
            if bytes[at - 1] == quote {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quote_that_stays_open_is_found_behind_others() {
        for (text, escape, expected) in [
            ("1,2\n", b'"', None),
            ("1,\"2\"\n", b'"', None),
            ("1,\"2\n", b'"', Some(2)),
            ("\"1\n\",\"2\n", b'"', Some(5)),
            ("\"1\"\"2\n", b'"', Some(0)),
            ("\"\"\"", b'"', Some(0)),
            ("\"1\\\"2\n", b'\\', Some(0)),
            ("\"1\\\\\",\"2\n", b'\\', Some(6)),
        ] {
            let dialect = Dialect { escape, ..Dialect::default() };
            assert_eq!(open_quote(text.as_bytes(), &dialect), expected, "{text:?}");
        }
    }
}
