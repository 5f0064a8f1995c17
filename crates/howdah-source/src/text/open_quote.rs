//! Which quote is at fault where one is never closed.

use crate::dialect::Dialect;

/// Where the quote was opened that is at fault in `bytes`, which start a record of CSV and end within quotes: the one that is open
/// at their end, or one before it that takes a line end along and has text in front of it, or behind the quote that closes it.
pub fn open_quote(bytes: &[u8], dialect: &Dialect) -> Option<usize> {
    let delimiter = dialect.delimiter.as_bytes();
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let mut at = 0;
    loop {
        let opened = at + memchr::memchr(dialect.quote, &bytes[at..])?;
        let Some(closed) = closing(bytes, opened + 1, dialect) else { return Some(opened) };
        at = closed + 1;
        let (before, behind) = (&bytes[..opened], &bytes[at..]);
        let starts_field = before.last().is_none_or(is_line_end) || before.ends_with(delimiter);
        let ends_field = behind.first().is_none_or(is_line_end) || behind.starts_with(delimiter);
        if !(starts_field && ends_field) && bytes[opened..closed].iter().any(is_line_end) {
            return Some(opened);
        }
    }
}

/// Where the quote closes whose text begins at `at`.
fn closing(bytes: &[u8], mut at: usize, dialect: &Dialect) -> Option<usize> {
    let Dialect { quote, escape, .. } = *dialect;
    let is_escaped = |next: &u8| *next == quote || *next == escape;
    loop {
        at += memchr::memchr2(quote, escape, &bytes[at..])?;
        if bytes[at] == escape && bytes.get(at + 1).is_some_and(is_escaped) {
            at += 2;
        } else if bytes[at] == quote {
            return Some(at);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quote_at_fault_is_found_behind_others() {
        for (text, escape, expected) in [
            ("1,2\n", b'"', None),
            ("1,\"2\"\n", b'"', None),
            ("1,\"2\n", b'"', Some(2)),
            ("\"1\n\",\"2\n", b'"', Some(5)),
            ("\"1\"\"2\n", b'"', Some(0)),
            ("\"\"\"", b'"', Some(0)),
            ("\"1\\\"2\n", b'\\', Some(0)),
            ("\"1\\\\\",\"2\n", b'\\', Some(6)),
            // The one that is open is that of a good field.
            ("1,\"2\n3,\"4\"\n", b'"', Some(2)),
            ("1,2\"\n3,\",4\"\n", b'"', Some(3)),
            ("1,2\"3\",\"4\n", b'"', Some(7)),
        ] {
            let dialect = Dialect { escape, ..Dialect::default() };
            assert_eq!(open_quote(text.as_bytes(), &dialect), expected, "{text:?}");
        }
    }
}
