//! The brackets of JSON text, seen without checking anything else: enough to find where values end, also in bad text.

/// The brackets, commas and line ends outside strings, in order.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    /// From `at`, which lies outside strings.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Walk { bytes, at }
    }

    /// The next one and its place.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, u8)> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => self.at = string_end(self.bytes, self.at + 1),
                b'{' | b'}' | b'[' | b']' | b',' | b'\n' => {
                    self.at += 1;
                    return Some((self.at - 1, byte));
                }
                _ => self.at += 1,
            }
        }
        None
    }
}

/// One past the string that goes on at `at`. No string holds a line end, so one without its closing quote ends before that,
/// and spoils no more than its line.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr3(b'"', b'\\', b'\n', &bytes[at..]) {
        at += found;
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => return at + 1,
            (b'\n', _) => return at,
            (_, Some(b'\n')) => return at + 1,
            (_, Some(_)) => at += 2,
            (_, None) => break,
        }
    }
    bytes.len()
}

/// One past the value that the bracket at `start` opens; `None` when it stays open.
pub(super) fn closing(bytes: &[u8], start: usize) -> Option<usize> {
    let mut walk = Walk::new(bytes, start);
    let mut depth = 0_usize;
    while let Some((at, byte)) = walk.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_no_brackets_and_a_lost_quote_ends_with_its_line() {
        let end = |text: &str| closing(text.as_bytes(), 0);
        assert_eq!(end(r#"{"a}":[1,{"b":"\"}"}]} x"#), Some(22));
        assert_eq!(end("{\"a\\\\\"}"), Some(7));
        assert_eq!(end("{\"a\n}"), Some(5));
        assert_eq!(end("{\"a\\\n}"), Some(6));
        assert_eq!(end("{\"a\":[1}"), None);
        assert_eq!(end("{\"a\\"), None);
        assert_eq!(end("{]"), Some(2));
    }
}
