//! What strings spell: escapes undone, with PostgreSQL's verdict on those that name no character.

use super::Refusal;

/// Appends what a string spells, of which `raw` is what stands between the quotes, checked. Where NULs are to be dropped,
/// those that escapes name are dropped too.
pub fn unescape(raw: &[u8], drops_nul: bool, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (byte, length) = match rest.get(at + 1) {
            Some(b'u') => {
                let length = put_character(&rest[at..], drops_nul, out)?;
                rest = &rest[at + length..];
                continue;
            }
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b't') => (b'\t', 2),
            Some(other) => (*other, 2),
            None => (b'\\', 1),
        };
        out.push(byte);
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Appends the character that the `\u` escape at the start of `text` names, with the second half of a pair; how many bytes
/// of text it took.
fn put_character(text: &[u8], drops_nul: bool, out: &mut Vec<u8>) -> Result<usize, Refusal> {
    let first = unit(text);
    let (code, length) = match first {
        Some(high @ 0xD800..=0xDBFF) => match unit(&text[6..]) {
            Some(low @ 0xDC00..=0xDFFF) => (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), 12),
            Some(0xD800..=0xDBFF) => {
                return Err(half("Unicode high surrogate must not follow a high surrogate."));
            }
            _ => return Err(half("Unicode low surrogate must follow a high surrogate.")),
        },
        Some(0xDC00..=0xDFFF) => {
            return Err(half("Unicode low surrogate must follow a high surrogate."));
        }
        Some(0) if drops_nul => return Ok(6),
        Some(0) => {
            return Err(Refusal {
                detail: Some("\\u0000 cannot be converted to text."),
                ..Refusal::new("22P05", "unsupported Unicode escape sequence")
            });
        }
        Some(code) => (code, 6),
        None => (u32::from(char::REPLACEMENT_CHARACTER), 2),
    };
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(length)
}

/// The number of the `\u` escape at the start of `text`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

#[cold]
fn half(detail: &'static str) -> Refusal {
    Refusal { detail: Some(detail), ..Refusal::new("22P02", "invalid input syntax for type json") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spelled(raw: &str) -> Result<String, Refusal> {
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
        ] {
            assert_eq!(spelled(raw).unwrap_err().sqlstate, sqlstate, "{raw}");
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
