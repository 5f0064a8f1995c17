//! Fields of a composite literal and bounds of a range literal: both are quoted by the same rules.
//!
//! Quotes open and close anywhere, a doubled quote inside quotes is one, a backslash takes the next character as it is.

/// One part, quotes and escapes undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Nothing at all was written.
    Absent,
    Text(&'a [u8]),
}

/// The part that begins at `at`, which then stands on the byte that ends it; `None` when the literal ends first.
#[inline]
pub(super) fn part<'a>(
    literal: &'a [u8],
    at: &mut usize,
    ends: impl Fn(u8) -> bool,
    unescaped: &'a mut Vec<u8>,
) -> Option<Part<'a>> {
    let rest = &literal[*at..];
    let end = rest.iter().position(|&byte| ends(byte) || matches!(byte, b'"' | b'\\'))?;
    if ends(rest[end]) {
        *at += end;
        return Some(if end == 0 { Part::Absent } else { Part::Text(&rest[..end]) });
    }
    // The common case of quotes: around the whole part, with nothing special inside.
    if let [b'"', quoted @ ..] = rest
        && let Some(close) = memchr::memchr2(b'"', b'\\', quoted)
        && let [b'"', next, ..] = quoted[close..]
        && ends(next)
    {
        *at += close + 2;
        return Some(Part::Text(&quoted[..close]));
    }
    *at = unescape(literal, *at, ends, unescaped)?;
    Some(Part::Text(unescaped))
}

/// Undoes quotes and escapes; returns where the part ends.
#[cold]
fn unescape(
    literal: &[u8],
    mut at: usize,
    ends: impl Fn(u8) -> bool,
    unescaped: &mut Vec<u8>,
) -> Option<usize> {
    unescaped.clear();
    let mut quoted = false;
    loop {
        match literal.get(at..)? {
            [b'\\', escaped, ..] => {
                unescaped.push(*escaped);
                at += 2;
            }
            [b'\\'] | [] => return None,
            [b'"', b'"', ..] if quoted => {
                unescaped.push(b'"');
                at += 2;
            }
            [b'"', ..] => {
                quoted = !quoted;
                at += 1;
            }
            [byte, ..] if !quoted && ends(*byte) => return Some(at),
            [byte, ..] => {
                unescaped.push(*byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(literal: &str) -> Option<(Option<String>, usize)> {
        let (mut at, mut unescaped) = (0, Vec::new());
        let part = part(literal.as_bytes(), &mut at, |byte| matches!(byte, b',' | b')'), &mut unescaped)?;
        let text = match part {
            Part::Absent => None,
            Part::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
        };
        Some((text, at))
    }

    fn text(text: &str, at: usize) -> Option<(Option<String>, usize)> {
        Some((Some(text.to_owned()), at))
    }

    #[test]
    fn quotes_and_backslashes_are_undone() {
        assert_eq!(read("ab,"), text("ab", 2));
        assert_eq!(read(" a b )"), text(" a b ", 5));
        assert_eq!(read("\"a,b\")"), text("a,b", 5));
        assert_eq!(read("\"\","), text("", 2));
        assert_eq!(read("\"a\"\"b\","), text("a\"b", 6));
        assert_eq!(read("\"a\\\"b\","), text("a\"b", 6));
        assert_eq!(read("a\\,b,"), text("a,b", 4));
        assert_eq!(read("a\"b,\"c,"), text("ab,c", 6));
        assert_eq!(read("\"a\" ,"), text("a ", 4));
        assert_eq!(read("\"a\"b\"c\","), text("abc", 7));
        assert_eq!(read("\"a\\\\\","), text("a\\", 5));
    }

    #[test]
    fn nothing_is_not_the_empty_text() {
        assert_eq!(read(","), Some((None, 0)));
        assert_eq!(read(")"), Some((None, 0)));
    }

    #[test]
    fn a_part_without_end_is_none() {
        for literal in ["", "a", "\"a,", "\"a\"", "a\\", "\"a\\", "\"\"\"", "\\"] {
            assert_eq!(read(literal), None, "{literal}");
        }
    }
}
