//! What strings spell: escapes undone, with PostgreSQL's verdict on those that name no character.

use std::fmt;

/// Why a string's escapes spell no text, as PostgreSQL says it when it reads `json` or converts it to `text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EscapeError {
    /// `\u0000`: PostgreSQL's text holds no NUL.
    Nul,
    /// Half of a surrogate pair without the other.
    LoneSurrogate,
    /// Two first halves of surrogate pairs, one after the other.
    HighSurrogateTwice,
    /// Fewer than four hexadecimal digits behind `\u`.
    NotHexadecimal,
    /// A backslash that ends the string.
    Incomplete,
}

impl EscapeError {
    /// The SQLSTATE of PostgreSQL's error.
    #[must_use]
    pub fn sqlstate(self) -> &'static str {
        if self == EscapeError::Nul { "22P05" } else { "22P02" }
    }

    /// PostgreSQL's message.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            EscapeError::Nul => "unsupported Unicode escape sequence",
            _ => "invalid input syntax for type json",
        }
    }

    /// The detail to PostgreSQL's message.
    #[must_use]
    pub fn detail(self) -> &'static str {
        match self {
            EscapeError::Nul => "\\u0000 cannot be converted to text.",
            EscapeError::LoneSurrogate => "Unicode low surrogate must follow a high surrogate.",
            EscapeError::HighSurrogateTwice => "Unicode high surrogate must not follow a high surrogate.",
            EscapeError::NotHexadecimal => "\"\\u\" must be followed by four hexadecimal digits.",
            EscapeError::Incomplete => "The input string ended unexpectedly.",
        }
    }
}

impl fmt::Display for EscapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message(), self.detail())
    }
}

impl std::error::Error for EscapeError {}

/// Bytes of an escape `\uXXXX`.
const UNICODE_ESCAPE_BYTES: usize = 6;

/// Appends the characters that a string spells, of which `raw` is what stands between the quotes.
///
/// With `drops_nul`, escapes for NUL are left out instead of being refused.
///
/// # Errors
/// An escape names no character that PostgreSQL can store; `out` then holds what comes before it.
pub fn unescape(raw: &[u8], drops_nul: bool, out: &mut Vec<u8>) -> Result<(), EscapeError> {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let byte = match rest.get(1) {
            Some(b'u') => {
                let (character, length) = unicode_escape(rest)?;
                if character != '\0' {
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                } else if !drops_nul {
                    return Err(EscapeError::Nul);
                }
                rest = &rest[length..];
                continue;
            }
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(itself) => *itself,
            None => return Err(EscapeError::Incomplete),
        };
        out.push(byte);
        rest = &rest[2..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// The character that the `\u` escape at the start of `text` names, together with the second half of a pair, and how many
/// bytes of text that takes.
#[inline]
pub(super) fn unicode_escape(text: &[u8]) -> Result<(char, usize), EscapeError> {
    let first = utf16_unit(text).ok_or(EscapeError::NotHexadecimal)?;
    // Every unit that is not half of a pair is a character.
    if let Some(character) = char::from_u32(first.into()) {
        return Ok((character, UNICODE_ESCAPE_BYTES));
    }
    let second = utf16_unit(&text[UNICODE_ESCAPE_BYTES..]);
    match char::decode_utf16([first].into_iter().chain(second)).next() {
        Some(Ok(character)) => Ok((character, 2 * UNICODE_ESCAPE_BYTES)),
        _ if is_high_surrogate(first) && second.is_some_and(is_high_surrogate) => {
            Err(EscapeError::HighSurrogateTwice)
        }
        _ => Err(EscapeError::LoneSurrogate),
    }
}

fn is_high_surrogate(unit: u16) -> bool {
    matches!(unit, 0xD800..=0xDBFF)
}

/// The number of the `\u` escape at the start of `text`.
#[inline]
fn utf16_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| match digit {
        b'0'..=b'9' => Some(unit << 4 | u16::from(digit - b'0')),
        b'a'..=b'f' => Some(unit << 4 | u16::from(digit - b'a' + 10)),
        b'A'..=b'F' => Some(unit << 4 | u16::from(digit - b'A' + 10)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spelled(raw: &str) -> Result<String, EscapeError> {
        let mut out = Vec::new();
        unescape(raw.as_bytes(), false, &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn escapes_that_name_no_character_are_refused_as_postgresql_refuses_them() {
        assert_eq!(spelled(r#"\"\\\/\b\f\n\r\tA\u00e9\u20AC"#).unwrap(), "\"\\/\u{8}\u{c}\n\r\tAé€");
        assert_eq!(spelled(r"x\ud83d\ude00y").unwrap(), "x😀y");
        for (raw, sqlstate) in [
            (r"\u0000", "22P05"),
            (r"\ud800", "22P02"),
            (r"\ud800x", "22P02"),
            (r"\ud800\n", "22P02"),
            (r"\ud800\ud800", "22P02"),
            (r"\ude00", "22P02"),
            (r"\u00g0", "22P02"),
            (r"\u00", "22P02"),
            (r"x\", "22P02"),
        ] {
            assert_eq!(spelled(raw).unwrap_err().sqlstate(), sqlstate, "{raw}");
        }
        let mut out = Vec::new();
        unescape(br"a\u0000b", true, &mut out).unwrap();
        assert_eq!(out, b"ab");
    }

    proptest! {
        #[test]
        fn what_was_written_comes_back(text in any::<String>()) {
            let written = serde_json::to_string(&text.replace('\0', "")).unwrap();
            prop_assert_eq!(spelled(&written[1..written.len() - 1]).unwrap(), text.replace('\0', ""));
        }

        #[test]
        fn surrogate_pairs_are_characters(c in any::<char>()) {
            let units = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            if c != '\0' {
                prop_assert_eq!(spelled(&units).unwrap(), c.to_string());
            }
        }
    }
}
