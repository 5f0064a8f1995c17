//! The forms in which records of JSON are written, told from the first bytes of an input, and where each may be cut.

use super::walk::{Walk, closing};
use super::{is_space, skip_space};
use crate::dialect::Eol;

/// So many lines are looked at: the first of an input may be bad, or the first object long.
const LINES_TO_TELL: usize = 100;

/// How the records of an input are written that starts with `bytes`; `None` when more bytes are needed to tell. More bytes
/// never change the answer.
pub fn form(bytes: &[u8], is_lines: bool, eof: bool) -> Option<Eol> {
    if is_lines {
        return Some(Eol::Nl);
    }
    let start = skip_space(bytes, 0);
    match bytes.get(start) {
        None => eof.then_some(Eol::Nl),
        Some(b'[') => Some(Eol::Element),
        Some(b'{') => objects(&bytes[start..], eof),
        Some(_) => Some(Eol::Nl),
    }
}

/// What a person calls it.
pub fn form_name(form: Eol) -> &'static str {
    match form {
        Eol::Element => "json array",
        Eol::Value => "json objects",
        _ => "ndjson",
    }
}

/// Lines, unless the first object ends on another line than it starts on, or another follows it on its own.
fn objects(bytes: &[u8], eof: bool) -> Option<Eol> {
    let first = closing(bytes, 0);
    let mut start = 0;
    for _ in 0..LINES_TO_TELL {
        let Some(end) = memchr::memchr(b'\n', &bytes[start..]).map(|length| start + length) else {
            if eof {
                return Some(if is_object(&bytes[start..]) { Eol::Nl } else { Eol::Value });
            }
            let more_follows = |end: usize| skip_space(bytes, end) < bytes.len();
            return first.is_some_and(more_follows).then_some(Eol::Value);
        };
        if is_object(&bytes[start..end]) {
            return Some(Eol::Nl);
        }
        if first.is_some_and(|first| first <= end) {
            return Some(Eol::Value);
        }
        start = end + 1;
    }
    Some(Eol::Value)
}

/// Whether a line is one object, as far as its brackets tell. Indented ones are parts of others.
fn is_object(line: &[u8]) -> bool {
    let line = &line[..line.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1)];
    line.first() == Some(&b'{') && closing(line, 0) == Some(line.len())
}

/// Whether an input begins with a JSON object with a member, on a line of its own or over several: so begins no header of CSV.
/// Of `bytes`, its first, a line may be there in part only.
pub fn begins_an_object(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let has_member = bytes.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""));
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return has_member && closing(bytes, 0).is_none_or(|end| bytes[end..].trim_ascii().is_empty());
    };
    let line = bytes[..end].trim_ascii_end();
    has_member && (is_object(line) && line.contains(&b':') || line == b"{")
}

/// Where `window`, which starts a piece, can be cut last: behind a line or an object, or before a comma of the array.
pub fn last_record_end(window: &[u8], form: Eol) -> Option<usize> {
    let mut depth = 0_usize;
    let mut end = None;
    match form {
        Eol::Element => {
            let mut walk = Walk::new(window, element_start(window));
            while let Some((at, byte)) = walk.next() {
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth > 0 => depth -= 1,
                    // What follows the array is not taken apart.
                    b']' => break,
                    b',' if depth == 0 => end = Some(at),
                    _ => {}
                }
            }
            end
        }
        Eol::Value => {
            let mut walk = Walk::new(window, 0);
            while let Some((at, byte)) = walk.next() {
                match byte {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth > 0 => {
                        depth -= 1;
                        if depth == 0 {
                            end = Some(at + 1);
                        }
                    }
                    _ => {}
                }
            }
            end
        }
        _ => memchr::memrchr(b'\n', window).map(|at| at + 1),
    }
}

/// Behind the bracket or the comma that stands before the first element of a piece.
pub(super) fn element_start(bytes: &[u8]) -> usize {
    let start = skip_space(bytes, 0);
    start + usize::from(matches!(bytes.get(start), Some(b'[' | b',')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_form_however_many_are_seen_at_once() {
        let pretty = "{\n  \"a\": {\"b\": 1},\n  \"c\": [\n    {\"d\": 1}\n  ]\n}\n{\"a\": 2}\n";
        for (text, expected) in [
            ("{\"a\":1}\n{\"a\":2}\n", Eol::Nl),
            ("\n\n {\"a\":1}\n{\"a\":2}", Eol::Nl),
            ("{\"a\":1}", Eol::Nl),
            ("{\"a\":1} \r\n", Eol::Nl),
            ("{\"a\":\n{\"a\":1}\n", Eol::Nl),
            ("{\"a\":\"x\n{\"a\":1}\n", Eol::Nl),
            ("nonsense\n{\"a\":1}\n", Eol::Nl),
            ("", Eol::Nl),
            (" [ {\"a\":1}]", Eol::Element),
            ("[]", Eol::Element),
            (pretty, Eol::Value),
            ("{\"a\":1}{\"a\":2}", Eol::Value),
            ("{\"a\":1} {\"a\":2}\n", Eol::Value),
            ("{\"a\":1,\n", Eol::Value),
        ] {
            for seen in 0..text.len() {
                let told = form(&text.as_bytes()[..seen], false, false);
                assert!(told.is_none() || told == Some(expected), "{text:?}, {seen} bytes: {told:?}");
            }
            assert_eq!(form(text.as_bytes(), false, true), Some(expected), "{text:?}");
            assert_eq!(form(text.as_bytes(), true, true), Some(Eol::Nl));
        }
    }

    #[test]
    fn a_cut_never_goes_through_a_record() {
        let cut = |text: &str, form| last_record_end(text.as_bytes(), form);
        assert_eq!(cut("[{\"a\":1,\"b\":[1,2]} , {\"a\":", Eol::Element), Some(19));
        assert_eq!(cut(", {\"a\":1}", Eol::Element), None);
        assert_eq!(cut("[{}], {}", Eol::Element), None);
        assert_eq!(cut("{\"a\":{}} {\"b\":\"}\"} {", Eol::Value), Some(18));
        assert_eq!(cut("{\"a\":{}", Eol::Value), None);
        assert_eq!(cut("{}\n{}\n{", Eol::Nl), Some(6));
    }
}
