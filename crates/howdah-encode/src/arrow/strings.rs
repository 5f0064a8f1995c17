//! Text and bytes: where they lie in each layout, and whether PostgreSQL can store them as text.

use arrow_array::{
    BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};

use crate::verdict::{NotEncoded, Verdict};

/// An array of strings or of bytes.
#[derive(Clone, Copy)]
pub(super) enum Strings<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Strings<'a> {
    #[inline]
    pub(super) fn at(&self, row: usize) -> &'a [u8] {
        match *self {
            Strings::Utf8(array) => array.value(row).as_bytes(),
            Strings::LargeUtf8(array) => array.value(row).as_bytes(),
            Strings::Utf8View(array) => array.value(row).as_bytes(),
            Strings::Binary(array) => array.value(row),
            Strings::LargeBinary(array) => array.value(row),
            Strings::BinaryView(array) => array.value(row),
            Strings::Fixed(array) => array.value(row),
        }
    }

    /// Whether certainly no value has a NUL in it: a look at all bytes at once, which costs next to nothing a value.
    pub(super) fn is_free_of_nul(&self) -> bool {
        let free = |bytes: &[u8], first: Option<usize>, last: Option<usize>| {
            let (Some(first), Some(last)) = (first, last) else { return false };
            bytes.get(first..last).is_some_and(|used| memchr::memchr(0, used).is_none())
        };
        let small = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok());
        let large = |offset: Option<&i64>| offset.and_then(|offset| usize::try_from(*offset).ok());
        match *self {
            Strings::Utf8(array) => {
                let offsets = array.value_offsets();
                free(array.value_data(), small(offsets.first()), small(offsets.last()))
            }
            Strings::LargeUtf8(array) => {
                let offsets = array.value_offsets();
                free(array.value_data(), large(offsets.first()), large(offsets.last()))
            }
            _ => false,
        }
    }
}

/// Refuses what PostgreSQL's text cannot hold in characters that are known to be UTF-8.
#[inline]
pub(super) fn check_nul(text: &[u8]) -> Verdict {
    match memchr::memchr(0, text) {
        None => Ok(()),
        Some(_) => Err(bad_sequence(&[0])),
    }
}

/// Refuses bytes that are no text.
pub(super) fn check_text(bytes: &[u8]) -> Verdict {
    match str::from_utf8(bytes) {
        Ok(text) => check_nul(text.as_bytes()),
        Err(error) => {
            // Whichever comes first.
            check_nul(&bytes[..error.valid_up_to()])?;
            Err(bad_sequence(&bytes[error.valid_up_to()..]))
        }
    }
}

/// The server's words: it shows as many bytes as the first of them announces.
#[cold]
fn bad_sequence(rest: &[u8]) -> NotEncoded {
    let announced = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = rest.iter().take(announced).map(|byte| format!("0x{byte:02x}")).collect();
    NotEncoded::invalid("22021", format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")))
}

/// Appends bytes in `bytea`'s hexadecimal form.
pub(super) fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\x");
    put_hex_digits(bytes, out);
}

fn put_hex_digits(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(
        bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}

/// Appends a uuid as PostgreSQL writes it.
pub(super) fn put_uuid(uuid: &[u8], out: &mut Vec<u8>) {
    let mut rest = uuid;
    for (group, length) in [4, 2, 2, 2, 6].into_iter().enumerate() {
        let (digits, behind) = rest.split_at(length.min(rest.len()));
        if group > 0 {
            out.push(b'-');
        }
        put_hex_digits(digits, out);
        rest = behind;
    }
}

/// Appends a literal in double quotes, quotes and backslashes in it after backslashes: as arrays and hstore read it.
pub(super) fn put_quoted(literal: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in literal {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> Option<String> {
        match check_text(bytes) {
            Err(NotEncoded::Invalid(invalid)) if invalid.sqlstate == "22021" => Some(invalid.reason),
            Ok(()) => None,
            other => panic!("{bytes:?}: {other:?}"),
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_in_the_servers_words() {
        let shown = |bytes: &str| Some(format!("invalid byte sequence for encoding \"UTF8\": {bytes}"));
        assert_eq!(refusal("é€😀".as_bytes()), None);
        assert_eq!(refusal(b"a\0b"), shown("0x00"));
        assert_eq!(refusal(b"a\xffb"), shown("0xff"));
        assert_eq!(refusal(b"\xe2\x28\xa1"), shown("0xe2 0x28 0xa1"));
        assert_eq!(refusal(b"\xf0\x9f"), shown("0xf0 0x9f"));
        assert_eq!(refusal(b"\0\xff"), shown("0x00"));
    }

    #[test]
    fn a_look_at_all_bytes_finds_nul_only_within_the_slice() {
        let array = StringArray::from(vec!["a\0", "b", "c"]);
        assert!(!Strings::Utf8(&array).is_free_of_nul());
        assert!(Strings::Utf8(&array.slice(1, 2)).is_free_of_nul());
        assert!(Strings::Utf8(&StringArray::new_null(0)).is_free_of_nul());
        assert!(!Strings::Utf8View(&StringViewArray::from(vec!["b"])).is_free_of_nul());
    }

    #[test]
    fn bytes_are_written_as_the_server_writes_them() {
        let mut out = Vec::new();
        put_hex(&[0, 0xab, 0xff], &mut out);
        assert_eq!(out, b"\\x00abff");
        out.clear();
        put_uuid(&[0xa0; 16], &mut out);
        assert_eq!(out, b"a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0");
    }
}
