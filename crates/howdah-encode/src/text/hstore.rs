//! `hstore`: `"key"=>"value", other=>NULL`.
//!
//! What the extension refuses, it refuses with different codes in different versions: that is left to the server, as
//! are rare spellings. Pairs are sent in their order, doubles included: it is the server that drops and sorts.

use super::space::is_space;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// Appends the pairs without the length in front.
pub(super) fn put(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut unescaped = Vec::new();
    let mut count = 0_u32;
    let mut rest = skip_space(literal);
    while !rest.is_empty() {
        if count > 0 {
            rest = skip_space(rest.strip_prefix(b",").ok_or(NotEncoded::Unsure)?);
        }
        let (key, behind) = word(rest, b'=', &mut unescaped)?;
        wire::put_bytes(out, key.text)?;
        rest = skip_space(skip_space(behind).strip_prefix(b"=>").ok_or(NotEncoded::Unsure)?);
        let (value, behind) = word(rest, b',', &mut unescaped)?;
        if !value.quoted && value.text.eq_ignore_ascii_case(b"null") {
            wire::put_null(out);
        } else {
            wire::put_bytes(out, value.text)?;
        }
        rest = skip_space(behind);
        count += 1;
    }
    out[start..start + 4].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// A key or a value, quotes and escapes undone.
struct Word<'a> {
    quoted: bool,
    text: &'a [u8],
}

/// The word at the start of `text`, and what is behind it. Without quotes it ends at a blank or at `end`.
fn word<'l: 'u, 'u>(
    text: &'l [u8],
    end: u8,
    unescaped: &'u mut Vec<u8>,
) -> Result<(Word<'u>, &'l [u8]), NotEncoded> {
    if let [b'"', quoted @ ..] = text {
        return match memchr::memchr2(b'"', b'\\', quoted).ok_or(NotEncoded::Unsure)? {
            close if quoted[close] == b'"' => {
                Ok((Word { quoted: true, text: &quoted[..close] }, &quoted[close + 1..]))
            }
            _ => unescape(quoted, unescaped),
        };
    }
    let length = text.iter().position(|&byte| byte == end || is_space(byte)).unwrap_or(text.len());
    let (word, behind) = text.split_at(length);
    // Versions differ in what is white space beside the plain kinds; escapes, quotes and separators inside are rare.
    let odd = |byte: &u8| !byte.is_ascii() || matches!(byte, b'"' | b'\\' | b'=' | b'>' | b',');
    if word.is_empty() || word.iter().any(odd) || behind.first() == Some(&b'\x0b') {
        return Err(NotEncoded::Unsure);
    }
    Ok((Word { quoted: false, text: word }, behind))
}

/// The rest of a quoted word with backslashes in it: each takes the next character as it is.
#[cold]
fn unescape<'l, 'u>(
    mut quoted: &'l [u8],
    unescaped: &'u mut Vec<u8>,
) -> Result<(Word<'u>, &'l [u8]), NotEncoded> {
    unescaped.clear();
    loop {
        let (byte, rest) = match quoted {
            [b'"', behind @ ..] => return Ok((Word { quoted: true, text: unescaped }, behind)),
            [b'\\', escaped, rest @ ..] => (escaped, rest),
            [] | [b'\\'] => return Err(NotEncoded::Unsure),
            [byte, rest @ ..] => (byte, rest),
        };
        unescaped.push(*byte);
        quoted = rest;
    }
}

fn skip_space(text: &[u8]) -> &[u8] {
    // The vertical tab is white space in some versions only.
    let space = |byte: &u8| is_space(*byte) && *byte != b'\x0b';
    &text[text.iter().take_while(|byte| space(byte)).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = Vec::new();
        put(literal.as_bytes(), &mut out).map(|()| out)
    }

    fn pairs(pairs: &[(&str, Option<&str>)]) -> Result<Vec<u8>, NotEncoded> {
        let mut out = u32::try_from(pairs.len()).unwrap().to_be_bytes().to_vec();
        for (key, value) in pairs {
            wire::put_bytes(&mut out, key.as_bytes())?;
            match value {
                None => wire::put_null(&mut out),
                Some(value) => wire::put_bytes(&mut out, value.as_bytes())?,
            }
        }
        Ok(out)
    }

    #[test]
    fn pairs_are_sent_in_their_order_with_doubles() {
        assert_eq!(read(""), pairs(&[]));
        assert_eq!(read("  "), pairs(&[]));
        assert_eq!(read("\"a\"=>\"1\", \"b\"=>NULL"), pairs(&[("a", Some("1")), ("b", None)]));
        assert_eq!(
            read(" b => 1 ,a=>2,b=>3 "),
            pairs(&[("b", Some("1")), ("a", Some("2")), ("b", Some("3"))])
        );
        assert_eq!(read("\"\"=>\"\""), pairs(&[("", Some(""))]));
        assert_eq!(read("\"é\\\"\"=>\"\\\\x\""), pairs(&[("é\"", Some("\\x"))]));
    }

    #[test]
    fn null_is_a_value_in_quotes_and_a_key_always() {
        assert_eq!(read("null=>\"NULL\",a=>nUll"), pairs(&[("null", Some("NULL")), ("a", None)]));
    }

    #[test]
    fn what_versions_read_or_refuse_differently_is_left_to_the_server() {
        for literal in [
            "a",
            "a=",
            "a=>",
            "=>1",
            "a=1",
            "a= >1",
            "a=>1,",
            ",a=>1",
            "a=>1 b=>2",
            "a=>1,,b=>2",
            "\"a",
            "\"a\"",
            "\"a\"=>\"1",
            "\"a\\",
            "é=>1",
            "a\u{b}=>1",
            "a=>1\u{b}",
            "\u{b}a=>1",
            "a=>b=c",
            "a=>nul\\l",
            "a=>\"1\"\"2\"",
        ] {
            assert_eq!(read(literal), Err(NotEncoded::Unsure), "{literal:?}");
        }
    }
}
