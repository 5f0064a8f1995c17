//! Rows of a composite type: `(1,"two words",)`.

use super::nested::malformed_here;
use super::part::{Part, part};
use super::{TextCodec, is_space};
use crate::verdict::Verdict;

/// How to read the rows of one composite type: its columns that are not dropped, each with its type's OID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record(Box<[(u32, TextCodec)]>);

impl Record {
    pub(super) fn new(columns: Vec<(u32, TextCodec)>) -> Self {
        Record(columns.into())
    }

    pub(super) fn with_parts(&self, codec: impl Fn(&TextCodec) -> TextCodec) -> Self {
        Record(self.0.iter().map(|(oid, column)| (*oid, codec(column))).collect())
    }

    /// Appends the row without the length in front. Columns are judged as they come, as the server does.
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        let fault = |detail| malformed_here("record", literal, detail);
        let mut at = literal.iter().take_while(|&&byte| is_space(byte)).count();
        if literal.get(at) != Some(&b'(') {
            return Err(fault("Missing left parenthesis."));
        }
        at += 1;
        let count = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        let mut unescaped = Vec::new();
        for (index, (oid, codec)) in self.0.iter().enumerate() {
            if index > 0 {
                if literal.get(at) != Some(&b',') {
                    return Err(fault("Too few columns."));
                }
                at += 1;
            }
            out.extend_from_slice(&oid.to_be_bytes());
            match part(literal, &mut at, |byte| matches!(byte, b',' | b')'), &mut unescaped) {
                Some(Part::Absent) => codec.encode_null(out)?,
                Some(Part::Text(text)) => codec.encode(text, out)?,
                None => return Err(fault("Unexpected end of input.")),
            }
        }
        if literal.get(at) != Some(&b')') {
            return Err(fault("Too many columns."));
        }
        if !literal[at + 1..].iter().all(|&byte| is_space(byte)) {
            return Err(fault("Junk after right parenthesis."));
        }
        Ok(())
    }
}
