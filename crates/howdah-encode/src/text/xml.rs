//! `xml`: sent as it is, for the server to parse. Its receive function believes the encoding that a declaration names, its
//! input function does not.

use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

/// Appends the field of a document or content without a declared encoding, which both functions store alike.
pub(super) fn put_xml(literal: &[u8], out: &mut Vec<u8>) -> Verdict {
    if declares_encoding(literal) {
        return Err(NotEncoded::Unsure);
    }
    wire::put_bytes(out, literal)
}

/// Rather too often: also where the word stands in another part of the declaration.
fn declares_encoding(literal: &[u8]) -> bool {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    if literal.starts_with(MARK) {
        return true;
    }
    let Some(declaration) = literal.strip_prefix(b"<?xml") else { return false };
    let end = memchr::memmem::find(declaration, b"?>").unwrap_or(declaration.len());
    memchr::memmem::find(&declaration[..end], b"encoding").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let mut out = Vec::new();
        put_xml(literal.as_bytes(), &mut out).map(|()| out)
    }

    #[test]
    fn documents_travel_as_they_are_and_declared_encodings_do_not() {
        for same in ["", "plain & broken", "<a>ä</a>", "<?xml version='1.0'?><a>encoding</a>"] {
            let expected = [&u32::try_from(same.len()).unwrap().to_be_bytes()[..], same.as_bytes()].concat();
            assert_eq!(put(same), Ok(expected), "{same}");
        }
        for unsure in ["<?xml version=\"1.0\" encoding='ISO-8859-1'?><a/>", "\u{feff}<a/>", "<?xmlb encoding"]
        {
            assert_eq!(put(unsure), Err(NotEncoded::Unsure), "{unsure}");
        }
    }
}
