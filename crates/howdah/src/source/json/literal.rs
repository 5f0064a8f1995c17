//! JSON's arrays and objects as literals of PostgreSQL's arrays and composite types, as `json_populate_record` understands
//! them: nested arrays are dimensions, objects fill fields by name.

use howdah_encode::json::{Cursor, Members, SyntaxError, Value, ValueKind, unescape};
use howdah_encode::{CompositeField, TypeShape};

use super::Refusal;
use super::keys::{below_domains, is_document};

/// The server's limit.
const MOST_DIMENSIONS: usize = 6;

/// Appends the literal of `json`, which is checked and neither null nor a string, for a type that is an array or composite.
pub(super) fn put(shape: &TypeShape, json: &[u8], drops_nul: bool, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let kind =
        if matches!(json.first(), Some(b'{' | b'[')) { ValueKind::Container } else { ValueKind::Scalar };
    Writer { drops_nul }.put(shape, json, Value { start: 0, end: json.len(), kind }, out)
}

struct Writer {
    drops_nul: bool,
}

impl Writer {
    /// Appends the literal of a value of `text` that is not null.
    fn put(&self, shape: &TypeShape, text: &[u8], value: Value, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let raw = &text[value.start..value.end];
        match (below_domains(shape), value.kind) {
            (_, ValueKind::String { .. }) if is_document(shape) => {
                out.extend_from_slice(&text[value.start - 1..value.end + 1]);
                Ok(())
            }
            (_, ValueKind::String { is_escaped: true }) => Ok(unescape(raw, self.drops_nul, out)?),
            (_, ValueKind::String { is_escaped: false }) => {
                out.extend_from_slice(raw);
                Ok(())
            }
            (TypeShape::Array { delimiter, element, .. }, kind) => {
                if kind != ValueKind::Container || raw.first() != Some(&b'[') {
                    return Err(no_array());
                }
                self.array(raw, *delimiter, element, out)
            }
            (TypeShape::Composite { fields }, kind) => {
                if kind != ValueKind::Container || raw.first() != Some(&b'{') {
                    let what = if kind == ValueKind::Container { "an array" } else { "a scalar" };
                    return Err(Refusal::new("22023", format!("expected JSON object, not {what}")));
                }
                self.composite(raw, fields, out)
            }
            _ => {
                out.extend_from_slice(raw);
                Ok(())
            }
        }
    }

    /// Appends an array. Its first element that is no array, or its first empty array, says how many dimensions there are.
    fn array(
        &self,
        raw: &[u8],
        delimiter: u8,
        element: &TypeShape,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let dimensions = opening_brackets(raw);
        if dimensions > MOST_DIMENSIONS {
            let reason = format!(
                "number of array dimensions ({dimensions}) exceeds the maximum allowed dimensions ({MOST_DIMENSIONS})"
            );
            return Err(Refusal::new("54000", reason));
        }
        let start = out.len();
        let mut lengths = [None; MOST_DIMENSIONS];
        let mut seen = [0_usize; MOST_DIMENSIONS];
        let mut level = 0;
        let mut cursor = Cursor::new(raw);
        'values: loop {
            cursor.skip_space();
            if level == dimensions {
                let value = cursor.value().map_err(checked)?;
                self.element(element, raw, value, out)?;
                seen[level - 1] += 1;
            } else if cursor.peek() == Some(b'[') {
                cursor.advance();
                out.push(b'{');
                seen[level] = 0;
                level += 1;
                cursor.skip_space();
                if cursor.peek() != Some(b']') {
                    continue;
                }
            } else {
                return Err(no_array());
            }
            loop {
                cursor.skip_space();
                // The text was checked: what is not a comma closes a bracket.
                if cursor.advance() == Some(b',') {
                    out.push(delimiter);
                    continue 'values;
                }
                out.push(b'}');
                level -= 1;
                if *lengths[level].get_or_insert(seen[level]) != seen[level] {
                    return Err(Refusal {
                        detail: Some(
                            "Multidimensional arrays must have sub-arrays with matching dimensions.",
                        ),
                        ..Refusal::new("22P02", "malformed JSON array")
                    });
                }
                let Some(outer) = level.checked_sub(1) else { break 'values };
                seen[outer] += 1;
            }
        }
        if lengths.contains(&Some(0)) {
            out.truncate(start);
            out.extend_from_slice(b"{}");
        }
        Ok(())
    }

    /// Appends an element of an array.
    fn element(
        &self,
        shape: &TypeShape,
        text: &[u8],
        value: Value,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match value.kind {
            ValueKind::Null => out.extend_from_slice(b"NULL"),
            // Without escapes there is nothing to escape.
            ValueKind::String { is_escaped: false } if !is_document(shape) => {
                out.push(b'"');
                out.extend_from_slice(&text[value.start..value.end]);
                out.push(b'"');
            }
            _ => {
                let from = out.len();
                self.put(shape, text, value, out)?;
                quote(out, from, |byte, out| out.extend_from_slice(&[b'\\', byte]));
            }
        }
        Ok(())
    }

    /// Appends a row. Of equal keys the last counts; what is missing is NULL, and what is no field is nothing.
    fn composite(&self, raw: &[u8], fields: &[CompositeField], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        let mut members = Members::of(raw).map_err(checked)?;
        let mut unescaped = Vec::new();
        while let Some(member) = members.next().map_err(checked)? {
            let mut key = member.key;
            if member.key_is_escaped {
                unescaped.clear();
                unescape(key, false, &mut unescaped)?;
                key = &unescaped;
            }
            if let Some(at) = fields.iter().position(|field| field.name.as_bytes() == key) {
                values[at] = Some(member.value);
            }
        }
        out.push(b'(');
        for (at, (field, value)) in fields.iter().zip(values).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if let Some(value) = value.filter(|value| value.kind != ValueKind::Null) {
                let from = out.len();
                self.put(&field.shape, raw, value, out)?;
                quote(out, from, |byte, out| out.extend_from_slice(&[byte, byte]));
            }
        }
        out.push(b')');
        Ok(())
    }
}

/// Brackets before the first element that is no array, or the first array that is empty.
fn opening_brackets(raw: &[u8]) -> usize {
    let tokens = raw.iter().filter(|byte| !super::is_space(**byte));
    tokens.take_while(|byte| **byte == b'[').count()
}

/// Puts what was written from `from` on into quotes; `escape` writes a quote or a backslash.
fn quote(out: &mut Vec<u8>, from: usize, escape: impl Fn(u8, &mut Vec<u8>)) {
    let text = out.split_off(from);
    out.push(b'"');
    let mut rest = &text[..];
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        escape(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cold]
fn no_array() -> Refusal {
    Refusal::new("22P02", "expected JSON array")
}

/// The refusal of text that was checked before. Its place in the record is lost, but such an error cannot occur.
#[cold]
fn checked(error: SyntaxError) -> Refusal {
    Refusal::not_json(error, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: TypeShape = TypeShape::Base { oid: 23 };
    const TEXT: TypeShape = TypeShape::Base { oid: 25 };
    const JSON: TypeShape = TypeShape::Base { oid: 114 };

    fn array(element: TypeShape) -> TypeShape {
        TypeShape::Array { element_oid: 1, delimiter: b',', element: Box::new(element) }
    }

    fn row(fields: &[(&str, TypeShape)]) -> TypeShape {
        let field = |(name, shape): &(&str, TypeShape)| CompositeField {
            name: (*name).to_owned(),
            oid: 1,
            typmod: -1,
            shape: shape.clone(),
        };
        TypeShape::Composite { fields: fields.iter().map(field).collect() }
    }

    fn literal(shape: &TypeShape, json: &str) -> Result<String, &'static str> {
        let mut out = b"before".to_vec();
        put(shape, json.as_bytes(), false, &mut out).map_err(|refusal| refusal.sqlstate)?;
        Ok(String::from_utf8(out).unwrap().split_off("before".len()))
    }

    #[test]
    fn arrays_keep_their_dimensions_and_empty_ones_have_none() {
        for (json, expected) in [
            ("[1, 2,null]", Ok("{\"1\",\"2\",NULL}")),
            ("[ [1,2] , [3,4] ]", Ok("{{\"1\",\"2\"},{\"3\",\"4\"}}")),
            ("[]", Ok("{}")),
            ("[[],[]]", Ok("{}")),
            ("[[[]]]", Ok("{}")),
            ("[\"{1}\"]", Ok("{\"{1}\"}")),
            ("[1,[2]]", Ok("{\"1\",\"[2]\"}")),
            ("[[1],[]]", Err("22P02")),
            ("[[1],2]", Err("22P02")),
            ("[[1],null]", Err("22P02")),
            ("[[1],[2,3]]", Err("22P02")),
            ("[[[1]],[[2],[3]]]", Err("22P02")),
            ("[[[[[[[1]]]]]]]", Err("54000")),
            ("{\"a\":1}", Err("22P02")),
            ("5", Err("22P02")),
        ] {
            assert_eq!(literal(&array(INT), json), expected.map(str::to_owned), "{json}");
        }
        assert_eq!(literal(&array(TEXT), r#"["a\"b\\","x"]"#).unwrap(), r#"{"a\"b\\","x"}"#);
        assert_eq!(literal(&array(JSON), r#"["a",{"b":1}]"#).unwrap(), r#"{"\"a\"","{\"b\":1}"}"#);
    }

    #[test]
    fn objects_fill_the_fields_of_their_names() {
        let place = row(&[("name", TEXT), ("n", array(INT)), ("odd \"Name", JSON)]);
        for (json, expected) in [
            ("{}", Ok("(,,)")),
            ("{\"n\":[1],\"name\":\"a \\\"b\\\"\",\"more\":[]}", Ok("(\"a \"\"b\"\"\",\"{\"\"1\"\"}\",)")),
            ("{\"name\":\"x\",\"name\":null}", Ok("(,,)")),
            ("{\"n\\u0061me\":\"\"}", Ok("(\"\",,)")),
            ("{\"odd \\\"Name\":\"x\"}", Ok("(,,\"\"\"x\"\"\")")),
            ("[1]", Err("22023")),
            ("1", Err("22023")),
            ("{\"n\":1}", Err("22P02")),
        ] {
            assert_eq!(literal(&place, json), expected.map(str::to_owned), "{json}");
        }
        assert_eq!(
            literal(&array(row(&[("a", TEXT)])), "[{\"a\":\"x\"},null]").unwrap(),
            r#"{"(\"x\")",NULL}"#
        );
    }
}
