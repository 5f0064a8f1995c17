//! Rows of a composite type: `(1,"two words",)`.

use super::TextCodec;
use super::part::{Part, part};
use super::space::is_space;
use crate::verdict::{NotEncoded, Verdict};
use crate::wire;

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

    #[cfg(feature = "arrow")]
    pub(super) fn column(&self, index: usize) -> Option<&TextCodec> {
        self.0.get(index).map(|(_, codec)| codec)
    }

    /// Appends the row without the length in front. Columns are judged as they come, as the server does.
    pub(super) fn put(&self, literal: &[u8], out: &mut Vec<u8>) -> Verdict {
        let fault = |detail| NotEncoded::malformed_in_locale("record", literal, detail);
        let mut at = literal.iter().take_while(|&&byte| is_space(byte)).count();
        if literal.get(at) != Some(&b'(') {
            return Err(fault("Missing left parenthesis."));
        }
        at += 1;
        out.extend_from_slice(&wire::count(self.0.len())?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::NotEncoded;

    fn read(literal: &str) -> Result<Vec<u8>, NotEncoded> {
        let record = Record::new(vec![(23, TextCodec::Int4), (25, TextCodec::Text)]);
        let mut out = Vec::new();
        record.put(literal.as_bytes(), &mut out).map(|()| out)
    }

    fn row(number: Option<i32>, text: Option<&str>) -> Vec<u8> {
        let mut row = vec![0, 0, 0, 2, 0, 0, 0, 23];
        match number {
            None => row.extend_from_slice(&[0xff; 4]),
            Some(number) => row.extend_from_slice(&[&[0, 0, 0, 4][..], &number.to_be_bytes()].concat()),
        }
        row.extend_from_slice(&[0, 0, 0, 25]);
        match text {
            None => row.extend_from_slice(&[0xff; 4]),
            Some(text) => {
                row.extend_from_slice(&[0, 0, 0, u8::try_from(text.len()).unwrap()]);
                row.extend_from_slice(text.as_bytes());
            }
        }
        row
    }

    #[test]
    fn fields_are_sent_with_the_types_of_their_columns() {
        assert_eq!(read("(1,a)"), Ok(row(Some(1), Some("a"))));
        assert_eq!(read(" ( 1, a ) "), Ok(row(Some(1), Some(" a "))));
        assert_eq!(read("(,)"), Ok(row(None, None)));
        assert_eq!(read("(\"1\",\"\")"), Ok(row(Some(1), Some(""))));
        assert_eq!(read("(1,\"a\"\"b\\\\,)\")"), Ok(row(Some(1), Some("a\"b\\,)"))));
        assert_eq!(read("(1,NULL)"), Ok(row(Some(1), Some("NULL"))));
    }

    #[test]
    fn broken_rows_are_refused_in_the_servers_words() {
        for (literal, detail) in [
            ("1,a)", "Missing left parenthesis."),
            ("(1)", "Too few columns."),
            ("(1,a,b)", "Too many columns."),
            ("(1,a", "Unexpected end of input."),
            ("(1,\"a)", "Unexpected end of input."),
            ("(1,a)x", "Junk after right parenthesis."),
        ] {
            let reason = format!("malformed record literal: \"{literal}\": {detail}");
            assert_eq!(read(literal), Err(NotEncoded::invalid("22P02", reason)));
        }
        let reason = "invalid input syntax for type integer: \"x\"".to_owned();
        assert_eq!(read("(x,a"), Err(NotEncoded::invalid("22P02", reason)));
    }

    #[test]
    fn white_space_of_other_alphabets_is_left_to_the_server() {
        assert_eq!(read("\u{a0}(1,a)"), Err(NotEncoded::Unsure));
        assert_eq!(read("(1,a)\u{85}"), Err(NotEncoded::Unsure));
        assert_eq!(read("(1,\u{a0})"), Ok(row(Some(1), Some("\u{a0}"))));
    }
}
